"""Load hostile folders with valid checksums: they load or raise, and never crash."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.io import storage
from noppa.search.segment import Segment
from reliability.fuzz.saved_folder import Files, folders, use, write
from tests.conftest import made_texts, made_words

HEADER = storage.HEADER
#: A change of the files of a saved folder, by their names.
Change = Callable[[Files], None]


def array(name: str, change: Callable[[np.ndarray], np.ndarray | None]) -> Change:
    """Change or replace an array, and save it as NumPy does."""

    def changed(files: Files) -> None:
        values = np.load(io.BytesIO(files[name])).copy()
        replaced = change(values)
        stream = io.BytesIO()
        np.save(stream, values if replaced is None else replaced, allow_pickle=True)
        files[name] = stream.getvalue()

    return changed


def put(at: Any, value: Any) -> Callable[[np.ndarray], None]:
    def change(values: np.ndarray) -> None:
        values[at] = value

    return change


def header(field: str, value: Any, name: str = HEADER) -> Change:
    def changed(files: Files) -> None:
        files[name][field] = value

    return changed


def words_header(field: str, value: Any) -> Change:
    """Change the header of an encoder's words."""
    return header(field, value, f"words/{HEADER}")


def without(name: str) -> Change:
    """Remove an array from the folder and its header."""

    def changed(files: Files) -> None:
        del files[name], files[HEADER]["files"][name]

    return changed


def shape(name: str, text: str) -> Change:
    """Claim another shape in the header of an array."""

    def changed(files: Files) -> None:
        content = files[name]
        start = 10 + int.from_bytes(content[8:10], "little")
        head = content[: content.index(b"'shape': ")] + f"'shape': {text}, }}".encode()
        files[name] = head.ljust(start - 1) + b"\n" + content[start:]

    return changed


def both(*changes: Change) -> Change:
    def changed(files: Files) -> None:
        for change in changes:
            change(files)

    return changed


def with_slots(change: Callable[[np.ndarray], None]) -> Change:
    """Add a hash table, which small folders of words do not store."""

    def changed(files: Files) -> None:
        slots = np.zeros(32, np.uint64)
        slots[::2][:10] = np.arange(1, 11)
        change(slots)
        stream = io.BytesIO()
        np.save(stream, slots)
        files["slots.npy"] = stream.getvalue()
        files[HEADER]["files"]["slots.npy"] = {}

    return changed


