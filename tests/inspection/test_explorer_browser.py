"""The pages of `explore` in a browser: no messages, no network; what a reader does there works.

Needs Playwright and a Chromium, as ``pip install playwright`` and Debian's package give them.
"""

import contextlib
import io
import json
import shutil
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from skcooc.inspection import explore
from tests.inspection.pages import EVIL, WORDS, stand_in, table, texts_of, tree_model, two_sided

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
NAMES = "chromium", "chromium-browser", "google-chrome"
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

X = table()
SIZES = {"desk": (1400, 900), "phone": (390, 800)}
Q = stand_in(X).components_
SKEWED = np.where(X @ (Q[0] > Q[1:].max(axis=0)) > X.sum(axis=1) / 3, "much", "little")
LATE = ["2024-05", "2024-06", "2024-06"]  # one row of May
VIEWS = ["Nodes", "By group", "Over time", "Documents", "Tree", "About"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as play:
        arguments = ["--no-sandbox", "--disable-gpu"]
        found = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    tree = explore(
        tree_model(X), X, texts=texts_of(X), feature_names=WORDS, title="A tree",
        groups=np.array(["a", EVIL])[np.arange(len(X)) % 2], times=1990 + np.arange(len(X)) % 5,
    )  # fmt: skip
    tree.save(folder / "tree.html")
    explore(two_sided(X), X, feature_names=WORDS).save(folder / "blocks.html")
    many, nouns = table(60, n_columns=400), [f"noun {j}" for j in range(400)]
    explore(two_sided(many), many, nouns, sides=("adjectives", "nouns")).save(folder / "pairs.html")
    explore(
        stand_in(X, seed_features={"tea": ["tea", EVIL]}), X, WORDS,
        groups={"desk": SKEWED}, times=["2024-01", "2024-02", "2024-04"] * 7 + LATE,
        names=["a long name that ends in north", "a long name that ends in south", "tea"],
    ).save(folder / "months.html")  # fmt: skip
    names = [f"{letter * 9} · word {letter}" for letter in "abcdefghijklmnopqrst"]
    explore(stand_in(X, 20), X, names=names).save(folder / "crowded.html")
    frame = explore(stand_in(X), X)._repr_html_()
    (folder / "frame.html").write_text(f"<!doctype html><title>Notebook</title>{frame}")
    return folder


@pytest.fixture
def open_page(browser, files):
    with contextlib.ExitStack() as stack:
        said = []

        def opened(name, size="desk", scheme="light"):
            width, height = SIZES[size]
            view = {"width": width, "height": height}
            context = browser.new_context(viewport=view, color_scheme=scheme)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("dialog", lambda dialog: said.append("a dialog"))
            page.on("request", lambda request: said.append(request.url))
            page.goto((files / name).as_uri())
            return page

        yield opened
        local = ("file:", "data:", "blob:", "about:")
        assert [line for line in said if not line.startswith(local)] == []


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("size", SIZES)
def test_all_views_fit(open_page, size):
    page = open_page("tree.html", size, "dark" if size == "phone" else "light")
    for view in VIEWS:
        page.locator("#views").get_by_role("link", name=view, exact=True).click()
        assert page.locator("main").inner_text()
        assert overflow(page) <= 0, view
    page.goto(page.url.split("#")[0] + "#topic=3")
    assert page.locator(".curve").count() == 1
    for width in (320, 865, 1210):
        page.set_viewport_size({"width": width, "height": 800})
        assert overflow(page) <= 0, width
    page = open_page("blocks.html", size)
    page.get_by_role("link", name="Blocks").click()
    assert overflow(page) <= 0


def test_a_name_survives_a_reload_and_is_exported(open_page):
    page = open_page("tree.html")
    page.locator(".all a").nth(2).click()
    page.get_by_label("Name", exact=True).fill("<i>mine</i> & yours #1")
    page.get_by_role("button", name="Rename").click()
    for _ in range(2):
        assert page.locator("#heading").inner_text() == "<i>mine</i> & yours #1"
        assert "mine" in page.locator(".topics a").nth(2).inner_text()
        page.reload()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export names").click()
    names = json.loads(download.value.path().read_text())
    assert len(names) == 7
    assert "<i>mine</i> & yours #1" in names.values()
    assert explore(tree_model(X), X, names=names)
    page.get_by_role("button", name="Reset").click()
    assert "mine" not in page.url


def test_a_map_of_documents_opens_them_by_click_and_by_keys(open_page):
    page = open_page("tree.html")
    page.get_by_role("link", name="Documents").click()
    points, opened = page.locator(".map circle"), page.locator(".opened article")
    assert points.count() == len(X)
    assert opened.count() == 0
    points.nth(4).click(force=True)
    assert opened.locator(".text").inner_text() == texts_of(X)[4]
    chosen = page.locator(".map .chosen")
    seen = [chosen.get_attribute("data-number")]
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "Enter"):
        page.locator(".map").press(key)
        seen.append(chosen.get_attribute("data-number"))
        assert opened.locator(".text").inner_text() == texts_of(X)[int(seen[-1])]
    assert seen == [*seen[:3], seen[1], seen[0], seen[0]]
    assert len(set(seen[:3])) == 3
    page.reload()
    assert chosen.get_attribute("data-number") == "4"
    page.locator(".map").press("Escape")
    assert opened.count() == chosen.count() == 0
    assert "doc=" not in page.url


