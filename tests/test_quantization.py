"""Quantize word vectors to 4 and 8 bits per column; cut, save and load them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.constants import FOUR_BIT_LEVELS, LEVEL_UNIT
from noppa.words.formats import write
from noppa.words.matrix import Matrix
from tests import oracle
from tests.conftest import made_texts, made_words
from tools.build_default_model.write_model import columns_in, write_model

WORDS = made_words(dim=50, extra=30)
TEXTS = made_texts(30, WORDS)
#: Odd widths, a single column, and whole vectors of every instruction set.
BLOCKS = (1, 7, 32, 10)
MIXED = (4, 4, 8, 4)


def quantized(bits: Any = MIXED, words: noppa.WordVectors = WORDS) -> noppa.WordVectors:
    return words.quantized(bits, BLOCKS)


def every_row(words: noppa.WordVectors) -> np.ndarray:
    return words.vectors(np.arange(len(words)))


def test_levels_are_those_of_a_normal_distribution() -> None:
    """Each level is the mean of the values nearest to it, the Lloyd-Max condition."""
    sample = np.random.default_rng(0).normal(size=1_000_000)
    levels = np.array(FOUR_BIT_LEVELS) * 2.7326 / 127
    nearest = np.digitize(sample, (levels[1:] + levels[:-1]) / 2)
    means = [sample[nearest == number].mean() for number in range(16)]
    assert np.allclose(means, levels, atol=0.03)
    assert (levels == -levels[::-1]).all()


@pytest.mark.parametrize(("bits", "error"), [(4, 0.09), (8, 0.007), (MIXED, 0.06)])
def test_what_is_lost(bits: Any, error: float) -> None:
    words = made_words(dim=64, extra=1000)
    few = words.quantized(bits, (16, 16, 16, 16))
    lost = np.linalg.norm(every_row(few) - every_row(words)) / np.linalg.norm(every_row(words))
    assert error / 3 < lost < error
    assert few.scales is not None
    assert few.scales.dtype == np.float16
    assert few.words == words.words
    assert (few.probabilities == words.probabilities).all()


def test_a_value_is_its_scale_times_a_level() -> None:
    packed = np.array([[0x10, 0x32, 0x54, 0x76], [0x98, 0xBA, 0xDC, 0xFE]], np.uint8)
    scales = np.array([[128.0], [1.0]], np.float32)
    words = noppa.WordVectors(["a", "b"], np.ones((2, 8)))
    words.rows = Matrix(packed, scales, [8], [4])
    assert words["a"].tolist() == list(FOUR_BIT_LEVELS[:8])
    assert (words["b"] * LEVEL_UNIT).tolist() == list(FOUR_BIT_LEVELS[8:])
    odd = noppa.WordVectors(["a"], np.ones((1, 7)))
    odd.rows = Matrix(packed[:1], scales[:1], [7], [4])
    assert odd["a"].tolist() == list(FOUR_BIT_LEVELS[:7])
    assert (words.quantized(4, 8).matrix == packed).all()


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e12])
def test_small_and_large_vectors(scale: float) -> None:
    """float16 would lose the digits of these scales, so they are float32."""
    words = noppa.WordVectors(WORDS.words, WORDS.matrix * np.float32(scale))
    few = quantized(words=words)
    assert np.linalg.norm(every_row(few) - words.matrix) <= 0.1 * np.linalg.norm(words.matrix)
    assert few.scales is not None
    assert few.scales.dtype == (np.float32 if scale else np.float16)


def test_kernels_read_each_value_exactly(instruction_set: str) -> None:
    few = quantized()
    words = noppa.Encoder(few, noppa.Average())
    assert (words.encode_tokens([[word] for word in few.words]) == every_row(few)).all()
    ids = np.arange(len(few) + 1, dtype=np.int32)
    exact = oracle.Table(few.matrix, few.scales, few.rows.blocks, few.rows.bits).rows(ids)
    assert not exact[-1].any()
    assert np.allclose(exact[:-1], every_row(few), rtol=1e-6)


@pytest.mark.parametrize("bits", [4, 8, MIXED])
def test_saved_and_loaded(tmp_path: Path, bits: Any) -> None:
    few = quantized(bits)
    few.save(tmp_path / "words")
    again = noppa.WordVectors.load(tmp_path / "words", verify=True)
    assert again.rows.bits == few.rows.bits
    assert repr(again) == repr(few)
    assert not again.matrix.flags.owndata, "mapped as it is"
    assert (every_row(again) == every_row(few)).all()
    kept = noppa.WordVectors.load(tmp_path / "words", keep=["girl", "cake"])
    assert (kept.words, kept.rows.bits) == (["girl", "cake"], few.rows.bits)
    assert (kept["cake"] == few["cake"]).all()
    wide = noppa.WordVectors.load(tmp_path / "words", dtype="float32")
    assert (wide.matrix == every_row(few)).all()


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 50), (0, 1), (1, 8), (1, 4), (3, 39), (9, 20), (40, 50), (42, 49)]
)
def test_columns(start: int, stop: int) -> None:
    few = quantized()
    view = few.columns(start, stop)
    assert np.shares_memory(view.matrix, few.matrix)
    assert (every_row(view) == every_row(few)[:, start:stop]).all()
    whole = noppa.Encoder(few, noppa.Average()).encode(TEXTS)
    assert (noppa.Encoder(view, noppa.Average()).encode(TEXTS) == whole[:, start:stop]).all()
    assert columns_in(view.rows, few.rows) == (start, stop)
    assert columns_in(view.without_pieces().rows, few.rows) == (start, stop)
    assert columns_in(few.rows.select(np.arange(len(few))), few.rows) is None


@pytest.mark.parametrize("start", [2, 4, 41, 49])
def test_columns_in_the_middle_of_a_byte(start: int) -> None:
    with pytest.raises(noppa.NoppaError, match=f"column {start} begins in the middle of a byte"):
        quantized().columns(start, 50)


def test_presets_are_columns_with_scales_of_their_own(tmp_path: Path) -> None:
    few = quantized()
    part = few.columns(8, 50)
    assert part.scales is not None
    heavy = part.with_scales(np.asarray(part.scales) * np.arange(1, len(part) + 1)[:, None])
    half = part.with_scales((np.asarray(part.scales) / 2).astype(np.float16))
    presets = {
        "default": noppa.Encoder(few, noppa.NoPPA(k=0, pair_columns=(1, 6))),
        "plain": noppa.Encoder(part, noppa.Average()),
        "heavy": noppa.Encoder(heavy, noppa.Average()),
        "half": noppa.Encoder(half, noppa.Average()),
    }
    write_model(tmp_path / "model", few, presets)
    for name, encoder in presets.items():
        found = noppa.load(tmp_path / "model" / name)
        assert found.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    assert np.allclose(heavy.vectors([3]), 4 * part.vectors([3]), rtol=1e-3)
    assert (half.vectors([3]) == part.vectors([3]) / 2).all()
    assert half.scales is not None
    assert half.scales.dtype == np.float16


@pytest.mark.parametrize("name", ["v.npy", "v.safetensors", "v.txt", "v"])
def test_files_of_other_programs(tmp_path: Path, name: str) -> None:
    few = quantized()
    write(few, tmp_path / name)
    again = noppa.WordVectors.load(tmp_path / name)
    assert (again["cake"] == few["cake"]).all()