DAMAGE: dict[str, tuple[str, Change, str]] = {
    "bounds that fall": ("words", array("bounds.npy", put(2, 1)), "bounds.npy.*must rise"),
    "bounds beyond the text": ("words", array("bounds.npy", put(-1, 10**6)), "bounds.npy.*at most"),
    "text of 10**12 bytes": ("words", shape("text.npy", "(1000000000000,)"), "text.npy.*does not fit"),
    "an empty array of any shape": ("words", shape("matrix.npy", f"(0, {2**62})"), "matrix.npy"),
    "an overflowing shape": ("words", shape("matrix.npy", f"({2**62}, {2**62})"), "matrix.npy"),
    "slots all taken": ("words", with_slots(put(slice(None), 1)), "slots.npy.*too many filled"),
    "slots of no word": ("words", with_slots(put(3, 99)), "slots.npy.*a row that is not there"),
    "too few slots": ("words", both(with_slots(put(0, 1)), shape("slots.npy", "(31,)")), "slots"),
    "blocks that overflow": ("int8", header("blocks", [2**62, 2**62]), "'blocks' is"),
    "blocks that do not add up": ("int8", header("blocks", [4, 3]), "'blocks' add up to 7"),
    "bits of no kind": ("packed", words_header("bits", [4, 5]), "'bits' must be 4 or 8 for each of 2 blocks"),
    "bits that are too few": ("packed", words_header("bits", [4]), "'bits' must be 4 or 8 for each of 2"),
    "bits that do not fit the rows": ("packed", words_header("bits", [8, 8]), "expected .words, row_bytes"),
    "packed rows without bits": ("packed", words_header("bits", []), "is u1, expected f4"),
    "more words than rows": ("words", header("words", 11), r"its shape is \(11,\)"),
    "pieces that are all": ("int8", header("pieces", 10), "at least one must be a word"),
    "an unknown policy": ("words", header("unknown", "guess"), "'unknown' is 'guess'"),
    "a true count": ("words", header("words", True), "'words' is True"),
    "one scale for all": ("int8", array("scales.npy", lambda scales: scales[:1]), "scales.npy.*shape"),
    "an infinite scale": ("int8", array("scales.npy", put((3, 1), np.inf)), "scales.npy.*inf"),
    "a matrix with NaN": ("words", array("matrix.npy", put((3, 1), np.nan)), "matrix.npy.*nan"),
    "a probability of 2": ("words", array("probabilities.npy", put(3, 2)), "probabilities.npy.*2.0"),
    "doubles": ("words", array("matrix.npy", lambda a: a.astype(float)), "is f8, expected f4"),
    "big-endian": ("words", array("matrix.npy", lambda a: a.astype(">f4")), "no header of a saved array"),
    "Fortran order": ("words", array("matrix.npy", np.asfortranarray), "no header of a saved array"),
    "pickles": ("words", array("matrix.npy", lambda a: a.astype(object)), "no header of a saved array"),
    "a missing file": ("words", lambda files: files.pop("text.npy"), "text.npy cannot be read"),
    "an unlisted file": ("words", lambda files: files[HEADER]["files"].pop("text.npy"), "lacks text"),
    "files in a list": ("words", header("files", []), "'files' is"),
    "a tokenizer of ours": ("average", header("tokenizer", None), "'tokenizer' is None"),
    "a tokenizer of no name": ("words", header("tokenizer", "fr"), "'tokenizer' is"),
    "rules of no tokenizer": ("words", header("tokenizer", {"name": "telepathy"}), "has an unknown tokenizer"),
    "words elsewhere": ("average", header("words", "../../words"), "'words' is"),
    "an unknown method": ("average", header("method", {"name": "magic"}), "is not registered"),
    "a parameter left out": ("sent2vec", header("method", {"name": "sent2vec"}), "is damaged"),
    "a method's name in a list": ("average", header("method", {"name": ["dct"]}), "'method' is"),
    "an impossible parameter": ("dct", header("method", {"name": "dct", "k": -1}), "cannot be read"),
    "columns outside": ("average", header("columns", [0, 99]), "are not within"),
    "a label of no group": ("s3e", array("labels.npy", put(1, 99)), "labels.npy.*expected 0 to 1"),
    "too few labels": ("vlawe", array("labels.npy", lambda a: a[:-1]), "labels.npy.*words"),
    "too few directions": ("gem", array("directions.npy", lambda a: a[:2]), "directions.npy"),
    "rows of no word": ("fastsent", array("rows.npy", put(0, 10**9)), "rows.npy.*expected 0 to 9"),
    "no rows": (
        "sent2vec",
        both(array("rows.npy", lambda a: a[:0]), array("vectors.npy", lambda a: a[:0])),
        "rows.npy.*shape",
    ),
    "a step of another width": ("refined", array("step1.matrix.npy", lambda a: a[:-1]), "step1.matrix"),
    "a step with NaN": ("refined", array("step1.bias.npy", put(0, np.nan)), "step1.bias.npy.*nan"),
    "a width of another step": (
        "refined",
        lambda files: files[HEADER]["steps"][2].update(width=5),
        "step 2 does not fit",
    ),
    "an unknown step": ("refined", header("steps", [{"kind": "jump"}]), "'steps' is"),
    "too few steps": (
        "refined",
        lambda files: files[HEADER].update(steps=[], files={}),
        "0 steps for 3 refinements",
    ),
    "nothing learnt": ("tfidf", header("learnt", []), "the method learns"),
    "fewer lengths than texts": ("segment", array("lengths.npy", lambda a: a[:-1]), "lengths.npy.*rows"),
    "terms outside": ("segment", array("term_bounds.npy", put(1, 10**12)), "must rise"),
    "postings of rows that are not there": ("segment", array("posting_rows.npy", put(0, 60)), "posting_rows.npy.*expected 0 to 59"),
    "a field without a name": ("segment", header("fields", [5]), "'fields' is"),
    "int8 vectors without scales": ("cells", without("scales.npy"), "scales belong together"),
    "cells outside": ("cells", array("cell_bounds.npy", put(1, 10**12)), "must rise"),
    "cells of rows that are not there": ("cells", array("cell_rows.npy", put(0, -1)), "cell_rows.npy.*expected 0 to 59"),
    "half of the cells": ("cells", without("cell_rows.npy"), "a part of its cells is missing"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_wrong_structure_under_right_checksums_is_refused(tmp_path: Path, damage: str) -> None:
    kind, change, message = DAMAGE[damage]
    files = copy.deepcopy(folders()[kind])
    change(files)
    write(files, tmp_path / "saved")
    load = {"segment": Segment.open, "cells": Segment.open}.get(
        kind, noppa.load if "method" in folders()[kind][HEADER] else noppa.WordVectors.load
    )
    with pytest.raises(noppa.NoppaError, match=message) as raised:
        load(tmp_path / "saved")
    assert "\n" not in str(raised.value)


@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
@pytest.mark.parametrize("kind", folders())
def test_folders_that_the_fuzzer_starts_from_load(tmp_path: Path, kind: str) -> None:
    write(copy.deepcopy(folders()[kind]), tmp_path / "saved")
    use(tmp_path / "saved")


HEADERS = {
    "deep": ('{"format": ' + "[" * 100_000, "damaged"),
    "NaN": ('{"format": 2, "kind": NaN}', "'kind' is nan"),
    "no object": ("[]", "damaged"),
    "no format": ("{}", "'format'"),
    "a format in words": ('{"format": "2"}', "has format '2'"),
    "large": ('{"format": 2, "kind": "' + "x" * (1 << 20) + '"}', "expected at most"),
    "a long number": ('{"format": ' + "9" * 10_000 + "}", "damaged"),
    "no text": (b"\xff\xfe", "damaged"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_are_none(tmp_path: Path, name: str) -> None:
    import hashlib

    text, message = HEADERS[name]
    content = text.encode() if isinstance(text, str) else text
    seal = hashlib.sha256(content).hexdigest().encode()
    (tmp_path / HEADER).write_bytes(content + b"\n" + seal + b"\n")
    with pytest.raises(noppa.NoppaError, match=message):
        noppa.load(tmp_path)


@pytest.mark.parametrize("name", [HEADER, "matrix.npy", "words"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, name: str, kind: str) -> None:
    noppa.Encoder(made_words(), noppa.Average()).save(tmp_path / "model")
    inside = tmp_path / "model" / ("words" if name == "matrix.npy" else "") / name
    inside.rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(inside)
    else:
        inside.mkdir()
    with pytest.raises(noppa.NoppaError):
        noppa.load(tmp_path / "model")


def test_words_of_another_model_are_refused(tmp_path: Path) -> None:
    for seed in (0, 1):
        words = made_words(seed=seed)
        noppa.Encoder(words, noppa.NoPPA(k=1)).fit(made_texts(50, words)).save(tmp_path / str(seed))
    (tmp_path / "0" / "words").rename(tmp_path / "words")
    (tmp_path / "1" / "words").rename(tmp_path / "0" / "words")
    with pytest.raises(noppa.NoppaError, match="was written for other words"):
        noppa.load(tmp_path / "0")


@pytest.mark.parametrize("moment", ["words", "arrays"])
def test_a_load_during_a_save_gives_one_of_the_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    old, new = (
        noppa.Encoder(words, noppa.NoPPA(k=1)).fit(made_texts(50, words))
        for words in (made_words(seed=0), made_words(seed=1))
    )
    old.save(tmp_path / "model")
    place = {
        "words": "noppa.words.word_vectors.WordVectors.open_folder",
        "arrays": "noppa.io.storage.read_file",
    }
    module, name = place[moment].rsplit(".", 1)
    owner: Any = noppa.WordVectors if moment == "words" else __import__(module, fromlist=["x"])
    real, waiting = getattr(owner, name), [new]

    def replaced_meanwhile(*arguments: Any, **options: Any) -> Any:
        if waiting:
            waiting.pop().save(tmp_path / "model")
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, replaced_meanwhile)
    loaded = noppa.load(tmp_path / "model")
    assert not waiting
    assert loaded.encode("a girl").tobytes() == new.encode("a girl").tobytes()


def test_a_folder_that_is_always_replaced_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_words().save(tmp_path / "words")
    monkeypatch.setattr("noppa.io.storage._identity", lambda *_: object())
    with pytest.raises(noppa.NoppaError, match="keeps changing while it is read"):
        noppa.WordVectors.load(tmp_path / "words")
