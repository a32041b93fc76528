"""The web page in a real browser, used by mouse and by keyboard."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import noppa
from noppa.serve.methods import sentences
from tests.browsing import (
    eventually,
    forgive,
    launched,
    opened_at,
    opened_page,
    paste,
    settled,
    wait,
)
from tests.serving import PROGRAM, Running, serving

EXAMPLES = sentences()
# A browser that closes leaves sockets of its driver to the garbage collector.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default::ResourceWarning")]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    """The words of the example sentences, with vectors that know which stand together."""
    folder = tmp_path_factory.mktemp("page") / "small"
    texts = [text.lower().rstrip(".").split() for text in EXAMPLES]
    vocabulary = [*sorted({word for text in texts for word in text}), "."]
    row = {word: at for at, word in enumerate(vocabulary)}
    together = np.zeros((len(vocabulary), len(vocabulary)))
    for text in texts:
        together[np.ix_([row[word] for word in text], [row[word] for word in text])] += 1
    left, sizes, _ = np.linalg.svd(np.log1p(together))
    words = noppa.WordVectors(vocabulary, left[:, :16] * np.sqrt(sizes[:16]))
    words = words.with_corpus(text.lower() for text in EXAMPLES)
    noppa.Encoder(words, noppa.NoPPA(k=2)).fit(EXAMPLES).save(folder)
    return noppa.load(folder)


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--workers", "2") as running:
        yield running


OWN_METHOD = """
import dataclasses, noppa, numpy
@dataclasses.dataclass(frozen=True)
class Powers(noppa.Method):
    settable = ("power",)
    power: float = 2.0
    def pool(self, vectors, weights):
        return (numpy.abs(vectors) ** self.power).mean(axis=0)
noppa.register("powers", Powers)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, server: Running) -> Iterator[Any]:
    with opened_page(browser, server.url) as opened:
        yield opened


def point_at(page: Any, table: str, row: int, column: int, wanted: str) -> None:
    """Until a cell under the pointer is read out so; a table may be drawn anew under it, so it is tried again."""

    def read_out() -> str:
        page.mouse.move(0, 0)
        page.locator(f"{table} [data-row='{row}'][data-column='{column}']").hover()
        return str(page.locator(f"{table} .readout").inner_text())

    settled(page)
    eventually(page, read_out, wanted)


def wait_for_parameter(page: Any, name: str, value: str) -> None:
    """Until the folded description of the method has this value."""
    rows = "[...document.querySelectorAll('#parameters div')]"
    wait(page, f"{rows}.some((row) => row.textContent === '{name}{value}')")


def test_a_method_of_a_user(browser: Any, encoder: noppa.Encoder) -> None:
    """It is in the list, its number has an input, and both are in the link."""
    with (
        serving(str(encoder.path), program=OWN_METHOD + PROGRAM) as running,
        opened_page(browser, running.url) as page,
    ):
        opened_at(page, running.url)
        page.get_by_label("Method", exact=True).select_option("powers")
        method = '"method":{"name":"powers","power":3}'
        with page.expect_response(
            lambda answer: method in (answer.request.post_data or "")
        ) as answered:
            page.get_by_label("power", exact=True).fill("3")
        assert answered.value.status == 200
        wait(page, "location.hash.includes('power%3D3')")
        page.reload()
        expect(page.get_by_label("power", exact=True)).to_have_value("3")
        page.get_by_label("Method", exact=True).select_option("average")
        expect(page.get_by_label("power", exact=True)).to_have_count(0)


def test_a_sentence_as_you_type(page: Any, server: Running, encoder: noppa.Encoder) -> None:
    opened_at(page, server.url)
    page.get_by_label("Type a sentence").fill("")
    page.keyboard.type("The singer plays zzqx")
    tokens = page.locator("#tokens tbody th")
    expect(tokens).to_have_text(["The", "singer", "plays", "zzqx"])
    settled(page)
    expect(page.locator("#tokens tr.unknown")).to_contain_text("zzqx")
    expect(page.locator("#summary")).to_have_text("4 tokens, 3 known.")
    expect(page.locator("#described-name")).to_have_text(f"NoPPA · {encoder.dim} dimensions")
    expect(page.locator("#parameters")).to_be_hidden()
    expected = encoder.explain("The singer plays zzqx")
    shown = page.locator("#tokens tbody tr").nth(1).locator("td").first.inner_text()
    assert float(shown) == pytest.approx(expected.weights[1], abs=1e-3)
    expect(page.locator("#heat [data-row]")).to_have_count(16)
    expect(page.locator("#steps")).to_contain_text("removed")
    # The table of attention by mouse and by keys.
    assert expected.attention is not None
    point_at(page, "#heat", 1, 2, f"singer → plays: {expected.attention[1, 2]:.4f}")
    page.locator("#heat svg").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#heat .readout")).to_have_text(re.compile("^singer → singer"))
    page.get_by_label("Shares by pair").check()
    value = f"{expected.pairs[1, 2]:.4f}".replace("-", "−")
    point_at(page, "#heat", 1, 2, f"singer → plays: {value}")
    # The address leads back to the same state, in another page.
    wait(page, "location.hash.includes('text=') && location.hash.includes('heat=pairs')")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(tokens).to_have_text(["The", "singer", "plays", "zzqx"])
    expect(page.get_by_label("Shares by pair")).to_be_checked()


