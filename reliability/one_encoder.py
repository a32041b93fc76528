"""Many threads on one encoder: whatever they call at the same time, each gets the bytes that it gets alone.

    python reliability/one_encoder.py [ROUNDS]

`python reliability/builds.py thread` runs this under ThreadSanitizer; under a free-threaded Python it says so, and the
import of noppa must not have brought the GIL back.
"""

from __future__ import annotations

import random
import sys
import sysconfig
import threading
from collections.abc import Callable

import numpy as np

import noppa

THREADS = 12
ASCII = [f"the girl eats {count} cakes and isn't sorry" for count in range(60)]
# Python has to normalize these.
OTHER = [f"caf\u00e9 na\u00efve {n} \u0065\u0301t\u00e9 \u0905\u0902 \u4e2d\u6587 \U0001f370" for n in range(60)]  # fmt: skip
SHARED = [*ASCII, *OTHER]


def encoder() -> noppa.Encoder:
    vocabulary = sorted({token for text in SHARED for token in text.split()})
    matrix = np.random.default_rng(0).normal(size=(len(vocabulary), 48)).astype(np.float32)
    words = noppa.WordVectors(vocabulary, matrix).with_ranks()
    return noppa.Encoder(words, noppa.NoPPA(k=0), noppa.CommonComponents(1)).fit(ASCII)


def calls_on(model: noppa.Encoder) -> list[Callable[[], bytes]]:
    return [
        lambda: model.encode(ASCII, threads=3).tobytes(),
        lambda: model.encode(SHARED, threads=2).tobytes(),
        lambda: model.encode(OTHER, threads=1).tobytes(),
        lambda: model.encode("the girl eats 7 cakes").tobytes(),
        lambda: model.encode_tokens([text.split() for text in ASCII]).tobytes(),
        lambda: np.float64(model.similarity(ASCII[0], ASCII[7])).tobytes(),
        lambda: model.explain(ASCII[3]).pooled.tobytes(),
        lambda: b"".join(rows.tobytes() for rows in model.encode_iter(iter(SHARED), block=17)),
    ]


def stress(rounds: int) -> int:
    """How many calls were made; raises where one gave other bytes, or failed."""
    wanted = [call() for call in calls_on(encoder())]
    model = encoder()  # its first calls are made by all threads at once
    calls, barrier, failures = calls_on(model), threading.Barrier(THREADS), []

    def work(seed: int) -> None:
        order = random.Random(seed)
        barrier.wait()
        try:
            for _ in range(rounds):
                for number in order.sample(range(len(calls)), len(calls)):
                    if calls[number]() != wanted[number]:
                        raise AssertionError(f"call {number} gave other bytes beside other threads")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return THREADS * rounds * len(calls)


def main() -> None:
    made = stress(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():  # type: ignore[attr-defined]
        sys.exit("a free-threaded Python, but an import enabled the GIL")
    free = "no GIL" if sysconfig.get_config_var("Py_GIL_DISABLED") else "the GIL"
    print(f"{made} calls from {THREADS} threads on one encoder, with {free}: the same bytes")


if __name__ == "__main__":
    main()
