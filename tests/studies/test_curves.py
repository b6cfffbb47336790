from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

from dovetail_experiments.statistics import mean
from dovetail_studies import curves, pages
from dovetail_studies.archive import Member
from dovetail_studies.curves import LearningCurve, Panel, Picture, PrintedMark
from dovetail_studies.dominion.learning import METHODS
from dovetail_studies.results import KeptResults
from dovetail_studies.rows import ALL, study

DOCS = Path(__file__).resolve().parents[2] / "studies/pages"
LARGEST = 60_000
"""Bytes of a picture."""


def _picture() -> Picture:
    runs = [[seed + 2.0 * n for n in range(10)] for seed in range(5)]
    panel = Panel(
        "left",
        "wins, %",
        [LearningCurve("one", range(10), runs)],
        [PrintedMark("study", 30.0, 4)],
        (0, 20),
    )
    return Picture([panel], "games", "A point is a test.")


def test_equal_pictures_are_equal_files_that_show_each_curve(tmp_path: Path) -> None:
    one, other = tmp_path / "one.svg", tmp_path / "sub/other.svg"
    for path in (one, other):
        curves.draw(_picture(), path)
    assert one.read_bytes() == other.read_bytes()
    text = "".join(ElementTree.parse(one).getroot().itertext())
    for shown in ("left", "wins, %", "games", "one", "study"):
        assert shown in text
    assert "<dc:date>" not in one.read_text()


def test_labels_keep_their_digits_though_paths_lose_theirs(tmp_path: Path) -> None:
    runs = [[0.001 * 10**n for n in range(4)]] * 2
    panel = Panel("", "rows", [LearningCurve("ours", [1, 2, 3, 4], runs)], log=True, thin=True)
    curves.draw(Picture([panel], "generations", ""), tmp_path / "log.svg")
    shown = list(ElementTree.parse(tmp_path / "log.svg").getroot().itertext())
    assert {"0.001", "0.01", "0.1", "1"} <= set(shown)
    assert not re.search(r' d="[^"]*\.\d\d', (tmp_path / "log.svg").read_text())


def test_a_band_is_students_interval_within_what_the_measure_may_be() -> None:
    [curve], limits = _picture().curves, (0.0, 20.0)
    found = curves.over_seeds(curve, limits)
    whole = mean([0.0, 1.0, 2.0, 3.0, 4.0])
    assert (found[0].value, found[0].low) == (2.0, whole.low)
    assert (found[-1].value, found[-1].high) == (20.0, 20.0)
    assert curves.over_seeds(curve, None)[0] == whole


def test_a_caption_says_what_axes_bands_and_seeds_are_and_where_a_curve_heads() -> None:
    text = curves.caption(_picture())
    assert text.startswith("Vertical axis: wins, %; horizontal axis: games. A point is a test.")
    assert "means over 5 seeds, bands their 95 % intervals" in text
    assert "fourth fifth to the last: one +4.0 (+4.0..+4.0)." in text
    alt = curves.alt("Halves", _picture())
    assert alt == "Halves, curves over games: left, one"


def test_points_lie_in_the_middle_of_their_tests() -> None:
    assert list(curves.means(1000, 10_000, 5))[:2] == [30_000, 80_000]
    assert len(list(curves.means(1000, 10_000, 5))) == 200


@pytest.mark.parametrize("name", ALL)
def test_pictures_of_a_page_match_its_results_and_there_are_no_others(
    name: str, tmp_path: Path
) -> None:
    whole = study(name)
    found = [pages.find(whole, row, tmp_path, DOCS / "results") for row in whole.rows]
    pages.draw(whole, found, tmp_path)
    drawn = {path.name: path for path in tmp_path.glob("*.svg")}
    kept = {path.name: path for path in (DOCS / pages.CURVES).glob(f"{name}-*.svg")}
    shown = re.findall(r"!\[[^]]+\]\(curves/([^)]+)\)", (DOCS / f"{name}.md").read_text())
    assert sorted(shown) == sorted(kept) == sorted(drawn)
    for file, path in kept.items():
        assert path.stat().st_size < LARGEST
        if f"Matplotlib v{matplotlib.__version__}," in path.read_text():
            assert path.read_bytes() == drawn[file].read_bytes(), f"{file} is not of these results"


def test_every_learning_row_of_the_searches_and_of_dominion_has_curves() -> None:
    kept = {path.stem for path in (DOCS / pages.CURVES).glob("*.svg")}
    for each in (*(f"amazons-run-{n}" for n in range(1, 10)), "tetris-run-2b"):
        assert each in kept
    assert {f"tetris-run-{n}" for n in range(1, 6)} <= kept
    assert {f"dominion-version-{n}" for n in ("0", "1", "23-2", "23-4")} <= kept


def test_what_a_caption_says_of_version_23_is_in_its_records() -> None:
    """Forced exploration at a falling rate still rises, which its best test alone does not show."""
    row = study("dominion").row("version-23-4")
    found = pages.find(study("dominion"), row, DOCS / "none", DOCS / "results")
    assert found.drawn is not None
    assert found.drawn.curves is not None
    [curve] = [
        each for each in found.drawn.curves.curves if each.name == f"{METHODS[10]}, falling rate"
    ]
    records = KeptResults(
        [Member(DOCS / "results/dominion.zip", "trainings.study.jsonl")]
    ).records.values()
    rises = [
        100 * (sum(each.result["curve"][80:]) - sum(each.result["curve"][60:80])) / 20
        for each in records
        if each.unit["version"] == "23-4" and each.unit["visits"] == 10 and "options" in each.unit
    ]
    assert curves.rise(curve).value == pytest.approx(mean(rises).value)
    assert curves.rise(curve).low > 10


def test_a_page_without_matplotlib_leaves_pictures_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "studies"
    (docs / "curves").mkdir(parents=True)
    (docs / "results").symlink_to(DOCS / "results")
    kept = docs / "curves/dots-weights.svg"
    kept.write_text("as it was")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told: list[str] = []
    whole = study("dots")
    monkeypatch.setattr(pages, "keep", lambda path, records: None)
    text = pages.write("dots", tmp_path / "out", docs, told.append).read_text()
    assert "](curves/dots-weights.svg)" in text
    assert kept.read_text() == "as it was"
    assert len(told) == 1
    assert "matplotlib" in told[0]
    found = pages.find(whole, whole.row("weights"), tmp_path / "out", DOCS / "results")
    assert "![" not in "\n".join(pages.section(whole, found))  # in a terminal
