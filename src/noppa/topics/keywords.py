"""Words that describe texts: `noppa.keywords` of a text or a group, and names that distinguish groups from each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SIMILARITY, External, Model, load, resolve_model, unit_vectors
from noppa.parameters import number, whole
from noppa.text.characters import is_letter, lower
from noppa.text.tokenizer import Split
from noppa.topics.groups import spread
from noppa.words.texts import texts_of
from noppa.words.word_vectors import WordVectors

#: Words with a larger share of all text describe nothing: in English some 120, such as "the" and "over".
COMMON = 1e-3
#: Keywords: texts of a large group that are read, and the number of its most frequent words that are compared with it.
READ, CANDIDATES = 20_000, 300
DIVERSITY = 0.3
#: Names: words, and texts of a group that are read.
NAME_WORDS, NAME_READ = 4, 2_000
#: The assumed share of a word of unknown frequency, if there is only one group.
RARE = 1e-6
#: Texts between two calls of `check`.
BLOCK = 256


class Language:
    """The tokenizer of an encoder, and the share of each word in text of its language."""

    def __init__(self, encoder: Encoder | External | None = None) -> None:
        ours = encoder if isinstance(encoder, Encoder) else None
        self.split: Split = ours.split if ours else kernels.tokenize
        has_shares = ours is not None and ours.words.probabilities is not None
        self.words: WordVectors = ours.words if ours and has_shares else load(SIMILARITY).words

    def share(self, word: str) -> float:
        """Return the share of a word in all text; 0 if it is unknown."""
        row = self.words.lexicon.row(word)
        probabilities = self.words.probabilities
        return 0.0 if row < 0 or probabilities is None else float(probabilities[row])

    def is_common(self, word: str) -> bool:
        """Return whether a word is too frequent to describe anything."""
        return self.share(word) >= COMMON

    def phrases(self, text: str) -> Iterator[list[str]]:
        """Yield the runs of words of a text that no punctuation interrupts, in lower case."""
        phrase: list[str] = []
        for token in self.split(text):
            if any(map(is_letter, token)) and "'" not in token:  # n't and 's are no words
                phrase.append(lower(token))
            elif phrase:
                yield phrase
                phrase = []
        if phrase:
            yield phrase


class Keyword(NamedTuple):
    """A word or pair of words, its cosine with all texts together, and the number of texts that contain it."""

    text: str
    similarity: float
    texts: int


def keywords(
    text_or_texts: str | Iterable[str],
    n: int = 10,
    *,
    diversity: float = DIVERSITY,
    model: Model | None = None,
    threads: int | None = None,
) -> list[Keyword]:
    """Return up to n words and pairs of words nearest to a text, or to a group of texts taken together, nearest first.

    Words that are very frequent in the language are left out, by the word probabilities of the encoder.

    Args:
        text_or_texts: A text, or a collection of texts that are taken together.
        n: How many keywords to return.
        diversity: 0 takes the nearest keywords, however similar. Above 0 no two keywords share a word, and towards 1 each
            must differ more from those before it.
        model: A preset's name, a path, an `Encoder` or any object with `encode`; None for the preset "similarity".
        threads: For encoding.

    >>> import noppa
    >>> [word.text for word in noppa.keywords("the cat sleeps and the cat purrs", 2)]
    ['cat', 'sleeps']
    """
    texts = [text_or_texts] if isinstance(text_or_texts, str) else texts_of(text_or_texts)
    weight = number(diversity, "diversity", 0, 1)
    encoder = resolve_model(model)
    return keywords_of(texts, whole(n, "n", 1), weight, encoder, Language(encoder), threads)


def keywords_of(
    texts: list[str],
    n: int,
    diversity: float,
    encoder: Encoder | External,
    language: Language,
    threads: int | None = None,
) -> list[Keyword]:
    """Return the keywords of texts taken together; of many texts, `READ` spread over all are read."""
    read = [texts[row] for row in spread(len(texts), READ)]
    counts = count_words_and_pairs(read, language)
    words = counts.most_common()
    # A pair that only one of several texts contains does not describe the others.
    frequent = (word for word, count in words if count > 1 or len(read) == 1 or " " not in word)
    candidates = list(islice(frequent, CANDIDATES))
    if not candidates:
        return []
    vectors = unit_vectors(encoder, candidates, threads).astype(float)
    total = unit_vectors(encoder, read, threads).sum(axis=0, dtype=float)
    length = float(np.sqrt(total @ total))
    nearness = np.einsum("cd,d->c", vectors, total / (length or 1))
    chosen = select_diverse(vectors, nearness, n, diversity, candidates)
    return [
        Keyword(candidates[row], float(np.clip(nearness[row], -1, 1)), counts[candidates[row]])
        for row in chosen
    ]


def count_words_and_pairs(texts: Sequence[str], language: Language) -> Counter[str]:
    """Count the texts that contain each word, and each pair of neighbours, without common words."""
    counts: Counter[str] = Counter()
    is_common = cache(language.is_common)
    for text in texts:
        found: dict[str, None] = {}
        for phrase in language.phrases(text):
            found.update(dict.fromkeys(word for word in phrase if not is_common(word)))
            for a, b in pairwise(phrase):
                if a != b and not is_common(a) and not is_common(b):
                    found[f"{a} {b}"] = None
        counts.update(found.keys())
    return counts


def select_diverse(
    vectors: NDArray[np.float64],
    nearness: NDArray[np.float64],
    n: int,
    diversity: float,
    names: list[str],
) -> list[int]:
    """Select up to n rows with a nearness above 0 by maximal marginal relevance: near the whole, far from earlier rows."""
    similarity = np.zeros(len(vectors))
    is_open = nearness > 0
    chosen: list[int] = []
    while len(chosen) < n and is_open.any():
        value = (1 - diversity) * nearness - diversity * similarity
        best = int(np.where(is_open, value, -np.inf).argmax())
        chosen.append(best)
        is_open[best] = False
        if diversity > 0:
            words = set(names[best].split())
            is_open &= [words.isdisjoint(name.split()) for name in names]
        similarity = np.maximum(similarity, np.einsum("cd,d->c", vectors, vectors[best]))
    return chosen


def name_groups(
    texts: Sequence[str],
    labels: ArrayLike,
    language: Language | None = None,
    words: int = NAME_WORDS,
    check: Callable[[], None] = lambda: None,
) -> list[tuple[str, ...]]:
    """Return up to `words` words for each group that distinguish it from the others, the best first.

    A word scores p log(p / q): p is its share of the group's words, and q the larger of its share of all words here (if there
    are other groups) and its share of the language. Common words are left out.

    Args:
        texts: All texts.
        labels: The group of each text from 0, or -1 for none, (texts,).
        language: Where word frequencies come from; None for English.
        check: Called now and then; it may raise to stop the work.
    """
    language = language or Language()
    groups = _count_by_group(texts, np.asarray(labels), language, check)
    everywhere: Counter[str] = Counter()
    for group in groups:
        everywhere.update(group)
    total = everywhere.total()
    is_alone = sum(map(bool, groups)) <= 1
    share = cache(language.share)

    def expected(word: str) -> float:
        return max(RARE if is_alone else everywhere[word] / total, share(word))

    return [_best_words(group, expected, words) for group in groups]


def _count_by_group(
    texts: Sequence[str], labels: NDArray[np.int64], language: Language, check: Callable[[], None]
) -> list[Counter[str]]:
    """Count the texts of each group that contain each word; of a large group, `NAME_READ` spread over it are read."""
    groups = []
    is_common = cache(language.is_common)
    for group in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == group)
        counts: Counter[str] = Counter()
        for done, place in enumerate(spread(len(members), NAME_READ)):
            if done % BLOCK == 0:
                check()
            phrases = language.phrases(texts[int(members[place])])
            counts.update({word for phrase in phrases for word in phrase if not is_common(word)})
        groups.append(counts)
    return groups


def _best_words(
    counts: Counter[str], expected: Callable[[str], float], words: int
) -> tuple[str, ...]:
    """Return the words with the largest scores above 0; ties are in alphabetical order."""
    total = counts.total()
    shares = {word: count / total for word, count in counts.items()}
    scores = {word: share * log(share / expected(word)) for word, share in shares.items()}
    order = sorted(scores, key=lambda word: (-scores[word], word))
    return tuple(word for word in order[:words] if scores[word] > 0)
