"""`noppa serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noppa.extras import needs

PREFIX = "NOPPA_SERVE"


def option(help: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(help=help, show_envvar=False)
    return info


def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A preset, the folder of a saved encoder or classifier, or hf:owner/name; all presets by default.",
            envvar=f"{PREFIX}_MODEL",
            show_envvar=False,
        ),
    ] = None,
    index: Annotated[str | None, option("The folder of an index to search.")] = None,
    name: Annotated[str | None, option("The name by which clients request the model.")] = None,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on; 0 picks a free one.")] = 8000,
    workers: Annotated[int, option("Number of processes.")] = 1,
    keys: Annotated[
        Path | None,
        option(
            "A file of API keys, one per line; NOPPA_API_KEYS adds more. Without keys, all requests are accepted."
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None, option("An origin whose pages may call this server; repeatable.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        option("An accepted name in the Host header, such as the proxy's; repeatable."),
    ] = None,
    max_inputs: Annotated[int, option("Most texts per request.")] = 8192,
    max_tokens: Annotated[int, option("Most tokens per text.")] = 4096,
    max_body: Annotated[int, option("Most bytes per request body.")] = 32 << 20,
    request_seconds: Annotated[float, option("Timeout for answering a request.")] = 60,
) -> None:
    """Serve vectors over HTTP, as OpenAI, Cohere, Jina, Ollama and TEI do, and a web page at /.

    Every option can also be set by an environment variable, such as NOPPA_SERVE_MAX_INPUTS.

    Example: noppa serve my-encoder --port 8000
    """
    with needs("serve", "the server"):
        from noppa.serve.run import serve as run
        from noppa.serve.settings import Settings, read_keys
    settings = Settings(
        model=model,
        index=index,
        name=name,
        keys=read_keys(keys),
        cors_origins=tuple(cors_origin or ()),
        allowed_hosts=tuple(allowed_host or ()),
        workers=workers,
        max_inputs=max_inputs,
        max_tokens=max_tokens,
        max_body=max_body,
        request_seconds=request_seconds,
    )
    run(settings, host, port)


def register(app: typer.Typer) -> None:
    app.command(context_settings={"auto_envvar_prefix": PREFIX})(serve)
