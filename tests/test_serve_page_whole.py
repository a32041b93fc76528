"""The page of a server with presets, a classifier and an index: accessibility, history, scripts, search, API reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

import noppa
from noppa.serve.methods import sentences
from tests.browsing import (
    forgive,
    launched,
    opened_at,
    opened_page,
    settled,
    wait,
    wait_for_requests,
)
from tests.serving import Running, serving

EXAMPLES = sentences()
#: What each tab shows in the tests that look at all of them, and what is there once it is shown.
TABS = {
    "": "#heat svg",
    f"text={' '.join(EXAMPLES[:6])}": "#heat .reading",
    "text=": "#sentence-empty",
    "tab=pair": "#align svg",
    "tab=lines&query=a concert": "#found li",
    'tab=search&asked=fish&where=[["year",">","2019"]]': "#hits li",
    "tab=classify&classified=The band plays for the dog.": "#labels li",
}
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default::ResourceWarning")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("whole")
    kinds = {"dog": "animals", "band": "music", "match": "sport"}
    rows = [(text, kind) for text in EXAMPLES for word, kind in kinds.items() if word in text]
    encoder = noppa.load("small")
    noppa.Classifier(encoder).fit(*map(list, zip(*rows, strict=True))).save(folder / "topics")
    index = noppa.Index.open(folder / "texts", encoder)
    index.add(EXAMPLES, metadata=[{"year": 2018 + at % 6} for at in range(len(EXAMPLES))])
    options = ("--index", str(folder / "texts"), "--workers", "2")
    with serving(str(folder / "topics"), *options) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, server: Running) -> Iterator[Any]:
    with opened_page(browser, server.url) as opened:
        yield opened


def shown(page: Any, server: Running, address: str) -> None:
    """The page at an address, once everything is there; with example lines where the tab has lines."""
    page.goto("about:blank")
    opened_at(page, f"{server.url}/#{address}")
    if "tab=lines" in address:
        page.get_by_role("button", name="Example lines").click()
        page.locator("#clusters li").first.wait_for()
        page.locator("#map-title").filter(has_text="400").wait_for()
    page.locator(TABS[address]).first.wait_for()
    settled(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, server: Running, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found, options = [], {"resultTypes": ["violations"]}
    # axe is evaluated in the page, which the page's own policy forbids.
    with opened_page(browser, server.url, color_scheme=scheme, bypass_csp=True) as page:

        def look(where: str) -> None:
            for wrong in Axe().run(page, options=options).response["violations"]:
                if wrong["impact"] in ("serious", "critical"):
                    found.append((where, wrong["id"], [node["html"] for node in wrong["nodes"]]))

        for address in TABS:
            shown(page, server, address)
            look(address)
        page.goto(f"{server.url}/docs#post-v1-embeddings")
        page.locator("#post-v1-embeddings form").wait_for()
        look("docs")
    assert found == []


def test_the_keyboard_reaches_everything(page: Any, server: Running) -> None:
    """Tab visits every field and button that is shown, in order, and shows where it is."""
    places = (
        "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')].filter((node) =>"
        " node.checkVisibility() && node.tabIndex >= 0 && !(node.type === 'radio' && !node.checked))"
    )
    for address in TABS:
        shown(page, server, address)
        page.evaluate(f"window.left = new Set({places})")
        count = page.evaluate("left.size")
        assert count > 5
        page.evaluate("document.querySelector('.skip').focus()")
        page.evaluate("left.delete(document.activeElement)")
        for _ in range(count + 5):
            page.keyboard.press("Tab")
            page.evaluate("left.delete(document.activeElement)")
            if page.evaluate("document.activeElement === document.body"):
                break
            outlined = (
                "[document.activeElement, document.activeElement.parentElement].some((node) =>"
                " getComputedStyle(node).outlineStyle !== 'none')"
            )
            assert page.evaluate(outlined), page.evaluate("document.activeElement.outerHTML")
        assert page.evaluate("[...left].map((node) => node.outerHTML)") == []


def test_back_and_reload(page: Any, server: Running) -> None:
    """Back undoes a tab and a method; a text is one entry however it was typed; lines outlive a reload."""
    opened_at(page, server.url)
    field, described = page.get_by_label("Type a sentence"), page.locator("#described-name")
    field.fill("")
    page.get_by_role("button", name="The girl eats").click()  # an example of the empty state
    page.locator("#heat svg").wait_for()
    wait(page, "!location.hash.includes('text')")  # that sentence is the default
    entries = page.evaluate(
        "() => { window.changes = 0; for (const name of ['pushState', 'replaceState']) {"
        " const real = history[name].bind(history); history[name] = (...all) => { changes++; real(...all); }; } return history.length; }"
    )
    # In one go, as no real keyboard is on a busy machine: a pause between two letters is a change of its own.
    typed = "(field) => { for (const letter of ' The dog sleeps beside the fire.') { field.value += letter; field.dispatchEvent(new Event('input')); } }"
    field.evaluate(typed)
    wait(page, "location.hash.includes('fire')")
    assert page.evaluate("[history.length, changes]") == [entries, 1]
    page.get_by_label("Method", exact=True).select_option("average")
    expect(described).to_have_text(re.compile("^Average"))
    page.get_by_role("tab", name="Lines").click()
    lines, clusters = "The dog runs.\nThe band plays.\n", page.locator("#clusters > li")
    page.get_by_label("Paste lines").fill(lines)
    expect(clusters).to_have_count(2)
    page.reload()
    expect(clusters).to_have_count(2)
    expect(page.get_by_label("Paste lines")).to_have_value(lines)
    page.go_back()
    expect(page.get_by_role("tab", name="Sentence")).to_have_attribute("aria-selected", "true")
    expect(described).to_have_text(re.compile("^Average"))
    page.go_back()
    expect(described).to_have_text(re.compile("^NoPPA"))
    expect(field).to_have_value(re.compile(r"fire\.$"))
    page.go_forward()
    expect(described).to_have_text(re.compile("^Average"))
    page.go_forward()
    expect(page.get_by_role("tab", name="Lines")).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#lines-state")).to_have_text("No lines yet.")
    page.reload()
    expect(page.locator("#with-lines")).to_be_hidden()


def test_waiting_and_stale_results(page: Any, server: Running) -> None:
    """While an answer is awaited, and after a refusal, what it will replace is dimmed; a late answer replaces nothing newer."""
    held: list[Any] = []
    opened_at(page, server.url)
    page.locator("#heat svg").wait_for()
    settled(page)
    page.route("**/explain", lambda route: held.append(route))
    page.get_by_label("Type a sentence").fill("First of two.")
    page.locator("#sentence-results[aria-busy=true].stale").wait_for()
    wait_for_requests(page, held, 1)
    expect(page.locator("#tokens tbody th").first).to_have_text("The")
    page.get_by_label("Type a sentence").fill("Second of two.")
    wait_for_requests(page, held, 2)
    held[1].continue_()
    page.locator("#tokens tbody th", has_text="Second").wait_for()
    settled(page)
    held[0].abort()  # it was aborted by the page: no message
    page.unroute("**/explain")
    page.get_by_label("Type a sentence").fill("word " * 400)
    page.locator("#sentence-problem").filter(has_text="400 tokens").wait_for()
    expect(page.locator("#sentence-results.stale[aria-busy=false]")).to_have_count(1)
    page.get_by_role("tab", name="Pair").click()
    page.locator("#align svg").wait_for()
    page.get_by_role("tab", name="Sentence").click()
    page.locator("#sentence-problem").filter(has_text="400 tokens").wait_for()
    page.get_by_label("Type a sentence").fill("A dog.")
    page.locator("#tokens tbody th", has_text="dog").wait_for()
    settled(page)
    expect(page.locator("#sentence-problem")).to_be_hidden()
    forgive(page, "413")


def test_pieces_and_other_scripts(page: Any, server: Running) -> None:
    """Pieces stand under their word and are marked; what runs from right to left does so in fields, tables and heat maps."""
    page.goto(f"{server.url}/#text=unbelievableness matters")
    page.locator("#tokens tr.parted").wait_for()
    settled(page)
    expect(page.locator("#tokens tr.parted th")).to_have_text("unbelievableness")
    parts = page.locator("#tokens tr.piece th").all_inner_texts()
    assert len(parts) >= 2
    assert "".join(parts).replace("‧", "") == "unbelievableness"
    assert parts[0].endswith("‧")
    assert parts[-1].startswith("‧")
    expect(page.locator("#summary")).to_contain_text("1 word built from pieces")
    expect(page.locator("#heat line.word")).to_have_count(2)  # along rows and columns
    page.get_by_label("Type a sentence").fill("לומד cake")
    page.locator("#tokens tr.parted th", has_text="לומד").wait_for()
    settled(page)
    direction = "(selector) => getComputedStyle(document.querySelector(selector)).direction"
    assert page.evaluate(direction, "#text") == "rtl"
    assert page.evaluate(direction, "#tokens tr.parted th") == "rtl"
    first, last = (
        page.locator(f"#heat [data-row='0'][data-column='{column}']").bounding_box()
        for column in (0, len(page.locator("#tokens tbody tr:not(.parted)").all()) - 1)
    )
    assert first["x"] > last["x"]  # the first token stands at the right
    page.locator("#heat svg").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#heat .readout")).to_have_text(re.compile("^ל‧ → ‧"))
    long = " ".join(["לומד"] * 40)
    page.get_by_label("Type a sentence").fill(long)
    page.locator("#heat [role=listbox]").wait_for()
    settled(page)
    assert page.evaluate(direction, "#heat .reading") == "rtl"
    page.locator("#heat [role=listbox]").press("Home")
    page.keyboard.press("ArrowLeft")
    chosen = page.locator("#heat [role=option]").nth(1)
    expect(chosen).to_have_attribute("aria-selected", "true")


def test_the_model_and_why(page: Any, server: Running) -> None:
    page.goto(server.url)
    page.locator("#model-hint").filter(has_text="attention").wait_for()
    expect(page.locator("#model option").first).to_have_text("noppa-default (automatic)")
    page.get_by_role("tab", name="Pair").click()
    page.locator("#model-hint").filter(has_text="cosine").wait_for()
    described = page.locator("#described-name")
    expect(described).to_have_text(f"Average · {noppa.load('similarity').dim:,} dimensions")
    assert 0 < float(page.locator("#gauge").get_attribute("aria-valuenow")) < 1
    expect(page.locator(".tick")).to_have_count(2)
    page.get_by_label("Model").select_option("noppa-default")
    expect(described).to_have_text(f"NoPPA · {noppa.load().dim:,} dimensions")
    described.click()
    expect(page.locator("#parameters")).to_be_visible()
    expect(page.locator("#parameters")).to_contain_text("attend_self")
    answer = {"warning": "only 3 % of the words are known"}

    def warned(route: Any) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, json={**reply.json(), **answer})

    page.route("**/similarity", warned)
    page.get_by_label("First sentence").fill("Etwas anderes.")
    page.locator("#warning").filter(has_text="only 3 %").wait_for()
    page.unroute("**/similarity")
    page.get_by_label("First sentence").fill("A dog.")
    page.locator("#warning").wait_for(state="hidden")


def test_search_the_index(page: Any, server: Running) -> None:
    page.goto(server.url)
    page.get_by_role("tab", name="Search").click()
    page.locator("#index-state").filter(has_text="400 texts; filter by year.").wait_for()
    page.get_by_label("Search texts").fill("fresh fish")
    page.locator("#hits li").first.filter(has_text="fish").wait_for()
    settled(page)
    page.locator("#hits summary").first.press("Enter")
    expect(page.locator("#hits details[open]")).to_contain_text("fish – fish")
    page.get_by_role("button", name="Add a filter").press("Enter")
    page.get_by_label("Comparison").select_option("in")
    page.get_by_label("Value of the filter").fill("2019, 2021")
    wait(page, "(all => all.length && all.every((chip) => /2019|2021/.test(chip.textContent)))([...document.querySelectorAll('#hits .chip')])")  # fmt: skip
    page.get_by_label("By", exact=True).select_option("words")
    page.get_by_label("Search texts").fill("zzqx")
    expect(page.locator("#hits li")).to_have_count(0)
    expect(page.locator("#hits-note")).not_to_be_empty()
    wait(page, "location.hash.includes('zzqx')")
    page.reload()
    expect(page.locator("#hits-note")).not_to_be_empty()
    expect(page.get_by_label("Value of the filter")).to_have_value("2019, 2021")
    page.get_by_role("button", name="Remove the filter by year").press("Enter")
    expect(page.locator("#add-filter")).to_be_focused()


def test_cards_of_the_map(page: Any, server: Running) -> None:
    shown(page, server, "tab=lines&query=a concert")
    page.locator("#map").focus()
    page.keyboard.press("+")
    card = page.locator("#map-card")
    card.wait_for()
    expect(card.locator("p").first).to_have_text(page.locator("#map-point").inner_text())
    expect(card).to_have_text(re.compile(r" · line \d+$"))
    page.get_by_role("button", name="Show everything").focus()
    card.wait_for(state="hidden")


def test_the_reader_of_the_document(page: Any, server: Running) -> None:
    """Anchors open an operation, examples are those of this server, and what is tried is answered."""
    page.goto(f"{server.url}/docs#post-index-search")
    one = page.locator("#post-index-search")
    one.locator("form").wait_for()
    expect(one).to_contain_text(f"curl {server.url}/index/search")
    assert 'requests.post(\n    "' in one.inner_text()
    one.get_by_label("Body").fill('{"query": "fresh fish", "count": 1}')
    one.get_by_role("button", name="Send").press("Enter")
    one.locator(".status").filter(has_text="200").wait_for()
    expect(one.locator(".answer")).to_contain_text('"results"')
    one.get_by_label("Body").fill("{")
    one.get_by_role("button", name="Send").click()
    one.locator(".status").filter(has_text="not valid JSON").wait_for()
    page.get_by_role("link", name="/v1/embeddings", exact=False).first.click()
    page.locator("#post-v1-embeddings table").first.wait_for()
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark").click()
    wait(page, f"{background} !== '{light}'")
    page.get_by_role("link", name="Explorer").click()
    page.locator("#heat svg").wait_for()
    wait(page, f"{background} !== '{light}'")
