"""Common mistakes on the command line end with a one-line message and an exit code, never with a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.command import run_command

FILES = {
    "lines.txt": b"a girl eats cake\nthe boy sleeps\n",
    "reviews.csv": b"id,body,same\n1,good cake,x\n2,bad pie,x\n",
    "twice.csv": b"text,text\na,b\n",
    "latin.txt": "ein M\u00e4dchen\n".encode("latin-1"),
    "report.pdf": b"%PDF-1.7\n\xff\xfe\x00binary",
    "cut.csv.gz": gzip.compress(b"text\na cake\n" * 99)[:-9],
    "array.jsonl": b"[1, 2]\n",
    "empty.txt": b"",
    "there.npy": b"something",
}
MISTAKES = """
encode none.txt
encode folder
encode report.pdf
encode latin.txt
encode cut.csv.gz -c text
encode array.jsonl
encode reviews.csv
encode reviews.csv -c title
encode reviews.csv --from xml
encode twice.csv -c text --keep-all -o v.csv
encode lines.txt -o v.xyz
encode lines.txt -o there.npy
encode lines.txt -o none/v.npy
encode lines.txt --wrong
encode lines.txt --column body
encode lines.txt --from csv:quote=x
encode lines.txt --from csv:encoding=klingon
encode lines.txt --method bert
encode lines.txt -m none
encode lines.txt -m folder
encod lines.txt
fit lines.txt -v none.txt -o f
fit lines.txt -v report.pdf -o f
fit lines.txt -p q=1 -o f
fit lines.txt --method bert -o f
explain cake -p a=1
explain ''
explain a -o it.gif
paper score --tasks IMDB -o f
search none.txt cake
search empty.txt cake
dedupe lines.txt --threshold 2
topics empty.txt
train reviews.csv --text body --label same -o m
predict none lines.txt
export none --to onnx -o x.onnx
serve none
""".strip().splitlines()


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    done = run_command(command)
    assert done.code in (1, 2), done.errors
    lines = done.errors.splitlines()
    assert 1 <= len(lines) <= 2, done.errors
    assert all(line.startswith("noppa: ") for line in lines), done.errors
    for python_name in ("on_error", "dim=", "with_counts", "None, "):
        assert python_name not in done.errors
