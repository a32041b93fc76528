"""The model card of a saved folder: the README.md of its repository, with the metadata that the hub reads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from noppa.errors import ParameterError
from noppa.io import storage
from noppa.parameters import number, short_repr

CITATION = "Wu, Zhao, Liu: Non-Parametric Pairwise Attention Random Walk Model for Sentence Representation, arXiv:2302.12903"


def model_card(
    repo_id: str,
    folder: Path,
    task: str,
    summary: str,
    usage: Sequence[str],
    facts: Mapping[str, str],
    license: str | None,
    figures: Mapping[str, float] | None,
) -> str:
    """The card of a folder that was just saved.

    task: the hub's name for what it does. usage: lines of Python, and then of the command line after an empty one.
    """
    if license is not None and not isinstance(license, str):
        raise ParameterError(f"license must be a name such as 'mit', not {short_repr(license)}")
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = f"{sum(file.stat().st_size for file in files):,} bytes in {len(files)} files"
    python, _, command = "\n".join(usage).partition("\n\n")
    lines = [
        "---",
        "library_name: noppa",
        f"pipeline_tag: {task}",
        f"tags: {json.dumps(['noppa', 'sentence-embeddings', 'cpu', task])}",
        *([f"license: {json.dumps(license)}"] if license else []),
        "---",
        "",
        f"# {repo_id.partition('/')[2]}",
        "",
        f"{summary} Made with noppa: word vectors and mathematics, no neural network, on any CPU.",
        "",
        "## Use",
        "",
        *_block("sh", "pip install 'noppa[hub]'"),
        *_block("python", python),
        *_block("sh", command),
        "## What it is",
        "",
        *_table(("", ""), {**facts, "size": size, "checksum of the header": f"`{storage.header_checksum(folder)}`"}),
        "",
        f"Licence: {license}." if license else "Licence: none was stated.",
    ]  # fmt: skip
    if figures:
        lines += ["", "## Results", "", *_table(("measure", "value"), _values(figures))]
    return "\n".join([*lines, "", f"The method: {CITATION}.", ""])


def _values(figures: Mapping[str, float]) -> dict[str, str]:
    if not isinstance(figures, Mapping):
        raise ParameterError(
            f"figures must be numbers by their names, as in {{'STS-B': 78.6}}, not {short_repr(figures)}"
        )
    values = {
        name: number(value, f"the figure {short_repr(name)}", -math.inf, math.inf)
        for name, value in figures.items()
    }
    return {name: f"{value:.4g}" for name, value in values.items()}


def _block(language: str, text: str) -> list[str]:
    return [f"```{language}", text, "```", ""]


def _table(head: tuple[str, str], rows: Mapping[str, str]) -> list[str]:
    """Two columns of Markdown; whatever could end a cell or begin markup is escaped."""
    return [
        f"| {head[0]} | {head[1]} |",
        "|---|---|",
        *(f"| {_cell(name)} | {_cell(value)} |" for name, value in rows.items()),
    ]


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
