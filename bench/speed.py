"""Compare the speed of noppa and of model2vec on the same vectors, from raw text of SICK.

pip install model2vec && python bench/speed.py -o bench/results/speed.jsonl
"""

from __future__ import annotations

import os
from pathlib import Path

from runner import arguments, in_turns, record, sick, static_model, vectors

import noppa
from noppa import _native as kernels


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    texts, words = sick(options.data), vectors(options.data)
    methods = {
        "NoPPA": noppa.NoPPA(a=0.05, k=12),
        "NoPPA(k=0)": noppa.NoPPA(a=0.05, k=0),
        'NoPPA(k=0, kernel="abs")': noppa.NoPPA(a=0.05, k=0, kernel="abs"),
        'NoPPA(k=0, kernel="square")': noppa.NoPPA(a=0.05, k=0, kernel="square"),
        "Average": noppa.Average(),
    }
    encoders = {name: noppa.Encoder(words, method).fit(texts) for name, method in methods.items()}
    encoders |= {"default": noppa.load(), "similarity": noppa.load("similarity")}
    static = static_model(words)
    runs = {"model2vec": lambda: static.encode(texts, use_multiprocessing=False)}
    for name, encoder in encoders.items():
        runs[name] = lambda encoder=encoder: encoder.encode(texts, threads=options.threads)  # type: ignore[misc]
        runs[f"{name}, one thread"] = lambda encoder=encoder: encoder.encode(texts, threads=1)  # type: ignore[misc]
    best = in_turns(runs, options.rounds)
    options.output.unlink(missing_ok=True)
    machine = {"what": "machine", "set": kernels.instruction_set(), "threads": options.threads}
    record(options.output, {**machine, "load": os.getloadavg()[0], "texts": len(texts)})
    for name, (clock, cpu) in best.items():
        per_text = {"clock": clock / len(texts) * 1e6, "cpu": cpu / len(texts) * 1e6}
        record(options.output, {"what": "encode", "name": name, **per_text})


if __name__ == "__main__":
    main()
