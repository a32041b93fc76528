"""`noppa vectors`: get, convert and inspect word vectors."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from noppa import WordVectors
from noppa.cli.checked_output import output_of
from noppa.cli.options import AsJson, expanded
from noppa.cli.progress import bytes_bar
from noppa.cli.record_options import Column, Inputs, Reading, texts_of_inputs
from noppa.cli.table_output import print_facts, print_json, print_objects
from noppa.cli.terminal import printable
from noppa.errors import ParameterError
from noppa.io.atomic import atomic_file, scratch_folder
from noppa.io.home import home
from noppa.io.outputs import refuse_input_as_output
from noppa.io.storage import is_saved_folder
from noppa.text.tokenizer_settings import ENGLISH, Tokenizer
from noppa.words import formats
from noppa.words.counting import split_without_words, words_of_texts
from noppa.words.formats.arrays import read_words, vocabulary_of
from noppa.words.formats.catalogue import CATALOGUE, every_set, language_sets
from noppa.words.formats.download import download
from noppa.words.nearest import nearest as nearest_words

Vectors = Annotated[Path, typer.Argument(help="Word vectors: any file or saved folder.")]

SplitBy = Annotated[
    str,
    typer.Option(
        "--tokenizer", help="How texts are split: english, or a language such as de, fr or th."
    ),
]

vectors = typer.Typer(no_args_is_help=True, help="Get, convert and look into word vectors.")


@vectors.command()
def convert(
    source: Vectors,
    target: Annotated[
        Path, typer.Argument(help="A folder, or a name in .txt, .vec, .bin, .npy, .safetensors.")
    ],
    limit: Annotated[int | None, typer.Option(help="Only the first rows.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Only the words of this file, one a line.")
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option(
            help="Only the words of the texts of this file; a fastText model also makes those that it does not list."
        ),
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32, float16 or int8.")] = "float32",
    counts: Annotated[
        Path | None, typer.Option(help="Word counts to save along, `word count` a line.")
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether line 1 is `count dim`.")
    ] = None,
    errors: Annotated[
        str, typer.Option(help="Words that are not UTF-8: strict, replace or skip.")
    ] = "strict",
    on_error: Annotated[
        str, typer.Option(help="Lines that cannot be read: raise or skip.")
    ] = "raise",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file that ends early.")
    ] = False,
    member: Annotated[str | None, typer.Option(help="Which file of a zip archive.")] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Where the words of a matrix file are.")
    ] = None,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="Write the pieces of words too, spelled ##ing.")
    ] = False,
    tokenizer: SplitBy = str(ENGLISH),
) -> None:
    """Word vectors from any format into any other; files larger than memory stream through the disk.

    Example: noppa vectors convert glove.840B.300d.zip glove --dtype float16
    """
    output_of(target, (source, keep, texts, counts, vocabulary))
    how = Tokenizer.of(tokenizer)
    keep_words = _kept(keep, texts, how)
    with scratch_folder(target) as scratch:
        try:
            options = formats.Options(
                limit=limit, keep=keep_words, drop=(), dtype=dtype, header=header, errors=errors, on_error=on_error,
                strict=strict, member=member, vocabulary=vocabulary, scratch=scratch,
            )  # fmt: skip
        except ParameterError as error:
            raise typer.BadParameter(str(error)) from error
        if is_saved_folder(source):
            words = WordVectors.load(source, limit, keep_words, dtype)
        else:
            with bytes_bar("read") as progress:
                words = WordVectors.of(formats.read(source, options.with_progress(progress)))
        if how != ENGLISH:
            words = words.with_tokenizer(how)
        if counts is not None:
            words = words.with_counts(counts)
        for file in formats.written_files(target):
            refuse_input_as_output(
                file, (source, keep, counts, *_vocabularies(words, source, options))
            )
        formats.write(words, target, pieces)
        print(f"{target}: {len(words)} words, {words.dim} dimensions, {words.rows.storage}")
        del words  # unmaps the scratch file


@vectors.command()
def info(
    source: Vectors,
    member: Annotated[str | None, typer.Option(help="Which file of a zip archive.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a vector file or folder holds.

    Example: noppa vectors info glove.6B.100d.txt
    """
    words = _load(source, member)
    report = words.report
    rows = {
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
        rows["rows of zeros"] = f"{report.zero_count}"
    print_facts(rows, 16, as_json, ":")


@vectors.command()
@expanded
def coverage(
    reading: Reading,
    source: Vectors,
    inputs: Inputs = None,
    top: Annotated[int, typer.Option(help="How many unknown words to list.")] = 20,
    column: Column = None,
    as_json: AsJson = False,
) -> None:
    """How much of some text the vectors know, and which frequent words they do not.

    Example: noppa vectors coverage glove corpus.txt
    """
    words = _load(source)
    shares = words.coverage(texts_of_inputs(inputs, column, reading))
    if as_json:
        facts = asdict(shares)
        return print_json({**facts, "empty": len(shares.empty), "unknown": shares.unknown[:top]})
    print(f"tokens:  {shares.known_tokens} of {shares.tokens} known ({shares.token_share:.2%})")
    print(f"words:   {shares.known_types} of {shares.types} known ({shares.type_share:.2%})")
    if words.pieces or words.ngrams is not None:
        parts = "pieces: " if words.pieces else "n-grams:"
        print(f"{parts} {shares.piece_tokens} more tokens, {shares.piece_types} more words")
    print(f"texts without a known word: {len(shares.empty)}")
    for word, count in shares.unknown[:top]:
        print(f"{count}\t{printable(word)}")


@vectors.command()
def nearest(
    source: Vectors,
    word: Annotated[str, typer.Argument(help="A word.")],
    count: Annotated[int, typer.Option("--count", "-n", help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """The words nearest to a word, with their cosines.

    Example: noppa vectors nearest glove cake -n 5
    """
    found = nearest_words(_load(source), word, count)
    if as_json:
        return print_objects(found, ("word", "cosine"))
    for name, cosine in found:
        print(f"{cosine:.4f}\t{printable(name)}")


@vectors.command()
@expanded
def counts(
    reading: Reading,
    inputs: Inputs = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, or - for standard output.")
    ] = "-",
    column: Column = None,
    tokenizer: SplitBy = str(ENGLISH),
) -> None:
    """Count the words of some text: a file for --counts.

    Example: noppa vectors counts corpus.txt -o counts.txt
    """
    output_of(output, inputs or ())
    token_counts: Counter[str] = Counter()
    split = split_without_words(Tokenizer.of(tokenizer))
    for text in texts_of_inputs(inputs, column, reading):
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
        str | None,
        typer.Argument(
            help="Name of a set; without one, the sets are listed, with a language's code its sets."
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="Folder for the file; noppa's cache folder where not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a well-known set from its publisher, checked and resumed; prints the path of the file.

    Example: noppa vectors get glove.6B
    """
    sets, languages = every_set(), language_sets()
    if name is None and as_json:
        entries = [(entry.name, entry.size, entry.about) for entry in sets.values()]
        return print_objects(entries, ("name", "bytes", "about"))
    if name is None or name in languages:
        for entry in CATALOGUE.values() if name is None else languages[name]:
            size = "" if entry.size is None else f"{entry.size / 1e9:.1f} GB"
            print(f"{entry.name:<28}{size:<9}{entry.about}")
        if name is None:
            print(f"{'de, fr, zh, ...':<28}{'':<9}lists those of one of {len(languages)} languages")
        return
    if name not in sets:
        raise typer.BadParameter(
            f"there is no set {name!r}: choose from {', '.join(CATALOGUE)}, or give the code of a language, such as de, "
            "to see the sets that it has"
        )
    with bytes_bar(name) as progress:
        path = download(sets[name], to or home() / "vectors", progress)
    print(path)


def _kept(keep: Path | None, texts: str | None, tokenizer: Tokenizer) -> set[str] | None:
    """The words of a list and those of texts, None where neither is given."""
    if keep is None and texts is None:
        return None
    kept = set() if keep is None else {word.decode("utf-8", "replace") for word in read_words(keep)}
    if texts is not None:
        kept |= words_of_texts(texts_of_inputs([texts], None, Reading()), tokenizer)
    return kept


def _vocabularies(words: WordVectors, source: Path, options: formats.Options) -> list[Path]:
    """The file with the words of a matrix file, which may stand beside it unnamed."""
    matrix = words.report is not None and words.report.format in ("npy", "safetensors")
    return [vocabulary_of(source, options)] if matrix else []


def _load(source: Path, member: str | None = None) -> WordVectors:
    with bytes_bar("read") as progress:
        return WordVectors.load(source, member=member, progress=progress)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(vectors, name="vectors")
