"""Check tasks against the real files, readers on small files, and the conversion to SentEval's form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.classify.labels import stratified_folds
from noppa.paper import TASKS, check, read
from noppa.paper.tasks import cat_v, moses, penn, prepare, source_of, tasks_in
from tests.made_senteval import write_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("senteval"))


@pytest.mark.parametrize("name", TASKS)
def test_the_real_files_are_the_ones_of_the_table(name: str, shared: Callable[..., Path]) -> None:
    hashes = check(shared("senteval"), TASKS[name])
    assert list(hashes.values()) == [file.sha256["raw"] for file in TASKS[name].files]


@pytest.mark.parametrize("name", TASKS)
def test_every_reader_gives_every_row(name: str, made: Path) -> None:
    parts = read(made, TASKS[name])
    assert set(parts) == {file.part for file in TASKS[name].files}
    for part, rows in parts.items():
        files = [file for file in TASKS[name].files if file.part == part]
        assert len(rows) == 48 * len(files)
        for row in rows:
            assert len(row.texts) == len(rows[0].texts)
            assert all(text and not set("\r\n\t\ufeff") & set(text) for text in row.texts)


def test_dialects(made: Path) -> None:
    lines = [row.texts[0] for row in read(made, TASKS["MR"])["all"]]
    assert sum("café \x85 on" in text for text in lines) == 2
    assert all(row.texts[0].endswith("é ?") for row in read(made, TASKS["TREC"])["train"])
    assert {row.label for row in read(made, TASKS["TREC"])["test"]} == {"DESC", "NUM", "LOC"}
    assert all(row.texts[0].startswith('"') for row in read(made, TASKS["MRPC"])["train"])
    # SentEval's numbers: contradiction, neutral, entailment
    labels = {row.texts[0].split()[0]: row.label for row in read(made, TASKS["SICK-E"])["test"]}
    assert (labels["delicious"], labels["boy"], labels["of"]) == (2, 1, 0)


def test_rows_stand_in_sentevals_order(made: Path) -> None:
    rows = read(made, TASKS["SST2"])["train"]
    keys = [(len(row.texts[0].split()), row.label) for row in rows]
    assert keys == sorted(keys)


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    write_folder(tmp_path, tasks=("CR",))
    (tmp_path / "downstream" / "CR" / "custrev.pos").unlink()
    with pytest.raises(
        noppa.NoppaError, match=r"CR needs .*downstream/CR/custrev.pos.* put SentEval's file"
    ):
        check(tmp_path, TASKS["CR"])
    assert tasks_in(tmp_path) == []


def test_another_file_is_refused(made: Path) -> None:
    with pytest.raises(noppa.NoppaError, match=r"custrev.pos is not the file that CR is scored on"):
        check(made, TASKS["CR"])


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, tasks=("MRPC", "STS-B")) / "downstream"
    (folder / "MRPC/msr_paraphrase_train.txt").write_text("Quality\n1\t2\t3\n")
    with pytest.raises(noppa.NoppaError, match=r"line 2 of MRPC/.* has 3 columns, not 5"):
        read(tmp_path, TASKS["MRPC"])
    (folder / "STS/STSBenchmark/sts-dev.csv").write_text("a\tb\tc\td\tmuch\tf\tg\n")
    with pytest.raises(noppa.NoppaError, match=r"sts-dev.csv cannot be read: .*much"):
        read(tmp_path, TASKS["STS-B"])


# SentEval's own files


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            b'He said "no..." (really?) it\'s A&B, don\'t cannot: the end."',
            "He said `` no ... '' ( really ? ) it 's A & B , do n't can not : the end . '' ",
        ),
        (
            b"caf\xc3\xa9 -- \x01tab\there\x7f \xff\x8a. ",
            "cafM-CM- ) -- ^Atab\there^ ? M-^ ? M-^J . ",
        ),
        (b"the U.S. is ... ok.", "the U.S. is ... ok . "),
    ],
)
def test_lines_are_those_of_cat_and_sed(raw: bytes, expected: str) -> None:
    """Recorded from `cat -v | sed -f tokenizer.sed`."""
    assert penn(cat_v(raw)) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            "Mr. Smith's dog, 5,300 dogs,and 1990's... don't go (to the U.S. Now) No. 5 is no. it's 'fine' a_b e.g. x/y.'",
            "Mr. Smith 's dog , 5,300 dogs , and 1990 's ... don 't go ( to the U.S. Now ) No. 5 is no. it 's ' fine ' "
            "a _ b e.g. x / y . ' ",
        ),
        ("", ""),
        ("The end of p.m. and etc. Then No. Way 3,", "The end of p.m. and etc . Then No . Way 3 ,"),
        ("'tis the dogs' owner. \"Hi,\" he said.", "'tis the dogs ' owner . \" Hi , \" he said ."),
    ],
)
def test_pairs_are_those_of_moses(raw: str, expected: str) -> None:
    """Recorded from the Perl program."""
    assert moses(raw) == expected


@pytest.mark.parametrize("name", ["CR", "TREC", "SICK-E", "STS-B", "SST2"])
def test_prepared_files_are_sentevals_hash_for_hash(
    name: str, shared: Callable[..., Path], tmp_path: Path
) -> None:
    prepare(shared("senteval"), tmp_path, TASKS[name])
    hashes = check(tmp_path, TASKS[name])
    assert source_of(TASKS[name], hashes) == "senteval"
    before = [path.read_bytes() for path in prepare(tmp_path, tmp_path / "again", TASKS[name])]
    after = [(tmp_path / "downstream" / file.path).read_bytes() for file in TASKS[name].files]
    assert before == after  # what is prepared stays as it is
    if name == "CR":
        raw = shared("senteval") / "downstream" / "CR" / "custrev.neg"
        (tmp_path / "downstream" / "CR" / "custrev.neg").write_bytes(raw.read_bytes())
        with pytest.raises(noppa.NoppaError, match="some files of CR as published and some"):
            check(tmp_path, TASKS[name])


def test_folds_are_those_of_scikit_learn() -> None:
    """StratifiedKFold(3, shuffle=True, random_state=1111) of scikit-learn 1.9 on these labels, written down."""
    labels = np.array([1, 0, 0, 1, 2, 2, 0, 1, 1, 0, 2, 1])
    folds = stratified_folds(labels, 3, 1111)
    together = np.sort(np.concatenate([test for _, test in folds]))
    assert together.tolist() == list(range(12))
    assert [test.tolist() for _, test in folds] == FOLDS
    for train, test in folds:
        assert not set(train) & set(test)


FOLDS = [[0, 7, 9, 10], [1, 3, 4, 8], [2, 5, 6, 11]]
