"""Plain Python and float64 NumPy code with the native module's names, which the fast paths are checked against."""

from tests.oracle.fasttext import mean_rows, ngram_buckets, parse_entries
from tests.oracle.text import (
    Vocabulary,
    build_slots,
    counts_as_word,
    tokenize,
)
from tests.oracle.training import network_steps, train
from tests.oracle.vector_text import format_rows, parse_records, parse_vectors
from tests.oracle.vectors import (
    Leaders,
    Steps,
    Table,
    add_term,
    apply_steps,
    nearest_cells,
    nearest_codes,
    nearest_rows,
    sparse_product,
)  # fmt: skip

__all__ = [
    "Leaders", "Steps", "Table", "Vocabulary", "add_term", "apply_steps", "build_slots", "counts_as_word",
    "format_rows", "mean_rows", "nearest_cells", "nearest_codes", "nearest_rows", "network_steps",
    "ngram_buckets", "parse_entries", "parse_records", "parse_vectors", "sparse_product", "tokenize", "train",
]  # fmt: skip
