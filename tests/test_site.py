"""The site that `make docs` built: each page within two clicks of the first, and no text for a
picture."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

TOP = Path(__file__).resolve().parents[1]
SITE = TOP / "build/site"
FIRST = SITE / "docs/index.html"
APART = ("_downloads", "_modules", "_static", "genindex.html", "py-modindex.html", "search.html")
"""Pages that a search or an index finds, and files."""
LINK = re.compile(r'<a [^>]*href="([^"#?]+)')

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


def links(page: Path) -> set[Path]:
    text = page.read_text(encoding="utf-8")
    return {
        (page.parent / unquote(found)).resolve() for found in LINK.findall(text) if ":" not in found
    }


@built
@pytest.mark.slow
def test_every_page_is_two_clicks_from_the_first() -> None:
    one = links(FIRST) & pages()
    two = set().union(*(links(page) & pages() for page in one))
    far = pages() - one - two - {FIRST, SITE / "index.html"}
    assert not far, sorted(str(each.relative_to(SITE)) for each in far)


@built
@pytest.mark.slow
def test_diagrams_are_pictures_and_nothing_comes_from_elsewhere() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert "highlight-mermaid" not in text, page
        for outside in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)', text):
            raise AssertionError(f"{page}: {outside}")
    assert 'alt="dovetail_studies to' in (SITE / "docs/architecture.html").read_text()


def test_each_diagram_has_its_picture() -> None:
    wanted = {diagrams.picture(text) for text in diagrams.diagrams()}
    assert wanted == {*diagrams.PICTURES.glob("*.svg")}, "run `make diagrams`"
