"""`Encoder`: words, a method, and what was fitted; from texts to vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa import refine
from noppa.encoder.encoder_parts import EncoderParts
from noppa.encoder.fitted import Fitted
from noppa.encoder.fitting import learnt_from, warn_of_uncounted
from noppa.encoder.identity import IN_MEMORY, PRESET, Identity
from noppa.errors import FileError, ParameterError, warn
from noppa.internal import internal
from noppa.methods.corpus import Ids, checked_ids
from noppa.methods.protocol import Pooler
from noppa.parameters import boolean, whole
from noppa.progress_bar import followed
from noppa.refine import Moments
from noppa.threads import thread_count
from noppa.words.coverage import KnownShare
from noppa.words.texts import blocks_of, texts_of, token_lists_of, tokens_of

if TYPE_CHECKING:
    from noppa.explain.explanation import Explanation, PairExplanation

FIT_BLOCK = 4096
#: A text of fewer is not divided among threads, and asking for their number would take a tenth of its time.
SHARED_CHARACTERS = 500

Vectors = NDArray[np.float32]


class Encoder(EncoderParts):
    """Turns texts into vectors.

    words: a `WordVectors`. method: one of `METHODS`, for example `NoPPA(a=0.05, k=12)`, or your own: see `Method`.
    refine: one refinement or several in a row, applied after the method's own.
    tokenizer: how texts are split, in place of what the words say: a `Tokenizer`, the name of one (`fr`, `zh`,
    `whitespace`), which becomes that of the words, or a function from a text to its tokens, which no folder can hold.

    >>> import noppa
    >>> words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    >>> noppa.Encoder(words, noppa.NoPPA(k=0)).encode(["a cake", "cake"]).shape
    (2, 4)
    """

    # Learning

    def fit(self, texts: Iterable[str], threads: int | None = None) -> Encoder:
        """Learn from texts, read once and in constant memory, what the method and the refinements need; returns self.

        Texts without a known word are passed over.
        """
        count = thread_count(threads)
        share = self.known_share()
        if self.words.ngrams is not None:
            return self.conclude({}, *self.composed_moments(texts, count))
        blocks = (self._ids(texts_of(block), count, share) for block in blocks_of(texts, FIT_BLOCK))
        refined = bool(self._refinements)
        return self.conclude(*learnt_from(self.words, self.method, refined, blocks, count))

    @internal
    def composed_moments(
        self, texts: Iterable[str], threads: int
    ) -> tuple[Moments, NDArray[np.int64]]:
        """What `conclude` takes besides what a method learns, which is nothing where words are composed for each block."""
        share, refined = self.known_share(), bool(self._refinements)
        moments = Moments.empty(self._width if refined else 0)
        for block in blocks_of(texts, FIT_BLOCK):
            batch = texts_of(block)
            some = self.for_texts(batch, threads)
            ids = some._ids(batch, threads, share)
            moments += learnt_from(some.words, self.method, refined, [ids], threads)[1]
        return moments, np.zeros(len(self.words) + 1, np.int64)

    @internal
    def conclude(
        self, learnt: dict[str, NDArray[Any]], moments: Moments, seen: NDArray[np.int64]
    ) -> Encoder:
        """The end of a fit: from what the method learnt, the moments of what it gives, and how often each word was seen
        (words + 1,); returns self.
        """
        warn_of_uncounted(self.words, self.method, seen)
        steps = refine.fit_steps(self._refinements, moments)
        self._fitted = Fitted(tuple(steps), learnt, moments.count)
        self._drop_caches()
        return self

    # Encoding

    def encode(
        self,
        texts: Any,
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
        on_error: str = "raise",
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> Vectors:
        """Vectors of texts: (dim,) for one text, (n, dim) for a collection of n, always float32 and finite.

        dim: only the first dimensions; needs a `Whitening` in `refine`, which makes a prefix meaningful.
        normalize: scale each vector to length one, after any cut.
        on_error: "raise", or "empty" to take a missing value (None, NaN) for an empty text.
        batch_size: how many texts at a time; the vectors do not depend on it, and by default all come at once.
        show_progress_bar: on a terminal or in a notebook.
        """
        cut = self._cut(dim)
        size = FIT_BLOCK if batch_size is None else whole(batch_size, "batch_size", 1)
        shows = show_progress_bar is not None and boolean(show_progress_bar, "show_progress_bar")
        if isinstance(texts, str):
            return np.asarray(self._encode([texts], threads, cut, normalize)[0])
        if isinstance(texts, Iterator) or batch_size is not None or shows:
            items = texts if isinstance(texts, Iterator) else texts_of(texts, on_error)
            total = 0 if isinstance(items, Iterator) else len(items)
            blocks = self.encode_iter(
                items, size, threads, dim=dim, normalize=normalize, on_error=on_error
            )
            rows = list(followed(blocks, total, "encoding") if shows else blocks)
            return np.concatenate(rows) if rows else np.empty((0, cut), np.float32)
        return self._encode(texts_of(texts, on_error), threads, cut, normalize)

    def for_texts(self, texts: list[str], threads: int | None = None) -> Encoder:
        """An encoder for these texts alone, in which words of theirs have rows that were composed from n-grams: `look_up`
        and `encode_ids` of it belong together. This one, where its words are no fastText model or no word is lacking.
        """
        if self.words.ngrams is None:
            return self
        return self._for_tokens(tokens_of(texts, self.split), thread_count(threads))

    def _for_tokens(self, sentences: list[list[str]], threads: int) -> Encoder:
        words = self.words.for_tokens(sentences, threads)
        if words is self.words:
            return self
        other = self.__copy__()
        other.words = words
        return other

    def encode_tokens(
        self,
        token_lists: Any,
        threads: int | None = None,
        *,
        dim: int | None = None,
        normalize: bool = False,
    ) -> Vectors:
        """Vectors of sentences that are already split into tokens, (n, dim); tokens are taken as they are."""
        cut = self._cut(dim)
        sentences, count = token_lists_of(token_lists), thread_count(threads)
        encoder = self._for_tokens(sentences, count)
        batch = encoder.words.vocabulary.look_up_tokens(sentences)
        return encoder._vectors(batch, count, cut, normalize)

    def look_up(
        self, texts: Any, threads: int | None = None, share: KnownShare | None = None
    ) -> Ids:
        """The ids (tokens,) of texts, -1 for a dropped token, and their offsets (n + 1,): what `encode_ids` takes.

        share: what `known_share` gave, for who tells of unknown words by other ways than a warning.
        """
        items, count = texts_of(texts), thread_count(threads)
        if share is None:
            return self._ids(items, count)
        return self._counted_ids(items, count, share.counts)

    def known_share(self) -> KnownShare:
        """Counts how many words are known whole of the texts that it is given to `look_up` with."""
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
        """Vectors (n, dim) and the known tokens of each text (n,), where `encode` would warn of those without."""
        known = checked_ids(ids, offsets, len(self.words))
        return self._rows(known, thread_count(threads), self._cut(dim), normalize)

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
        """Vectors of texts from any iterable, in blocks (up to `block`, dim), in constant memory."""
        size = whole(block, "block", 1)
        cut, share = self._cut(dim), self.known_share()
        for at, items in enumerate(blocks_of(texts, size)):
            checked = texts_of(items, on_error)
            yield self._encode(checked, threads, cut, normalize, at * size, share)

    def similarity(self, a: Any, b: Any) -> Any:
        """Cosine of two texts, a float; of two collections, all against all, (len(a), len(b)).

        A text without a known word has similarity 0 with everything.
        """
        left, right = self._encode_pair(a, b)
        cosines = left.astype(float) @ right.T.astype(float)
        if cosines.ndim == 0:
            return min(1.0, max(-1.0, float(cosines)))
        return np.clip(cosines, -1, 1)

    def _encode_pair(self, a: Any, b: Any) -> tuple[Vectors, Vectors]:
        """Unit vectors of two texts or collections, of which few known words are told once."""
        if b is a and not isinstance(a, str):
            own = self._encode(texts_of(a), None, self.dim, True)
            return own, own
        first, second = ([one] if isinstance(one, str) else texts_of(one) for one in (a, b))
        both = self._encode([*first, *second], None, self.dim, True)
        left, right = both[: len(first)], both[len(first) :]
        return left[0] if isinstance(a, str) else left, right[0] if isinstance(b, str) else right

    def _encode(
        self,
        texts: list[str],
        threads: int | None,
        dim: int,
        normalize: bool,
        first: int = 0,
        share: KnownShare | None = None,
    ) -> Vectors:
        is_small = len(texts) == 1 and len(texts[0]) < SHARED_CHARACTERS
        count = thread_count(threads, is_small)
        encoder = self.for_texts(texts, count)
        return encoder._vectors(encoder._ids(texts, count, share), count, dim, normalize, first)

    def _vectors(
        self, batch: Ids, threads: int, dim: int, normalize: bool, first: int = 0
    ) -> Vectors:
        """The rows alone, with a warning of those without a known word, counted from `first`."""
        rows, known = self._rows(batch, threads, dim, normalize)
        if np.count_nonzero(known) < len(known):
            _warn_of_empty(np.flatnonzero(known == 0) + first, len(known))
        return rows

    def _rows(
        self, batch: Ids, threads: int, dim: int, normalize: bool
    ) -> tuple[Vectors, NDArray[np.int32]]:
        rows, known = self._pooler(*batch, self._steps, threads)
        if dim != rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, :dim])
        if boolean(normalize, "normalize"):
            unit = kernels.Steps([("normalise", dim)])
            rows = kernels.apply_steps(rows, None, unit, threads)
        return np.asarray(rows, np.float32), known

    def _ids(self, texts: list[str], threads: int, share: KnownShare | None = None) -> Ids:
        """Ids with a warning of few known words; `share` is that of a call with many blocks, which warns once."""
        share = share or KnownShare()
        ids = self._counted_ids(texts, threads, share.counts)
        share.warn_if_few()
        return ids

    def _counted_ids(self, texts: list[str], threads: int, counts: list[int]) -> Ids:
        if self.tokenizer is None:
            return self.words.lexicon.look_up(texts, threads, counts)
        tokens = tokens_of(texts, self.tokenizer)
        return self.words.vocabulary.look_up_tokens(tokens, counts)

    @cached_property
    def _pooler(self) -> Pooler:
        return self.method.pooler(self.words, self._state.learnt)

    @cached_property
    def _steps(self) -> kernels.Steps:
        return refine.kernel_steps(self._state.steps)

    def _cut(self, dim: int | None) -> int:
        if dim is None:
            return self.dim
        if not self.ordered:
            raise ParameterError(
                f"dim={dim} would keep an arbitrary part of the vector: fit the encoder with "
                "refine=Whitening(), whose first dimensions matter most"
            )
        if not 1 <= whole(dim, "dim", 1) <= self.dim:
            raise ParameterError(f"dim={dim}, but a vector has {self.dim} dimensions")
        return int(dim)

    # Seeing inside

    def explain(self, text: str) -> Explanation:
        """What each token of a text gave to its vector: `contributions` (tokens, width) that add up to `pooled`, and more."""
        # imported lazily: few processes explain, and its dataclasses would slow every start
        from noppa.explain.explain import explanation

        state = self._state
        tokens = tokens_of(texts_of([text]), self.split)
        words = self.words.for_tokens(tokens, 1)
        return explanation(
            text, tokens[0], words, self.method, state.learnt, state.steps, self._refinements
        )

    def explain_pair(self, a: str, b: str) -> PairExplanation:
        """The cosine of two texts divided over their pairs of tokens, (tokens of a, tokens of b)."""
        from noppa.explain.explain import pair_explanation

        return pair_explanation(self.explain(a), self.explain(b))

    # Other processes

    def __reduce__(self) -> tuple[Any, ...]:
        """A saved encoder travels as its identity, so that every process maps the same file; any other one whole."""
        if self.tokenizer is None and self.identity.is_on_disk:
            return (reopened, (self.identity,))
        return (object.__new__, (type(self),), {**self._parts, "identity": IN_MEMORY})


def _warn_of_empty(rows: NDArray[np.int64], count: int) -> None:
    shown = ", ".join(map(str, rows[:5].tolist())) + (", …" if len(rows) > 5 else "")
    warn(f"{len(rows)} of {count} texts have no known word and became rows of zeros: {shown}")


def reopened(identity: Identity) -> Encoder:
    """The encoder of an identity that was pickled or sent, and no other."""
    if identity.path is None:
        raise ParameterError("an encoder that is only in memory cannot be opened again: save it")
    try:
        how = identity.tokenizer or None
        encoder = Encoder.open_folder(identity.path, how, identity.verified)
    except FileError as error:
        raise FileError(
            f"an encoder was pickled as its folder {identity.name}, which cannot be loaded here: {error}"
        ) from error
    if encoder.identity.checksum != identity.checksum:
        raise FileError(
            f"{identity.name} holds another encoder here than the one that was pickled: {_remedy(identity)}"
        )
    return encoder


def _remedy(identity: Identity) -> str:
    if identity.kind != PRESET:
        return "copy that one here"
    return (
        f'noppa.load("{identity.name}") is the preset of this version; for the one that was pickled, save it as a folder with the '
        "version that pickled it, and load that"
    )
