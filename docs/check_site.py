"""Check the built site: links within it, signatures of classes, and widths on a phone.

``python docs/check_site.py docs/_build``; the widths need Playwright and a Chromium.
"""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PHONE = {"width": 390, "height": 800}
BROWSERS = "chromium", "chromium-browser", "google-chrome"
BY_HOW_MUCH = """Math.max(...Array.from(
    document.querySelectorAll("html, .bd-article-container"), box => box.scrollWidth - innerWidth
))"""  # of the window, and of the box in which the theme has the text; others may scroll
STAR = '<span class="o"><span class="pre">*</span></span>'  # in a signature
APART = {"_modules", "_static"}  # source code, all in one form, and templates of the theme


class Page(HTMLParser):
    """The anchors of a page, and what it links to or shows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str | None] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note them."""
        found = dict(attrs)
        self.anchors |= {found.get("id"), found.get("name")}
        self.links |= {found.get("href"), found.get("src")} - {None}


read = cache(Page)


def pages(site: Path) -> list[Path]:
    """All pages that somebody wrote."""
    found = sorted(site.resolve().rglob("*.html"))
    return [path for path in found if not APART & set(path.parts)]


def is_dead(link: str, path: Path) -> bool:
    """Whether a link on the page at this path leads within the site, and nowhere."""
    url = urlsplit(link)
    if url.scheme or url.netloc:
        return False
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    if not target.is_file():
        return True
    is_anchor = url.fragment and target.suffix == ".html"
    return bool(is_anchor and unquote(url.fragment) not in read(target).anchors)


def dead_links(site: Path) -> Iterator[str]:
    """Pages, and links on them that lead nowhere."""
    for path in pages(site):
        for link in sorted(read(path).links):
            if is_dead(link, path):
                yield f"{path.name}: {link} leads nowhere"


def hidden_parameters(site: Path) -> Iterator[str]:
    """Pages of estimators and displays whose signature names no parameters."""
    for path in sorted(site.glob("api/generated/*.html")):
        if f'{STAR}<span class="n"><span class="pre">args' in path.read_text(encoding="utf-8"):
            yield f"{path.name}: the signature hides its parameters behind *args"


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A Chromium; ImportError where there is no Playwright, OSError where it has no Chromium."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise OSError("there is no Chromium")
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


def wide_pages(site: Path) -> Iterator[str]:
    """Pages that are wider than the screen of a phone."""
    with browser() as found:
        page = found.new_page(viewport=PHONE)
        for path in pages(site):
            page.goto(path.as_uri())
            more = page.evaluate(BY_HOW_MUCH)
            if more > 0:
                yield f"{path.name}: {more} pixels wider than a phone"


if __name__ == "__main__":
    site = Path(sys.argv[1])
    wrong = [*dead_links(site), *hidden_parameters(site)]
    try:
        wrong += wide_pages(site)
    except (ImportError, OSError) as error:
        print(f"widths are not checked: {error}", file=sys.stderr)
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))
