"""What the tests of noppa.cluster share: a small model, inputs of every format, and readers of the output."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

import noppa
from noppa import cluster
from tests.conftest import made_texts, made_words

WORDS = made_words(dim=6)
TEXTS = made_texts(300, WORDS)


def saved_model(folder: Path) -> Path:
    path = folder / "encoder"
    noppa.Encoder(WORDS, noppa.NoPPA(k=0)).save(path)
    return path


def encode(inputs, output, model, **options):
    return cluster.encode(
        inputs, output, model, **{"engine": "single", "shard_size": 1000, **options}
    )


def table(folder) -> pa.Table:
    """All parts, as any reader of a folder of Parquet sees them."""
    return pa.dataset.dataset(str(folder), format="parquet").to_table()


def vectors(parts: pa.Table, name: str = "embedding") -> np.ndarray:
    column = parts[name].combine_chunks()
    return np.asarray(column.flatten()).reshape(len(column), -1)


def expected(model, texts) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return noppa.load(model).encode(texts)


def written(folder: Path, form: str, texts: list[str]) -> Path:
    """Records of every format, with a number and an awkward column beside the text."""
    folder.mkdir(exist_ok=True)
    path = folder / f"t.{form}"
    if form == "txt":
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
    elif form == "jsonl":
        rows = [{"id": at, "text": text, "tags": ["x", at]} for at, text in enumerate(texts)]
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=at % 2 == 0) + "\n" for at, row in enumerate(rows)),
            encoding="utf-8", newline="",
        )  # fmt: skip
    elif form in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            if form == "csv":
                rows = csv.writer(file)
                rows.writerow(["id", "text", "note"])
                for at, text in enumerate(texts):
                    rows.writerow([at, text, f'a "note",\nin two lines {at}'])
            else:
                file.write("id\ttext\tnote\n")
                file.writelines(f'{at}\t{text}\t"{at}\n' for at, text in enumerate(texts))
    else:
        rows = {"id": range(len(texts)), "text": texts, "tags": [[at] for at in range(len(texts))]}
        pq.write_table(pa.table(rows), path, row_group_size=37)
    return path


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
    }
