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
    equality, *readers = lines_of("fasttext_models")
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
            f"unknown words differ from fastText's own by at most {equality['largest difference']:.1g}. Loading it, on a busy machine; the most of memory",
            "includes pages of the mapped file, which the system takes back when it needs them:",
            "",
            *table,
            "",
        ]
    )
