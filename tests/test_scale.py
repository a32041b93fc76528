"""The simulation behind docs/scale.md can be trusted; that the page is what the results make, test_bench_cli says."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def scale():
    return runpy.run_path(str(ROOT / "bench" / "scale.py"))


@pytest.fixture(scope="module")
def cost(scale):
    """A sentence of 100 bytes that takes a millisecond."""
    return scale["Cost"]("made", 0.0005, 0.001, 100.0, 10, 0.0)


def test_every_run_gave_the_bytes_of_one_process(scale) -> None:
    runs = [record for record in scale["records"]() if record["figure"] == "encode"]
    assert {run["engine"] for run in runs} == {"single", "dask", "spark"}
    for run in runs:
        assert run["byte_identical"]
        assert run["rows"] == run["sentences"]


def test_one_worker_does_all_the_work_one_after_another(scale, cost, monkeypatch) -> None:
    monkeypatch.setitem(scale["simulated"].__globals__, "HOURS_BETWEEN_FAILURES", 1e12)
    seconds, losses = scale["simulated"](cost, 10**6, 1, 4)
    assert losses == 0
    # the mean of what is drawn is that of what was measured, but for chance
    assert seconds == pytest.approx(1000, rel=0.3)


def test_more_workers_are_faster_and_never_more_than_they_are_many(scale, cost) -> None:
    times = [scale["simulated"](cost, 10**7, workers, 4)[0] for workers in (1, 4, 16)]
    assert times[0] > times[1] > times[2]
    assert times[0] / times[2] <= 16.5


def test_failures_cost_time(scale, cost, monkeypatch) -> None:
    calm = scale["simulated"](cost, 10**7, 8, 4)
    monkeypatch.setitem(scale["simulated"].__globals__, "HOURS_BETWEEN_FAILURES", 0.05)
    rough = scale["simulated"](cost, 10**7, 8, 4)
    assert rough[1] > calm[1]
    assert rough[0] > calm[0]


def test_the_spread_is_that_of_the_measured_shards(scale) -> None:
    shape = scale["spread"]()
    assert np.isclose(shape.mean(), 1)
    assert len(shape) > 20