def test_methods_and_parameters(page: Any, server: Running, encoder: noppa.Encoder) -> None:
    """Every switch changes what is shown at once."""
    opened_at(page, server.url)
    page.get_by_label("Type a sentence").fill("The singer plays the guitar.")
    page.get_by_label("Method", exact=True).select_option("noppa")
    wait_for_parameter(page, "k", "12")
    expect(page.locator("#note")).to_have_text("fitted on 400 example sentences")
    page.get_by_label(re.compile("^k ")).fill("0")
    wait_for_parameter(page, "k", "0")
    page.get_by_label(re.compile("^a weight")).fill("0.001")
    wait_for_parameter(page, "a", "0.001")
    settled(page)
    expected = noppa.Encoder(encoder.words, noppa.NoPPA(a=0.001, k=0)).explain(
        "The singer plays the guitar."
    )
    shown = page.locator("#tokens tbody tr td:first-of-type").all_inner_texts()
    assert [float(text) for text in shown] == pytest.approx(expected.weights.tolist(), abs=1e-3)
    page.locator("#a-slide").fill("-1")
    wait_for_parameter(page, "a", "0.1")
    page.get_by_label("max", exact=True).check()
    wait_for_parameter(page, "parts", "context, word, max")
    name = f"NoPPA · {3 * encoder.words.dim} dimensions"
    expect(page.locator("#described-name")).to_have_text(name)
    wait(page, "location.hash.includes('parts=context%2Cword%2Cmax')")
    for method in ("average", "tfidf", "sif", "dct"):
        page.get_by_label("Method", exact=True).select_option(method)
        started = re.compile(f"^{method}", re.IGNORECASE)
        expect(page.locator("#described-name")).to_have_text(started)
        expect(page.locator("#method-hint")).to_have_text(re.compile(r"\.$"))
    page.get_by_label("Method", exact=True).select_option("")
    wait_for_parameter(page, "k", "2")


def test_two_sentences(page: Any, server: Running, encoder: noppa.Encoder) -> None:
    opened_at(page, server.url)
    page.get_by_role("tab", name="Sentence").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("First sentence").fill("A girl bakes a cake.")
    page.get_by_label("Second sentence").fill("The boy bakes bread.")
    expected = encoder.similarity("A girl bakes a cake.", "The boy bakes bread.")
    expect(page.locator("#similarity")).to_have_text(f"{expected:.3f}".replace("-", "−"))
    pair = encoder.explain_pair("A girl bakes a cake.", "The boy bakes bread.")
    value = f"{pair.pairs[2, 2]:.4f}".replace("-", "−")
    point_at(page, "#align", 2, 2, f"bakes → bakes: {value}")
    assert page.locator("#strongest li").count() >= 10
    page.get_by_label("Second sentence").fill("")
    page.get_by_role("button", name="A paraphrase").wait_for()
    expect(page.locator("#pair-results")).to_be_hidden()
    page.reload()
    expect(page.get_by_role("tab", name="Pair")).to_have_attribute("aria-selected", "true")


