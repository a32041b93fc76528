"""An encoder, word vectors or a method from the options of a command."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

import noppa
from noppa.cli.progress import bytes_bar
from noppa.encoder import embedded
from noppa.errors import ParameterError
from noppa.methods.registry import method_class, search_current_folder

Vectors = Annotated[
    Path | None,
    typer.Option("--vectors", "-v", help="Word vectors, in place of a model.", show_default=False),
]
Counts = Annotated[
    Path | None, typer.Option(help="Word counts, `word count` a line.", show_default=False)
]
SMALLEST = "smallest"
Missing = Annotated[
    str,
    typer.Option(
        help="Probability of words without a count: smallest, or a number (0 as the paper's program)."
    ),
]
Ranks = Annotated[
    bool, typer.Option("--ranks", help="Estimate word probabilities from the order of the words.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        help="With --vectors, a parameter of the method, such as a=0.05; repeat.",
        show_default=False,
    ),
]


MethodParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter", "-p", help="A parameter of the method, as name=value.", show_default=False
    ),
]
METHOD_NAMES = f"{', '.join(noppa.METHODS)}, or package.module:Class"
FittedMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        help=f"One of {METHOD_NAMES}; noppa with --vectors, else the model's own.",
        show_default=False,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help=f"Another method over the words of the model: {METHOD_NAMES}.",
        show_default=False,
    ),
]


def model_with(
    model: str | None,
    method: str | None,
    parameters: list[str] | None,
    tokenizer: str | None = None,
) -> noppa.Encoder:
    """A preset or a saved model, or another method over its words, which then needs no fit."""
    if method is None:
        if parameters:
            raise typer.BadParameter("-p belongs to --method: give that, too")
        return noppa.load(model, tokenizer)
    # first, since the module of a method may register what the model was saved with
    made = method_of(method, parameters or [])
    encoder = noppa.load(model, tokenizer)
    saved = type(encoder.method) is type(made) and not parameters
    return encoder if saved else noppa.Encoder(encoder.words, made)


def encoder_of(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    ranks: bool,
    parameters: list[str] | None,
    tokenizer: str | None = None,
) -> noppa.Encoder:
    """The saved model, NoPPA without noise removal over the word vectors, or the embedded model."""
    if vectors is None:
        if ranks or parameters:
            raise typer.BadParameter("--ranks and -p belong to --vectors: give --vectors FILE, too")
        return noppa.load(model, tokenizer)
    if model is not None:
        raise typer.BadParameter("give --model or --vectors, not both")
    try:
        method = method_of("noppa", ["k=0", *(parameters or [])])
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    words = words_of(vectors, counts, ranks, tokenizer)
    if method.a is not None and words.probabilities is None:
        raise typer.BadParameter(
            "NoPPA weighs words by their probabilities: give --counts, --ranks, or -p a=None for none"
        )
    if method.k:
        raise typer.BadParameter(
            f"k={method.k} has to be fitted: fit a model with `noppa fit` and give it as --model"
        )
    return noppa.Encoder(words, method)


def encoder_to_fit(
    model: str | None,
    vectors: Path | None,
    counts: Path | None,
    ranks: bool,
    method: str | None,
    parameters: list[str],
    tokenizer: str | None = None,
    missing: str = SMALLEST,
) -> noppa.Encoder:
    """A saved or embedded encoder or bare vectors, with another method or other parameters where they are given."""
    if model is not None and vectors is not None:
        raise typer.BadParameter("give --model or --vectors, not both")
    try:
        if vectors is None:
            if counts is not None or ranks or missing != SMALLEST:
                raise typer.BadParameter(
                    "--counts, --missing and --ranks belong to --vectors: give --vectors FILE, too"
                )
            return _refitted(noppa.load(model, tokenizer), method, parameters)
        made = method_of(method or "noppa", parameters)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    return noppa.Encoder(words_of(vectors, counts, ranks, tokenizer, missing), made)


def _refitted(old: noppa.Encoder, method: str | None, parameters: list[str]) -> noppa.Encoder:
    """An encoder with another method, or with other parameters of its own."""
    if method is not None:
        return noppa.Encoder(old.words, method_of(method, parameters))
    if not parameters:
        return old
    before: Any = old.method
    changed = replace(before, **parameters_of(parameters, type(before)))
    return noppa.Encoder(old.words, changed, old.refine)


def refuse_dim(encoder: noppa.Encoder, dim: int | None) -> None:
    """Refuse a number of dimensions that does not fit; where no part of a vector means anything, name presets where it does."""
    if dim is not None and not encoder.ordered:
        ordered = [name for name in embedded.presets() if noppa.load(name).ordered]
        raise typer.BadParameter(
            f"--dim {dim} would keep an arbitrary part of this model's vectors: the presets whose first dimensions "
            f"matter most are {', '.join(ordered)}, such as -m {ordered[0] if ordered else 'FOLDER'}"
        )
    if dim is not None and not 1 <= dim <= encoder.dim:
        raise typer.BadParameter(
            f"--dim {dim}: a vector of this model has {encoder.dim} dimensions"
        )


def words_of(
    vectors: Path,
    counts: Path | None,
    ranks: bool = False,
    tokenizer: str | None = None,
    missing: str = SMALLEST,
) -> noppa.WordVectors:
    """Word vectors from a file, with probabilities from counts, or from the order of the words with `ranks`."""
    if counts is None and missing != SMALLEST:
        raise typer.BadParameter("--missing belongs to --counts: give --counts FILE, too")
    with bytes_bar("vectors") as progress:
        words = noppa.WordVectors.load(vectors, tokenizer=tokenizer, progress=progress)
    if counts is not None:
        return words.with_counts(counts, _probability(missing))
    return words.with_ranks() if ranks else words


def _probability(missing: str) -> str | float:
    try:
        return float(missing)
    except ValueError:
        return missing  # `with_counts` knows the word, or refuses it


def kind_of(name: str) -> type[Any]:
    """The class of a method by its name, or by `package.module:Class`, also from the current folder."""
    if ":" in name:
        search_current_folder()
    return method_class(name)


def method_of(name: str, pairs: list[str]) -> Any:
    """A method from its name and `name=value` pairs."""
    kind = kind_of(name)
    return kind(**parameters_of(pairs, kind))


def parameters_of(pairs: list[str], kind: type[Any]) -> dict[str, Any]:
    """Parameters of a method from the `name=value` pairs of `-p`, converted to the types of its fields."""
    types = {
        name: _type_name(parameter)
        for name, parameter in signature(kind).parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    parameters = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in types:
            names = ", ".join(types) or "none, because the method has no parameter"
            raise ParameterError(f"-p {pair}: give name=value with a name from {names}")
        parameters[name] = _value(text, types[name])
    return parameters


def _type_name(parameter: Parameter) -> str:
    """The annotation of a parameter, or the type of its default where it has none."""
    annotation = parameter.annotation
    if annotation is Parameter.empty:
        annotation = str if parameter.default is Parameter.empty else type(parameter.default)
    return str(getattr(annotation, "__name__", annotation))


def _value(text: str, annotation: str) -> Any:
    """A text converted to the type of a field such as `float | None`; unchanged if it cannot be, for the method to refuse."""
    if "None" in annotation and text.lower() == "none":
        return None
    if annotation.startswith("tuple"):
        items = (item.strip(" '\"") for item in text.strip("()[] ").split(",") if item.strip())
        return tuple(
            _value(item, annotation.removeprefix("tuple[").split(",")[0]) for item in items
        )
    if annotation.startswith("bool"):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return {"int": int, "float": float}.get(annotation.split(" ")[0], str)(text)
    except ValueError:
        return text
