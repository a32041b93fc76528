"""Topics of texts: groups with names and representatives, and the texts that are like no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.display import Displayed, Table, View, cut, frame
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import External, resolve_model, unit_vectors
from noppa.errors import InputError
from noppa.parameters import whole
from noppa.topics.group_names import name_groups
from noppa.topics.groups import Check, Groups, Vectors, grouped
from noppa.topics.outliers import most_unlike, outlier_scores
from noppa.topics.word_candidates import Language
from noppa.words.texts import texts_of

REPRESENTATIVES, OUTLIERS = 5, 10
#: Characters of a text that `print` shows.
WIDTH = 70
#: What it shows of a topic in whose texts there is no word.
NAMELESS = "(no words)"


class Topic(NamedTuple):
    """A group of texts: the words that tell it from the others, its size, and the rows nearest to its middle."""

    words: tuple[str, ...]
    size: int
    representatives: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its words, with commas between them."""
        return ", ".join(self.words)


@dataclass(frozen=True, eq=False, repr=False)
class Topics(Displayed):
    """texts and their unit vectors (texts, dim); `topics`, the largest first; labels (texts,): the topic of each text.

    nearness (texts,): the cosine of each text with the middle of its topic. outlier_scores (texts,): how unlike all others.
    """

    texts: Sequence[str]
    vectors: Vectors
    topics: list[Topic]
    labels: NDArray[np.int64]
    nearness: NDArray[np.float32]
    outlier_scores: NDArray[np.float64]

    @property
    def outliers(self) -> list[int]:
        """The rows that are most unlike all others, the strangest first."""
        return [int(row) for row in most_unlike(self.outlier_scores, OUTLIERS)]

    @property
    def _title(self) -> str:
        topics, texts = len(self.topics), len(self.texts)
        return f"{topics} topic{'s' * (topics != 1)} of {texts:,} text{'s' * (texts != 1)}"

    def __repr__(self) -> str:
        return f"Topics({self._title})"

    def __str__(self) -> str:
        lines = [self._title]
        for topic in self.topics:
            lines += [f"{topic.size:7,}  {topic.name or NAMELESS}"]
            lines += [
                f"         {cut(self.texts[row], WIDTH)}" for row in topic.representatives[:1]
            ]
        return "\n".join(lines)

    def to_pandas(self) -> Any:
        """A row for each text: its topic by number and name, its nearness to the topic's middle, and its outlier score."""
        names = [topic.name for topic in self.topics]
        columns = {
            "text": list(self.texts),
            "topic": self.labels,
            "name": [names[at] for at in self.labels.tolist()],
        }
        return frame(columns | {"nearness": self.nearness, "outlier_score": self.outlier_scores})

    def _view(self) -> View:
        rows = [
            (
                topic.size,
                topic.name or NAMELESS,
                *(self.texts[row] for row in topic.representatives[:1]),
            )
            for topic in self.topics
        ]
        return View(self._title, [Table(["texts", "name", "representative"], rows)])

    def to_dict(self) -> dict[str, Any]:
        """The topics and the outliers with their texts, as JSON."""

        def listed(rows: Sequence[int]) -> list[dict[str, Any]]:
            return [{"row": row, "text": self.texts[row]} for row in rows]

        topics = [
            {
                "name": topic.name,
                "words": list(topic.words),
                "size": topic.size,
                "representatives": listed(topic.representatives),
            }
            for topic in self.topics
        ]
        return {"texts": len(self.texts), "topics": topics, "outliers": listed(self.outliers)}


def find_topics(
    texts: Any,
    count: int | None = None,
    model: Any = None,
    *,
    threads: int | None = None,
) -> Topics:
    """So many topics, or where `count` is None as many as differ, up to 50.

    model: a preset's name, a folder, an `Encoder` or any object with `encode`; the preset for cosines where None.

    >>> from noppa.topics.find_topics import find_topics
    >>> pets, food = ["a dog barks", "the dog sleeps"], ["fresh bread", "bread and cheese"]
    >>> [topic.words[0] for topic in find_topics(pets * 3 + food * 2, 2).topics]
    ['dog', 'bread']
    """
    if isinstance(texts, str):
        raise InputError("a single text has no topics: give a collection of texts")
    items, encoder = texts_of(texts), resolve_model(model)
    return topics_of(items, unit_vectors(encoder, items, threads), encoder, count)


def topics_of(
    texts: Sequence[str],
    vectors: Vectors,
    encoder: Encoder | External,
    count: int | None = None,
    check: Check = lambda: None,
) -> Topics:
    """The topics of texts with these unit vectors."""
    if count is not None:
        count = whole(count, "count", 1)
    groups = grouped(vectors, count, check, REPRESENTATIVES)
    names = name_groups(texts, groups.labels, Language(encoder), check=check)
    scores = outlier_scores(vectors, check)
    return Topics(texts, vectors, _topics(groups, names), groups.labels, groups.nearness, scores)


def _topics(groups: Groups, names: list[tuple[str, ...]]) -> list[Topic]:
    rows = zip(names, groups.sizes.tolist(), groups.central, strict=True)
    return [Topic(words, size, tuple(central.tolist())) for words, size, central in rows]
