"""Other methods over the served words, for the field `method` of a request and the page's controls."""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from noppa import METHODS, Encoder
from noppa.encoder.fitting import learn
from noppa.errors import NoppaError
from noppa.methods.method import TEXT as LEARNS_FROM_TEXT
from noppa.methods.method import Ids
from noppa.methods.registry import is_plain, parameter_values, to_dict
from noppa.serve.errors import invalid
from noppa.serve.models import Models

if TYPE_CHECKING:
    from noppa.serve.service import Task

#: The field `method` of a request: a name, and parameters.
MethodField = dict[str, bool | int | float | str | list[str] | None]

MAX_CACHED = 16
MAX_PARTS, MAX_K = 8, 64
#: With fewer lines than this, methods are fitted on the example sentences.
MIN_LINES = 50
#: Tokens that a method learns from; k-means over so many takes about a second.
LEARNED_TOKENS = 1 << 14


def offered() -> dict[str, dict[str, Any]]:
    """Return the methods that a request may name, each with its parameters and their defaults.

    Leaves out methods that train on text, which takes too long, and those with required parameters.
    """
    choices = {}
    for name, kind in METHODS.items():
        try:
            method = kind()
            if method.learning != LEARNS_FROM_TEXT:
                values = to_dict(method)
                choices[name] = {parameter: values[parameter] for parameter in method.settable}
        except (NoppaError, TypeError, ValueError):
            continue
    return choices


def summary(name: str) -> str:
    """Return the first paragraph of a method's docstring."""
    kind = METHODS[name]
    paragraph = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    # A dataclass without a docstring gets its signature as one.
    return "" if paragraph.startswith(f"{kind.__name__}(") else " ".join(paragraph.split())


class MethodCache:
    """Encoders with other methods than the served ones, least recently used first out."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._encoders: OrderedDict[Any, Encoder] = OrderedDict()
        self._lock = threading.Lock()

    def encoder(
        self,
        model: str | None,
        field: MethodField | None,
        task: Task,
        lines: list[str] | None = None,
    ) -> Encoder:
        """Return the served encoder, or one of its words with another method.

        Args:
            field: The field `method` of the request; None for the served encoder.
            lines: Texts to fit the method on; the example sentences if there are fewer than `MIN_LINES`.
        """
        name = self.models.name(model)
        if field is None:
            return self.models.encoders[name]
        kind, parameters = _validated(field)
        corpus = lines if lines is not None and has_enough(lines) else sentences()
        digest = hashlib.sha256("\n".join(corpus).encode("utf-8", "surrogatepass")).digest()
        key = (name, kind, repr(sorted(parameters.items())), digest)
        with self._lock:
            if key in self._encoders:
                self._encoders.move_to_end(key)
                return self._encoders[key]
        try:
            encoder = Encoder(self.models.encoders[name].words, kind(**parameters))
            self._fit(encoder, corpus, task)
        except (NoppaError, TypeError, ValueError) as error:
            raise invalid(f"method: {error}", "method") from None
        with self._lock:
            self._encoders[key] = encoder
            while len(self._encoders) > MAX_CACHED:
                self._encoders.popitem(last=False)
        return encoder

    def _fit(self, encoder: Encoder, corpus: list[str], task: Task) -> None:
        """Fit like `Encoder.fit`, but in blocks, so that the work can be stopped."""
        blocks = self.models.token_blocks(encoder, corpus, task, "lines", truncate=True)
        if encoder.method.learns:
            blocks = _first_tokens(blocks, LEARNED_TOKENS)
        refined = bool(encoder.method.refinements())
        with task.interruptible():
            learned = learn(encoder.words, encoder.method, refined, blocks, task.threads)
        encoder.conclude(*learned)


def _validated(field: MethodField) -> tuple[Any, dict[str, Any]]:
    """Return the class of a method and its parameters; 400 if the server does not allow them."""
    choices = offered()
    name = field.get("name")
    if not isinstance(name, str) or name not in choices:
        raise invalid(f"method.name must be one of {', '.join(choices)}", "method")
    parameters = {key: value for key, value in field.items() if key != "name"}
    for parameter, value in parameters.items():
        if parameter not in choices[name]:
            known = ", ".join(choices[name]) or "none"
            raise invalid(f"method.{parameter[:40]} is not a parameter of {name}, which has {known}", "method")  # fmt: skip
        if parameter == "k" and isinstance(value, (int, float)) and value > MAX_K:
            raise invalid(f"method.k must be at most {MAX_K}", "method")
        if isinstance(value, list) and len(value) > MAX_PARTS:
            raise invalid(f"method.{parameter} has more than {MAX_PARTS} parts", "method")
    return METHODS[name], parameters


def _first_tokens(blocks: Iterable[Ids], tokens: int) -> Iterator[Ids]:
    """Yield blocks until they have this many tokens."""
    for ids, offsets in blocks:
        yield ids, offsets
        tokens -= len(ids)
        if tokens <= 0:
            return


def has_enough(lines: list[str] | None) -> bool:
    return lines is not None and len(lines) >= MIN_LINES


def about(encoder: Encoder, field: MethodField | None, lines: list[str] | None = None) -> dict[str, Any]:  # fmt: skip
    """Describe the encoder that made an answer: method, parameters, dimensions, and what it was fitted on."""
    method = encoder.method
    values = parameter_values(method).items()
    plain = {name: value if is_plain(value) else repr(value) for name, value in values}
    note = None
    if field is not None and (encoder.method.refinements() or encoder.method.learns):
        count, source = encoder.fitted_on, "of your lines" if has_enough(lines) else "example sentences"  # fmt: skip
        note = f"fitted on {count} {source}"
        if count < encoder.dim:
            note += f", fewer than its {encoder.dim} dimensions: the result may be noisy"
    facts = {"method": type(method).__name__, "parameters": plain, "dim": encoder.dim}
    return {"encoder": facts, "note": note}


def sentences() -> list[str]:
    """Return plain English sentences to fit methods on, and to try the page with."""
    file = resources.files("noppa.serve") / "page" / "sentences.txt"
    return file.read_text(encoding="utf-8").splitlines()
