"""What docs/server.md says of speed and memory."""

from __future__ import annotations

from pages.results import lines_of

COLUMNS = ("rate", "p99", "cpu")


def measured() -> str:
    *loads, soak, share = lines_of("server")
    head = " | ".join(f"{name} requests/s | p99 ms | CPU ms" for name in ("noppa", "model2vec"))
    table = [
        f"| texts | connections | {head} | requests/s, noppa / model2vec | CPU, noppa / model2vec |",
        "|" + "---:|" * 10,
    ]
    ratios: dict[int, list[float]] = {}
    for row in loads:
        figures = [row[f"{name} {column}"] for name in ("noppa", "model2vec") for column in COLUMNS]
        cells = " | ".join(
            f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}" for figure in figures
        )
        cpu = figures[2] / figures[5]
        table.append(
            f"| {row['texts']} | {row['connections']} | {cells} | {figures[0] / figures[3]:.2f} | {cpu:.2f} |"
        )
        ratios.setdefault(row["texts"], []).append(cpu)
    spans = "; ".join(
        f"with {texts} text{'s' * (texts > 1)} {min(values):.2f} to {max(values):.2f}"
        for texts, values in ratios.items()
    )
    return "\n".join(
        [
            *table,
            "",
            f"Of model2vec's processor time a request noppa needs: {spans}. The load of the two cores was about {share['load']:.1f} during",
            "the run. Small requests are not gathered into batches: encoding one text takes "
            f"{share['encoding']:.0f} µs of the {share['request']:.0f} µs that a",
            "request takes at 64 connections, and that is all that gathering could save before its own cost. Nor are they handed to a",
            f"thread, which costs {share['hop']:.0f} µs by itself: they are encoded where they arrive. Larger ones go to threads, in blocks,",
            "while the event loop stays free.",
            "",
            f"Over {soak['soak']:,} requests of 1, 2, 7 and 32 texts on 16 connections the process went from {soak['before']:.1f} to "
            f"{soak['after']:.1f} MB, never more than",
            f"{max(soak['before'], soak['most']):.1f} MB, without an error.",
            "",
        ]
    )
