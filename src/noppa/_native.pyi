"""Type stubs of the native module. `tests/oracle` holds the same functions in plain Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

REAL: str
POSITION_UNIT: int
#: The methods that have a native kernel, by name.
POOLINGS: tuple[str, ...]

Ids = tuple[NDArray[np.int32], NDArray[np.int64]]
StepTuple = tuple[Any, ...]
VectorRows = tuple[
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    int,
]
Rows = tuple[NDArray[Any], NDArray[np.int32]]

def character_kind(character: str) -> int: ...
def is_mark(character: str) -> bool: ...
def is_segmented(character: str) -> bool: ...
def lower(text: str, fold: int = 0) -> str: ...
def tokenize(text: str, how: tuple[int, int, int, int] = ...) -> list[str]: ...
def first_other(items: list[Any]) -> int: ...
def build_slots(
    text: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def check_slots(slots: NDArray[np.uint64], words: int) -> None: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> bool: ...

class Table:
    def __init__(
        self,
        matrix: NDArray[Any],
        scales: NDArray[Any] | None,
        blocks: Sequence[int] = (),
        bits: Sequence[int] = (),
    ) -> None: ...

class Vocabulary:
    def __init__(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        slots: NDArray[np.uint64],
        letter_case: int,
        unknown: int,
        pieces: int = 0,
        piece_slots: NDArray[np.uint64] | None = None,
        how: tuple[int, int, int, int] = ...,
        composed: bool = False,
    ) -> None: ...
    def find(self, word: str) -> int: ...
    def tokenize(self, text: str) -> list[str]: ...
    def look_up(self, texts: list[str], threads: int, seen: list[int] | None = None) -> Ids: ...
    def look_up_tokens(self, sentences: list[list[str]], seen: list[int] | None = None) -> Ids: ...

class Steps:
    def __init__(self, steps: Sequence[StepTuple]) -> None: ...

class Pooling:
    """A method of `POOLINGS` with its arguments, which are checked and held here; calls from many threads are safe.

    Each method reads its own arguments: see its file in src/native/methods.
    """

    def __init__(self, name: str, table: Table, arguments: dict[str, Any]) -> None: ...
    @property
    def width(self) -> int: ...
    def __call__(
        self, ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: Steps, threads: int
    ) -> Rows: ...

def train(
    source: NDArray[Any],
    target: NDArray[Any],
    keep: NDArray[np.float32],
    noise: NDArray[np.int32],
    negatives: int,
    rate: float,
    seed: int,
    adjacent: bool,
    itself: bool,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> None: ...
def network_steps(
    state: NDArray[np.float32],
    rows: NDArray[np.float32],
    labels: NDArray[np.int32],
    order: NDArray[np.int32],
    epoch: int,
    batch: int,
    classes: int,
    l2: float,
    steps: int,
) -> None: ...
def parse_entries(
    data: NDArray[np.uint8], start: int, count: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], int]: ...
def ngram_buckets(
    text: NDArray[np.uint8], bounds: NDArray[np.int64], shortest: int, longest: int, buckets: int
) -> Ids: ...
def mean_rows(
    data: NDArray[np.uint8],
    start: int,
    rows: int,
    dim: int,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    threads: int,
) -> NDArray[Any]: ...
def sparse_product(
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    matrix: NDArray[np.float32],
    threads: int,
) -> NDArray[Any]: ...
def apply_steps(
    pooled: NDArray[Any], known: NDArray[np.int32] | None, steps: Steps, threads: int
) -> NDArray[Any]: ...
def nearest_cells(
    rows: NDArray[np.float32], centroids: NDArray[np.float32], probes: int, threads: int
) -> NDArray[np.int32]: ...

class Leaders:
    """Near-duplicates in the order of the rows; calls from several threads wait for each other."""

    def __init__(
        self,
        vectors: NDArray[np.float32],
        centroids: NDArray[np.float32],
        probes: int,
        homes: int,
        threshold: float,
        reference: int = 0,
    ) -> None: ...
    def advance(
        self, count: int, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...

def parse_vectors(block: bytes, dim: int, threads: int) -> VectorRows: ...
def parse_records(block: bytes, dim: int, most: int) -> VectorRows: ...
def format_rows(matrix: NDArray[np.float32], separator: str, threads: int) -> list[bytes]: ...
def nearest_rows(
    table: Table,
    rows: NDArray[np.int32] | None,
    allowed: NDArray[np.uint8] | None,
    bonus: NDArray[np.float32] | None,
    queries: NDArray[np.float32],
    count: int,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def nearest_codes(
    codes: NDArray[np.int8],
    scales: NDArray[np.float32],
    rows: NDArray[np.int32],
    allowed: NDArray[np.uint8] | None,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    query: NDArray[np.float32],
    count: int,
    threads: int,
) -> NDArray[np.int32]: ...
def add_term(
    scores: NDArray[np.float32],
    rows: NDArray[np.int32],
    counts: NDArray[np.uint16],
    lengths: NDArray[np.uint32],
    weight: float,
    flat: float,
    sloped: float,
    threads: int,
) -> None: ...