def test_words_of_a_topic_show_seeds_and_other_topics_and_none_twice(open_page):
    page = open_page("months.html")
    rows = page.locator(".all tbody tr")
    for row in rows.all():
        name, words = row.locator("a").inner_text(), row.locator("td").last.inner_text()
        assert words
        assert not set(name.split(" · ")) & set(words.split(", "))
        titles = [word.get_attribute("title") for word in row.locator("td span").all()]
        assert any(name in title for title in titles)
    page.goto(page.url.split("#")[0] + "#topic=0")
    page.reload()
    assert f"Seeds: tea, {EVIL}." in page.locator(".detail").inner_text()
    marked = page.locator("tr", has=page.locator(".seed")).locator("a:not(.elsewhere a)")
    assert set(marked.all_text_contents()) <= {"tea", EVIL}
    assert marked.count() > 0
    for cell in page.locator("td.elsewhere").all():
        parts = [float(text.strip("\xa0%")) for text in cell.locator("a").all_text_contents()]
        assert sum(parts) <= 95
    other = page.locator("td.elsewhere a").first
    title = other.get_attribute("title")
    other.click()
    assert page.locator("#heading").inner_text() == title


def test_an_address_that_names_no_view_shows_the_first_one(open_page):
    page = open_page("tree.html")
    first = page.locator("main").inner_text()
    for address in (
        "#view=__proto__",
        "#view=constructor&topic=__proto__&doc=__proto__",
        "#topic=999",
    ):
        page.goto(page.url.split("#")[0] + address)
        page.reload()
        assert page.locator("main").inner_text() == first
        assert page.locator("#views [aria-current]").inner_text() == "Nodes"


def test_the_slider_goes_from_probability_to_ratio(open_page):
    page = open_page("tree.html")
    page.locator(".all a").first.click()
    for place, column in (("0", 3), ("1", 4)):
        page.locator("#slider").fill(place)
        cells = page.locator(f"main table >> nth=0 >> td:nth-child({column})").all_inner_texts()
        shown = [float(text.strip("×% ")) for text in cells]
        assert len(shown) > 3
        assert shown == sorted(shown, reverse=True)
    assert page.url.endswith("t=1")


def test_filters_and_search(open_page):
    page = open_page("tree.html")
    every = page.locator(".all a").count()
    page.get_by_label("Filter").fill("no such word")
    assert page.locator(".all a").count() == 0 < every
    page.get_by_label("Search").fill("<script>alert")
    assert page.locator("tbody th").all_inner_texts() == [EVIL]
    assert page.locator("article").count() > 0
    page.get_by_role("link", name="Documents").click()
    page.get_by_label("Group").select_option(label=EVIL)
    assert page.locator("#found").inner_text().startswith("12 of 24 documents")
    page.get_by_label("Order").select_option(label="predicted worst first")
    shown = page.locator("article .quiet").all_inner_texts()
    errors = [float(text.split("perplexity ")[1].replace(",", "")) for text in shown]
    assert errors == sorted(errors, reverse=True)
    assert all(EVIL in text for text in shown)
    page.get_by_label("Time").select_option(label="1994")
    assert page.locator("#found").inner_text().startswith("2 of 24 documents")
    assert all("1994" in text for text in page.locator("article .quiet").all_inner_texts())


