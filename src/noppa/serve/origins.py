"""Host and Origin checks of a server without keys: only its own pages may use it from a browser.

A server with keys needs none of this, since a page of another site knows no key.
"""

from __future__ import annotations

from ipaddress import ip_address

from noppa.serve.problems import Problem
from noppa.serve.settings import Settings

EVERY = "*"
#: Addresses that mean all interfaces.
WILDCARDS = frozenset(("0.0.0.0", "::"))
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


class Origins:
    """The hosts and origins that a server answers."""

    def __init__(self, settings: Settings) -> None:
        self.hosts = {host.lower() for host in settings.hosts}
        self.origins = frozenset(settings.origins)
        self.dotless = bool(self.hosts & WILDCARDS)

    def check(self, method: str, headers: dict[bytes, bytes]) -> None:
        """421 for a foreign host; 403 for a foreign origin with an unsafe method."""
        host, origin, site = (
            headers.get(name, b"").decode("latin-1").strip()
            for name in (b"host", b"origin", b"sec-fetch-site")
        )
        if not self.goes_by(_name_of(host)):
            raise Problem(
                421,
                f"this server does not go by the name {_name_of(host)[:100]!r}: start it with --allowed-host and "
                "that name, or with keys",
                code="host_not_allowed",
            )
        if method not in SAFE and not self._same(host, origin, site):
            raise Problem(
                403,
                f"a page of {origin[:100] or 'another origin'} may not use this server: start it with --cors-origin "
                "and that origin, or with keys",
                code="origin_not_allowed",
            )

    def goes_by(self, name: str) -> bool:
        """Whether the Host header may hold this name.

        Against DNS rebinding: an attacker's domain that resolves to this server makes the browser treat its answers as
        the attacker's own. An address, `localhost` or a name without a dot cannot be such a domain; a name without a
        dot may be another machine's on the same network, so it is accepted only where the server listens on all
        interfaces. Browsers always send a name.
        """
        if not name or EVERY in self.hosts or name in self.hosts:
            return True
        if name == "localhost" or name.endswith(".localhost") or _is_address(name):
            return True
        return self.dotless and "." not in name

    def _same(self, host: str, origin: str, site: str) -> bool:
        """Whether the request is same-origin, or does not come from a browser."""
        if origin and self.origins & {origin, EVERY}:
            return True
        if site:
            return site in ("same-origin", "none")
        return not origin or origin.lower().partition("://")[2] == host.lower()


def _name_of(host: str) -> str:
    """A host without its port, and without the brackets of IPv6."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
