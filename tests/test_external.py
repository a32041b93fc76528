"""Wrap encoders of other libraries."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import noppa


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), 1.0, 0.0] for text in texts]


class Peer:
    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array(lengths(texts))


@pytest.mark.parametrize("source", [lengths, Peer()])
def test_the_face_of_an_encoder(source: object) -> None:
    peer = noppa.external(source)
    assert peer.dim == 3
    assert peer.encode("ab").tolist() == [2, 1, 0]
    rows = peer.encode(iter(["a", "abc"]))
    assert rows.dtype == np.float32
    assert rows.tolist() == [[1, 1, 0], [3, 1, 0]]
    assert peer.encode([]).shape == (0, 3)
    assert np.allclose(np.linalg.norm(peer.encode(["a", "abc"], normalize=True), axis=1), 1)
    assert peer.similarity("a", "a") == pytest.approx(1)
    assert peer.similarity(["a", "ab"], ["abc"]).shape == (2, 1)


def test_what_cannot_encode() -> None:
    with pytest.raises(noppa.NoppaError, match="3 cannot encode: give the name or path"):
        noppa.external(3)


def test_wrong_rows() -> None:
    with pytest.raises(
        noppa.NoppaError, match=r"shape \(2,\) for 1 texts: it must return one row per text"
    ):
        noppa.external(lambda texts: [1.0, 2.0]).encode("a")
    with pytest.raises(noppa.NoppaError, match="not finite for text 1"):
        noppa.external(lambda texts: [[1.0], [np.nan]]).encode(["a", "b"])
    with pytest.raises(noppa.NoppaError, match="item 1 is missing"):
        noppa.external(lengths).encode(["a", None])


def test_a_path_is_loaded_by_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    class SentenceTransformer:
        def __init__(self, path: str) -> None:
            self.path = path

        def encode(self, texts: list[str], show_progress_bar: bool) -> np.ndarray:
            return np.full((len(texts), len(self.path)), 0.5)

    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    assert noppa.external("abc").encode(["x", "y"]).shape == (2, 3)
