"""The files in deploy/: the dashboard shows existing metrics, and the files name existing options."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from noppa.cli.serve import PREFIX, serve
from noppa.serve import monitoring
from noppa.serve.settings import Settings
from tests.serving import made_encoder, opened

DEPLOY = Path(__file__).parent.parent / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
#: Labels that Prometheus adds to what it scrapes.
SCRAPED = {"instance", "job"}
SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? \S+")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Map each metric of a server to its labels."""
    encoder = made_encoder(tmp_path_factory.mktemp("deploy") / "small")
    with opened(Settings(), {"small": encoder}) as client:
        monitoring.start_metrics()
        client.post("/embed", json={"inputs": "a girl"})
        text = client.get("/metrics").text
    labels: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("noppa_"):
            found = SAMPLE.fullmatch(line)
            assert found, line
            labels[found[1]] = set(re.findall(r'([a-z]+)="', found[2] or ""))
    return labels


def expressions() -> Iterator[tuple[str, str, str]]:
    """Yield the title of each panel, with its expressions as PromQL and their legends."""
    for panel in PANELS:
        for target in panel["targets"]:
            plain = target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")
            yield panel["title"], plain, target["legendFormat"]


@pytest.mark.parametrize(("title", "expression", "legend"), [*expressions()])
def test_every_expression_is_of_metrics_that_are_served(
    served: dict[str, set[str]], title: str, expression: str, legend: str
) -> None:
    promql_parser.parse(expression)
    names = set(re.findall(r"noppa_[a-z_]+", expression))
    assert names
    assert names <= set(served), title
    labels = set.intersection(*(served[name] for name in names)) | SCRAPED
    by = {name for group in re.findall(r"by \(([^)]*)\)", expression) for name in group.split(", ")}
    assert by <= labels, title
    matched = set(re.findall(r"[{,]([a-z]+)[=!]", expression))
    assert matched <= labels, title
    assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= by, title


def test_every_metric_is_plotted(served: dict[str, set[str]]) -> None:
    plotted = {name for _, one, _ in expressions() for name in re.findall(r"noppa_[a-z_]+", one)}
    families = {re.sub("_(bucket|sum|count|created)$", "", name) for name in served if name.startswith("noppa_")}  # fmt: skip
    missing = {name for name in families if not any(one.startswith(name) for one in plotted)}
    assert not missing


def test_the_files_name_existing_options() -> None:
    options = {f"{PREFIX}_{name.upper()}" for name in inspect.signature(serve).parameters}
    for name in ("Dockerfile", "compose.yaml", "noppa.service"):
        text = (DEPLOY / name).read_text()
        assert set(re.findall(rf"{PREFIX}_[A-Z_]+", text)) <= options, name


def test_there_is_time_to_stop() -> None:
    """The supervisors wait longer than the longest request before they kill the server."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "noppa.service")
    assert int(unit["Service"]["TimeoutStopSec"]) > Settings().request_seconds
    assert unit["Service"]["KillMode"] == "mixed"
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    (container,) = compose["services"].values()
    assert int(container["stop_grace_period"].removesuffix("s")) > Settings().request_seconds
    assert container["ports"] == ["127.0.0.1:8000:8000"]
