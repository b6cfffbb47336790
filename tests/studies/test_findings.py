"""The figures in the conclusions of studies/pages/README.md, which are written by hand, against pages and results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dovetail_studies.findings import FINDINGS, Finding

PAGES = Path(__file__).parents[2] / "studies" / "pages"
FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
CITED = re.compile(r"`[^`]*`|\]\([^)]*\)")
DIGITS = 3
"""A figure of fewer digits would be found anywhere."""
COMPUTED = {
    "amazons": {"10000", "15000", "19000", "22000", "36000", "38000", "53000"},
    "tetris": {"629", "7757", "20864", "28836", "26045", "31627"},
    "dots": {"2499"},
}
"""Figures that no page prints and no result is: means of some seeds, intervals, sums and moments of curves."""


@cache
def on_page(name: str) -> frozenset[float]:
    found = FIGURE.findall((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    return frozenset(float(each.replace(",", "")) for each in found)


@cache
def in_results(study: str) -> frozenset[float]:
    lines = (
        line
        for path in (PAGES / "results" / study).glob("*.study.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    return frozenset(value for line in lines for value in numbers(json.loads(line)))


def numbers(value: Any) -> Iterator[float]:
    match value:
        case bool() | str() | None:
            return
        case dict():
            for each in value.values():
                yield from numbers(each)
        case list():
            for each in value:
                yield from numbers(each)
        case _:
            yield round(abs(value), 3)


def figures(text: str) -> Iterator[str]:
    for each in FIGURE.findall(CITED.sub("", text)):
        plain = each.rstrip(",").replace(",", "")
        if len(plain.replace(".", "")) >= DIGITS:
            yield plain


@pytest.mark.parametrize(
    ("study", "finding"),
    [(study, each) for study, found in FINDINGS.items() for each in found],
    ids=lambda each: each.says[:50] if isinstance(each, Finding) else each,
)
def test_a_conclusion_s_figures_are_those_of_the_pages_and_results(
    study: str, finding: Finding
) -> None:
    linked = re.findall(r"\(([a-z0-9-]+)\.md", finding.here)
    known = in_results(study).union(*(on_page(name) for name in (study, *linked)))
    for figure in figures(finding.here):
        decimals = len(figure.partition(".")[2])
        stands = any(f"{value:.{decimals}f}" == figure for value in known)
        assert stands != (figure in COMPUTED.get(study, ())), figure
