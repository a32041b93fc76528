"""`EncoderParts`: what an encoder is made of and what it has learnt; how it is shown, saved, pushed and copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noppa.display import Displayed, Table, View, changed
from noppa.encoder import embedded, encoder_folder
from noppa.encoder.encoder_folder import Contents
from noppa.encoder.fitted import Fitted
from noppa.encoder.identity import IN_MEMORY, Identity
from noppa.errors import NotFittedError, ParameterError
from noppa.internal import internal
from noppa.io import storage
from noppa.methods import registry
from noppa.methods.protocol import Method
from noppa.parameters import short_repr
from noppa.refine import Map, Refinement, steps_without_text
from noppa.text.tokenizer import ENGLISH, Split, Tokenizer
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from typing_extensions import Self

#: Caches, built when the encoder first encodes.
BUILT = ("_pooler", "_steps")


class EncoderParts(Displayed):
    """Words, a method, refinements and what was fitted: `Encoder` without what turns texts into vectors."""

    def __init__(
        self,
        words: WordVectors,
        method: Method | Any,
        refine: Refinement | Sequence[Refinement] | None = None,
        tokenizer: Split | Tokenizer | str | None = None,
    ) -> None:
        if not isinstance(words, WordVectors):
            raise ParameterError(f"words must be a WordVectors, not a {type(words).__name__}")
        if tokenizer is not None and not callable(tokenizer):
            words, tokenizer = words.with_tokenizer(tokenizer), None
        given = () if refine is None else refine if isinstance(refine, Sequence) else (refine,)
        self.words = words
        self.method: Method = registry.adapted(method)
        self.refine = tuple(map(registry.adapted_refinement, given))
        self.tokenizer: Split | None = tokenizer
        self.identity = IN_MEMORY
        self.method.check(words)
        steps = None
        if not self.method.learns:
            steps = steps_without_text(self._refinements, self._width)
        self._fitted = None if steps is None else Fitted(tuple(steps))

    @property
    def split(self) -> Split:
        """The function from a text to its tokens: the user's own, or that of the words."""
        return self.tokenizer or self.words.tokens

    def with_tokenizer(self, tokenizer: Tokenizer | str) -> Self:
        """The same encoder for texts that are split in another way, by name or as a `Tokenizer`."""
        words = self.words.with_tokenizer(tokenizer)
        if words is self.words and self.tokenizer is None:
            return self
        other = self.__copy__()
        other.words, other.tokenizer = words, None
        other.identity = self.identity.with_tokenizer(words.tokenizer)
        return other

    @property
    @internal
    def other_split(self) -> Split | None:
        """`split`, or None where it is the default, which the look-up of every vocabulary does without a list of tokens."""
        is_default = self.tokenizer is None and self.words.tokenizer == ENGLISH
        return None if is_default else self.split

    @property
    def path(self) -> Path | None:
        """The folder that holds this encoder, None where none does."""
        return self.identity.path

    @cached_property
    def _width(self) -> int:
        """Length of a pooled vector."""
        return self.method.width(self.words)

    @property
    def _refinements(self) -> tuple[Refinement, ...]:
        return (*self.method.refinements(), *self.refine)

    def __repr__(self) -> str:
        parts = [changed(self.method), *map(changed, self.refine)]
        state = "not fitted" if self._fitted is None else f"dim={self.dim}"
        return f"Encoder({', '.join([*parts, f'{self.words.lexicon.whole_words} words', state])})"

    @property
    def _facts(self) -> dict[str, str]:
        """What this encoder is, by name."""
        state = (
            "not fitted yet: call fit(texts)" if self._fitted is None else f"{self.dim} dimensions"
        )
        tokenizer = (
            str(self.words.tokenizer) if self.tokenizer is None else short_repr(self.tokenizer)
        )
        facts = {"words": repr(self.words), "method": repr(self.method)}
        if self.refine:
            facts["refinements"] = ", ".join(map(repr, self.refine))
        if self._fitted is not None and self._fitted.sentences:
            facts["fitted on"] = f"{self._fitted.sentences:,} sentences"
        return {**facts, "tokenizer": tokenizer, "vectors": state}

    def _view(self) -> View:
        source = {self.identity.kind: self.identity.name} if self.path else {}
        return View("Encoder", [Table(["", ""], list({**self._facts, **source}.items()))])

    # What was learnt

    @property
    def dim(self) -> int:
        """Length of a vector."""
        width = self._width
        if self._fitted is None:
            for refinement in self._refinements:
                width = refinement.width(width)
        else:
            for step in self._fitted.steps:
                width = step.matrix.shape[1] if isinstance(step, Map) else width
        return width

    @property
    def fitted_on(self) -> int:
        """From how many sentences with a known word `fit` has learnt."""
        return self._state.sentences

    @property
    def fitted(self) -> Fitted:
        """What was learnt: the steps after pooling, and the method's own arrays."""
        return self._state

    @property
    def ordered(self) -> bool:
        """Whether the first dimensions matter most, so that `dim` of them mean something."""
        if not self._state.steps and self.method.mean_obstacle == "":
            return self.words.ordered
        return any(isinstance(step, Map) for step in self._state.steps)

    @property
    def _state(self) -> Fitted:
        if self._fitted is None:
            needed = ", ".join(map(repr, self._refinements))
            kind = type(registry.own_of(self.method)).__name__
            raise NotFittedError(
                f"{kind}{' with ' * bool(needed)}{needed} learns from text before it encodes: "
                f"call fit(texts) first{self.method.without_fit}"
            )
        return self._fitted

    def _drop_caches(self) -> None:
        for name in BUILT:
            self.__dict__.pop(name, None)
        self.identity = IN_MEMORY

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `noppa.load` reads: words, parameters and what was fitted, with checksums, no pickle."""
        encoder_folder.write(path, self.contents)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        revision: str | None = None,
        private: bool | None = None,
        token: str | None = None,
        message: str | None = None,
        license: str | None = None,
        figures: Mapping[str, float] | None = None,
    ) -> str:
        """Save to a repository of the Hugging Face Hub, `owner/name`, which is made where there is none; returns its pinned name,
        `hf:owner/name@commit`.

        revision: a branch, made where there is none. token: in place of `hf auth login` and HF_TOKEN. message: of the commit.
        license, figures: for the model card, written where the repository has none: a licence by its name on the hub, and
        results by their names.
        """
        from noppa.io import hub

        card = hub.model_card(
            repo_id,
            task="feature-extraction",
            summary=f"Sentence vectors: {self._facts['vectors']}.",
            usage=f'import noppa\nvectors = noppa.load("hf:{repo_id}").encode(["a girl is eating"])',
            facts=self._facts,
            license=license or embedded.license_of(self.words),
            figures=figures or {},
        )
        return hub.push(repo_id, self.save, card, revision, private, token, message)

    @property
    @internal
    def contents(self) -> Contents:
        """What a folder of this encoder holds."""
        custom = self.tokenizer is not None
        return Contents(self.words, self.method, self.refine, self._state, custom)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        tokenizer: Split | Tokenizer | str | None = None,
        verify: bool = False,
    ) -> Self:
        """A saved encoder; one with a function of its own as tokenizer needs that again.

        tokenizer: also the name of another one than that of the saved words.

        verify: compare the checksums of large files too, which reads them whole.
        """
        verified = storage.EVERY_BYTE if verify else storage.VERIFIED_BYTES
        return cls.open_folder(path, tokenizer, verified)

    @classmethod
    @internal
    def open_folder(
        cls,
        path: str | PathLike[str],
        tokenizer: Split | Tokenizer | str | None = None,
        verified: int = storage.VERIFIED_BYTES,
    ) -> Self:
        """A saved encoder, its files up to `verified` bytes compared with their checksums."""
        own = tokenizer if callable(tokenizer) else None
        saved, checksum = encoder_folder.read(path, own is not None, verified)
        encoder = cls(saved.words, saved.method, saved.refine, own)
        encoder._fitted = saved.fitted
        encoder.identity = Identity.of_folder(Path(path), checksum)
        return (
            encoder
            if callable(tokenizer) or tokenizer is None
            else encoder.with_tokenizer(tokenizer)
        )

    # Copies

    @property
    def _parts(self) -> dict[str, Any]:
        """The state of this encoder, without the caches built from it."""
        return {name: value for name, value in self.__dict__.items() if name not in BUILT}

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self._parts)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Mapped arrays are read-only, so the copy of a loaded encoder shares them."""
        other = self.__copy__()
        if self.identity is IN_MEMORY:
            other.__dict__ = deepcopy(other.__dict__, memo)
        return other
