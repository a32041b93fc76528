"""What docs/files.md says of fastText models and of the warning of unknown words."""

from __future__ import annotations

from pages.results import lines_of

BATCHES = (1, 4, 16, 64)


def warning() -> str:
    rows = lines_of("unknown_words")
    sizes = " | ".join(f"batches of {size}" for size in BATCHES)
    table = [f"| text | texts | {sizes} |", "|---|---:|" + "---:|" * len(BATCHES)]
    for row in rows:
        rates = " | ".join(f"{row[f'rate of {size}']:.2%}" for size in BATCHES)
        table.append(f"| {row['corpus']} | {row['texts']:,} | {rates} |")
    return "\n".join(table) + "\n"


def fasttext() -> str:
    equality, encoding, *readers = lines_of("fasttext_models")
    table = [
        "| reader | seconds | CPU seconds | memory after loading, MB | at most, MB |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {row['reader']} | {row['seconds']:.2f} | {row['cpu']:.2f} | {row['resident']:,.0f} | {row['most']:,.0f} |"
            for row in readers
        ),
    ]
    return "\n".join(
        [
            f"On a model of {equality['dictionary']:,} words, {equality['buckets']:,} buckets and {equality['dim']} dimensions "
            f"({equality['megabytes']:,.0f} MB), the vectors of {equality['known']:,} known and {equality['unknown']:,}",
            f"unknown words differ from fastText's own by at most {equality['largest difference']:.1g} in a frozen table, by "
            f"{equality['largest difference while encoding']:.1g} while texts are encoded, and by {equality['largest difference of the saved']:.1g}",
            f"from a saved folder. {encoding['texts']:,} other texts, {encoding['unknown']:.1%} of whose words the model does not list, take NoPPA "
            f"{encoding['seconds']:.2f} s of one processor, and {encoding['seconds of the table']:.2f} s with the",
            f"table frozen for them; the bytes are {'the same' if encoding['same bytes'] else 'others'}. Loading the model, on a busy machine; the most of memory",
            "includes pages of the mapped file, which the system takes back when it needs them:",
            "",
            *table,
            "",
        ]
    )
