"""Fuzz the readers of saved folders: words, encoders of every method, index segments and classifiers.

The bytes choose a folder and the changes to it. Sizes, checksums and seals are recomputed, so that only the checks of
structure stand between the folder and the kernels. Loading raises a `NoppaError`, or the result works.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa import Encoder, WordVectors, _native
from noppa.io import storage
from noppa.methods import METHODS
from noppa.search.hits import Collection, find_hits
from noppa.search.rows import Row
from noppa.search.segment import TABLE, Part, Segment, State
from noppa.search.vectors import build_cells, to_stored
from noppa.search.where import Condition
from noppa.words.ngram_vectors import MappedRows, NgramVectors

WORDS = ["the", "a", "girl", "boy", "eats", "cake", "café", "##ing", "##s", "<unk>"]
TEXTS = ["the girl eats a cake", "a boy", "cakes eating café", "unknown", ""]
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64, 10**30, -(2**63), 0.5, 1e308,
    -1e308, "", "x", "zero", "unk", "pieces", "lower", "words", "../words", "../../words", "/dev/zero", "average", "dct",
    [], {}, [1], [1, 2], [2**62, 2**62], [[]], {"name": "average"}, {"name": []}, {"kind": "map"}, {"kind": "normalise"},
    {"bytes": -1, "sha256": ""}, {"bytes": 10**12, "sha256": "0" * 64},
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 127, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -1.0, 1.5, 1e-300, 1e38, 1e300, float("inf"), float("-inf"), float("nan")]
TYPES = [
    "<f4",
    "<f8",
    "<f2",
    "|i1",
    "|u1",
    "<i4",
    "<i8",
    "<u8",
    "|b1",
    ">f4",
    "|O",
    "<c8",
    "<U4",
    "|V8",
]
SAVED_FOLDER_SEEDS = [bytes([number, *range(number, number + 24)]) for number in range(64)]

#: Path inside the folder -> header (dict) or content (bytes).
Files = dict[str, Any]


class Choices:
    """Read numbers from the fuzzer's bytes; zeros at the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, limit: int) -> int:
        wide = 1 if limit <= 256 else 4
        self.at += wide
        return int.from_bytes(self.data[self.at - wide : self.at], "little") % max(limit, 1)

    def of(self, items: Any) -> Any:
        return items[self.below(len(items))]


