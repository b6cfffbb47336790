"""The figures that the bench makes of its measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import report
from bench.driven import Rates
from bench.groups import GROUPS, Bar, Group, Subject
from bench.subjects import named

pytestmark = pytest.mark.fast

GROUP = Group(
    {name: Subject("matches tcp 1") for name in ("ours", "slow", "base", "gone")},
    [
        Bar("fast", "ours", "base", 2.0),
        Bar("slow", "slow", "base", 2.0),
        Bar("beside", "ours", "gone", 1.0),
        Bar("unpromised", "slow", "ours"),
        Bar("enough", "ours", 300, 1.0),
    ],
)
RATES = Rates(
    free={"ours": [200.0, 330.0, 300.0], "slow": [90.0, 100.0, 110.0], "base": [100.0] * 3},
    pinned={"ours": [100.0], "slow": [100.0], "base": [200.0]},
    failed={"gone": "it ended"},
)


def test_a_ratio_is_the_median_over_the_rounds_beside_its_bar() -> None:
    fast, slow, beside, unpromised, enough = report.results(GROUP, RATES)
    assert fast.cells() == (
        *("fast", "300", "base", "100", "3.00", "2.00 to 3.30", "0.50", "2", "met"),
    )
    assert slow.cells()[-1] == "not met"
    assert beside.cells()[4:] == ("", "", "", "1", "not measured: gone: it ended")
    assert (unpromised.met, unpromised.cells()[-2:]) == (None, ("", ""))
    assert enough.met
    assert enough.cells()[2:5] == ("at least 300", "", "1.00")


def test_table_and_history(tmp_path: Path) -> None:
    found = report.results(GROUP, RATES)
    page = report.as_markdown(found, ["a note"], "python -m bench", "curves.svg")
    assert "| slow | 100 | base | 100 | 1.00 | 0.90 to 1.10 | 0.50 | 2 | not met |" in page
    history = tmp_path / "history.jsonl"
    history.write_text('{"version": "0.0.9"}\n')
    for _ in range(3):
        report.remember(found, history)
    old, new, again = [json.loads(line) for line in history.read_text().splitlines()]
    assert old == {"version": "0.0.9"}
    assert new == again
    assert [row["ratio"] for row in new["rows"]] == [3.0, 1.0, None, 0.367, 1.0]


def test_curves_are_drawn_from_rows_with_a_size_or_a_number_of_matches(tmp_path: Path) -> None:
    cases = ["1 match, ipc, observations of 28,224 bytes", "64 matches, tcp", "something else"]
    found = [report.Result(each, 10.0, "another", 20.0, [], [], None) for each in cases]
    report.draw(found, tmp_path / "curves.svg")
    drawn = (tmp_path / "curves.svg").read_text()
    assert "bytes of an observation" in drawn
    assert drawn.count("<!-- another -->") == 2


@pytest.mark.parametrize("name", GROUPS)
def test_every_row_names_subjects_of_its_group(name: str) -> None:
    group = GROUPS[name]
    for row in group.rows:
        assert row.ours in group.subjects
        assert not isinstance(row.reference, str) or row.reference in group.subjects
    for subject in group.subjects.values():
        assert callable(named(subject.command.split()[0]))
