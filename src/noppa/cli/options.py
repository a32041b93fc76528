"""Options that several commands share, and what they describe: inputs, models and methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import noppa
from noppa.cli.output import bytes_bar
from noppa.errors import FileError, ParameterError
from noppa.files import FORMATS, Input
from noppa.files.inputs import STDIN
from noppa.methods.registry import method_class, search_current_folder

Inputs = Annotated[
    list[str] | None, typer.Argument(help="Files with text; standard input if none or -.")
]
Column = Annotated[
    str | None,
    typer.Option("--column", "-c", help="Column with the text: a name, or a number from 1."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--from",
        help=f"Input format: {', '.join(FORMATS)}; by the file name if not given. Settings follow a colon, as in "
        "csv:delimiter=;,header=no,encoding=cp1252.",
    ),
]
OnError = Annotated[
    Literal["raise", "skip", "empty"],
    typer.Option(help="Bad records: stop, leave them out, or treat them as empty texts."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A preset (default, similarity, small), a saved encoder's folder, or hf:owner/name@revision.",
    ),
]
Output = Annotated[
    str, typer.Option("--output", "-o", help="File to write, or - for standard output.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
Engine = Annotated[
    Literal["dask", "spark"] | None,
    typer.Option(
        help="Run on a cluster, one task per input file; the output is a folder of parts."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="With --engine, a running cluster, such as tcp://host:8786 or spark://host:7077."
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that exists, finished or not.")
]
Count = Annotated[int, typer.Option("--count", "-n", min=1, help="How many to show.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Vectors = Annotated[
    Path | None,
    typer.Option("--vectors", "-v", help="Word vectors, instead of a model."),
]
Counts = Annotated[Path | None, typer.Option(help="Word counts: `word count` lines.")]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="How texts are split: a language such as de, fr or zh, or a tokenizer with settings, as in "
        "plain:form=NFKC. Saved with the words.",
    ),
]

#: Names for a tab, which a shell may change.
TABS = {"\\t": "\t", "tab": "\t"}
#: Settings of `--from`, and the fields of `Input` that they set.
SETTINGS = ("delimiter", "encoding", "header")
YES_NO = {"yes": True, "no": False}


# Inputs


def input_files(
    paths: Sequence[str] | None, column: str | None, form: str | None, engine: str | None = None
) -> Input:
    """Return the input that the options describe; raise for missing files and folders before any work.

    Args:
        paths: Files; standard input if None.
        column: The column with the text.
        form: A format with settings, as `--from` takes it.
        engine: With an engine, the paths may be folders and patterns too.
    """
    if engine is not None:
        from noppa.integrations.cluster import expand_paths

        paths = expand_paths(paths or [])
    for path in paths or []:
        if path != STDIN and "://" not in path and not Path(path).exists():
            raise FileError(f"{path} does not exist")
        if Path(path).is_dir():
            raise FileError(f"{path} is a folder: give the files in it")
    name, settings = _parse_format(form)
    try:
        source = Input(tuple(paths or [STDIN]), name, column, **settings)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    for path in source.paths:
        if column is not None and source.format_of(path) == "lines":
            raise typer.BadParameter(
                f"{path} is read as plain lines, which have no column {column!r}: "
                "pass --from csv, tsv, jsonl or json, or leave out the column"
            )
    return source


def _parse_format(form: str | None) -> tuple[str | None, dict[str, Any]]:
    """Split `csv:delimiter=;,header=no` into the format's name and its settings."""
    name, _, rest = (form or "").partition(":")
    if name and name not in FORMATS:
        raise typer.BadParameter(f"--from must be one of {', '.join(FORMATS)}, not {name!r}")
    settings: dict[str, Any] = {}
    for setting in rest.split(",") if rest else []:
        key, equals, value = setting.partition("=")
        if key not in SETTINGS or not equals or (key == "header" and value not in YES_NO):
            raise typer.BadParameter(
                f"--from {form}: {setting!r} is not a setting; use delimiter=;, encoding=cp1252 or header=no"
            )
        settings[key] = YES_NO[value] if key == "header" else TABS.get(value, value)
    return name or None, settings


