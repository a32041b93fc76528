"""What the paper concludes from its figures, beside what they give here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from noppa.paper import figures as paper
from noppa.plot.views import A_VALUES
from pages.claims import FAILED, HELD, UNTESTED, Claim
from pages.gains import SHORT
from pages.results import lines_of

#: The sentences of Figure 2, the last of which speaks of the cake, and the words that the paper compares.
PLAIN, _, OF_THE_CAKE = paper.CONTRIBUTIONS
STOP_WORDS = ("the", "a")


def rows_of(figure: int) -> list[dict[str, Any]]:
    return [row for row in lines_of("figures") if row["figure"] == figure]


def best_a() -> Claim:
    """From the values that the paper prints in Figure 1."""
    stop, meaning = paper.WEIGHTS.values()
    gaps = {a: high - low for a, low, high in zip(A_VALUES, stop, meaning, strict=True)}
    best = max(gaps, key=gaps.__getitem__)
    return Claim(
        "From Figure 1, the best a to tell stop words from meaningful ones lies between 0.01 and 0.1",
        f"The figure's own values lie furthest apart at a = {best:g} ({gaps[best]:.2f}; at 0.01 {gaps[0.01]:.2f}, at 0.1 {gaps[0.1]:.2f}). "
        "They are half of equation 9's weights, over the 11 of 13 stop words that the counts hold.",
        HELD if 0.01 <= best <= 0.1 else FAILED,
    )


def contributions() -> Claim:
    """The numbers of Figure 2, with the vectors that the paper used."""
    rows = [row for row in rows_of(2) if row["encoder"] == "NoPPA"]
    parts = []
    for position, whose in (("reference", "the authors' positions"), ("paper", "the paper's")):
        own = [row for row in rows if row["position"] == position]
        best = max(own, key=lambda row: (row["equal"], -row["worst"]))
        parts.append(
            f"with {whose} {best['equal']} of {best['of']} values at a = {best['a']:g} (furthest off by {best['worst']:.3f})"
        )
    best = max(rows, key=lambda row: row["equal"])
    return Claim(
        "The cosines of words with their sentences that Figure 2 prints",
        "The 7,700 words of GloVe 840B hold all of its words, so here the paper's own vectors speak. To the two printed digits, "
        f"without noise removal: {'; '.join(parts)}. The paper does not say which a it drew: each is the best of {len({row['a'] for row in rows})} that were "
        f"tried{', and below the range that it searched, 0.01 to 0.15' if best['a'] < 0.01 else ''}.",
        "held, with the positions of the authors' program"
        if best["equal"] == best["of"]
        else FAILED,
    )


def topics() -> Claim:
    """What Figure 2 is said to show, for NoPPA and for an average that knows no context."""
    best = max(
        (row for row in rows_of(2) if row["encoder"] == "NoPPA"), key=lambda row: row["equal"]
    )
    (average,) = (row for row in rows_of(2) if row["encoder"] == "Average")
    shown = {
        name: " to ".join(f"{cosine(row, text, 'girl'):.2f}" for text in (PLAIN, OF_THE_CAKE))
        for name, row in (("NoPPA", best), ("average", average))
    }
    falls_too = cosine(average, PLAIN, "girl") > cosine(average, OF_THE_CAKE, "girl")
    wide = next(row for row in rows_of(2) if (row.get("a"), row.get("position")) == (0.05, "paper"))
    return Claim(
        "NoPPA turns its attention to the topic: “girl” counts less once the cake is delicious, stop words always little (Figure 2)",
        f"“girl” goes from {shown['NoPPA']}, but in the plain average, which has no attention, from {shown['average']}: each further "
        f"word does that. At a = {best['a']:g} {ranked(best)}; at a = 0.05 {ranked(wide)}.",
        "the numbers held, what is concluded from them did not" if falls_too else HELD,
    )


def cosine(row: dict[str, Any], text: str, word: str) -> float:
    return float(row["cosines"][text][text.split().index(word)])


def ranked(row: dict[str, Any]) -> str:
    """Whether a stop word is above another word of its sentence."""
    for text in paper.CONTRIBUTIONS:
        words = text.split()
        stop = max((cosine(row, text, word), word) for word in words if word in STOP_WORDS)
        rest = min((cosine(row, text, word), word) for word in words if word not in STOP_WORDS)
        if stop > rest:
            return f"“{stop[1]}” ({stop[0]:.2f}) is above “{rest[1]}” ({rest[0]:.2f})"
    return "stop words are the lowest in all three sentences"


def causes() -> Claim:
    rows = [row for row in rows_of(3) if row["word"] == "bleeding" and row["place"]]
    held = {row["vectors"] for row in rows if row["place"] <= 2}
    failed = {row["vectors"] for row in rows} - held
    return Claim(
        'Attention finds causes: "bleeding" gives "injured" 4.8 %, its third-highest share after itself and "right" (Figure 3)',
        f"{'; '.join(map(shared, rows))}, place among all other words. The 7,700 words of GloVe 840B that can be had lack both words.",
        FAILED
        if not held
        else HELD
        if not failed
        else f"held with {named(held)}, did not hold with {named(failed)}",
    )


def named(files: Collection[str]) -> str:
    return " and ".join(SHORT[file] for file in SHORT if file in files)


def shared(row: dict[str, Any]) -> str:
    return f"{row['share']:.2f} % (place {row['place']} of {row['of']}) with {row['vectors']}, {row['position']} positions"


def coreference() -> Claim:
    rows = [row for row in rows_of(3) if row["word"] == "he" and row["place"]]
    return Claim(
        'NoPPA does not handle coreference: "he" hardly looks at "David" (Figure 3)',
        f"{'; '.join(map(shared, rows))}. The other files lack the name.",
        HELD if all(row["place"] > 3 for row in rows) else FAILED,
    )


def put_together(figure: int, said: str) -> Claim:
    """Of a sentence that the paper draws and does not print."""
    rows = [row for row in rows_of(figure) if row["position"] == "paper" and row["place"]]
    return Claim(
        said,
        f"The sentence is not printed; with one put together from the phrases that the text names: {'; '.join(map(shared, rows))}.",
        UNTESTED,
    )


def claims() -> list[Claim]:
    return [
        best_a(),
        contributions(),
        topics(),
        causes(),
        coreference(),
        put_together(4, '"broken" gives "crashed" 4.65 % (Figure 4)'),
        put_together(
            5,
            '"think" gives "trouble" 2.62 %, the highest share of the first part of its sentence (Figure 5)',
        ),
    ]
