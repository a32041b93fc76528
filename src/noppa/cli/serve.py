"""`noppa serve`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.serve_config import PREFIX, options_of, unknown_variables
from noppa.extras import needs

#: Without the name of its variable in the help, which says once how they are all called.
option = partial(typer.Option, show_envvar=False)


def configure(context: typer.Context, file: Path | None) -> Path | None:
    """What a file says becomes the defaults of the other options."""
    if file is not None and not context.resilient_parsing:
        context.default_map = options_of(file, serve)
    return file


def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A preset of the embedded model, the folder of a saved encoder or classifier, or hf:owner/name; all presets where not given.",
            show_default=False,
            envvar=f"{PREFIX}_MODEL",
            show_envvar=False,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        option(
            help="A TOML file of these options, without their dashes in front.",
            show_default=False,
            is_eager=True,
            callback=configure,
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        option(
            help="How texts are split, in place of what the model says: a language such as fr or zh, or the name of rules.",
            show_default=False,
        ),
    ] = None,
    index: Annotated[
        str | None,
        option(
            help="The folder of an index to search; with keys, also to add to and delete from.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, option(help="Port to listen at; 0 for a free one.")] = 8000,
    workers: Annotated[int, option(min=1, help="Processes, which share the model.")] = 1,
    served_model_name: Annotated[
        str | None, option(help="What clients call the model.", show_default=False)
    ] = None,
    any_model: Annotated[
        bool, option("--any-model", help="Take every model name for the served one.")
    ] = False,
    keys: Annotated[
        Path | None,
        option(
            help="A file of API keys, one a line; NOPPA_API_KEYS adds more. Open to all where there is none.",
            show_default=False,
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        option(
            help="An origin whose pages may call this server; may stand several times.",
            show_default=False,
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        option(
            help="A host name that this server goes by, such as a proxy's; * for any. Its addresses always count.",
            show_default=False,
        ),
    ] = None,
    url_prefix: Annotated[str, option(help="Serve under this path, too.")] = "",
    page: Annotated[bool, option("--page/--no-page", help="The explorer at /.")] = True,
    empty_input: Annotated[
        str, option(help="An empty string is an error, or zero: a row of zeros.")
    ] = "error",
    normalize: Annotated[
        bool,
        option("--normalize/--no-normalize", help="Vectors of length one at /v1/embeddings."),
    ] = True,
    max_inputs: Annotated[int, option(help="Texts of a request.")] = 8192,
    max_tokens: Annotated[int, option(help="Tokens of a text.")] = 4096,
    max_body: Annotated[int, option(help="Bytes of a body.")] = 32 << 20,
    max_held: Annotated[
        int, option(help="Bytes of all bodies and answers in memory; beyond it 503.")
    ] = 256 << 20,
    max_header: Annotated[int, option(help="Bytes of a head.")] = 32 << 10,
    max_connections: Annotated[int, option(help="Open connections of a process.")] = 1000,
    max_lines: Annotated[int, option(help="Lines that a browser may keep here.")] = 20_000,
    max_values: Annotated[
        int, option(help="Numbers in the vectors of a request, texts × dimensions.")
    ] = 1 << 25,
    queue: Annotated[int, option(help="Requests that may wait; beyond it 429.")] = 256,
    at_once: Annotated[
        int | None,
        option(help="Requests encoded at a time; one a thread.", show_default=False),
    ] = None,
    threads: Annotated[
        int | None,
        option(help="Threads of a process; all divided by the workers.", show_default=False),
    ] = None,
    header_seconds: Annotated[float, option(help="For a head to arrive.")] = 15,
    body_seconds: Annotated[float, option(help="For a body to arrive.")] = 30,
    request_seconds: Annotated[float, option(help="For an answer.")] = 60,
    keep_alive_seconds: Annotated[float, option(help="For the next request on a connection.")] = 75,
    send_seconds: Annotated[float, option(help="For a client to take an answer.")] = 300,
    drain_seconds: Annotated[float, option(help="After SIGTERM, before the port closes.")] = 1,
    log_requests: Annotated[
        bool, option("--log-requests/--no-log-requests", help="A JSON line a request.")
    ] = True,
) -> None:
    """An HTTP server: vectors, ranks and labels as OpenAI, Cohere, Jina, Ollama and TEI give them, and a page at /.

    Every option is also a variable, such as NOPPA_SERVE_MAX_INPUTS, and a line of the file that --config names, such as
    max-inputs. The command line counts before the environment, and the environment before the file.

    Example: noppa serve my-encoder --port 8000
    """
    with needs("serve", "the server"):
        from noppa.serve import logs
        from noppa.serve.run import serve as run
        from noppa.serve.settings import Settings, keys_of
    if unknown := unknown_variables(serve):
        logs.write("unknown settings", variables=unknown)
    settings = Settings(
        model=model,
        tokenizer=tokenizer,
        index=index,
        name=served_model_name,
        any_model=any_model,
        empty_input=empty_input,
        normalize=normalize,
        prefix=url_prefix,
        keys=keys_of(keys),
        origins=tuple(cors_origin or ()),
        hosts=(host, *(allowed_host or ())),
        page=page,
        max_body=max_body,
        max_held=max_held,
        max_inputs=max_inputs,
        max_tokens=max_tokens,
        max_header=max_header,
        max_connections=max_connections,
        at_once=at_once,
        threads=threads,
        queue=queue,
        header_seconds=header_seconds,
        body_seconds=body_seconds,
        request_seconds=request_seconds,
        keep_alive_seconds=keep_alive_seconds,
        send_seconds=send_seconds,
        drain_seconds=drain_seconds,
        max_lines=max_lines,
        max_values=max_values,
        log_requests=log_requests,
    )
    run(settings, host, port, workers)


def register(app: typer.Typer) -> None:
    app.command(context_settings={"auto_envvar_prefix": PREFIX})(serve)