def input_size(source: Input) -> int:
    """Return the bytes of all files, 0 if one of them is standard input or remote."""
    if STDIN in source.paths or "://" in " ".join(source.paths):
        return 0
    return sum(Path(path).stat().st_size for path in source.paths)


# Models and methods


def load_words(vectors: Path, counts: Path | None, ranks: bool = False, tokenizer: str | None = None) -> noppa.WordVectors:  # fmt: skip
    """Load word vectors, with probabilities from counts or, with `ranks`, from the order of the words."""
    with bytes_bar("vectors") as progress:
        words = noppa.WordVectors.load(vectors, tokenizer=tokenizer, progress=progress)
    if counts is not None:
        return words.with_counts(counts)
    return words.with_ranks() if ranks else words


def unfitted_encoder(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    ranks: bool,
    method: str | None,
    parameters: Sequence[str],
    tokenizer: str | None = None,
) -> noppa.Encoder:
    """Return a saved or embedded encoder, or one over bare vectors, with the method and parameters of the options."""
    if model is not None and vectors is not None:
        raise typer.BadParameter("give --model or --vectors, not both")
    try:
        if vectors is None:
            if counts is not None or ranks:
                raise typer.BadParameter("--counts and --ranks need --vectors")
            encoder = noppa.load(model, tokenizer)
            if method is not None:
                return noppa.Encoder(encoder.words, parse_method(method, parameters))
            if not parameters:
                return encoder
            saved: Any = encoder.method
            changed = replace(saved, **parse_parameters(parameters, type(saved)))
            return noppa.Encoder(encoder.words, changed, encoder.refine)
        pooling = parse_method(method or "noppa", parameters)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    words = load_words(vectors, counts, ranks, tokenizer)
    if words.probabilities is None and getattr(pooling, "needs_probabilities", False):
        raise typer.BadParameter(
            f"{type(pooling).__name__} needs word probabilities: give --counts FILE, which `noppa vectors counts` makes "
            "from your own text, or --ranks, which estimates them from the order of the words"
        )
    return noppa.Encoder(words, pooling)


def find_method(name: str) -> type[Any]:
    """Return a method's class by its name, or by `package.module:Class`, also from the current folder."""
    if ":" in name:
        search_current_folder()
    return method_class(name)


def parse_method(name: str, pairs: Sequence[str]) -> Any:
    """Return a method from its name and `name=value` pairs."""
    kind = find_method(name)
    return kind(**parse_parameters(pairs, kind))


def parse_parameters(pairs: Sequence[str], kind: type[Any]) -> dict[str, Any]:
    """Convert the `name=value` pairs of `-p` to the types of a method's fields."""
    types = {
        name: _type_name(parameter)
        for name, parameter in signature(kind).parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    parameters = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in types:
            names = ", ".join(types) or "none, because the method has no parameters"
            raise ParameterError(f"-p {pair}: give name=value with a name from {names}")
        parameters[name] = _convert(text, types[name])
    return parameters


def _type_name(parameter: Parameter) -> str:
    """Return the annotation of a parameter, or the type of its default."""
    annotation = parameter.annotation
    if annotation is Parameter.empty:
        annotation = str if parameter.default is Parameter.empty else type(parameter.default)
    return str(getattr(annotation, "__name__", annotation))


def _convert(text: str, annotation: str) -> Any:
    """Convert a text to a type such as `float | None`; the method refuses what cannot be converted."""
    if "None" in annotation and text.lower() == "none":
        return None
    if annotation.startswith("tuple"):
        item_type = annotation.removeprefix("tuple[").split(",")[0]
        items = (item.strip(" '\"") for item in text.strip("()[] ").split(",") if item.strip())
        return tuple(_convert(item, item_type) for item in items)
    if annotation.startswith("bool"):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return {"int": int, "float": float}.get(annotation.split(" ")[0], str)(text)
    except ValueError:
        return text