def test_many_lines(page: Any, server: Running, encoder: noppa.Encoder, tmp_path: Path) -> None:
    """Example, search, clusters, duplicates, the map, downloads, a switch of the method, and forgetting."""
    opened_at(page, f"{server.url}/#tab=lines")
    page.get_by_role("button", name="Example lines").click()
    expect(page.locator("#clusters > li")).to_have_count(6)
    expect(page.locator("#lines-state")).to_have_text("400 lines.")
    page.get_by_label("Search by meaning").fill("The band plays a concert.")
    expect(page.locator("#found li")).to_have_count(10)
    cosines = encoder.similarity(["The band plays a concert."], EXAMPLES)[0]
    best = page.locator("#found li").first.inner_text().split("\n")
    assert float(best[0]) == pytest.approx(cosines.max(), abs=1e-3)
    page.get_by_label("Number of clusters").fill("3")
    expect(page.locator("#clusters > li")).to_have_count(3)
    page.get_by_label("Minimum similarity").fill("0.99")
    expect(page.locator("#threshold-value")).to_have_text("0.99")
    settled(page)  # nothing moves the map from here on
    expect(page.locator("#duplicates-state")).not_to_be_empty()
    # The map: by mouse, wheel, buttons and keys.
    canvas = page.locator("#map")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -300)
    wait(page, "Number(document.querySelector('#map').dataset.scale) > 1")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 + 30)
    page.mouse.up()
    page.get_by_role("button", name="Show everything").click()
    wait(page, "document.querySelector('#map').dataset.scale === '1'")
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Zoom out").click()
    canvas.focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    wait(page, "Number(document.querySelector('#map').dataset.scale) > 1")
    expect(page.locator("#map-point")).not_to_have_text("–")
    assert page.locator("#map-point").inner_text() in EXAMPLES
    # Vectors to take home.
    for name, suffix in (("NumPy", "npy"), ("CSV", "csv"), ("JSON lines", "jsonl")):
        with page.expect_download() as started:
            page.get_by_role("button", name=name, exact=True).click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        assert file.name == f"vectors.{suffix}"
    rows = np.load(io.BytesIO((tmp_path / "vectors.npy").read_bytes()))
    assert rows.tobytes() == encoder.encode(EXAMPLES, normalize=True).tobytes()
    # Another method, fitted on these lines.
    page.get_by_label("Method", exact=True).select_option("sif")
    expect(page.locator("#note")).to_have_text("fitted on 400 of your lines")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#with-lines")).to_be_hidden()
    expect(page.locator("#lines-state")).to_have_text("No lines yet.")


def test_a_click_shows_what_it_is_on_the_map(page: Any, server: Running) -> None:
    """A cluster, a hit and a group of duplicates, by mouse and keyboard; one at a time, and none after new lines."""
    opened_at(page, f"{server.url}/#tab=lines&query=The band plays a concert.&threshold=0.9")
    page.get_by_role("button", name="Example lines").click()
    expect(page.locator("#clusters > li")).to_have_count(6)
    expect(page.locator("#found li")).to_have_count(10)
    page.locator("#duplicates > li").first.wait_for()
    expect(page.locator("#map-title")).to_have_text("Map of 400 lines")
    settled(page)
    plane = page.locator("#map")
    pressed = page.locator(".pick[aria-pressed=true]")
    cluster = page.locator("#clusters .pick").nth(2)
    cluster.click()
    size = int(re.findall(r"(\d+) lines", cluster.inner_text())[-1])
    expect(plane).to_have_attribute("data-lit", str(size))
    expect(page.locator("#lit-state")).to_contain_text(f"{size} lines")
    expect(plane).to_be_visible()
    page.locator("#found .pick").nth(1).focus()
    page.keyboard.press("Enter")
    expect(plane).to_have_attribute("data-lit", "1")
    expect(pressed).to_have_count(1)
    expect(pressed).to_contain_text(page.locator("#map-point").inner_text())
    group = page.locator("#duplicates .pick").first
    group.click()
    lit = re.findall(r"^\d+", group.inner_text())[0]
    expect(plane).to_have_attribute("data-lit", lit)
    group.press("Space")
    expect(page.locator("#lit")).to_be_hidden()
    expect(pressed).to_have_count(0)
    cluster.click()
    page.get_by_role("button", name="Clear highlight").click()
    expect(plane).to_have_attribute("data-lit", "")
    expect(cluster).to_be_focused()
    cluster.click()
    page.get_by_label("Number of clusters").fill("3")
    expect(page.locator("#clusters > li")).to_have_count(3)
    expect(page.locator("#lit")).to_be_hidden()


def test_labels_to_take_home(page: Any, server: Running, tmp_path: Path) -> None:
    opened_at(page, f"{server.url}/#tab=lines&clusters=2")
    lines = ["The dog runs.", '=the "band" plays', "The dog runs.", "The band plays."]
    page.get_by_label("Paste lines").fill("\n".join(lines))
    expect(page.locator("#clusters > li")).to_have_count(2)
    page.locator("#duplicates > li").first.wait_for()
    settled(page)
    names = page.locator("#clusters b").all_inner_texts()
    files = {}
    for name in ("Labels as CSV", "Labels as JSON lines"):
        with page.expect_download() as started:
            page.get_by_role("button", name=name).click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        files[file.suffix] = file.read_bytes().decode()
    rows = [json.loads(row) for row in files[".jsonl"].splitlines()]
    assert [row["text"] for row in rows] == lines
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert all(row["name"] == names[row["cluster"] - 1] for row in rows)
    assert rows[0]["duplicates"] == rows[2]["duplicates"] == 1
    table = [*csv.DictReader(io.StringIO(files[".csv"]))]
    assert table[1]["text"] == "'" + lines[1]  # no formula
    for row, cells in zip(rows, table, strict=True):
        assert cells["cluster"] == str(row["cluster"])
        assert cells["duplicates"] == str(row["duplicates"] or "")


