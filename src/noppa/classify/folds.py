"""Stratified folds, the same as those of scikit-learn's `StratifiedKFold(shuffle=True)`, which SentEval uses.

Not imported from there: that import costs each process of a pool 1.6 s of CPU, and the folds of MR take 2 ms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError

Index = NDArray[np.int64]


def stratified_folds(labels: NDArray[np.int64], folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Pairs (train, test) of row numbers, one pair a fold, for labels (rows,)."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # codes in order of first appearance
    codes = order[codes]
    if np.bincount(codes).max() < folds:
        raise ParameterError(
            f"{folds} folds need a class of at least {folds} rows, and the largest has {np.bincount(codes).max()}"
        )
    sorted_codes = np.sort(codes)
    share = np.array(
        [np.bincount(sorted_codes[fold::folds], minlength=len(first)) for fold in range(folds)]
    )
    random = np.random.RandomState(seed)  # scikit-learn's generator, for the same folds
    fold_of = np.empty(len(labels), np.int64)
    for code in range(len(first)):
        own = np.arange(folds).repeat(share[:, code])
        random.shuffle(own)
        fold_of[codes == code] = own
    return [
        (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(folds)
    ]