def test_a_tree_is_followed_to_a_document_without_a_mouse(open_page):
    page = open_page("tree.html")
    page.get_by_role("link", name="Tree").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Fold all", exact=True).press("Enter")
    sizes = [int(text.split()[-2]) for text in page.locator("summary").all_text_contents()]
    assert (len(sizes), sizes[0], sum(sizes)) == (7, len(X), 3 * len(X))
    assert page.locator("details[open]").count() == 0
    for _ in range(3):
        page.locator("summary:visible").last.press("Enter")
    leaf = page.locator("details.leaf[open]")
    assert "Cluster" in leaf.inner_text()
    leaf.locator("article").first.wait_for()  # they are made when it is open
    assert leaf.locator("article").count() == 6
    assert leaf.locator("mark").count() > 0


def test_shares_at_one_glance_and_lines_break_where_a_month_is_left_out_or_has_one_row(open_page):
    page = open_page("months.html")
    assert page.locator(".all tbody tr").count() == 3  # the largest, before one is chosen
    page.get_by_role("link", name="By desk", exact=True).click()
    marked = page.locator(".heat .marked").all()
    titles = [cell.get_attribute("title") for cell in marked]
    assert any(title.startswith("a long name that ends in north in much") for title in titles)
    assert not any("north in little" in title for title in titles)
    page.get_by_role("link", name="Over time", exact=True).click()
    curves = page.locator(".curves svg")
    assert curves.count() == 3
    assert curves.first.bounding_box()["width"] > 400
    assert curves.first.locator(".range").count() == 4  # a month of one row has none
    page.goto(page.url.split("#")[0] + "#topic=0")
    page.reload()
    lines = [line.get_attribute("d") for line in page.locator(".curve .line").all()]
    assert [line.count("M") + line.count("L") for line in lines] == [2, 1, 1]
    assert page.locator(".curve .few").count() == 2
    assert page.locator(".curve text").all_text_contents()[3:] == [
        "2024-01", "2024-02", "2024-04", "2024-05", "2024-06"
    ]  # fmt: skip
    assert page.locator(".curve text").last.evaluate(
        "(e) => e.getBBox().x + e.getBBox().width <= e.ownerSVGElement.clientWidth"
    )


def test_columns_that_are_cut_are_counted_until_they_are_scrolled_to(open_page):
    page = open_page("tree.html")
    page.locator("#view-groups").click()
    grid = page.locator(".heat")
    assert grid.bounding_box()["width"] == page.locator("#views").bounding_box()["width"]
    assert not page.locator(".hint").is_visible()
    page = open_page("tree.html", "phone")
    page.locator("#view-groups").click()
    page.set_viewport_size({"width": 300, "height": 800})
    page.get_by_text("2 more columns: scroll").wait_for()  # once the narrow page is laid out
    page.locator(".scroll").evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    page.locator(".hint").wait_for(state="hidden")


def saved(page, button):
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, download.value.path().read_text(encoding="utf-8")


def test_tables_are_saved_with_their_numbers_and_figures_as_they_are_seen(open_page):
    page = open_page("tree.html", scheme="dark")
    shown = json.loads(page.locator("#payload").text_content())
    page.locator("#view-groups").click()
    name, text = saved(page, page.get_by_role("button", name="Table (CSV)"))
    assert name == "a-tree-nodes-by-group.csv"
    table = pd.read_csv(io.StringIO(text))
    assert set(table["group"]) == {"a", EVIL}
    for _, line in table.iterrows():
        k = [topic["name"] for topic in shown["topics"]].index(line["node"])
        g = shown["groups"]["labels"].index(line["group"])
        for column in ("share", "low", "high"):
            assert line[column] == shown["groups"][column][g][k]
    page.goto(page.url.split("#")[0] + "#topic=0")
    page.reload()
    _, text = saved(page, page.get_by_role("button", name="Table (CSV): Words"))
    table = pd.read_csv(io.StringIO(text))
    assert table.columns.tolist() == ["word", "probability", "lift", "also in"]
    listed = dict.fromkeys(shown["features"][f][0] for f, *_ in shown["topics"][0]["features"])
    assert set(table["word"]) <= set(listed)
    ps = {shown["features"][f][0]: p for f, p, *_ in shown["topics"][0]["features"]}
    assert table["probability"].tolist() == [ps[word] for word in table["word"]]
    name, text = saved(page, page.get_by_role("button", name="Figure (SVG)"))
    assert name.endswith("over-time.svg")
    picture = ElementTree.fromstring(text)
    background, *_ = picture
    assert background.get("fill") == "rgb(21, 24, 28)"
    circle = picture.find("{http://www.w3.org/2000/svg}circle")
    drawn = page.locator(".curve circle").first
    assert circle.get("fill") == drawn.evaluate("(point) => getComputedStyle(point).fill")
    assert "class=" not in text
    for view in ("topics", "documents", "about"):
        page.locator(f"#view-{view}").click()
        _, text = saved(page, page.get_by_role("button", name="Figure (SVG)"))
        assert ElementTree.fromstring(text).get("viewBox")
        assert "href=" not in text


