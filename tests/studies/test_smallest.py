"""Every row is drawn from its smallest results: of one test, one seed, a game that nobody won.

``test_best`` draws those of ``best`` from results that it makes.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.studies.smallest import kept

from dovetail_studies import pages, working
from dovetail_studies.results import KeptResults
from dovetail_studies.rows import ALL, BEST, study

NAMES = [name for name in ALL if name != BEST]
ROWS = [(name, row.key) for name in NAMES for row in study(name).rows if row.runs]
NUMBERS = re.compile(r"\b(?:nan|inf)\b")


@pytest.mark.parametrize(("name", "key"), ROWS)
def test_a_row_is_drawn_from_its_smallest_results(name: str, key: str) -> None:
    whole = study(name)
    row = whole.row(key)
    size = working.pick(row, "quick")
    results = KeptResults([kept(name, row)])
    units = working.units(row, size)
    assert not results.todo(units), "see tests/studies/smallest.py"
    for seeds in sorted({1, row.sizes[size].seeds}):
        some = [unit for unit in units if unit["seed"] <= seeds]
        drawn = pages._drawn(row, results.done(some), key)
        assert all(len(line) == len(drawn.columns) for line in drawn.lines)
        found = pages.RowState(row, size, results.of(some), drawn, True)
        for state in (found, replace(found, whole=False)):
            text = "\n".join(pages.section(whole, state, "curves.svg"))
            assert not NUMBERS.search(text), text
