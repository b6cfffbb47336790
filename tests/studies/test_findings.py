"""The conclusions of studies/pages/README.md take their figures from the tables."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from dovetail import DovetailError
from dovetail_studies import pages
from dovetail_studies.findings import FINDINGS, Finding
from dovetail_studies.rows import study

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "studies/pages"
KEPT = PAGES / "results"
PLACES = re.compile(
    r"c of [.\d]+ and [.\d]+|of [.\d]+ and|version [\d.]+|genes of [\d.]+"
    r"|\{[^}]*\}|`[^`]*`|\]\([^)]*\)"
)
FIGURE = re.compile(r"\d\.\d|\d %|\.\.")
INTERVAL = re.compile(r"[-\d.,]*\d \([-\d.,]+\.\.[-\d.,]*\d\)")
UNIT = re.compile(r" (?:%|points|rows)(?= \()")


@pytest.mark.parametrize("name", FINDINGS)
def test_every_figure_of_a_conclusion_stands_in_a_table(name: str, tmp_path: Path) -> None:
    whole = study(name)
    found = [pages.find(whole, row, tmp_path, KEPT) for row in whole.rows]
    tables = {each.row.key: each.drawn.lines for each in found if each.drawn}
    for finding in FINDINGS[name]:
        assert not FIGURE.search(PLACES.sub("", finding.here)), "a figure typed by hand"
        text = finding.filled(tables).here
        assert "{" not in text
        assert "≠" not in text
        assert text.count(". ") == 0, "more than a sentence"


def test_a_figure_follows_its_table_and_one_that_is_gone_is_named() -> None:
    finding = Finding("It wins.", "yes", "It wins {halves|won} and {halves|won|1} (`halves`).")
    tables = {"halves": [["won", "0.5", "0.46 (0.1..0.8) ≈"]]}
    assert finding.filled(tables).here == "It wins 0.46 (0.1..0.8) and 0.5 (`halves`)."
    assert finding.rests_on("halves")
    with pytest.raises(DovetailError, match=r"no figure \{halves\|won\}"):
        finding.filled({"halves": [["lost", "0.5", "0.5"]]})


def test_no_note_of_a_page_has_a_figure_typed_by_hand() -> None:
    for path in (ROOT / "studies/dovetail_studies").rglob("*.py"):
        tree = ast.parse(path.read_text())
        texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in texts:
                assert not INTERVAL.search(UNIT.sub("", node.value)), (path.name, node.value)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/agents").glob("*.md")), ids=lambda at: at.stem
)
def test_a_figure_beside_a_link_to_a_study_stands_on_its_page(path: Path) -> None:
    for block in re.split(r"\n\s*\n|\n(?=- )", path.read_text()):
        linked = set(re.findall(r"studies/pages/([\w-]+\.md)", block))
        text = "".join((PAGES / name).read_text() for name in sorted(linked))
        for figure in INTERVAL.findall(UNIT.sub("", block)) if linked else ():
            assert figure in UNIT.sub("", text), figure
