"""`Encoder`: words, a method and what was fitted; turns texts into vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa import refine as refining
from noppa.display import changed_repr
from noppa.encoder import embedded, storage
from noppa.encoder.fitting import learn, warn_of_uncounted
from noppa.encoder.storage import IN_MEMORY, MEMORY, PRESET, Fitted, Identity
from noppa.errors import FileError, NotFittedError, ParameterError, warn
from noppa.io import storage as io_storage
from noppa.methods.method import Ids, Method, Pooler, checked_ids, checked_width
from noppa.parameters import boolean, short_repr, whole
from noppa.progress_bar import with_progress
from noppa.refine import Map, Moments, Refinement
from noppa.text.tokenizer import ENGLISH, Split, Tokenizer
from noppa.threads import thread_count
from noppa.words.coverage import KnownShare
from noppa.words.texts import blocks_of, texts_of, token_lists_of, tokens_of
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from typing_extensions import Self

    from noppa.explain import Explanation, PairExplanation

FIT_BLOCK = 4096
#: A shorter text is never divided among threads, and counting processors would take a tenth of its time.
SHARED_CHARACTERS = 500
#: Caches that are built at the first call of `encode`.
CACHES = ("_pooler", "_steps")

Vectors = NDArray[np.float32]


class Encoded(NamedTuple):
    """Vectors with the words behind them.

    Attributes:
        vectors: (n, dim), float32.
        tokens: The number of tokens of each text, (n,).
        known: How many of them are known, (n,); a text without any has a vector of zeros.
    """

    vectors: Vectors
    tokens: NDArray[np.int64]
    known: NDArray[np.int32]


class Comparing:
    """Base class of encoders: `similarity` by the cosines of what `encode` returns."""

    @overload
    def similarity(self, a: str, b: str) -> float: ...
    @overload
    def similarity(self, a: str | Iterable[str], b: str | Iterable[str]) -> Any: ...
    def similarity(self, a: str | Iterable[str], b: str | Iterable[str]) -> Any:
        """Return the cosine of two texts; for two collections, all cosines (len(a), len(b)).

        A text without a known word has a similarity of 0 with everything.
        """
        first = [a] if isinstance(a, str) else texts_of(a)
        second = first if b is a else [b] if isinstance(b, str) else texts_of(b)
        # One call, so that few known words are reported once.
        both = self.encode(first if second is first else [*first, *second], normalize=True)
        left, right = both[: len(first)], both[len(both) - len(second) :]
        if isinstance(a, str):
            left = left[0]
        if isinstance(b, str):
            right = right[0]
        cosines = np.clip(left.astype(float) @ right.T.astype(float), -1, 1)
        return float(cosines) if cosines.ndim == 0 else cosines

    def encode(self, texts: str | Iterable[str], *, normalize: bool = False) -> Vectors:
        """Return float32 vectors: (dim,) for one text, (n, dim) for n texts."""
        raise NotImplementedError


class Encoder(Comparing):
    """Turns texts into vectors.

    Args:
        words: The word vectors.
        method: A method such as `NoPPA(a=0.05, k=12)`: one of `METHODS`, or your own subclass of `Method`.
        refine: One or more refinements, applied after the method's own.
        tokenizer: How to split texts, instead of the words' tokenizer: a `Tokenizer` or its name (`fr`, `zh`,
            `whitespace`), or a function from a text to its tokens, which is not saved with the encoder.

    >>> import noppa
    >>> words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    >>> noppa.Encoder(words, noppa.NoPPA(k=0)).encode(["a cake", "cake"]).shape
    (2, 4)
    """

    def __init__(
        self,
        words: WordVectors,
        method: Method,
        refine: Refinement | Sequence[Refinement] | None = None,
        tokenizer: Split | Tokenizer | str | None = None,
    ) -> None:
        if not isinstance(words, WordVectors):
            raise ParameterError(f"words must be a WordVectors, not a {type(words).__name__}")
        if not isinstance(method, Method):
            raise ParameterError(
                f"method must be a noppa.Method, such as NoPPA(), not {short_repr(method)}"
            )
        refinements = (
            () if refine is None else refine if isinstance(refine, Sequence) else (refine,)
        )
        for refinement in refinements:
            if not isinstance(refinement, Refinement):
                raise ParameterError(f"{short_repr(refinement)} is not a noppa.Refinement")
        if tokenizer is not None and not callable(tokenizer):
            words, tokenizer = words.with_tokenizer(tokenizer), None
        self.words = words
        self.method = method
        self.refine: tuple[Refinement, ...] = tuple(refinements)
        self.tokenizer: Split | None = tokenizer
        self.identity = IN_MEMORY
        method.check(words)
        #: Length of a pooled vector.
        self._width = checked_width(method, words)
        steps = None
        if not method.learns:
            steps = refining.steps_without_text(self.refinements, self._width)
        self._fitted = None if steps is None else Fitted(tuple(steps))

    def __repr__(self) -> str:
        parts = [changed_repr(self.method), *map(changed_repr, self.refine)]
        state = "not fitted" if self._fitted is None else f"dim={self.dim}"
        return f"Encoder({', '.join([*parts, f'{self.words.lexicon.whole_words} words', state])})"

    @property
    def split(self) -> Split:
        """The function from a text to its tokens."""
        return self.tokenizer or self.words.tokens

    @property
    def other_split(self) -> Split | None:
        """`split`, or None for the default tokenizer, which every vocabulary's lookup has built in."""
        is_default = self.tokenizer is None and self.words.tokenizer == ENGLISH
        return None if is_default else self.split

    def with_tokenizer(self, tokenizer: Tokenizer | str) -> Self:
        """Return the same encoder with another tokenizer."""
        words = self.words.with_tokenizer(tokenizer)
        if words is self.words and self.tokenizer is None:
            return self
        other = self.__copy__()
        other.words, other.tokenizer = words, None
        if self.identity.kind != MEMORY:
            other.identity = replace(self.identity, tokenizer=str(words.tokenizer))
        return other

    @property
    def path(self) -> Path | None:
        """The folder that holds this encoder, None for one in memory."""
        return self.identity.path

    @property
    def refinements(self) -> tuple[Refinement, ...]:
        """The refinements of the method, then those of `refine`."""
        return (*self.method.refinements(), *self.refine)

    # Fitting

    def fit(self, texts: Iterable[str], threads: int | None = None) -> Self:
        """Learn what the method and the refinements need, in one pass and constant memory; returns self.

        Texts without a known word are ignored.
        """
        count, share = thread_count(threads), KnownShare()
        if self.words.ngrams is not None:
            return self.conclude({}, *self.composed_moments(texts, count))
        blocks = (self._ids(texts_of(block), count, share) for block in blocks_of(texts, FIT_BLOCK))
        return self.conclude(*learn(self.words, self.method, bool(self.refinements), blocks, count))

    def composed_moments(
        self, texts: Iterable[str], threads: int
    ) -> tuple[Moments, NDArray[np.int64]]:
        """Return the moments and word counts that `conclude` takes, for words that are composed from n-grams."""
        share, refined = self.known_share(), bool(self.refinements)
        moments = Moments.empty(self._width if refined else 0)
        for block in blocks_of(texts, FIT_BLOCK):
            batch = texts_of(block)
            encoder = self.for_texts(batch, threads)
            ids = encoder._ids(batch, threads, share)
            moments += learn(encoder.words, self.method, refined, [ids], threads)[1]
        return moments, np.zeros(len(self.words) + 1, np.int64)

    def conclude(
        self, learnt: dict[str, NDArray[Any]], moments: Moments, seen: NDArray[np.int64]
    ) -> Self:
        """Finish a fit from the method's learnt arrays, the moments of its rows and word counts (words + 1,)."""
        warn_of_uncounted(self.words, self.method, seen)
        steps = refining.fit_steps(self.refinements, moments)
        self._fitted = Fitted(tuple(steps), learnt, moments.count)
        for name in CACHES:
            self.__dict__.pop(name, None)
        self.identity = IN_MEMORY
        return self

    @property
    def fitted(self) -> Fitted:
        """What was learnt: the steps after pooling, and the method's own arrays."""
        if self._fitted is None:
            learning = [type(self.method).__name__, *map(repr, self.refinements)]
            raise NotFittedError(
                f"{' with '.join(learning)} learns from text before it encodes",
                "call fit(texts) first",
            )
        return self._fitted

    @property
    def fitted_on(self) -> int:
        """The number of sentences with a known word that `fit` has learnt from."""
        return self.fitted.sentences

    @property
    def dim(self) -> int:
        """Length of a vector."""
        width = self._width
        if self._fitted is None:
            for refinement in self.refinements:
                width = refinement.width(width)
        else:
            for step in self._fitted.steps:
                width = step.matrix.shape[1] if isinstance(step, Map) else width
        return width

    @property
    def ordered(self) -> bool:
        """Whether the first dimensions matter most, so that vectors can be truncated."""
        if not self.fitted.steps and self.method.is_mean:
            return self.words.ordered
        return any(isinstance(step, Map) for step in self.fitted.steps)

    # Encoding

    def encode(
        self,
        texts: str | Iterable[str],
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
        on_error: str = "raise",
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> Vectors:
        """Return float32 vectors: (dim,) for one text, (n, dim) for n texts.

        Args:
            texts: One text, or any iterable of texts.
            threads: Number of threads; by default NOPPA_THREADS, or all processors.
            dim: Keep only the first dimensions; needs a `Whitening` in `refine`, which orders them by importance.
            normalize: Scale each vector to length one, after truncation.
            on_error: "raise", or "empty" to treat a missing value (None, NaN) as an empty text.
            batch_size: Number of texts per batch; it does not change the vectors. By default all are encoded at once.
            show_progress_bar: Show a progress bar on a terminal or in a notebook.
        """
        size = FIT_BLOCK if batch_size is None else whole(batch_size, "batch_size", 1)
        shows = show_progress_bar is not None and boolean(show_progress_bar, "show_progress_bar")
        if isinstance(texts, str):
            return np.asarray(self._encode([texts], threads, dim, normalize)[0])
        if isinstance(texts, Iterator) or batch_size is not None or shows:
            items = texts if isinstance(texts, Iterator) else texts_of(texts, on_error)
            total = 0 if isinstance(items, Iterator) else len(items)
            blocks = self.encode_iter(
                items, size, threads, dim=dim, normalize=normalize, on_error=on_error
            )
            rows = list(with_progress(blocks, total, "encoding") if shows else blocks)
            return np.concatenate(rows) if rows else self._encode([], threads, dim, normalize)
        return self._encode(texts_of(texts, on_error), threads, dim, normalize)

    def encode_iter(
        self,
        texts: Iterable[str],
        block: int = 1024,
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
        on_error: str = "raise",
    ) -> Iterator[Vectors]:
        """Yield vectors of texts in blocks of up to `block` rows, in constant memory."""
        size, share = whole(block, "block", 1), self.known_share()
        for number, items in enumerate(blocks_of(texts, size)):
            checked = texts_of(items, on_error)
            yield self._encode(checked, threads, dim, normalize, share, number * size)

    def encode_counted(
        self,
        texts: Iterable[str],
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
        share: KnownShare | None = None,
    ) -> Encoded:
        """Return vectors with the numbers of tokens and known tokens, without warnings about unknown words.

        Args:
            share: Collects the known-word counts of several calls; create it with `known_share()`.
        """
        items, count = texts_of(texts), thread_count(threads)
        encoder = self.for_texts(items, count)
        ids, offsets = encoder._count_ids(items, count, [0, 0] if share is None else share.counts)
        vectors, known = encoder._pool((ids, offsets), count, dim, normalize)
        return Encoded(vectors, np.diff(offsets), known)

    def encode_tokens(
        self,
        token_lists: Iterable[Sequence[str]],
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
    ) -> Vectors:
        """Return vectors (n, dim) of sentences that are already split; tokens are used as they are."""
        sentences, count = token_lists_of(token_lists), thread_count(threads)
        encoder = self._for_tokens(sentences, count)
        batch = encoder.words.vocabulary.look_up_tokens(sentences)
        vectors, known = encoder._pool(batch, count, dim, normalize)
        _warn_of_empty(known)
        return vectors

    # Lookup and pooling, one at a time

    def look_up(
        self, texts: Iterable[str], threads: int | None = None, share: KnownShare | None = None
    ) -> Ids:
        """Return the ids (tokens,) of texts, -1 for a dropped token, and offsets (n + 1,): what `encode_ids` takes.

        Args:
            share: Collects known-word counts instead of warning; create it with `known_share()`.
        """
        items, count = texts_of(texts), thread_count(threads)
        if share is None:
            return self._ids(items, count)
        return self._count_ids(items, count, share.counts)

    def known_share(self) -> KnownShare:
        """Return a counter of known words for `look_up` and `encode_counted`."""
        return KnownShare()

    def encode_ids(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
    ) -> tuple[Vectors, NDArray[np.int32]]:
        """Return vectors (n, dim) and the number of known tokens of each text (n,)."""
        batch = checked_ids(ids, offsets, len(self.words))
        return self._pool(batch, thread_count(threads), dim, normalize)

    def for_texts(self, texts: list[str], threads: int | None = None) -> Self:
        """Return an encoder whose words include those composed from n-grams for these texts.

        Its `look_up` and `encode_ids` belong together. It is this encoder itself unless the words are a fastText model.
        """
        if self.words.ngrams is None:
            return self
        return self._for_tokens(tokens_of(texts, self.split), thread_count(threads))

    def _for_tokens(self, sentences: list[list[str]], threads: int) -> Self:
        words = self.words.for_tokens(sentences, threads)
        if words is self.words:
            return self
        other = self.__copy__()
        other.words = words
        return other

    def _encode(
        self,
        texts: list[str],
        threads: int | None,
        dim: int | None,
        normalize: bool,
        share: KnownShare | None = None,
        first: int = 0,
    ) -> Vectors:
        """Encode texts with warnings about unknown words; rows are counted from `first`."""
        is_small = len(texts) == 1 and len(texts[0]) < SHARED_CHARACTERS
        count = thread_count(threads, is_small)
        encoder = self.for_texts(texts, count)
        vectors, known = encoder._pool(encoder._ids(texts, count, share), count, dim, normalize)
        _warn_of_empty(known, first)
        return vectors

    def _pool(
        self, batch: Ids, threads: int, dim: int | None, normalize: bool
    ) -> tuple[Vectors, NDArray[np.int32]]:
        width = None if dim is None else self._valid_dim(dim)
        rows, known = self._pooler(*batch, self._steps, threads)
        if width is not None:
            rows = np.ascontiguousarray(rows[:, :width])
        if boolean(normalize, "normalize"):
            unit = kernels.Steps([("normalise", rows.shape[1])])
            rows = kernels.apply_steps(rows, None, unit, threads)
        return np.asarray(rows, np.float32), known

    def _ids(self, texts: list[str], threads: int, share: KnownShare | None = None) -> Ids:
        """Look up texts and warn if few words are known; a call with many blocks passes `share` to warn once."""
        share = share or KnownShare()
        ids = self._count_ids(texts, threads, share.counts)
        share.warn_if_few()
        return ids

    def _count_ids(self, texts: list[str], threads: int, counts: list[int]) -> Ids:
        if self.tokenizer is None:
            return self.words.lexicon.look_up(texts, threads, counts)
        tokens = tokens_of(texts, self.tokenizer)
        return self.words.vocabulary.look_up_tokens(tokens, counts)

    @cached_property
    def _pooler(self) -> Pooler:
        return self.method.pooler(self.words, self.fitted.learnt)

    @cached_property
    def _steps(self) -> kernels.Steps:
        return refining.kernel_steps(self.fitted.steps)

    def _valid_dim(self, dim: int) -> int:
        if not self.ordered:
            raise ParameterError(
                f"dim={dim} would keep an arbitrary part of the vector",
                "fit the encoder with refine=Whitening(), whose first dimensions matter most",
            )
        if whole(dim, "dim", 1) > self.dim:
            raise ParameterError(f"dim={dim}, but a vector has {self.dim} dimensions")
        return int(dim)

    # Explanations

    def explain(self, text: str) -> Explanation:
        """Explain a vector: `contributions` (tokens, width) that add up to `pooled`, and more."""
        # imported lazily: few processes explain, and its dataclasses would slow every start
        from noppa.explain import explain

        fitted = self.fitted
        tokens = tokens_of(texts_of([text]), self.split)
        words = self.words.for_tokens(tokens, 1)
        return explain(
            text, tokens[0], words, self.method, fitted.learnt, fitted.steps, self.refinements
        )

    def explain_pair(self, a: str, b: str) -> PairExplanation:
        """Explain the cosine of two texts: its division among their pairs of tokens, (tokens of a, tokens of b)."""
        from noppa.explain import explain_pair

        return explain_pair(self.explain(a), self.explain(b))

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder that `noppa.load` reads: words, parameters and fitted arrays, with checksums."""
        storage.write(path, self)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        tokenizer: Split | Tokenizer | str | None = None,
        verify: bool = False,
    ) -> Self:
        """Load a saved encoder.

        Args:
            tokenizer: The function that the encoder was saved with, or the name of another tokenizer.
            verify: Compare the checksums of large files too, which reads them completely.
        """
        verified = io_storage.EVERY_BYTE if verify else io_storage.VERIFIED_BYTES
        return cls.open_folder(path, tokenizer, verified)

    @classmethod
    def open_folder(
        cls,
        path: str | PathLike[str],
        tokenizer: Split | Tokenizer | str | None = None,
        verified: int = io_storage.VERIFIED_BYTES,
    ) -> Self:
        """Load a saved encoder; files up to `verified` bytes are compared with their checksums."""
        function = tokenizer if callable(tokenizer) else None
        (words, method, refine, fitted), checksum = io_storage.read_snapshot(
            path, lambda folder: storage.read(folder, function is not None, verified)
        )
        encoder = cls(words, method, refine, function)
        encoder._fitted = fitted
        encoder.identity = Identity.from_folder(Path(path), checksum)
        if tokenizer is None or callable(tokenizer):
            return encoder
        return encoder.with_tokenizer(tokenizer)

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
        """Save to a repository of the Hugging Face Hub and return its pinned name, `hf:owner/name@commit`.

        Args:
            repo_id: `owner/name`; created if it does not exist.
            revision: A branch; created if it does not exist.
            token: Used instead of `hf auth login` and HF_TOKEN.
            message: The commit message.
            license: For the model card, which is written if the repository has none.
            figures: Results by name, for the model card.
        """
        from noppa.io import hub

        tokenizer = self.words.tokenizer if self.tokenizer is None else short_repr(self.tokenizer)
        card = hub.model_card(
            repo_id,
            task="feature-extraction",
            summary=f"Sentence vectors of {self.dim} dimensions.",
            usage=f'import noppa\nvectors = noppa.load("hf:{repo_id}").encode(["a girl is eating"])',
            facts={
                "words": repr(self.words),
                "method": repr(self.method),
                "refinements": ", ".join(map(repr, self.refine)) or "none",
                "fitted on": f"{self.fitted_on:,} sentences",
                "tokenizer": str(tokenizer),
                "vectors": f"{self.dim} dimensions",
            },
            license=license or embedded.license_of(self.words),
            figures=figures or {},
        )
        return hub.push(repo_id, self.save, card, revision, private, token, message)

    # Copies and pickles

    @property
    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in CACHES}

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self._state)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Mapped arrays are read-only, so the copy of a loaded encoder shares them."""
        other = self.__copy__()
        if self.identity is IN_MEMORY:
            other.__dict__ = deepcopy(other.__dict__, memo)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a saved encoder as its identity, so that every process maps the same file; any other one by value."""
        if self.tokenizer is None and self.identity.is_on_disk:
            return (reopen, (self.identity,))
        return (object.__new__, (type(self),), {**self._state, "identity": IN_MEMORY})


def reopen(identity: Identity) -> Encoder:
    """Load the encoder of an identity that was pickled or sent; raise if the folder holds another one."""
    if identity.path is None:
        raise ParameterError("an encoder that is only in memory cannot be opened again", "save it")
    try:
        tokenizer = identity.tokenizer or None
        # The files of the package are trusted.
        verified = io_storage.INSTALLED if identity.kind == PRESET else io_storage.VERIFIED_BYTES
        encoder = Encoder.open_folder(identity.path, tokenizer, verified)
    except FileError as error:
        raise FileError(
            f"an encoder was pickled as its folder {identity.name}, which cannot be loaded here: {error}"
        ) from error
    if encoder.identity.checksum != identity.checksum:
        raise FileError(
            f"{identity.name} is not the {identity.kind} that was pickled: its contents differ here",
            "save the pickled encoder as a folder where it was pickled, and copy that",
        )
    return encoder


def _warn_of_empty(known: NDArray[np.int32], first: int = 0) -> None:
    if np.count_nonzero(known) < len(known):
        rows = np.flatnonzero(known == 0) + first
        shown = ", ".join(map(str, rows[:5].tolist())) + (", …" if len(rows) > 5 else "")
        warn(
            f"{len(rows)} of {len(known)} texts have no known word and became rows of zeros: {shown}"
        )
