"""The float64 twin of the native module: same names, straight from the paper's equations.

It is the oracle of the tests and the fallback where no compiler was there. Nothing here is fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.constants import CASE, LONGEST_RUN
from noppa.text import characters
from noppa.text import pieces as piece_rules
from noppa.text import tokens as scanner
from noppa.text.rules import FOLD, JOINERS, RULE_SET, SHARP_S
from noppa.text.telling import is_telling
from noppa.words import packed_rows
from tests.oracle.character_ngrams import mean_rows as mean_rows
from tests.oracle.character_ngrams import ngram_buckets as ngram_buckets
from tests.oracle.character_ngrams import parse_entries as parse_entries
from tests.oracle.leaders import Leaders as Leaders
from tests.oracle.leaders import nearest_cells as nearest_cells
from tests.oracle.network_steps import network_steps as network_steps
from tests.oracle.row_search import add_term as add_term
from tests.oracle.row_search import nearest_codes as nearest_codes
from tests.oracle.row_search import nearest_rows as nearest_rows
from tests.oracle.training import train as train
from tests.oracle.vector_text import format_rows as format_rows
from tests.oracle.vector_text import parse_records as parse_records
from tests.oracle.vector_text import parse_vectors as parse_vectors

Float = NDArray[np.float64]

REAL = "float64"
#: No kernels of methods: their NumPy form lies with each method.
POOLINGS: tuple[str, ...] = ()
POSITION_UNIT = 1
MOST = float(np.finfo(np.float32).max)


def tokenize(
    text: str, how: tuple[int, int, int, int] = scanner.ENGLISH, known: scanner.Known | None = None
) -> list[str]:
    return scanner.tokenize(text, scanner.Splitting(*how), known)


def instruction_set() -> str:
    return "numpy"


def instruction_sets() -> list[str]:
    return ["numpy"]


def first_other(items: list[Any]) -> int:
    return next((at for at, item in enumerate(items) if not isinstance(item, str)), -1)


def build_slots(
    text: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """No slots, since the twin uses a dict; the row numbers whose word stood before."""
    seen: set[bytes] = set()
    repeated = []
    for row, word in enumerate(_split(text, bounds)):
        if word in seen:
            repeated.append(row)
        seen.add(word)
    return np.empty(0, np.uint64), np.array(repeated, np.int64)


def check_slots(slots: NDArray[np.uint64], words: int) -> None:
    """Refuse slots that a folder holds and the native module would not search; a seed may stand behind them."""
    table = slots[:-1] if len(slots) & (len(slots) - 1) else slots
    size = len(table)
    if size <= words or size & (size - 1):
        raise ValueError("damaged slots: their number does not fit the words")
    rows = table[table != 0].astype(np.uint32)  # the lower half of a slot is the row plus one
    if len(rows) and not 1 <= rows.min() <= rows.max() <= words:
        raise ValueError("damaged slots: one names a row that is not there")
    empty = np.flatnonzero(table == 0)
    if not len(empty) or np.diff(empty, append=empty[0] + size).max() > LONGEST_RUN + 1:
        raise ValueError("damaged slots: too many filled ones in a row")


def _split(text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> Iterable[bytes]:
    whole = text.tobytes()
    return (whole[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _utf8(word: str) -> bytes:
    return "".join(map(characters.replaced_surrogate, word)).encode()


class Vocabulary:
    """Words to row numbers: exact form, then lower case, then the last `pieces` rows, then `unknown`."""

    def __init__(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        slots: NDArray[np.uint64],
        letter_case: int,
        unknown: int,
        pieces: int = 0,
        piece_slots: NDArray[np.uint64] | None = None,
        how: tuple[int, int, int, int] = scanner.ENGLISH,
        composed: bool = False,
    ) -> None:
        self.composed = composed
        self.rows: dict[bytes, int] = {}
        self.pieces: dict[bytes, int] = {}
        first_piece = len(bounds) - 1 - pieces
        for row, word in enumerate(_split(text, bounds)):
            (self.rows if row < first_piece else self.pieces).setdefault(word, row)
        self.letter_case = letter_case
        self.unknown = unknown
        self.how = scanner.Splitting(*how)
        self.known = scanner.Known(self.find_in_cases, self.find, first_piece)

    def find(self, word: str) -> int:
        return self.rows.get(_utf8(word), -1)

    def find_piece(self, piece: str) -> int:
        return self.pieces.get(_utf8(piece), -1)

    def find_in_cases(self, token: str) -> int:
        lower = characters.lower(token, self.how.fold)
        forms = {
            CASE["exact-then-lower"]: (token, lower),
            CASE["exact"]: (token,),
            CASE["lower"]: (lower,),
        }[self.letter_case]
        found = (self.find(form) for form in (*forms, *self._spellings(forms[-1])))
        return next((row for row in found if row >= 0), -1)

    def _spellings(self, word: str) -> list[str]:
        """Other spellings of a word: with ss for the German sharp s, with it for each ss, without joiners."""
        spellings = []
        if self.how.fold == FOLD["german"]:
            spellings += [word.replace(SHARP_S, "ss"), word.replace("ss", SHARP_S)]
        if self.how.fold == FOLD["german"] or self.how.rules != RULE_SET["english"]:
            spellings.append("".join(c for c in word if c not in JOINERS))
        return [spelling for spelling in spellings if spelling != word]

    def tokenize(self, text: str) -> list[str]:
        return scanner.tokenize(text, self.how, self.known)

    def look_up_token(self, token: str, seen: list[int] | None = None) -> list[int]:
        row = self.find_in_cases(token)
        if seen is not None and is_telling(token, row >= 0):
            seen[:] = seen[0] + 1, seen[1] + (row >= 0)
        if row >= 0 or not self.pieces:
            return [row if row >= 0 else self.unknown]
        if self.composed:
            return [self.pieces.get(_utf8(token), self.unknown)]
        exact = self.letter_case == CASE["exact"]
        rows = piece_rules.rows_of(token, self.find_in_cases, self.find, self.find_piece, exact)
        return rows or [self.unknown]

    def look_up_tokens(
        self, sentences: list[list[str]], seen: list[int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids and offsets; adds to the two numbers of `seen` how many telling words there were, and how many of them were found whole."""
        ids = [
            [row for token in one for row in self.look_up_token(token, seen)] for one in sentences
        ]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return np.array([row for one in ids for row in one], np.int32), offsets

    def look_up(
        self, texts: list[str], threads: int, seen: list[int] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return self.look_up_tokens([self.tokenize(text) for text in texts], seen)


class Table:
    """Word vectors as they are stored; rows come out as float64."""

    def __init__(
        self,
        matrix: NDArray[Any],
        scales: NDArray[Any] | None,
        blocks: Sequence[int] = (),
        bits: Sequence[int] = (),
    ) -> None:
        self.matrix, self.bits = matrix, list(bits)
        self.blocks = list(blocks) or [matrix.shape[1]]
        self.scales = None if scales is None else scales.reshape(len(matrix), len(self.blocks))

    def rows(self, ids: NDArray[np.int32]) -> Float:
        found = np.zeros((len(ids), sum(self.blocks)))
        real = ids < len(self.matrix)
        if self.bits and self.scales is not None:
            chosen = self.matrix[ids[real]], self.scales[ids[real]]
            found[real] = packed_rows.values(*chosen, self.blocks, self.bits, np.float64)
            return found
        found[real] = self.matrix[ids[real]]
        if self.scales is not None:
            found[real] *= np.repeat(self.scales[ids[real]], self.blocks, axis=1)
        return found


class Steps:
    """What is done to pooled rows, as tuples: see `noppa.refine`."""

    def __init__(self, steps: Sequence[tuple[Any, ...]]) -> None:
        self.steps = list(steps)


def apply_steps(
    pooled: NDArray[Any], known: NDArray[np.int32] | None, steps: Steps, threads: int
) -> Float:
    """Rows through every step, one by one, so that a row gets the same bytes in any company."""
    if not steps.steps:
        return np.asarray(pooled, np.float64)
    rows = [_through(row, steps.steps) for row in np.asarray(pooled, np.float64)]
    last = steps.steps[-1]
    width = last[1] if last[0] == "normalise" else last[1].shape[1]
    out = np.array(rows).reshape(len(rows), width)
    if known is not None:
        out[known == 0] = 0
    return out


def sparse_product(
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    matrix: NDArray[np.float32],
    threads: int,
) -> Float:
    """Sparse rows times a matrix (width, columns): row r has `values` at the columns `ids` from offsets[r] to offsets[r + 1]."""
    out = np.zeros((len(offsets) - 1, matrix.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        parts = np.asarray(values, np.float64)[:, None] * matrix[ids]
        out[filled] = np.add.reduceat(parts, offsets[filled], axis=0)
    return out


def saturated(values: Float) -> Float:
    """Within what float32 holds, in which the native kernels work."""
    return np.clip(values, -MOST, MOST)


def _through(row: Float, steps: Sequence[tuple[Any, ...]]) -> Float:
    for kind, *arrays in steps:
        if kind == "remove":
            left, right, bias = (np.asarray(array, np.float64) for array in arrays)
            row = saturated(row - saturated(left @ row - bias) @ right)
        elif kind == "map":
            matrix, bias = (np.asarray(array, np.float64) for array in arrays)
            row = saturated(row @ matrix + bias)
        else:
            length = np.sqrt(row @ row)
            row = row / length if length > 0 else np.zeros_like(row)
    return row
