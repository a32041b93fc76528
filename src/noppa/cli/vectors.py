"""`noppa vectors`: get, convert and inspect word vectors."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from noppa import WordVectors
from noppa.cli.inputs import read_texts
from noppa.cli.options import (
    AsJson,
    Column,
    Count,
    Format,
    Inputs,
    OnError,
    Output,
    TokenizerName,
    input_files,
)
from noppa.cli.output import (
    bytes_bar,
    check_output,
    print_facts,
    print_json,
    print_objects,
    print_rows,
    printable,
)
from noppa.errors import ParameterError
from noppa.io.atomic import atomic_file, scratch_folder
from noppa.io.paths import home, refuse_input_as_output
from noppa.io.storage import is_saved_folder
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words import formats
from noppa.words.formats.arrays import read_words, vocabulary_of
from noppa.words.formats.download import download, find_set, vector_sets
from noppa.words.frequencies import split_without_words, words_of_texts

Vectors = Annotated[Path, typer.Argument(help="Word vectors: any file or saved folder.")]

vectors = typer.Typer(no_args_is_help=True, help="Get, convert and inspect word vectors.")


@vectors.command()
def convert(
    source: Vectors,
    target: Annotated[
        Path, typer.Argument(help="A folder, or a name in .txt, .vec, .bin, .npy, .safetensors.")
    ],
    limit: Annotated[int | None, typer.Option(help="Only the first rows.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Only the words of this file, one per line.")
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option(
            help="Only the words of the texts in this file; a fastText model also makes vectors of unlisted words."
        ),
    ] = None,
    dtype: Annotated[Literal["float32", "float16", "int8"], typer.Option()] = "float32",
    counts: Annotated[
        Path | None, typer.Option(help="Word counts to save with the words: `word count` lines.")
    ] = None,
    member: Annotated[str | None, typer.Option(help="A file of a zip archive.")] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="The words of a matrix file, one per line.")
    ] = None,
    tokenizer: TokenizerName = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="Unreadable lines: stop, or leave them out.")
    ] = "raise",
) -> None:
    """Convert word vectors from any format into any other; files larger than memory stream through the disk.

    Example: noppa vectors convert glove.840B.300d.zip glove --dtype float16
    """
    check_output(target, (source, keep, texts, counts, vocabulary))
    split = Tokenizer.parse(tokenizer or ENGLISH)
    kept = _words_to_keep(keep, texts, split)
    with scratch_folder(target) as scratch:
        try:
            options = formats.Options(
                limit=limit, keep=kept, drop=(), dtype=dtype, on_error=on_error, member=member,
                vocabulary=vocabulary, scratch=scratch,
            )  # fmt: skip
        except ParameterError as error:
            raise typer.BadParameter(str(error)) from error
        if is_saved_folder(source):
            words = WordVectors.load(source, limit, kept, dtype)
        else:
            with bytes_bar("read") as progress:
                words = WordVectors.from_loaded(
                    formats.read(source, replace(options, progress=progress))
                )
        if tokenizer is not None:
            words = words.with_tokenizer(split)
        if counts is not None:
            words = words.with_counts(counts)
        for file in formats.written_files(target):
            refuse_input_as_output(
                file, (source, keep, counts, *_vocabularies(words, source, options))
            )
        formats.write(words, target)
        print(f"{target}: {len(words)} words, {words.dim} dimensions, {words.rows.storage}")
        del words  # unmaps the scratch file


@vectors.command()
def info(
    source: Vectors,
    member: Annotated[str | None, typer.Option(help="A file of a zip archive.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a vector file or folder holds.

    Example: noppa vectors info glove.6B.100d.txt
    """
    words = _load(source, member)
    report = words.report
    facts = {
        "format": "native folder" if report is None else report.format,
        "compression": "none" if report is None else report.compression,
        "words": f"{words.lexicon.whole_words}",
        "pieces": f"{words.pieces}",
        "dimensions": f"{words.dim}",
        "type": words.rows.storage,
        "probabilities": "yes" if words.probabilities is not None else "none",
        "repeated words": f"{len(words.repeated)}",
        "first words": " ".join(words.words[:8]),
    }
    if report is not None:
        facts["rows of zeros"] = f"{report.zero_count}"
    print_facts(facts, as_json)


