"""Saved classifiers with wrong headers and arrays under right checksums: see saved_folder, whose changes these are.

Loading one gives a `NoppaError`, or something that predicts and explains.
"""

from __future__ import annotations

import copy
import os
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

import noppa
from reliability.fuzz.saved_folder import (
    Choices,
    Files,
    _files,
    change_header,
    changed_array,
    write,
)

TEXTS = ["a fine film", "a dull play", "fine songs", "dull and grey"] * 3
LABELS = ["good", "bad", "good", "bad"] * 3
SEEDS = [bytes([number, *range(number, number + 24)]) for number in range(32)]


@cache
def folders() -> dict[str, Files]:
    """Classifiers of each kind, small: without vectors, since encoders are fuzzed by themselves."""
    bare = noppa.Classifier(False, folds=2)
    kept = noppa.Classifier(False, ngrams=(2, 3), folds=2, keep_texts=True)
    made = {
        "two": bare.fit(TEXTS, LABELS),
        "three": kept.fit(TEXTS, [at % 3 for at in range(12)]),
        "several": noppa.Classifier(False, folds=2).fit(TEXTS, [[one, "x"] for one in LABELS]),
        "pairs": noppa.Classifier(False, folds=2).fit((TEXTS, TEXTS[::-1]), LABELS),
        "zero-shot": noppa.Classifier.zero_shot(["sport", "money"]),
    }
    return {name: _files(value) for name, value in made.items()}


def use(folder: Path) -> None:
    model = noppa.load_classifier(folder)
    texts = (
        [("a fine", "film"), ("", "")] if model.contents.features.paired else ["a fine film", ""]
    )
    assert np.isfinite(model.predict_proba(texts)).all()
    model.explain(texts[0]).reasons()


def once(data: bytes) -> None:
    choices = Choices(data)
    files = copy.deepcopy(choices.of(list(folders().values())))
    names = sorted(files)
    for _ in range(1 + choices.below(3)):
        name = names.pop(choices.below(len(names)))
        if isinstance(files[name], bytes):
            files[name] = changed_array(files[name], choices)
        else:
            change_header(files[name], choices)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        write(files, Path(folder))
        with suppress(noppa.NoppaError):
            use(Path(folder))
