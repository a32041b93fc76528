"""Fit, encode, save and load: shapes, equal bytes in any batch, damaged folders."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import noppa
from noppa.io import storage
from tests.conftest import made_texts, made_words
from tests.runs import PATIENCE

WORDS = made_words(dim=9, extra=30)
TEXTS = made_texts(300, WORDS, longest=20)


def fitted(**options: object) -> noppa.Encoder:
    return noppa.Encoder(WORDS, noppa.NoPPA(k=3), **options).fit(TEXTS)  # type: ignore[arg-type]


def test_fit_streams() -> None:
    whole = fitted()
    streamed = noppa.Encoder(WORDS, noppa.NoPPA(k=3))
    assert streamed.fit(text for text in TEXTS) is streamed
    assert whole.encode(TEXTS).tobytes() == streamed.encode(TEXTS).tobytes()


def test_fit_in_blocks_gives_the_same_directions() -> None:
    with mock.patch("noppa.encoder.encoder.FIT_BLOCK", 7):
        blocks = noppa.Encoder(WORDS, noppa.NoPPA(k=3)).fit(TEXTS)
    assert np.allclose(blocks.encode(TEXTS), fitted().encode(TEXTS), atol=1e-5)


def test_fit_learns_only_from_what_it_is_given() -> None:
    """Encoding changes nothing, and a second fit forgets the first."""
    encoder = fitted()
    before = encoder.encode(TEXTS[:5])
    encoder.encode(made_texts(50, WORDS, seed=9))
    assert encoder.encode(TEXTS[:5]).tobytes() == before.tobytes()
    encoder.fit(made_texts(200, WORDS, seed=5))
    assert encoder.encode(TEXTS[:5]).tobytes() != before.tobytes()
    assert encoder.fit(TEXTS).encode(TEXTS[:5]).tobytes() == before.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 7, 1024])
def test_the_same_bytes_in_any_batch(size: int, threads: int) -> None:
    encoder = fitted(refine=[noppa.Whitening(), noppa.Normalize()])
    whole = encoder.encode(TEXTS, threads=1).tobytes()
    blocks = encoder.encode_iter(iter(TEXTS), block=size, threads=threads)
    assert b"".join(block.tobytes() for block in blocks) == whole
    order = np.random.default_rng(0).permutation(len(TEXTS))
    shuffled = encoder.encode([TEXTS[at] for at in order], threads=threads)
    assert shuffled[np.argsort(order)].tobytes() == whole
    assert encoder.encode_tokens([text.split() for text in TEXTS]).tobytes() == whole


def test_encode_iter_gives_blocks() -> None:
    shapes = [block.shape for block in fitted().encode_iter(TEXTS, block=128)]
    assert shapes == [(128, 18), (128, 18), (44, 18)]
    assert list(fitted().encode_iter([])) == []
    with pytest.raises(noppa.NoppaError, match="block must be a whole number of at least 1"):
        list(fitted().encode_iter(TEXTS, block=0))
    with pytest.raises(noppa.NoppaError, match="a single text cannot be iterated over"):
        list(fitted().encode_iter("a text"))


def test_similarity() -> None:
    encoder = fitted()
    same = encoder.similarity("the girl eats", "the girl eats")
    assert isinstance(same, float)
    assert same == pytest.approx(1)
    rows = encoder.encode(["the girl", "a boy"])
    cosine = rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1])
    assert encoder.similarity("the girl", "a boy") == pytest.approx(cosine, abs=1e-6)
    table = encoder.similarity(["the girl", "a boy", "cake"], ["cake", "a boy"])
    assert table.shape == (3, 2)
    assert table[1, 1] == pytest.approx(1)


def test_normalize_and_dim() -> None:
    encoder = fitted(refine=noppa.Whitening())
    rows = encoder.encode(TEXTS)
    cut = encoder.encode(TEXTS, dim=4, normalize=True)
    assert cut.shape == (300, 4)
    assert np.allclose(np.linalg.norm(cut, axis=1), 1, atol=1e-6)
    assert np.allclose(
        cut, rows[:, :4] / np.linalg.norm(rows[:, :4], axis=1, keepdims=True), atol=1e-6
    )
    with pytest.raises(noppa.NoppaError, match="dim=40, but a vector has 18 dimensions"):
        encoder.encode("a", dim=40)
    with pytest.raises(noppa.NoppaError, match="dim=4 would keep an arbitrary part"):
        fitted().encode("a", dim=4)


def test_dim_is_known_before_and_after_fitting() -> None:
    for refine, dim in [
        ((), 18),
        (noppa.Whitening(dim=5), 5),
        ((noppa.Whitening(), noppa.Normalize()), 18),
    ]:
        encoder = noppa.Encoder(WORDS, noppa.NoPPA(k=3), refine)
        assert encoder.dim == dim
        assert encoder.fit(TEXTS).dim == dim
        assert encoder.encode(TEXTS).shape == (300, dim)


def test_a_tokenizer_of_ones_own() -> None:
    encoder = noppa.Encoder(WORDS, noppa.NoPPA(k=0), tokenizer=lambda text: text.split("|"))
    plain = noppa.Encoder(WORDS, noppa.NoPPA(k=0))
    assert (encoder.encode("the|girl") == plain.encode("the girl")).all()
    wrong = noppa.Encoder(WORDS, noppa.NoPPA(k=0), tokenizer=lambda text: "the")
    with pytest.raises(noppa.NoppaError, match="the tokenizer gave a str for item 0"):
        wrong.encode("the girl")


class TestFiles:
    @pytest.mark.parametrize(
        "refine", [(), noppa.Whitening(dim=6), (noppa.CommonComponents(2), noppa.Normalize())]
    )
    @pytest.mark.parametrize("noise", ["paper", "reference"])
    def test_round_trip(self, tmp_path: Path, refine: object, noise: str) -> None:
        method = noppa.NoPPA(a=0.02, k=2, noise=noise, attend_self=False)
        encoder = noppa.Encoder(WORDS, method, refine).fit(TEXTS)  # type: ignore[arg-type]
        encoder.save(tmp_path / "model")
        again = noppa.load(tmp_path / "model")
        assert again.method == encoder.method
        assert again.refine == encoder.refine
        assert again.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()

    def test_no_pickle(self, tmp_path: Path) -> None:
        fitted().save(tmp_path / "model")
        names = {file.suffix for file in (tmp_path / "model").rglob("*") if file.is_file()}
        assert names == {".json", ".npy"}
        for file in (tmp_path / "model").rglob("*.npy"):
            np.load(file, allow_pickle=False)

    def test_unfitted_is_not_saved(self, tmp_path: Path) -> None:
        with pytest.raises(noppa.NoppaError, match="call fit"):
            noppa.Encoder(WORDS, noppa.NoPPA(k=3)).save(tmp_path / "model")
        assert os.listdir(tmp_path) == []

    def test_every_damaged_file_is_noticed(self, tmp_path: Path) -> None:
        fitted().save(tmp_path / "model")
        for file in sorted((tmp_path / "model").rglob("*")):
            if not file.is_file():
                continue
            content = file.read_bytes()
            at = len(content) * 2 // 3
            for damaged in (
                content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
                content[:at],
                content + b"x",
                None,
            ):
                file.unlink()
                if damaged is not None:
                    file.write_bytes(damaged)
                with pytest.raises(noppa.NoppaError):
                    noppa.load(tmp_path / "model")
                file.write_bytes(content)
        assert noppa.load(tmp_path / "model").dim == 18

    def test_large_files_are_verified_on_request(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fitted().save(tmp_path / "model")
        matrix = tmp_path / "model" / "words" / "matrix.npy"
        content = bytearray(matrix.read_bytes())
        content[-1] ^= 1
        matrix.write_bytes(content)
        monkeypatch.setattr("noppa.io.storage.VERIFIED_BYTES", 0)  # every file counts as large
        assert noppa.load(tmp_path / "model").dim == 18
        with pytest.raises(noppa.NoppaError, match=r"matrix\.npy is damaged: its checksum"):
            noppa.load(tmp_path / "model", verify=True)

    def test_a_newer_format_is_told(self, tmp_path: Path) -> None:
        fitted().save(tmp_path / "model")
        header = tmp_path / "model" / "noppa.json"
        text = header.read_text().replace(f'"format": {storage.FORMAT}', '"format": 99')
        header.write_text(text)
        with pytest.raises(
            noppa.NoppaError, match="has format 99 and this noppa reads up to 2: upgrade"
        ):
            noppa.load(tmp_path / "model")

    def test_what_is_no_encoder(self, tmp_path: Path) -> None:
        with pytest.raises(noppa.NoppaError, match="does not exist"):
            noppa.load(tmp_path / "nowhere")
        with pytest.raises(
            noppa.NoppaError, match=r"is not a saved noppa folder: it has no noppa\.json"
        ):
            noppa.load(tmp_path)
        WORDS.save(tmp_path / "words")
        with pytest.raises(noppa.NoppaError, match="holds a saved words, not a saved encoder"):
            noppa.load(tmp_path / "words")

    def test_only_its_own_kind_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter").write_text("years of work")
        with pytest.raises(noppa.NoppaError, match="exists and is not a saved encoder"):
            fitted().save(tmp_path / "thesis")
        with pytest.raises(noppa.NoppaError, match="does not exist"):
            fitted().save(tmp_path / "no" / "where")
        assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"

    def test_saving_over_the_folder_it_is_mapped_from(self, tmp_path: Path) -> None:
        fitted().save(tmp_path / "model")
        loaded = noppa.load(tmp_path / "model")
        rows = loaded.encode(TEXTS).tobytes()
        loaded.save(tmp_path / "model")
        assert loaded.encode(TEXTS).tobytes() == rows
        assert noppa.load(tmp_path / "model").encode(TEXTS).tobytes() == rows

    def test_a_tokenizer_must_be_given_again(self, tmp_path: Path) -> None:
        noppa.Encoder(WORDS, noppa.NoPPA(k=0), tokenizer=str.split).save(tmp_path / "model")
        with pytest.raises(noppa.NoppaError, match="was saved with a tokenizer of its own"):
            noppa.load(tmp_path / "model")
        assert noppa.load(tmp_path / "model", tokenizer=str.split).encode("a boy").shape == (18,)

    def test_a_loaded_encoder_travels_as_its_path(self, tmp_path: Path) -> None:
        fitted().save(tmp_path / "model")
        loaded = noppa.load(tmp_path / "model")
        message = pickle.dumps(loaded)
        assert len(message) < 1000
        assert pickle.loads(message).encode(TEXTS).tobytes() == loaded.encode(TEXTS).tobytes()

    @pytest.mark.parametrize("then", ["gone", "another"])
    def test_one_whose_folder_changed_travels_whole(self, tmp_path: Path, then: str) -> None:
        fitted().save(tmp_path / "model")
        loaded = noppa.load(tmp_path / "model")
        rows, message = loaded.encode(TEXTS).tobytes(), pickle.dumps(loaded)
        if then == "gone":
            shutil.rmtree(tmp_path / "model")
        else:
            noppa.Encoder(WORDS, noppa.NoPPA(k=0)).save(tmp_path / "model")
        with pytest.raises(noppa.NoppaError, match="was pickled"):
            pickle.loads(message)
        for again in (
            pickle.loads(pickle.dumps(loaded)),
            copy.copy(loaded),
            copy.deepcopy(loaded),
        ):
            assert again.encode(TEXTS).tobytes() == rows

    def test_a_golden_folder_still_loads(self, tmp_path: Path) -> None:
        """Written by version 0.1.0; every later version must read it."""
        golden = Path(__file__).parent / "golden" / "encoder-format-1"
        shutil.copytree(golden, tmp_path / "model")
        encoder = noppa.load(tmp_path / "model")
        wanted = np.load(Path(__file__).parent / "golden" / "encoder-format-1.rows.npy")
        rows = encoder.encode(["the girl eats a delicious cake", "a boy isn't eating"])
        assert np.allclose(rows, wanted, atol=1e-5)


def _child(path: str, queue: multiprocessing.Queue[bytes]) -> None:
    queue.put(noppa.load(path).encode(TEXTS, threads=2).tobytes())


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_other_processes_give_the_same_bytes(tmp_path: Path, start: str) -> None:
    """Includes fork, after which the threads of the parent no longer exist."""
    encoder = fitted()
    encoder.save(tmp_path / "model")
    wanted = encoder.encode(TEXTS * 4, threads=2)[:300].tobytes()
    context = multiprocessing.get_context(start)
    queue: multiprocessing.Queue[bytes] = context.Queue()
    child = context.Process(target=_child, args=(str(tmp_path / "model"), queue))
    child.start()
    assert queue.get(timeout=PATIENCE) == wanted
    child.join(PATIENCE)
    assert child.exitcode == 0
