"""Mistakes that users make on the command line, each run in this process, and the page that lists what they are told.

python -m tests.mistakes   # write docs/mistakes.md anew
"""

from __future__ import annotations

import gzip
import os
import pickle
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noppa import Average, Encoder, WordVectors
from tests.command import run_command

PAGE = Path(__file__).resolve().parent.parent / "docs" / "mistakes.md"

#: What each kind of mistake is called on the page, and commands that make it.
MISTAKES: dict[str, list[str]] = {
    "Files that are no text, or another kind of text": [
        "encode none.txt",
        "encode folder",
        "encode report.pdf",
        "encode table.xlsx",
        "encode letter.docx",
        "encode old.xls",
        "encode letter.rtf",
        "encode photo.jpg",
        "encode vectors.npy",
        "encode base.sqlite",
        "encode arrow.feather",
        "encode named.txt",
        "encode latin.txt",
        "encode latin.csv -c body",
        "encode latin-header.csv --keep-all -o v.jsonl",
        "encode utf16.txt",
        "encode japanese.txt --encoding ascii",
        "encode lines.txt --encoding klingon",
        "encode broken.parquet -c text",
        "encode cut.csv.gz -c text",
        "encode two.zip",
        "encode secret.json",
        "encode array.jsonl",
        "encode rows.jsonl",
        "encode bad.jsonl",
        "encode empty.txt -o empty.npy",
        "encode header.csv -c body -o header.npy",
        "encode ragged.csv -c body",
    ],
    "Columns and tables": [
        "encode reviews.csv",
        "encode reviews.csv -c title",
        "encode reviews.csv -c 9",
        "encode lines.txt -c body",
        "encode -c body",
        "encode reviews.csv -c body --delimiter ;;",
        "encode lines.txt --delimiter ;",
        "encode reviews.csv --from xml",
        "encode twice.csv -c text --keep-all -o v.csv",
        "encode reviews.csv -c body --keep price -o v.csv",
        "encode reviews.csv -c body --keep id --keep-all -o v.csv",
        "encode reviews.csv -c body --keep , -o v.csv",
        "encode reviews.csv -c body --keep id -o v.npy",
        "encode numbered.csv -c text --keep-all -o v.csv",
    ],
    "Outputs": [
        "encode lines.txt -o v.xyz",
        "encode lines.txt --to npy",
        "encode lines.txt --to xml",
        "encode lines.txt -o lines.txt --to jsonl",
        "encode lines.txt -o there.npy",
        "encode lines.txt -o none/v.npy",
        "encode lines.txt -o folder --to npy",
        "encode lines.txt -o v.parquet --resume",
        "encode lines.txt -o v.npy --resume --overwrite",
        "fit lines.txt -v glove.txt --ranks -p k=0 -o there",
    ],
    "Options": [
        "encode lines.txt --threads 10000",
        "encode lines.txt --wrong",
        "encode lines.txt --dim 10",
        "encode lines.txt -m small --dim 1000",
        "encode lines.txt --on-error ignore",
        "encode lines.txt -p a=1",
        "encode lines.txt --method bert",
        "encode lines.txt --method sif -p b=1",
        "encode lines.txt --method absent:Class",
        "encode lines.txt -m none",
        "encode lines.txt -m folder",
        "encode lines.txt -m hf:owner",
        "encod lines.txt",
        "clusters lines.txt",
        "similarity one",
    ],
    "Word vectors and fitting": [
        "fit lines.txt -v glove.txt",
        "fit lines.txt -v glove.txt -o f",
        "fit lines.txt --counts counts.txt -o f",
        "fit lines.txt -v glove.txt --ranks --missing 0 -o f",
        "fit lines.txt -m small -v glove.txt -o f",
        "fit lines.txt -v none.txt -o f",
        "fit lines.txt -v page.html -o f",
        "fit lines.txt -v rough.txt --ranks -o f",
        "fit lines.txt -v glove.txt --counts rough.txt -o f",
        "fit lines.txt -v glove.txt --ranks -p k=1e3 -o f",
        "fit lines.txt -v glove.txt --ranks -p k=5 -o f",
        "vectors nearest glove.txt zzqx",
        "vectors info words.pkl",
        "vectors info two.zip",
        "vectors get none",
        "vectors convert glove.txt glove.txt",
    ],
    "Explaining, searching, grouping": [
        "explain ''",
        "explain cake -o e.xyz",
        "explain cake -p a=1",
        "explain cake -v glove.txt",
        "search none.txt cake",
        "search lines.txt cake --mode magic",
        "search lines.txt cake --where 'year >'",
        "search empty.txt cake",
        "index lines.txt",
        "index lines.txt -o glove.txt",
        "index info model",
        "index add none lines.txt",
        "dedupe lines.txt --threshold 2",
        "dedupe lines.txt --threshold 0.9 --keep 3",
        "dedupe lines.txt -o unique.txt --removed unique.txt",
        "dedupe reviews.csv lines.txt",
        "topics empty.txt",
        "topics lines.txt -o t.xyz",
        "keywords none.txt",
    ],
    "Classifiers": [
        "train reviews.csv --text body --label topic -o m",
        "train reviews.csv --text body --label same -o m",
        "train reviews.csv --text body --label id -o m --ngrams x",
        "train reviews.csv --text body --label id -o m --report r.pdf",
        "predict none lines.txt",
        "predict model lines.txt",
        "compare reviews.csv --text body --label id",
    ],
    "Everything else": [
        "export small --to pdf -o x",
        "export default --to model2vec -o x",
        "export none --to onnx -o x.onnx",
        "info -m none",
        "distill none",
        "cluster encode none.txt -o parts --engine single",
        "cluster encode lines.txt -o parts --engine hadoop",
        "cluster encode lines.txt -o parts --engine single -c body",
        "serve none",
    ],
}
#: Commands whose message is that of typer, pyarrow or Python: its wording changes with their versions.
FOREIGN = {
    "encode lines.txt --threads 10000",
    "encode lines.txt --wrong",
    "encod lines.txt",
    "encode broken.parquet -c text",
    "encode secret.json",
    "encode bad.jsonl",
}


