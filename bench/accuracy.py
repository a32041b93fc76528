"""The native path against the float64 twin on every SICK and SST sentence, for each vector set and instruction set.

python bench/accuracy.py            # some minutes: the twin is slow
"""

from __future__ import annotations

import numpy as np
from corpora import arguments, glove, sick, sst, word2vec

import noppa
from noppa import _native as kernels
from noppa.methods.numpy_form import NumpyPooler

A = 0.05


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--every", type=int, default=1, help="take only every n-th sentence")
    options = parser.parse_args()
    texts = [*sick(options.data), *sst(options.data)][:: options.every]
    for name, words in {"GloVe": glove(options.data), "word2vec": word2vec(options.data)}.items():
        ids, offsets = words.vocabulary.look_up(texts, 2)
        encoder = noppa.Encoder(words, noppa.NoPPA(a=A, k=0))
        exact, known = NumpyPooler(encoder.method, words, {}).rows(ids, offsets)
        some = known > 0
        norms = np.linalg.norm(exact[some], axis=1)
        live = kernels.instruction_set()
        for isa in kernels.instruction_sets():
            kernels.use_instruction_set(isa)
            rows = encoder.encode([text for text, has in zip(texts, some, strict=True) if has])
            errors = np.linalg.norm(rows - exact[some], axis=1) / norms
            print(
                f"{name:10}{words.dim:5} {isa:6}{some.sum():8,} sentences   "
                f"largest error {errors.max():.2e} of the norm, median {np.median(errors):.2e}"
            )
        kernels.use_instruction_set(live)


if __name__ == "__main__":
    main()
