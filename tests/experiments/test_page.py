"""The report of an experiment: one page that says what was played and needs no other file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import matplotlib as mpl
import msgspec
import pytest
from rich.table import Table

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode
from dovetail.protocol.scenes import Card, Cell, Piece, Scene
from dovetail_experiments.records import database, episodes
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports import drawing, output, plot, reporting
from dovetail_experiments.reports import page as page_module
from dovetail_experiments.reports.plot import CurvePoint
from dovetail_experiments.stages.runner import ExecutionResult, RunnerOptions, execute
from dovetail_experiments.statistics import Estimate
from dovetail_experiments.statistics.thinned import POINTS, Thinned

from .conftest import SMALL

CUP = """
[[tournaments]]
name = "cup"
players = ["one", "two", "dice"]
episodes = 16
"""


class Page(HTMLParser):
    """The text of a page, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> ExecutionResult:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "small.toml"
    path.write_text(SMALL + CUP)
    return execute(path, out=folder / "out", options=RunnerOptions(in_process=True))


def test_the_page_says_what_was_played(played: ExecutionResult) -> None:
    text = (played.folder / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert not [link for link in page.links if not link.startswith("#")]
    for word in ("connect_four", "execution", "Tournament cup", "Learning curves", "Sample games"):
        assert word in page.text
    assert f"dovetail run {played.folder / 'experiment.json'}" in page.text
    assert "dovetail replay" in page.text
    assert text.count("<svg") >= page_module.FRAMES
    assert text.count('<figure class="plot">') == 4
    assert "uPlot" in text
    assert "<details><summary>All its settings, as JSON</summary><pre>{" in text
    last = played.played[-1]
    assert f"{last.endings.games}" in page.text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_each_result_of_a_phase_is_read_once_for_the_page(
    played: ExecutionResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of ten million games is reported in one pass."""
    reads: Counter[tuple[int, bool | None]] = Counter()
    read = episodes.read

    def counting(reading: Any, stage: int, again: bool | None = None) -> Iterator[Episode]:
        reads[stage, again] += 1
        return read(reading, stage, again)

    monkeypatch.setattr(episodes, "read", counting)
    before = (played.folder / "report.html").read_text()
    assert "What agents measured" in before
    assert reporting.make(played.folder).read_text() == before
    with Records(played.folder) as records:
        phases = [row["id"] for row in records.rows("stages", where=["kind=phase"])]
    assert len(phases) > 1
    assert [reads[each, False] for each in phases] == [1] * len(phases)


def test_a_run_is_reported_without_reading_it_again(
    played: ExecutionResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = Records(played.folder).rows("executions")
    monkeypatch.setattr(reporting, "replayed", None)
    name = row["name"]
    before = (played.folder / "report.html").read_text()
    found = reporting.make(played.folder, name=name, played=played.played)
    assert found.read_text() == before


@pytest.mark.parametrize("stages", [1, 7, 300])
def test_a_long_series_is_averaged_in_parts(stages: int) -> None:
    values = [float(number % 10) for number in range(9000)]
    whole = Thinned()
    each = len(values) // stages
    for first in range(0, len(values), each):
        part = Thinned()
        for place, value in enumerate(values[first : first + each], 1):
            part.add(place, value)
        whole.extend(part, first)
    means = whole.means()
    assert POINTS <= len(means) <= 2 * POINTS
    assert [place for place, _ in means] == sorted(place for place, _ in means)
    assert means[-1][0] == len(values)
    assert all(3 < mean < 6 for _, mean in means[:-1])


@pytest.mark.usefixtures("undrawn")
def test_the_file_beside_it_plays_the_same_again(played: ExecutionResult, tmp_path: Path) -> None:
    again = execute(
        played.folder / "experiment.json", out=tmp_path, options=RunnerOptions(in_process=True)
    )
    assert again.states == played.states
    assert (again.folder / "results.json").exists()
    found, was = (
        msgspec.json.decode((each.folder / "results.json").read_bytes()) for each in (again, played)
    )
    for each in (found, was):
        for row in each["stages"]:
            del row["seconds_per_decision"]
    assert found == was
    assert found["tournaments"][0]["players"][0]["elo"]["value"] is not None


def test_a_report_of_a_run_that_is_not_over_says_so(
    played: ExecutionResult, tmp_path: Path
) -> None:
    with Records(played.folder) as records:
        [row] = records.rows("executions")
    store = Store(database.url_of(tmp_path / "results.sqlite"))
    store.begin("small", row["file"], 5)
    store.close()
    page = Page(reporting.make(tmp_path).read_text())
    assert "still running, or was interrupted: 0 of its stages are finished" in page.text
    assert "These intervals are preliminary" in page.text


def test_nothing_to_report(tmp_path: Path) -> None:
    Store(database.url_of(tmp_path / "results.sqlite")).close()
    with pytest.raises(DovetailError, match="has no executions to report"):
        reporting.make(tmp_path)


def test_a_scene_is_drawn_with_its_cells_pieces_and_cards() -> None:
    scene = Scene(
        2,
        1,
        [Cell(0, 0), Cell(1, 0)],
        [Piece(1, "disc", 0, "<7>"), Piece(9, "disc")],
        [Card("hand", "Copper", 3, 1)],
    )
    found = drawing.svg(scene)
    assert len(found.findall("g[@class='cell']/rect")) == 2
    assert len(found.findall("g[@class='piece']/circle")) == 1  # the other lies on no cell
    assert [each.text for each in found.iter("text")] == ["<7>", "hand", "×3", "Copper"]


NAMES = ("[red]a[/red]", "[/]", "_hidden", "$x_{$ y", "<b>&", "\\$")


def test_names_are_neither_markup_nor_formulas(tmp_path: Path) -> None:
    """Tables, progress and pictures show a name as it is."""
    table = Table("agent", title=NAMES[0])
    for name in NAMES:
        table.add_row(name)
    output.tables(tmp_path / "table.txt", table)
    text = (tmp_path / "table.txt").read_text()
    for name in NAMES:
        assert text.count(name) == 1 + (name == NAMES[0])
    picture = tmp_path / "curves.svg"
    points = [CurvePoint(n, Estimate(n / 2, n / 2 - 0.1, n / 2 + 0.1)) for n in (1, 2)]
    with mpl.rc_context({"svg.fonttype": "none"}):
        plot.learning_curves([picture], "$t_{$", "score", dict.fromkeys(NAMES, points))
    drawn = [str(each.text) for each in Xml.parse(picture).iter() if each.text]
    shown = {text.strip() for text in drawn}
    assert {*NAMES, "$t_{$"} <= shown
