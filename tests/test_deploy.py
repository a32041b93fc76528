"""What lies in deploy/: the dashboard plots what the server counts, and the files name options that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from starlette.testclient import TestClient

from noppa.cli.serve import serve
from noppa.cli.serve_config import PREFIX, _kinds, options_of
from noppa.serve.app import Application
from noppa.serve.settings import Settings
from tests.serving import made_encoder

DEPLOY = Path(__file__).parent.parent / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
#: Labels that Prometheus adds to what it scrapes.
SCRAPED = {"instance", "job"}
SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? \S+")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of each metric that a server gives, by its name."""
    encoder = made_encoder(tmp_path_factory.mktemp("deploy") / "small")
    settings = Settings(model=str(encoder.path), log_requests=False)
    with TestClient(Application(settings), base_url="http://127.0.0.1") as client:
        text = client.get("/metrics").text
    labels: dict[str, set[str]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            found = SAMPLE.fullmatch(line)
            assert found, line
            labels[found[1]] = set(re.findall(r'([a-z]+)="', found[2] or ""))
    return labels


def expressions() -> Iterator[tuple[str, str, str]]:
    """The title of each panel, its expressions as PromQL, and their legends."""
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


def test_the_dashboard_is_laid_out(served: dict[str, set[str]]) -> None:
    """Each panel says what it shows, and none lies on another."""
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert not own & cells, panel["title"]
        assert max(x for x, _ in own) < 24
        cells |= own
    assert all(panel["description"].endswith(".") for panel in PANELS)
    (query,) = [one["query"]["query"] for one in DASHBOARD["templating"]["list"] if one["name"] == "instance"]  # fmt: skip
    assert set(re.findall(r"noppa_[a-z_]+", query)) <= set(served)


def known_variables(text: str) -> set[str]:
    return {f"{PREFIX}_{name.upper()}" for name in _kinds(serve)} & set(re.findall(rf"{PREFIX}_[A-Z_]+", text))  # fmt: skip


def test_the_files_name_options_that_there_are() -> None:
    options_of(DEPLOY / "noppa.toml", serve)
    every = (DEPLOY / "noppa.toml").read_text().replace("# ", "")
    commented = [line for line in every.splitlines() if re.match(r"[a-z-]+ = ", line)]
    assert {line.split(" = ")[0].replace("-", "_") for line in commented} <= set(_kinds(serve))
    for name in ("Dockerfile", "compose.yaml", "noppa.service", "noppa.toml"):
        text = (DEPLOY / name).read_text()
        variables = set(re.findall(rf"{PREFIX}_[A-Z_]+", text))
        assert variables == known_variables(text), name


def test_there_is_time_to_stop() -> None:
    """Longer than the drain and the longest request together, before anybody kills the server."""
    settings = {**vars(Settings()), **options_of(DEPLOY / "noppa.toml", serve)}
    needed = settings["drain_seconds"] + settings["request_seconds"]
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "noppa.service")
    assert int(unit["Service"]["TimeoutStopSec"]) > needed
    assert unit["Service"]["KillMode"] == "mixed"
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    (container,) = compose["services"].values()
    assert int(container["stop_grace_period"].removesuffix("s")) > needed
    assert container["ports"] == ["127.0.0.1:8000:8000"]
