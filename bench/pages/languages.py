"""What docs/languages.md says of known tokens, segmentation and distillation."""

from __future__ import annotations

from typing import Any

from pages.results import lines_of


def _rows(figure: str) -> list[dict[str, Any]]:
    return [row for row in lines_of("languages") if row["figure"] == figure]


def known() -> str:
    rows = sorted(_rows("known"), key=lambda row: row["language"])
    table = [
        "| language | tokenizer | texts | words of the vocabulary | known | by the English rules | rows of zeros |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        table.append(
            f"| {row['language']} | `{row['code']}` = `{row['tokenizer']}` | {row['texts']:,} | {row['words']:,} "
            f"| {row['known']:.1%} | {row['english']:.1%} | {row['zero_rows']} |"
        )
    least = min(rows, key=lambda row: row["known"])
    zeros = sum(row["zero_rows"] for row in rows)
    return "\n".join(
        [
            f"**Known words.** {len(rows)} languages: the declaration of human rights, and messages of MediaWiki. The vocabulary is what ICU's segmenter finds in the same "
            "text, the vectors are random projections of the sentences that a word is in; known is the share of our tokens (words and numbers, no punctuation) "
            f"that the vocabulary has. The least is {least['language']} with {least['known']:.1%}; {zeros or 'no'} rows are all zeros.",
            "",
            *table,
            "",
        ]
    )


def segmentation() -> str:
    rows = _rows("segmentation")
    table = [
        "| language | beside | vocabulary | words | agreement (F1) | precision | recall | F1 of the longest match | times as fast, tokens | times as fast, rows |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        table.append(
            f"| {row['language']} | {row['package']} | {row['vocabulary']} | {row['words']:,} | {row['f1']:.3f} | {row['precision']:.3f} "
            f"| {row['recall']:.3f} | {row['longest_match_f1']:.3f} | {row['faster']:.1f} | {row['rows_faster']:.1f} |"
        )
    return "\n".join(
        [
            f"**Segmentation**, of {rows[0]['sentences']:,} sentences of MediaWiki's messages a language, from which none of our lists was made: agreement on the cuts inside runs, and processor "
            "time of one thread against the package's, each the fastest of ten runs in one process: to lists of tokens, and to rows of the vocabulary as `encode` needs them.",
            "",
            *table,
            "",
        ]
    )


def distilled() -> str:
    lines = []
    for row in _rows("distilled"):
        lines += [
            f"**Distillation**, end to end in {row['language']}: no multilingual teacher could be had for this run, so the teacher is {row['teacher']}, an English model, "
            "which shows that the way works and says nothing of the quality of a multilingual one. "
            f"{row['texts']:,} sentences of MediaWiki's messages, {row['words']:,} words, `--tokenizer {row['code']}`: {row['known']:.1%} of the words of {row['held_out']} other "
            f"sentences are known, and the cosines of their pairs follow the teacher's with a rank correlation of {row['follows']:.2f} "
            f"(the embedded model, which was fitted to this teacher on far more text and has its word pieces: {row['embedded_follows']:.2f}); {row['cpu_seconds']:.0f} s of processor time besides the teacher's.",
            "",
        ]
    return "\n".join(lines)
