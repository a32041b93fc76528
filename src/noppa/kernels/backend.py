"""The kernels in use: the native module, or its NumPy twin where there is none.

`NOPPA_BACKEND=numpy` asks for the twin, `NOPPA_ISA=base` (or `v3`, `v4`) for an instruction set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from noppa.errors import ParameterError, warn

if TYPE_CHECKING:
    from noppa.kernels import _native as kernels

BACKEND = "NOPPA_BACKEND"
ISA = "NOPPA_ISA"


def _choose(backend: str, isa: str):  # type: ignore[no-untyped-def]
    if backend not in ("", "native", "numpy"):
        raise ParameterError(f"{BACKEND} must be native or numpy, not {backend!r}")
    if backend != "numpy":
        try:
            from noppa.kernels import _native
        except ImportError as error:
            if backend == "native":
                raise ParameterError(
                    f"{BACKEND}=native, but the native module was not built: "
                    "install noppa where a C++ compiler is, or unset the variable"
                ) from error
            warn(
                "noppa runs on its NumPy twin, about a hundred times slower: the native module was "
                "not built. Reinstall where a C++ compiler is; NOPPA_BACKEND=numpy silences this."
            )
        else:
            if isa and not _native.use_instruction_set(isa):
                raise ParameterError(
                    f"{ISA}={isa} is not available here, only {', '.join(_native.instruction_sets())}"
                )
            return _native
    from noppa.kernels import reference

    return reference


if not TYPE_CHECKING:
    kernels = _choose(os.environ.get(BACKEND, ""), os.environ.get(ISA, ""))

name: str = "native" if kernels.__name__.endswith("_native") else "numpy"

__all__ = ["kernels", "name"]