def test_files_and_pasted_lines(page: Any, server: Running, tmp_path: Path) -> None:
    opened_at(page, f"{server.url}/#tab=lines")
    table = tmp_path / "reviews.csv"
    table.write_text(
        'id,text,topic\n1,"The dog, ""a"" puppy\nruns.",dogs\n2,The band plays.,music\n3,,none\n'
    )
    stated, found = page.locator("#lines-state"), page.locator("#found li")
    page.locator("#file").set_input_files(table)
    expect(stated).to_have_text("2 lines.")
    page.get_by_label("Search by meaning").fill("the dog")
    expect(found).to_have_count(2)
    expect(page.locator("#found")).to_contain_text('The dog, "a" puppy')
    page.get_by_label("Column").select_option("topic")
    expect(stated).to_have_text("3 lines.")
    plain = tmp_path / "plain.txt"
    plain.write_text("The dog runs.\r\n\r\nThe band plays.\r\nA girl sings.\n\n")
    page.locator("#file").set_input_files(plain)
    expect(page.locator("#found")).to_contain_text("A girl sings.")
    expect(found).to_have_count(3)
    page.get_by_label("Paste lines").fill("The dog\nA dog\n")
    expect(stated).to_have_text("2 lines.")
    paste(page, "word\n" * 20_001)
    expect(page.locator("#map-problem")).to_contain_text("20001")
    page.get_by_label("Paste lines").fill("The dog\nA dog\nA cat\n")
    expect(stated).to_have_text("3 lines.")
    expect(page.locator("#map-problem")).to_be_hidden()
    forgive(page, "413")


def test_a_message_stands_beside_its_request(page: Any, server: Running) -> None:
    """Whichever fails, its message alone is shown, and goes when it is repeated."""

    def fail(route: Any) -> None:
        route.fulfill(status=503, json={"error": {"message": f"no {route.request.url}"}})

    def expect_problems(*names: str) -> None:
        expect(page.locator("[role=alert]:visible")).to_have_count(len(names))
        for name in names:
            expect(page.locator(f"#{name}-problem")).to_be_visible()

    for path in ("search", "lines/map", "lines/clusters", "lines/duplicates", "lines/vectors"):
        page.route(f"**/{path}", fail)
    opened_at(page, f"{server.url}/#tab=lines&query=dog")
    page.get_by_label("Paste lines").fill("The dog runs.\nThe band plays.\n")
    names = ["search", "map", "clusters", "duplicates"]
    for name in names:
        page.locator(f"#{name}-problem").filter(has_text=name).wait_for()
    page.get_by_role("button", name="CSV", exact=True).click()
    page.locator("#csv-problem").filter(has_text="lines/vectors").wait_for()
    expect_problems(*names, "csv")
    page.unroute_all()
    page.get_by_label("Number of clusters").fill("1")
    expect(page.locator("#clusters > li")).to_have_count(1)
    expect_problems("search", "map", "duplicates", "csv")
    page.get_by_label("Method", exact=True).select_option("average")
    expect(page.locator("#found li")).to_have_count(2)
    expect_problems("csv")
    forgive(page, "503")