@dataclass(frozen=True)
class Told:
    """What a command said on standard error, and its exit code."""

    command: str
    code: int
    message: str


@contextmanager
def made_folder() -> Iterator[None]:
    """In a new folder with all the files that the mistakes are made with."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _make_files()
            yield
        finally:
            os.chdir(before)


def _make_files() -> None:
    texts = {
        "lines.txt": "the girl eats a cake\na boy is eating\n",
        "reviews.csv": "id,body,same\n1,the girl eats,x\n2,a cake,x\n",
        "header.csv": "id,body\n",
        "ragged.csv": "id,body\n1,cake\n2\n",
        "twice.csv": "text,id,id\ncake,1,2\n",
        "numbered.csv": "text,record\ncake,1\n",
        "empty.txt": "",
        "secret.json": '[{"text": "cake"}, {"text": ',
        "array.jsonl": '[{"text": "cake"}]\n',
        "rows.jsonl": '{"text": "cake"}\n{"body": "cake"}\n',
        "bad.jsonl": '{"text": "cake"}\nthe cake\n',
        "letter.rtf": r"{\rtf1 the cake}",
        "glove.txt": "the 1 0\ngirl 0 1\ncake 1 1\neats 0.5 1\n",
        "rough.txt": "the 1 0\ngirl 0 oops\n",
        "counts.txt": "the 10\ngirl 2\n",
        "page.html": "<!DOCTYPE html>\n<html><body>Not found</body></html>\n",
    }
    for name, content in texts.items():
        Path(name).write_text(content, encoding="utf-8")
    contents = {
        "report.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
        "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
        "photo.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)) * 8,
        "arrow.feather": b"ARROW1\x00\x00" + bytes(64),
        "named.txt": b"PAR1" + bytes(64),
        "broken.parquet": b"PAR1" + bytes(64),
        "latin.txt": "the girl\na café in the town\n".encode("latin-1"),
        "latin.csv": "id,body\n1,a café in the town\n".encode("latin-1"),
        "latin-header.csv": "größe,text\n1,cake\n".encode("latin-1"),
        "utf16.txt": "the girl eats a cake\n".encode("utf-16-le"),
        "japanese.txt": "日本語\n".encode("shift_jis"),
        "cut.csv.gz": gzip.compress(b"text\n" + os.urandom(5000).hex().encode())[:-2000],
        "words.pkl": pickle.dumps({"a": 1}),
    }
    for name, content in contents.items():
        Path(name).write_bytes(content)
    for name, inside in {
        "table.xlsx": ["[Content_Types].xml", "xl/workbook.xml"],
        "letter.docx": ["[Content_Types].xml", "word/document.xml"],
        "two.zip": ["one.txt", "two.txt"],
    }.items():
        with zipfile.ZipFile(name, "w") as archive:
            for member in inside:
                archive.writestr(member, "the cake\n")
    with sqlite3.connect("base.sqlite") as base:
        base.execute("create table texts (text)")
    base.close()
    np.save("vectors.npy", np.eye(3))
    np.save("there.npy", np.eye(3))
    Path("folder").mkdir()
    words = WordVectors(["the", "girl", "cake"], np.eye(3), [0.5, 0.3, 0.2])
    Encoder(words, Average()).save("model")
    Encoder(words, Average()).save("there")


def told(command: str) -> Told:
    """What a command says, without what changes from run to run."""
    done = run_command(command, b"the cake\n")
    message = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-01-31 12:00", done.errors)
    message = re.sub(r"[\d.]+ s$", "0.1 s", message, flags=re.MULTILINE)
    return Told(command, done.code, message.replace(f"{os.getcwd()}/", "").strip())


def all_told() -> dict[str, list[Told]]:
    """What every mistake is told, by kind."""
    with made_folder():
        return {kind: [told(one) for one in commands] for kind, commands in MISTAKES.items()}


def page(found: dict[str, list[Told]]) -> str:
    """docs/mistakes.md."""
    count = sum(map(len, found.values()))
    lines = [
        "# Mistakes, and what noppa says",
        "",
        "Made by `python -m tests.mistakes`; `tests/test_mistakes.py` runs every command and compares.",
        "",
        f"{count} mistakes on the command line. Each gets one sentence on standard error and an exit code: 2 for wrong usage, 1 for anything "
        "else that failed, 0 where the command did its work and says what it noticed.",
    ]
    for kind, rows in found.items():
        lines += ["", f"## {kind}", "", "| command | exit code | message |", "|---|---|---|"]
        lines += [
            f"| `noppa {_cell(one.command)}` | {one.code} | {_cell(one.message)} |" for one in rows
        ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    )
    return "<br>".join(escaped.splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(all_told()), encoding="utf-8")