@pytest.mark.parametrize("size", SIZES)
def test_labels_of_a_map_differ_and_none_is_lost(open_page, size):
    page = open_page("months.html", size)
    labels = page.locator(".map text").all_text_contents()
    assert len(set(labels)) == 3
    assert {label[-5:] for label in labels} == {"north", "south", "tea"}


def test_a_share_leads_to_the_documents_of_a_topic_in_a_group(open_page):
    page = open_page("tree.html")
    page.locator("#view-groups").click()
    page.locator(".heat tbody tr").first.locator("td a").first.click()
    assert page.get_by_label("Group").input_value() == "0"
    assert page.locator("#of-topic").input_value() != ""
    shown = page.locator("article .quiet").all_inner_texts()
    assert len(shown) > 0
    assert all(EVIL in text for text in shown)


def test_blocks_are_walked_through_by_arrows(open_page):
    page = open_page("blocks.html")
    page.get_by_role("link", name="Blocks").click()
    page.locator("[role=gridcell]").first.click()
    first = page.locator(".block h2").inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator(".block h2").inner_text()
    assert first.split(",")[0] == second.split(",")[0]
    assert first != second
    assert page.locator(".block tbody tr").count() > 0
    page.reload()
    assert page.locator(".block h2").inner_text() == second


def test_all_members_of_a_cluster_are_found_and_sides_have_their_names(open_page):
    page = open_page("pairs.html")
    assert "400 nouns" in page.locator("#summary").inner_text()
    page.get_by_role("link", name="Blocks").click()
    page.locator("#block-0-0").click()
    assert page.locator(".block h2").inner_text() == "Adjectives 0, nouns 0"
    nouns = page.locator(".members").nth(1).locator("li")
    assert nouns.count() == 40
    more = page.locator(".members").nth(1).locator("button")
    more.click()
    assert not more.is_visible()
    assert {int(name.split()[1]) for name in nouns.all_text_contents()} == set(range(0, 400, 2))
    page.get_by_label("Filter nouns").fill("noun 39")
    assert set(nouns.all_text_contents()) == {f"noun {j}" for j in range(390, 400, 2)}
    page.get_by_label("Search").fill("noun 399")
    page.get_by_role("link", name="Nouns 1").click()
    assert page.locator(".block h2").inner_text().endswith("nouns 1")
    page = open_page("pairs.html")
    page.get_by_role("link", name="Adjectives", exact=True).click()
    assert page.locator("#found").inner_text() == "60 of 60 adjectives"
    page.get_by_label("Search").fill("noun 399")
    assert page.locator("h3", has_text="1 of the nouns").count() == 1


def test_in_a_notebook(open_page):
    """In a frame without an address, links lead to views of the page and nowhere else."""
    page = open_page("frame.html")
    frame = page.frame_locator("iframe")
    frame.locator(".map a").first.click()
    frame.get_by_label("Name", exact=True).fill("mine")
    frame.get_by_role("button", name="Rename").click()
    assert frame.locator("#heading").inner_text() == "mine"


def test_everything_has_a_name_for_those_who_listen(open_page):
    page = open_page("tree.html")
    for view in ("", "#topic=2", "#view=__proto__&topic=999", "#view=documents", "#view=tree"):
        page.goto(page.url.split("#")[0] + view)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("a, button, input, select, summary, [role=img]")]
            .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim()))
            .filter((e) => !(e.labels && e.labels.length)).map((e) => e.outerHTML)"""
        )
        assert nameless == []
