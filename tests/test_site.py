"""The site that `make docs` built: each page within two clicks of the first, found by the search,
and no text for a picture."""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.web.conftest import chromium, page

__all__ = ["chromium", "page"]

TOP = Path(__file__).resolve().parents[1]
SITE = TOP / "build/site"
FIRST = SITE / "docs/index.html"
APART = ("_downloads", "_modules", "_static", "genindex.html", "py-modindex.html", "search.html")
"""Pages that a search or an index finds, and files."""
spec = importlib.util.spec_from_file_location("diagrams", TOP / "docs/site/diagrams.py")
assert spec is not None
assert spec.loader is not None
diagrams = importlib.util.module_from_spec(spec)
spec.loader.exec_module(diagrams)

pytestmark = pytest.mark.processes
built = pytest.mark.skipif(not FIRST.exists(), reason="needs the site: make docs")


@cache
def pages() -> frozenset[Path]:
    found = {each.relative_to(SITE): each for each in SITE.rglob("*.html")}
    return frozenset(each for name, each in found.items() if name.parts[0] not in APART)


class Links(HTMLParser):
    """Collects the links of a page, without those that its navigation has folded away."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.folding = False
        """True from a check box that is not ticked to the list that it folds."""
        self.folded = 0
        """The number of open lists, from the folded one on."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("class") == "toctree-checkbox":
            self.folding = "checked" not in given
        elif tag == "ul" and (self.folding or self.folded):
            self.folding, self.folded = False, self.folded + 1
        elif tag == "a" and not self.folded:
            self.found.add(re.split("[#?]", given.get("href") or "")[0])

    def handle_endtag(self, tag: str) -> None:
        if tag == "ul" and self.folded:
            self.folded -= 1


@cache
def links(page: Path) -> frozenset[Path]:
    parser = Links()
    parser.feed(page.read_text(encoding="utf-8"))
    within = (each for each in parser.found if each and ":" not in each)
    return frozenset((page.parent / unquote(each)).resolve() for each in within)


@built
@pytest.mark.slow
def test_every_page_is_two_clicks_from_the_first() -> None:
    one = links(FIRST) & pages()
    two = set().union(*(links(page) & pages() for page in one))
    assert SITE / "docs/environments/connect_four.html" not in one  # the navigation folds it
    far = pages() - one - two - {FIRST, SITE / "index.html"}
    assert not far, sorted(str(each.relative_to(SITE)) for each in far)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address at which the site is served."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@built
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "title", "target"),
    [
        ("afterstates", "Writing an environment", "docs/environments.html"),
        ("shards", "Seeds, sweeps and shards", "docs/sweeps.html"),
        ("queens arrows", "Amazons", "docs/environments/amazons.html"),
        ("step_rows", "dovetail.peer.agents.vector.VectorAgent.step_rows", "agents.html"),
    ],
)
def test_a_search_finds_the_page(
    page: Any, address: str, words: str, title: str, target: str
) -> None:
    page.goto(f"{address}docs/index.html")
    page.get_by_placeholder("Search").fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results").get_by_role("link", name=title, exact=True).click()
    assert re.split("[?#]", page.url)[0].endswith(target)


@built
@pytest.mark.slow
def test_diagrams_are_pictures_and_nothing_comes_from_elsewhere() -> None:
    for each in pages():
        text = each.read_text(encoding="utf-8")
        assert "highlight-mermaid" not in text, each
        for outside in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)', text):
            raise AssertionError(f"{each}: {outside}")
    assert 'alt="dovetail_studies to' in (SITE / "docs/architecture.html").read_text()


def test_each_diagram_has_its_picture() -> None:
    wanted = {diagrams.picture(text) for text in diagrams.diagrams()}
    assert wanted == {*diagrams.PICTURES.glob("*.svg")}, "run `make diagrams`"
