"""The float64 twin of the native module: same names, straight from the paper's equations.

It is the oracle of the tests and the fallback where no compiler was there. Nothing here is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.kernels import formulas
from noppa.kernels.constants import CASE, DROPPED, LONGEST_RUN
from noppa.kernels.formulas import PAIR_KERNELS as PAIR_KERNELS
from noppa.kernels.formulas import attention as attention
from noppa.kernels.formulas import positions as positions
from noppa.kernels.training import train as train
from noppa.kernels.vector_text import format_rows as format_rows
from noppa.kernels.vector_text import parse_records as parse_records
from noppa.kernels.vector_text import parse_vectors as parse_vectors
from noppa.text import characters
from noppa.text import pieces as piece_rules
from noppa.text import tokens as scanner

Float = NDArray[np.float64]

REAL = "float64"
#: No kernels of methods: their NumPy form lies with each method.
POOLINGS: tuple[str, ...] = ()
POSITION_UNIT = 1
MOST = float(np.finfo(np.float32).max)

tokenize = scanner.tokenize


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
    ) -> None:
        self.rows: dict[bytes, int] = {}
        self.pieces: dict[bytes, int] = {}
        first_piece = len(bounds) - 1 - pieces
        for row, word in enumerate(_split(text, bounds)):
            (self.rows if row < first_piece else self.pieces).setdefault(word, row)
        self.letter_case = letter_case
        self.unknown = unknown

    def find(self, word: str) -> int:
        return self.rows.get(_utf8(word), -1)

    def find_piece(self, piece: str) -> int:
        return self.pieces.get(_utf8(piece), -1)

    def find_in_cases(self, token: str) -> int:
        lower = characters.lower(token)
        forms = {
            CASE["exact-then-lower"]: (token, lower),
            CASE["exact"]: (token,),
            CASE["lower"]: (lower,),
        }
        found = (self.find(form) for form in forms[self.letter_case])
        return next((row for row in found if row >= 0), -1)

    def look_up_token(self, token: str) -> list[int]:
        row = self.find_in_cases(token)
        if row >= 0 or not self.pieces:
            return [row if row >= 0 else self.unknown]
        exact = self.letter_case == CASE["exact"]
        rows = piece_rules.rows_of(token, self.find_in_cases, self.find, self.find_piece, exact)
        return rows or [self.unknown]

    def look_up_tokens(
        self, sentences: list[list[str]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        ids = [[row for token in one for row in self.look_up_token(token)] for one in sentences]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return np.array([row for one in ids for row in one], np.int32), offsets

    def look_up(
        self, texts: list[str], threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return self.look_up_tokens([tokenize(text) for text in texts])


class Table:
    """Word vectors as they are stored; rows come out as float64."""

    def __init__(
        self,
        matrix: NDArray[Any],
        scales: NDArray[np.float32] | None,
        blocks: Sequence[int] = (),
    ) -> None:
        self.matrix = matrix
        self.blocks = list(blocks) or [matrix.shape[1]]
        self.scales = None if scales is None else scales.reshape(len(matrix), len(self.blocks))

    def rows(self, ids: NDArray[np.int32]) -> Float:
        words, dim = self.matrix.shape
        found = np.zeros((len(ids), dim))
        real = ids < words
        found[real] = self.matrix[ids[real]]
        if self.scales is not None:
            found[real] *= np.repeat(self.scales[ids[real]], self.blocks, axis=1)
        return found


def pool_noppa(
    table: Table,
    weights: NDArray[Any] | None,
    positions: NDArray[Any] | None,
    kernel: int,
    attend_self: bool,
    dropped_take_position: bool,
    parts: Sequence[int],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    steps: Steps,
    threads: int,
) -> tuple[Float, NDArray[np.int32]]:
    """Equations 9 and 10: pooled and refined rows (sentences, width), and how many tokens of each took part.

    `parts` are numbers (`formulas.part_number`) in the order wanted: 0, 1 is the paper's [context ; word].
    """
    dim = table.matrix.shape[1]
    sentences = len(offsets) - 1
    pooled = np.zeros((sentences, dim * len(parts)))
    known = np.zeros(sentences, np.int32)
    name = list(PAIR_KERNELS)[kernel]
    for row in range(sentences):
        sentence = ids[offsets[row] : offsets[row + 1]]
        kept = sentence != DROPPED
        known[row] = kept.sum()
        if not known[row]:
            continue
        vectors = table.rows(sentence[kept])
        weight = np.ones(len(vectors)) if weights is None else weights[sentence[kept]].astype(float)
        places = np.flatnonzero(kept) if dropped_take_position else np.arange(len(vectors))
        positional = vectors if positions is None else vectors + positions[places]
        pooled[row] = np.concatenate(
            [
                formulas.noppa_terms(part, vectors, positional, weight, name, attend_self).sum(0)
                for part in parts
            ]
        )
    return apply_steps(pooled, known, steps, threads), known


def pool_words(
    formula: Callable[[NDArray[np.int32], Float], Float],
    table: Table,
    width: int,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    steps: Steps,
    threads: int,
) -> tuple[Float, NDArray[np.int32]]:
    """Every sentence through a formula of its known ids and their vectors; then the steps."""
    pooled = np.zeros((len(offsets) - 1, width))
    known = np.zeros(len(pooled), np.int32)
    for row in range(len(pooled)):
        sentence = ids[offsets[row] : offsets[row + 1]]
        sentence = sentence[sentence != DROPPED]
        known[row] = len(sentence)
        if len(sentence):
            pooled[row] = formula(sentence, table.rows(sentence))
    return apply_steps(pooled, known, steps, threads), known


def _weights(weights: NDArray[Any] | None, ids: NDArray[np.int32]) -> Float:
    return np.ones(len(ids)) if weights is None else weights[ids].astype(float)


def pool_mean(
    table: Table, weights: NDArray[Any] | None, divisor: int, scaled: bool, *batch: Any
) -> tuple[Float, NDArray[np.int32]]:
    name = formulas.DIVISORS[divisor]
    return pool_words(
        lambda ids, v: formulas.mean_terms(v, _weights(weights, ids), name, scaled).sum(axis=0),
        table,
        table.matrix.shape[1],
        *batch,
    )


def pool_dct(table: Table, k: int, *batch: Any) -> tuple[Float, NDArray[np.int32]]:
    width = k * table.matrix.shape[1]
    return pool_words(lambda ids, v: formulas.dct(v, k), table, width, *batch)


def pool_vlawe(
    table: Table, labels: NDArray[np.int32], centroids: NDArray[Any], power: float, *batch: Any
) -> tuple[Float, NDArray[np.int32]]:
    centres = centroids.astype(float)
    return pool_words(
        lambda ids, v: formulas.vlawe(v, labels[ids], centres, power),
        table,
        centres.size,
        *batch,
    )


def pool_s3e(
    table: Table,
    weights: NDArray[Any] | None,
    labels: NDArray[np.int32],
    centroids: NDArray[Any],
    average: bool,
    published: bool,
    *batch: Any,
) -> tuple[Float, NDArray[np.int32]]:
    centres, slots = centroids.astype(float), len(centroids)

    def formula(ids: NDArray[np.int32], vectors: Float) -> Float:
        if published:  # each word once, in the order of first appearance
            kept = np.sort(np.unique(ids, return_index=True)[1])
            ids, vectors = ids[kept], vectors[kept]
        weight = _weights(weights, ids)
        return formulas.s3e(vectors, weight, labels[ids], centres, average, published)

    width = slots * (slots + 1) // 2 + (table.matrix.shape[1] if average else 0)
    return pool_words(formula, table, width, *batch)


def pool_gem(
    table: Table,
    directions: NDArray[np.float64],
    values: NDArray[np.float64],
    window: int,
    removed: int,
    *batch: Any,
) -> tuple[Float, NDArray[np.int32]]:
    return pool_words(
        lambda ids, v: formulas.gem(v, directions, values, window, removed),
        table,
        table.matrix.shape[1],
        *batch,
    )


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