@vectors.command()
def coverage(
    source: Vectors,
    inputs: Inputs = None,
    count: Count = 20,
    column: Column = None,
    as_json: AsJson = False,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Show how much of a text the vectors know, and the frequent words that they do not.

    Example: noppa vectors coverage glove corpus.txt
    """
    words = _load(source)
    shares = words.coverage(read_texts(input_files(inputs, column, form), on_error))
    unknown = shares.unknown[:count]
    if as_json:
        facts = asdict(shares)
        return print_json({**facts, "empty": len(shares.empty), "unknown": unknown})
    print(f"tokens:  {shares.known_tokens} of {shares.tokens} known ({shares.token_share:.2%})")
    print(f"words:   {shares.known_types} of {shares.types} known ({shares.type_share:.2%})")
    if words.pieces or words.ngrams is not None:
        parts = "pieces: " if words.pieces else "n-grams:"
        print(f"{parts} {shares.piece_tokens} more tokens, {shares.piece_types} more words")
    print(f"texts without a known word: {len(shares.empty)}")
    for word, occurrences in unknown:
        print(f"{occurrences}\t{printable(word)}")


@vectors.command()
def nearest(
    source: Vectors,
    word: Annotated[str, typer.Argument(help="A word.")],
    count: Count = 10,
    as_json: AsJson = False,
) -> None:
    """List the words nearest to a word, with their cosines.

    Example: noppa vectors nearest glove cake -n 5
    """
    found = _load(source).nearest(word, count)
    if as_json:
        return print_objects(found, ("word", "cosine"))
    print_rows((cosine, name) for name, cosine in found)


@vectors.command()
def counts(
    inputs: Inputs = None,
    output: Output = "-",
    column: Column = None,
    tokenizer: TokenizerName = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Count the words of texts: a file for --counts.

    Example: noppa vectors counts corpus.txt -o counts.txt
    """
    check_output(output, inputs or ())
    token_counts: Counter[str] = Counter()
    split = split_without_words(Tokenizer.parse(tokenizer or ENGLISH))
    for text in read_texts(input_files(inputs, column, form), on_error):
        token_counts.update(split(text))
    lines = "".join(f"{word} {count}\n" for word, count in token_counts.most_common())
    if output == "-":
        sys.stdout.write(lines)
        return
    with atomic_file(Path(output)) as new:
        new.write_text(lines, encoding="utf-8", newline="\n")


@vectors.command()
def get(
    name: Annotated[
        str | None, typer.Argument(help="Name of a set; without one, all sets are listed.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="Folder for the file; noppa's cache folder if not given.")
    ] = None,
) -> None:
    """Download a well-known set from its publisher, check it, and print the path of the file.

    Example: noppa vectors get glove.6B
    """
    if name is None:
        for known, entry in vector_sets().items():
            print(f"{known:<28}{entry.about}")
        return
    with bytes_bar(name) as progress:
        path = download(find_set(name), to or home() / "vectors", progress)
    print(path)


def _words_to_keep(keep: Path | None, texts: str | None, split: Tokenizer) -> set[str] | None:
    """Return the words of a list and those of texts, None if neither is given."""
    if keep is None and texts is None:
        return None
    kept = set() if keep is None else {word.decode("utf-8", "replace") for word in read_words(keep)}
    if texts is not None:
        kept |= words_of_texts(read_texts(input_files([texts], None, None), "raise"), split)
    return kept


def _vocabularies(words: WordVectors, source: Path, options: formats.Options) -> list[Path]:
    """Return the file with the words of a matrix file, which may be next to it."""
    is_matrix = words.report is not None and words.report.format in ("npy", "safetensors")
    return [vocabulary_of(source, options)] if is_matrix else []


def _load(source: Path, member: str | None = None) -> WordVectors:
    with bytes_bar("read") as progress:
        return WordVectors.load(source, member=member, progress=progress)


def register(app: typer.Typer) -> None:
    app.add_typer(vectors, name="vectors")
