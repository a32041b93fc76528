"""`noppa.find_topics`: groups of texts with names and representatives, and the texts that resemble no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.display import Displayed, cut, frame
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import External, Model, resolve_model, unit_vectors
from noppa.errors import InputError
from noppa.parameters import whole
from noppa.topics.groups import Check, Vectors, group_rows, largest_scores, outlier_scores
from noppa.topics.keywords import Language, name_groups
from noppa.words.texts import texts_of

REPRESENTATIVES, OUTLIERS = 5, 10
#: Characters of a text that `print` shows.
WIDTH = 70
#: The printed name of a topic whose texts contain no words.
NAMELESS = "(no words)"


class Topic(NamedTuple):
    """A group of texts: the words that distinguish it, its size, and the rows nearest to its centre."""

    words: tuple[str, ...]
    size: int
    representatives: tuple[int, ...]

    @property
    def name(self) -> str:
        """The words, separated by commas."""
        return ", ".join(self.words)


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Displayed):
    """The topics of a collection of texts.

    vectors (texts, dim): the unit vectors of the texts. topics: the largest first. labels (texts,): the topic of each text.
    nearness (texts,): the cosine of each text with the centre of its topic. outlier_scores (texts,): how different each text
    is from all others.
    """

    texts: Sequence[str]
    vectors: Vectors
    topics: list[Topic]
    labels: NDArray[np.int64]
    nearness: NDArray[np.float32]
    outlier_scores: NDArray[np.float64]

    @property
    def outliers(self) -> list[int]:
        """The rows that differ most from all others, the most different first."""
        return [int(row) for row in largest_scores(self.outlier_scores, OUTLIERS)]

    @property
    def _title(self) -> str:
        topics, texts = len(self.topics), len(self.texts)
        return f"{topics} topic{'s' * (topics != 1)} of {texts:,} text{'s' * (texts != 1)}"

    def __repr__(self) -> str:
        return f"Topics({self._title})"

    def __str__(self) -> str:
        lines = [self._title]
        for topic in self.topics:
            lines.append(f"{topic.size:7,}  {topic.name or NAMELESS}")
            lines += [f"{'':9}{cut(self.texts[row], WIDTH)}" for row in topic.representatives[:1]]
        return "\n".join(lines)

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "texts": [topic.size for topic in self.topics],
            "name": [topic.name or NAMELESS for topic in self.topics],
            "representative": [self.texts[topic.representatives[0]] for topic in self.topics],
        }

    def to_pandas(self) -> Any:
        """Return a data frame with one row per text: its topic by number and name, its nearness, and its outlier score."""
        names = [topic.name for topic in self.topics]
        return frame(
            {
                "text": list(self.texts),
                "topic": self.labels,
                "name": [names[label] for label in self.labels.tolist()],
                "nearness": self.nearness,
                "outlier_score": self.outlier_scores,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the topics and the outliers with their texts, as plain data."""

        def with_texts(rows: Sequence[int]) -> list[dict[str, Any]]:
            return [{"row": row, "text": self.texts[row]} for row in rows]

        topics = [
            {
                "name": topic.name,
                "words": list(topic.words),
                "size": topic.size,
                "representatives": with_texts(topic.representatives),
            }
            for topic in self.topics
        ]
        outliers = with_texts(self.outliers)
        return {"texts": len(self.texts), "topics": topics, "outliers": outliers}


def find_topics(
    texts: Iterable[str],
    n: int | None = None,
    model: Model | None = None,
    *,
    threads: int | None = None,
) -> Topics:
    """Group texts into topics.

    Args:
        texts: The texts.
        n: How many topics; None for as many as differ, up to 50.
        model: A preset's name, a path, an `Encoder` or any object with `encode`; None for the preset "similarity".
        threads: For encoding.

    >>> import noppa
    >>> pets, food = ["a dog barks", "the dog sleeps"], ["fresh bread", "bread and cheese"]
    >>> [topic.words[0] for topic in noppa.find_topics(pets * 3 + food * 2, 2).topics]
    ['dog', 'bread']
    """
    if isinstance(texts, str):
        raise InputError("a single text has no topics", "give a collection of texts")
    items, encoder = texts_of(texts), resolve_model(model)
    return topics_of(items, unit_vectors(encoder, items, threads), encoder, n)


def topics_of(
    texts: Sequence[str],
    vectors: Vectors,
    encoder: Encoder | External,
    n: int | None = None,
    check: Check = lambda: None,
) -> Topics:
    """Group texts with these unit vectors into topics."""
    n = None if n is None else whole(n, "n", 1)
    groups = group_rows(vectors, n, check, REPRESENTATIVES)
    names = name_groups(texts, groups.labels, Language(encoder), check=check)
    topics = [
        Topic(words, size, tuple(central.tolist()))
        for words, size, central in zip(names, groups.sizes.tolist(), groups.central, strict=True)
    ]
    scores = outlier_scores(vectors, check)
    return Topics(texts, vectors, topics, groups.labels, groups.nearness, scores)