def test_classify(browser: Any, encoder: noppa.Encoder, tmp_path: Path) -> None:
    """Labels with probabilities as one types, and what speaks for each."""
    kinds = {"dog": "animals", "band": "music", "match": "sport"}
    rows = [(text, kind) for text in EXAMPLES for word, kind in kinds.items() if word in text]
    made = noppa.Classifier(encoder).fit(*map(list, zip(*rows, strict=True)))
    made.save(tmp_path / "topics")
    with (
        serving(str(tmp_path / "topics"), environment={"NOPPA_API_KEYS": "sesame"}) as running,
        opened_page(browser, running.url) as page,
    ):
        forgive(page, "401")
        page.goto(f"{running.url}/#tab=classify&label=another")
        page.get_by_label("Key", exact=True).fill("sesame")
        page.locator("#key").blur()
        page.get_by_label("Text to classify").fill("The band plays a dog song.")
        decision = made.explain("The band plays a dog song.")
        percent = f"{100 * decision.probabilities.max():.1f} %"
        first = page.locator("#labels button").first
        expect(page.locator("#decided")).to_have_text("The band plays a dog song .")
        settled(page)
        assert first.inner_text().split() == [*percent.split(), str(decision.label)]
        expect(first).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#logit")).to_have_text(f"{decision.logits.max():.4f}")
        other = page.locator("#labels button").nth(1)
        label = other.get_attribute("data-label")
        other.press("Enter")
        page.locator("#reasons-title").filter(has_text=label).wait_for()
        expect(page.locator(f"#labels [data-label='{label}']")).to_be_focused()
        name, share = decision.reasons(label)[0]
        row = page.locator("#reasons tbody tr").first.inner_text().split()
        assert row == [*name.split(), f"{share:.4f}".replace("-", "−")]
        page.set_viewport_size({"width": 360, "height": 700})
        wait(page, f"location.hash.includes('label={label}')")
        page.reload()
        page.locator("#reasons-title").filter(has_text=label).wait_for()
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        tab = page.get_by_role("tab", name="Classify").bounding_box()
        assert tab["x"] + tab["width"] <= 360  # all tabs fit
        page.get_by_label("Text to classify").fill("")
        page.get_by_role("button", name="A wonderful film").wait_for()
        expect(page.locator("#labels")).to_be_hidden()
        page.get_by_role("tab", name="Classify").press("ArrowRight")
        page.locator("#tokens tbody tr").first.wait_for()


def test_texts_are_shown_as_texts(page: Any, server: Running, tmp_path: Path) -> None:
    """Lines, names of columns and messages of the server that look like HTML."""
    html = "<img src=x onerror=alert(1)> dog"
    table = tmp_path / "<b>.csv"
    table.write_text(f"<i>text</i>,{html}\n{html},a\n{html} runs,b\n")
    opened_at(page, f"{server.url}/#tab=lines&query={html}")
    page.locator("#file").set_input_files(table)
    expect(page.locator("#found li")).to_have_count(2)
    expect(page.locator("#found")).to_contain_text(html)
    expect(page.locator("#column option")).to_have_text(["<i>text</i>", html])
    page.get_by_role("tab", name="Sentence").click()
    page.get_by_label("Type a sentence").fill(html)
    expect(page.locator("#tokens")).to_contain_text("onerror")
    assert page.locator("main img, main i:not(.bar i, #gauge i), main b b").count() == 0


def test_names_that_every_object_has(page: Any, server: Running, tmp_path: Path) -> None:
    page.goto(f"{server.url}/#tab=constructor&name=constructor&heat=constructor&model=constructor")
    page.locator("#sentence-problem").filter(has_text="method").wait_for()
    page.get_by_label("Method", exact=True).select_option("average")
    page.locator("#tokens tbody tr").first.wait_for()
    page.get_by_role("tab", name="Lines").click()
    file = tmp_path / "lines.constructor"
    file.write_text("The dog, runs.\nThe band plays.\n")
    page.locator("#file").set_input_files(file)
    expect(page.locator("#lines-state")).to_have_text("2 lines.")
    forgive(page, "400")


def test_a_key_theme_and_phone(browser: Any, encoder: noppa.Encoder) -> None:
    """A server with keys asks for one; dark is dark; nothing is wider than a phone, and every field has a name."""
    phone = {"viewport": {"width": 360, "height": 700}, "is_mobile": True, "has_touch": True}
    with (
        serving(str(encoder.path), environment={"NOPPA_API_KEYS": "sesame"}) as running,
        opened_page(browser, running.url, color_scheme="dark", **phone) as page,
    ):
        forgive(page, "401")
        page.goto(running.url)
        expect(page.locator("#problem")).to_contain_text("API key")
        page.get_by_label("Key", exact=True).fill("sesame")
        page.keyboard.press("Enter")
        page.locator("#key").blur()
        page.locator("#tokens tbody tr").first.wait_for()
        expect(page.locator("#problem")).to_be_hidden()
        assert "sesame" not in page.url
        colour = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(colour)
        page.get_by_role("button", name="Light").tap()
        wait(page, f"{colour} !== '{dark}'")
        for tab in ("Pair", "Lines", "Sentence"):
            page.get_by_role("tab", name=tab).tap()
            if tab == "Lines":
                page.get_by_role("button", name="Example lines").tap()
                page.locator("#clusters > li").first.wait_for()
            settled(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
        nameless = page.evaluate(
            "[...document.querySelectorAll('input, select, textarea, button')].filter((field) =>"
            " !field.labels?.length && !field.ariaLabel && !field.textContent.trim()).map((field) => field.id)"
        )
        assert nameless == []
    assert "sesame" not in str(running.log)
