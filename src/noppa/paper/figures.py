"""Redraw the figures of the paper with any encoder, next to the values that the paper prints."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, ParameterError
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of
from noppa.plot.page import page
from noppa.plot.pictures import Bars, Heatmap, Lines, Picture, save
from noppa.plot.views import attention, contributions, weights
from noppa.words.word_vectors import WordVectors

NOTICE = (
    "The paper used GloVe vectors of 300 dimensions, and settings that it does not print with its figures. With other "
    "vectors, compare the pattern of strong and weak words rather than the digits. Figure 1 depends on word counts alone: "
    "with the authors' counts it agrees to every digit that the paper prints."
)
RECONSTRUCTED = (
    "The paper's text names only phrases of this sentence; the rest is our reconstruction."
)

#: The words, sentences and values that the paper prints.
_PRINTED: dict[str, Any] = json.loads(
    Path(__file__).with_name("figures.json").read_text(encoding="utf-8")
)
#: Figure 1: mean weights of two groups of words for the values of `a` in `views.A_VALUES`. The values are half of
#: equation 9's weight, over the 11 stop words that the authors' counts hold: they lack "." and ",".
GROUPS, WEIGHTS = _PRINTED["groups"], _PRINTED["weights"]
#: Figure 2: the cosine of each word with its sentence.
CONTRIBUTIONS = _PRINTED["contributions"]
#: Figure 3, and its one printed row: the attention of "bleeding" in percent, times the weight of that word.
BLEEDING, BLEEDING_ROW = _PRINTED["bleeding"]
#: Figures 4 and 5: sentences reconstructed from the phrases that the paper's text names, and the one value it prints.
CRASHED, *CRASHED_VALUE = _PRINTED["crashed"]
TROUBLE, *TROUBLE_VALUE = _PRINTED["trouble"]


def figures(
    encoder: Encoder, folder: str | PathLike[str], counts: str | PathLike[str] | None = None
) -> list[Path]:
    """Write figure1 … figure5 as .svg, and index.html with all of them; return the paths.

    A figure that the encoder cannot provide, such as attention without NoPPA, is left out, and the page gives the reason.

    Args:
        counts: Word counts for Figure 1; by default the probabilities of the encoder's words are used.
    """
    target = path_of(folder)
    if target.exists() and not target.is_dir():
        raise FileError(f"{target} is a file: give a folder for the figures")
    words = encoder.words if counts is None else counted(counts)
    makers: dict[str, Callable[[], Sequence[Picture]]] = {
        "figure1": lambda: [figure1(words)],
        "figure2": lambda: figure2(encoder),
        "figure3": lambda: figure3(encoder),
        "figure4": lambda: [attention_figure(encoder, 4, CRASHED, CRASHED_VALUE)],
        "figure5": lambda: [attention_figure(encoder, 5, TROUBLE, TROUBLE_VALUE)],
    }
    drawn: dict[str, Sequence[Picture]] = {}
    missing = {}
    for name, make in makers.items():
        try:
            drawn[name] = make()
        except ParameterError as error:
            missing[name] = str(error)
    if not drawn:
        raise ParameterError(f"no figure can be drawn: {missing['figure3']}")
    target.mkdir(parents=True, exist_ok=True)
    written = [save(pictures, target / f"{name}.svg") for name, pictures in drawn.items()]
    lines = [NOTICE, f"Drawn with {encoder!r}."]
    lines += [f"{name} is left out: {reason}." for name, reason in missing.items()]
    notes = "".join(f'<p class="note">{html.escape(line)}</p>\n' for line in lines)
    everything = [picture for pictures in drawn.values() for picture in pictures]
    text = page(everything, "The figures of the NoPPA paper", notes)
    with atomic_file(target / "index.html") as new:
        new.write_text(text, encoding="utf-8")
    return [*written, target / "index.html"]


def counted(counts: str | PathLike[str]) -> WordVectors:
    """Return the words of Figure 1 with their probabilities from a file of counts."""
    words = [word for group in GROUPS.values() for word in group]
    return WordVectors(words, np.ones((len(words), 1))).with_counts(counts)


def figure1(words: WordVectors) -> Lines:
    """Draw the mean weights of stop words and of meaningful words against a."""
    return replace(
        weights(words, GROUPS),
        title="Figure 1: mean weight of stop words and of meaningful words against a",
        dots={name: np.array(values) for name, values in WEIGHTS.items()},
        dots_name="the paper",
    )


def figure2(encoder: Encoder) -> list[Bars]:
    """Draw the cosine of each word with its sentence, for three sentences."""
    pictures = []
    for text, printed in CONTRIBUTIONS.items():
        picture = contributions(encoder.explain(text))
        if not np.any(picture.values):
            raise ParameterError(f"no word of {text!r} is in the vocabulary")
        pictures.append(_with_printed(replace(picture, title=f"Figure 2: “{text}”"), printed))
    return pictures


def figure3(encoder: Encoder) -> list[Picture]:
    """Draw attention in one sentence, and the row of "bleeding", which the paper prints."""
    explanation = encoder.explain(BLEEDING)
    picture = attention(explanation)
    pictures: list[Picture] = [replace(picture, title=f"Figure 3: {picture.title}")]
    if "bleeding" in explanation.tokens and explanation.attention is not None:
        row = explanation.attention[explanation.tokens.index("bleeding")]
        bars = Bars(
            "Figure 3: attention of “bleeding”",
            "Raw attention in percent. The paper's row is weighted: it adds up to 99.19, half the weight of “bleeding” "
            "for a = 0.001 in the authors' counts.",
            explanation.tokens,
            100 * row,
            "attention in %",
            explanation.known,
        )
        pictures.append(_with_printed(bars, BLEEDING_ROW))
    return pictures


def attention_figure(encoder: Encoder, number: int, text: str, printed: Sequence[Any]) -> Heatmap:
    """Draw attention in a reconstructed sentence, with the one value that the paper prints."""
    explanation = encoder.explain(text)
    picture = attention(explanation)
    word, other, value = printed
    ours = ""
    if explanation.attention is not None and {word, other} <= set(explanation.tokens):
        row, column = map(explanation.tokens.index, (word, other))
        ours = f", here {100 * explanation.attention[row, column]:.2f} %"
    return replace(
        picture,
        title=f"Figure {number}: {picture.title}",
        note=f"{picture.note} {RECONSTRUCTED} “{word}” gives “{other}” {value} % in the paper{ours}.",
    )


def _with_printed(picture: Bars, printed: Sequence[float]) -> Bars:
    """Add the paper's values to bars, if the tokens are the paper's."""
    if len(printed) != len(picture.names):
        return picture
    return replace(picture, marks=np.array(printed, float), marks_name="the paper")