@cache
def folders() -> dict[str, Files]:
    """Return a small saved folder of every kind."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(len(WORDS), 6)).astype(np.float32)
    plain = WordVectors(WORDS, matrix, np.full(len(WORDS), 0.1))
    corpus = [" ".join(rng.choice(WORDS[:7], 4)) for _ in range(40)]
    small = {"k": 2}
    options = {
        "vlawe": small,
        "s3e": small,
        "noppa": small,
        "gem": {"k": 3, "h": 2},
        "sent2vec": {"buckets": 8},
        "usif": {"a": 0.01},
    }
    made: dict[str, Any] = {
        "words": plain,
        "float16": WordVectors(WORDS, matrix.astype(np.float16), unknown="unk"),
        "int8": WordVectors(
            WORDS, np.ones((10, 6)), np.full(10, 0.1), pieces=3, unknown="pieces"
        ).quantized(8, (4, 2)),
        "fasttext": _fasttext(),
        "segment": made_segment("float16"),
        "cells": made_segment("int8"),
    }  # fmt: skip
    for name, kind in METHODS.items():
        made[name] = Encoder(plain, kind(**options.get(name, {}))).fit(corpus)
    steps = (noppa.CommonComponents(1), noppa.Whitening(dim=4), noppa.Normalize())
    made["refined"] = Encoder(plain, noppa.Average(), steps).fit(corpus)
    packed = plain.quantized([4, 8], [3, 3])
    made["packed"] = Encoder(packed, noppa.NoPPA(k=0, pair_columns=(1, 4)))
    return {name: _files(value) for name, value in made.items()}


def _fasttext() -> WordVectors:
    """Return words with n-grams, some buckets pruned."""
    rows = np.random.default_rng(5).normal(size=(5, 6)).astype(np.float32)
    words = WordVectors(WORDS, np.ones((len(WORDS), 6), np.float32), np.full(len(WORDS), 0.1))
    buckets = np.array([1, 3, 4, 8, 10], np.int32), np.arange(5, dtype=np.int32)
    words.ngrams = NgramVectors(MappedRows.from_matrix(rows), 0, 5, 11, (2, 4), buckets, "made")
    words.lexicon.unknown = "ngrams"
    return words


def made_segment(dtype: str) -> Segment:
    """Return an index segment; with int8 vectors it has cells."""
    vectors = np.random.default_rng(4).normal(size=(60, 4)).astype(np.float32)
    rows = [Row(str(at), f"{TEXTS[at % len(TEXTS)]} {at}", {"at": at}) for at in range(60)]
    made = Segment.from_rows(rows, to_stored(vectors, dtype), _native.tokenize)
    if dtype == "int8":
        arrays = {**made.arrays, **build_cells(made.arrays)}
        made = Segment(arrays, made.table)
    return made


def _files(saved: Any) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        (saved.write if isinstance(saved, Segment) else saved.save)(Path(folder, "saved"))
        found = {
            str(path.relative_to(Path(folder, "saved"))): path.read_bytes()
            for path in sorted(Path(folder, "saved").rglob("*"))
            if path.is_file()
        }
    for name in [name for name in found if name.endswith(storage.HEADER)]:
        found[name] = json.loads(found[name].rsplit(b"\n", 2)[0])
    return found


def change_header(header: dict[str, Any], choices: Choices) -> None:
    """Replace, remove or nudge one value somewhere in a header."""
    at: Any = header
    while True:
        key = choices.of(sorted(at) if isinstance(at, dict) else range(len(at)))
        if not (isinstance(at[key], (dict, list)) and at[key] and choices.below(3)):
            break
        at = at[key]
    action = choices.below(4)
    if action == 0 and isinstance(at, dict):
        del at[key]
    elif action == 1 and isinstance(at[key], (int, float)):
        at[key] += choices.of([1, -1, 2**31, 2**62])
    elif action == 2 and isinstance(at[key], list):
        at[key] = at[key] * 2
    else:
        at[key] = copy.deepcopy(choices.of(VALUES))


def changed_array(content: bytes, choices: Choices) -> bytes:
    """Return an array with changed numbers, type, shape or bytes."""
    start = 10 + int.from_bytes(content[8:10], "little")
    action = choices.below(6)
    if action == 0:
        head = content[:start]
        kind = head[head.index(b"'descr': '") + 10 :].split(b"'")[0]
        changed = head.replace(kind, choices.of(TYPES).encode())
        return _padded(changed, start) + content[start:]
    if action == 1:
        head = content[: content.index(b"'shape': (")]
        sizes = [
            choices.of([0, 1, 2, 6, 10, 11, 10**12, 2**62, 2**63]) for _ in range(choices.below(4))
        ]
        shape = ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "")
        return _padded(head + b"'shape': (" + shape.encode() + b"), }", start) + content[start:]
    if action == 2:
        return content[: choices.below(len(content) + 1)]
    if action == 3:
        return content + bytes(choices.below(64))
    changed = bytearray(content)
    if action == 4 and len(content) > start:
        dtype = np.dtype(_type_of(content))
        numbers = np.frombuffer(changed, dtype, offset=start)
        for _ in range(1 + choices.below(3)):
            value = choices.of(FLOATS if dtype.kind == "f" else NUMBERS)
            with np.errstate(all="ignore"):
                numbers[choices.below(len(numbers))] = np.array(value).astype(dtype)
        return bytes(changed)
    return changed_bytes(content, choices)


def changed_bytes(content: bytes, choices: Choices) -> bytes:
    changed = bytearray(content)
    for _ in range(1 + choices.below(8)):
        changed[choices.below(len(changed))] = choices.below(256)
    return bytes(changed)


def _type_of(content: bytes) -> str:
    return content[content.index(b"'descr': '") + 10 :].split(b"'")[0].decode()


def _padded(head: bytes, length: int) -> bytes:
    return head.rstrip()[: length - 1].ljust(length - 1) + b"\n"


def write(files: Files, folder: Path) -> None:
    """Write a folder with correct sizes, checksums and seals, the words of an encoder first."""
    seal = None
    for name in sorted(files, key=lambda name: -name.count("/")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(storage.HEADER):
            path.write_bytes(files[name])
    for name in sorted(
        (n for n in files if n.endswith(storage.HEADER)), key=lambda n: -n.count("/")
    ):
        header = files[name]
        listed = header.get("files")
        listed = {**listed, TABLE: header.get("table")} if isinstance(listed, dict) else {}
        for file, facts in listed.items():
            content = files.get(str(Path(name).parent / file))
            if isinstance(content, bytes) and isinstance(facts, dict):
                facts.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        if seal is not None and "seal of words" in header:
            header["seal of words"] = seal
        text = json.dumps(header, indent=1, ensure_ascii=False)
        seal = hashlib.sha256(text.encode()).hexdigest()
        (folder / name).write_text(f"{text}\n{seal}\n", encoding="utf-8")


def use(folder: Path) -> None:
    """Load a folder of any kind and use it."""
    kind = storage.kind_of(folder)
    if kind == "index segment":
        segment = Segment.open(folder)
        collection = Collection(State((Part(segment),)), [Condition("at", ">", 3)])
        query = np.full(segment.dim, 0.5, np.float32)
        words = WordVectors(WORDS, np.ones((len(WORDS), 6), np.float32))
        tokens = TEXTS[0].split()
        find_hits(collection, TEXTS[0], tokens, query, "hybrid", 3, False, 1, words)
        segment.table.all_rows(segment.count)
    elif kind == "encoder":
        encoder = noppa.load(folder)
        assert np.isfinite(encoder.encode(TEXTS, threads=1)).all()
        encoder.explain(TEXTS[0])
    else:
        words = WordVectors.load(folder).for_tokens([TEXTS], 1)
        words.vocabulary.look_up(TEXTS, 1)
        assert np.isfinite(words.vectors(np.arange(len(words)))).all()
        assert len(words.words) == len(words)


def saved_folder(data: bytes) -> None:
    damage(data, folders(), use)


def damage(data: bytes, kinds: dict[str, Files], use: Callable[[Path], None]) -> None:
    """Change up to three files of a saved folder, and use it: it works, or raises a NoppaError."""
    choices = Choices(data)
    files = copy.deepcopy(choices.of(list(kinds.values())))
    names = sorted(files)
    for _ in range(1 + choices.below(3)):
        name = names.pop(choices.below(len(names)))
        if name.endswith(".npy"):
            files[name] = changed_array(files[name], choices)
        elif isinstance(files[name], bytes):
            files[name] = changed_bytes(files[name], choices)
        else:
            change_header(files[name], choices)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write(files, Path(folder))
        with suppress(noppa.NoppaError):
            use(Path(folder))


# Classifiers

FILM_TEXTS = ["a fine film", "a dull play", "fine songs", "dull and grey"] * 3
FILM_LABELS = ["good", "bad", "good", "bad"] * 3
SAVED_CLASSIFIER_SEEDS = [bytes([number, *range(number, number + 24)]) for number in range(32)]


@cache
def classifier_folders() -> dict[str, Files]:
    """Return a classifier of every kind, without vectors: encoders have their own target."""
    bare = noppa.Classifier(False, folds=2)
    longer = noppa.Classifier(False, ngrams=(2, 3), folds=2)
    made = {
        "two": bare.fit(FILM_TEXTS, FILM_LABELS),
        "three": longer.fit(FILM_TEXTS, [at % 3 for at in range(12)]),
        "several": noppa.Classifier(False, folds=2).fit(
            FILM_TEXTS, [[one, "x"] for one in FILM_LABELS]
        ),
        "pairs": noppa.Classifier(False, folds=2).fit((FILM_TEXTS, FILM_TEXTS[::-1]), FILM_LABELS),
        "zero-shot": noppa.Classifier.zero_shot(["sport", "money"]),
    }
    return {name: _files(value) for name, value in made.items()}


def use_classifier(folder: Path) -> None:
    model = noppa.load_classifier(folder)
    texts = (
        [("a fine", "film"), ("", "")] if model.contents.features.paired else ["a fine film", ""]
    )
    assert np.isfinite(model.predict_proba(texts)).all()
    model.explain(texts[0]).reasons()


def saved_classifier(data: bytes) -> None:
    damage(data, classifier_folders(), use_classifier)
