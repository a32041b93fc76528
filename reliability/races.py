"""Call one encoder from many threads: every call returns the bytes that it returns alone.

    python reliability/races.py [ROUNDS]

`reliability/builds.py thread` runs this under ThreadSanitizer. It also covers the first calls of a process, in which thread pools and
tables are initialized, and a forked child. Under a free-threaded Python, importing noppa must not enable the GIL.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable

import numpy as np

import noppa

THREADS = 12
ASCII = [f"the girl eats {count} cakes and isn't sorry" for count in range(60)]
#: Texts that Python has to normalize.
OTHER = [f"caf\u00e9 na\u00efve {n} \u0065\u0301t\u00e9 \u0905\u0902 \u4e2d\u6587 \U0001f370" for n in range(60)]  # fmt: skip
TEXTS = [*ASCII, *OTHER]


def made_encoder() -> noppa.Encoder:
    vocabulary = sorted({token for text in TEXTS for token in text.split()})
    matrix = np.random.default_rng(0).normal(size=(len(vocabulary), 48)).astype(np.float32)
    words = noppa.WordVectors(vocabulary, matrix).with_ranks()
    return noppa.Encoder(words, noppa.NoPPA(k=0), noppa.CommonComponents(1)).fit(ASCII)


def calls_on(model: noppa.Encoder) -> list[Callable[[], bytes]]:
    return [
        lambda: model.encode(ASCII, threads=3).tobytes(),
        lambda: model.encode(TEXTS, threads=2).tobytes(),
        lambda: model.encode(OTHER, threads=1).tobytes(),
        lambda: model.encode("the girl eats 7 cakes").tobytes(),
        lambda: model.encode_tokens([text.split() for text in ASCII]).tobytes(),
        lambda: np.float64(model.similarity(ASCII[0], ASCII[7])).tobytes(),
        lambda: model.explain(ASCII[3]).pooled.tobytes(),
        lambda: b"".join(rows.tobytes() for rows in model.encode_iter(iter(TEXTS), block=17)),
    ]


def stress(model: noppa.Encoder, expected: list[bytes], rounds: int) -> None:
    """Make all calls from all threads in random order; raise if one returns other bytes or fails."""
    calls, barrier, failures = calls_on(model), threading.Barrier(THREADS), []

    def work(seed: int) -> None:
        order = random.Random(seed)
        barrier.wait()
        try:
            for _ in range(rounds):
                for number in order.sample(range(len(calls)), len(calls)):
                    if calls[number]() != expected[number]:
                        raise AssertionError(f"call {number} returned other bytes")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def forked() -> None:
    """Encode in a forked child, which must not use the thread pool of its parent."""
    model = made_encoder()
    expected = [call() for call in calls_on(model)]
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))
    stress(model, expected, 1)
    os._exit(0)


def main() -> None:
    if sys.argv[1:] == ["fork"]:
        return forked()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    subprocess.run([sys.executable, __file__, "fork"], check=True)
    expected = [call() for call in calls_on(made_encoder())]
    stress(made_encoder(), expected, rounds)
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():  # type: ignore[attr-defined]
        sys.exit("this Python is free-threaded, but an import enabled the GIL")
    print(f"{THREADS} threads on one encoder: the same bytes")


if __name__ == "__main__":
    main()
