"""Options that several commands share, and dataclasses of options that a command takes as one parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import typer

from noppa.threads import MOST

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A preset of the embedded model, the folder of a saved encoder, or hf:owner/name@revision.",
        show_default=False,
    ),
]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help="How texts are split, in place of what the model says: a language such as fr, tr or zh; english, plain, "
        "elision, whitespace, jieba, fugashi, pythainlp; settings behind it, as in zh:form=NFKC.",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Threads; all available ones if not given.", show_default=False, min=1, max=MOST
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses become an option for each field, after its other options."""
    # Not get_type_hints: on Python 3.10 it hides what is Annotated where the default is None.
    given = signature(command, eval_str=True)
    hints = {name: one.annotation for name, one in given.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[name])
        for name, one in given.parameters.items()
        if name not in groups
    ]
    for kind in groups.values():
        annotations = get_type_hints(kind, include_extras=True)
        parameters += [
            Parameter(
                one.name,
                Parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=annotations[one.name],
            )
            for one in fields(kind)
        ]

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
        command(**values)

    del called.__wrapped__  # or its signature would be taken
    setattr(called, "__signature__", given.replace(parameters=parameters))  # noqa: B010
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
