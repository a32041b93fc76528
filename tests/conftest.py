"""Define fixtures and markers; fail a run that skips tests silently."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import _native as kernels

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("NOPPA_SHARED", ROOT.parent / "shared"))
NEEDS_SHARED = "needs the shared data"

SKIPPED: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that starts us in the background has it ignored, and so would the commands that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.pluginmanager.hasplugin("hypothesispytest"):  # the environments of extras lack it
        _allow_any_time()
    config.addinivalue_line(
        "markers",
        "linux: needs Linux, its tools or a compiler, so that wheels are not tested by it",
    )
    config.addinivalue_line(
        "markers",
        "system: needs a system package (a browser, Java, a shell, clang, valgrind); run with -m ''",
    )
    config.addinivalue_line(
        "markers",
        "unsanitized: looks at flags of a release, or counts memory or threads, of which a sanitizer takes its own",
    )
    config.addinivalue_line(
        "markers",
        "found(by, what): the fault that this test reproduces, and what found it",
    )


def _allow_any_time() -> None:
    """Give examples of hypothesis no deadline."""
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow]
    settings.register_profile("noppa", deadline=None, suppress_health_check=slow)
    settings.load_profile("noppa")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        SKIPPED.append(f"{report.nodeid}: {report.longrepr[2] if report.longrepr else ''}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a test was skipped that could run here."""
    wrong = [skip for skip in SKIPPED if SHARED.is_dir() or NEEDS_SHARED not in skip]
    if wrong and session.exitstatus == pytest.ExitCode.OK:
        print("\nskipped though it should run here:", *wrong, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def shared() -> Callable[..., Path]:
    """Return a function that finds shared data files, or skips the test if they are missing."""

    def find(*parts: str) -> Path:
        path = SHARED.joinpath("data", *parts)
        if not path.exists():
            pytest.skip(f"{NEEDS_SHARED}: {'/'.join(parts)} is not in ../shared/data")
        return path

    return find


@pytest.fixture(scope="session")
def glove(shared: Callable[..., Path]) -> noppa.WordVectors:
    """Return the shared GloVe vectors with the Wikipedia counts."""
    words = noppa.WordVectors.load(shared("vectors", "glove.6B.100d.npy"))
    return words.with_counts(shared("frequency", "enwiki_vocab_min200.txt"))


VOCABULARY = "the a girl boy eats cake delicious is eating and of in on . , n't 's café".split()


#: Texts that readers of lines, tables and numbers go wrong with.
AWKWARD = [
    "the girl",
    "",
    "a\u2028cake\u0085 \u000b\u000c\u001c",
    'quotes " and, commas',
    "  spaces  ",
    "cake " * 1000,
]


def made_words(dim: int = 7, extra: int = 0, seed: int = 0, **options: object) -> noppa.WordVectors:
    """Return random vectors for a small vocabulary, with probabilities."""
    rng = np.random.default_rng(seed)
    vocabulary = VOCABULARY + [f"w{number}" for number in range(extra)]
    matrix = rng.normal(size=(len(vocabulary), dim)).astype(np.float32)
    probabilities = rng.dirichlet(np.ones(len(vocabulary)))
    return noppa.WordVectors(vocabulary, matrix, probabilities, **options)  # type: ignore[arg-type]


def made_texts(count: int, words: noppa.WordVectors, longest: int = 12, seed: int = 0) -> list[str]:
    """Return random texts of 1 to `longest` words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words.words, rng.integers(1, longest + 1))) for _ in range(count)]


@pytest.fixture
def words() -> noppa.WordVectors:
    return made_words()


@pytest.fixture(params=kernels.instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use each instruction set of this machine in turn."""
    before = kernels.instruction_set()
    kernels.use_instruction_set(request.param)
    yield request.param
    kernels.use_instruction_set(before)
