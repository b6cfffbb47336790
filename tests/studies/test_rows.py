from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import stdev
from threading import Barrier

import pytest
from scipy import stats
from tests.studies.test_learned import full

from dovetail import DovetailError
from dovetail.cli import app
from dovetail.cli.common import command
from dovetail_experiments.statistics import Estimate, mean
from dovetail_studies import alike, pages, rows, working
from dovetail_studies.archive import members
from dovetail_studies.archive import write as put
from dovetail_studies.commands.study import study as again
from dovetail_studies.findings import FINDINGS
from dovetail_studies.learned import States
from dovetail_studies.results import KeptResults
from dovetail_studies.rows import (
    ALL,
    PERCENT,
    SIGNS,
    STUDIES,
    Compared,
    Done,
    Drawn,
    Row,
    Size,
    Study,
    Unit,
    interval,
    signed,
    study,
)

DOCS = Path(__file__).resolve().parents[2] / "studies/pages"
ROWS = [(name, row.key) for name in STUDIES for row in study(name).rows]


def test_the_rows_are_those_that_the_studies_print() -> None:
    counts = {name: len(study(name).rows) for name in STUDIES}
    assert counts == {"rlgame": 10, "amazons": 15, "dominion": 20, "tetris": 10, "dots": 5}
    assert len(set(ROWS)) == 60


@pytest.mark.parametrize(("name", "key"), ROWS)
def test_a_row_can_run_or_says_why_not(name: str, key: str) -> None:
    row = study(name).row(key)
    if not row.runs:
        assert row.missing
        assert not row.sizes
        return
    assert not row.missing
    assert row.draw is not None
    assert {"quick", "study"} <= set(row.sizes)
    for size in row.sizes:
        made = working.units(row, size, 2)
        assert made
        assert len({json.dumps(unit, sort_keys=True) for unit in made}) == len(made)
        assert all(json.loads(json.dumps(unit)) == unit and "seed" in unit for unit in made)


@pytest.mark.parametrize("name", STUDIES)
def test_every_finding_names_the_rows_that_show_it(name: str) -> None:
    assert FINDINGS[name]
    for finding in FINDINGS[name]:
        rows = re.findall(r"`([^`]+)`", finding.here)
        assert rows
        for row in rows:
            assert study(name).row(row).runs


def test_a_single_training_of_the_study_is_held_against_where_one_more_of_ours_would_lie() -> None:
    """The prediction interval for one value more, after that of the mean of five."""
    values = [2.0, 3.0, 5.0, 7.0, 8.0]
    found = Compared("x", 0.0, mean(values), len(values)).again
    half = stats.t.ppf(0.975, 4) * stdev(values) * math.sqrt(1 + 1 / 5)
    assert (found.low, found.high) == pytest.approx((5 - half, 5 + half))
    one = Compared("%", 0.0, Estimate(95.0, 90.0, 100.0), 3, PERCENT).again
    assert (one.low, one.high) == (85.0, 100.0)


def test_what_varies_by_factors_has_the_prediction_interval_of_its_logarithms() -> None:
    """Rows of five searches: around their mean the interval would reach below zero, and hold the
    study's 203."""
    rows = [23348.2, 27026.2, 26468.8, 4153.6, 25917.0]
    again = Compared("rows", 203.0, mean(rows), len(rows)).again
    assert again.low < 0
    found = Compared("rows", 203.0, mean(rows), len(rows), seeds=rows)
    logs = [math.log(each) for each in rows]
    half = stats.t.ppf(0.975, 4) * stdev(logs) * math.sqrt(1 + 1 / 5)
    middle = sum(logs) / 5
    assert (found.again.low, found.again.high) == pytest.approx(
        (math.exp(middle - half), math.exp(middle + half))
    )
    assert found.verdict == "differs"
    assert signed("21,382.8", found) == "21,382.8 ≠"


@pytest.mark.parametrize(
    ("study", "ours", "more", "limits", "verdict"),
    [
        (60.0, Estimate(50.0, 45.5, 54.5), 5, PERCENT, "agrees"),
        (80.0, Estimate(50.0, 45.0, 55.0), 5, PERCENT, "differs"),
        (52.0, Estimate(50.0, 45.5, 54.5), 5, PERCENT, "agrees"),  # 22 points
        (52.0, Estimate(50.0, 44.5, 55.5), 5, PERCENT, "wide"),  # 27 points
        (94.0, Estimate(95.0, 92.0, 98.0), 5, PERCENT, "wide"),  # reaches 100
        (80.0, Estimate(95.0, 92.0, 98.0), 5, PERCENT, "differs"),
        (99.9, Estimate(100.0, 99.9, 100.0), 1, PERCENT, "agrees"),  # of 5,000 games
        (9.0, Estimate(5.0, 2.0, 8.0), 5, (), "wide"),  # reaches zero
        (50.0, Estimate(5.0, 2.0, 8.0), 5, (), "differs"),  # however wide
        (8.64, Estimate(16.28, 11.95, 20.61), 5, (), "wide"),  # 5.7 to 26.9, more than threefold
        (12.0, Estimate(16.28, 13.95, 18.61), 5, (), "agrees"),
        (-2.0, Estimate(-5.0, -8.0, -3.0), 5, (), "wide"),
        (3.0, Estimate(3.0, 3.0, 3.0), 0, (), "agrees"),
        (0.0, Estimate(0.0, 0.0, 0.0), 0, (), "agrees"),
        (4.0, Estimate(3.0, 3.0, 3.0), 0, (), "differs"),
        (4.0, Estimate(3.0, -math.inf, math.inf), 1, (), None),
        (4.0, Estimate(3.0, math.nan, math.nan), 1, (), None),
    ],
)
def test_a_figure_agrees_only_if_ours_could_have_differed(
    study: float, ours: Estimate, more: float, limits: tuple[float, ...], verdict: str | None
) -> None:
    ranges = (limits,) if limits else ()
    assert Compared("x", study, ours, more, *ranges).verdict == verdict


def _row() -> Row:
    def work(unit: Unit) -> dict[str, float]:
        return {"won": 1.0 / unit["seed"]}

    return Row(
        "halves",
        "Halves",
        "0.5.",
        {
            "quick": Size("{games} games", {"games": 3}, 2),
            "study": Size("9 games a seed, {seeds}", {"games": 9}),
        },
        lambda values, seeds: [{**values, "seed": seed} for seed in seeds],
        work,
        lambda done: Drawn(
            ["", "study", "ours"],
            [["won", "0.5", f"{sum(result['won'] for _, result in done) / len(done):.2f}"]],
            sum(unit["games"] for unit, _ in done),
            "all",
            [Compared("won", 0.5, Estimate(0.5, 0.42, 0.58), 1, (0, 1))],
        ),
    )


def _drawn(drawn: Drawn, done: Done) -> Drawn:
    return drawn


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> Study:
    whole = Study("sums", "Sums", (_row(), Row("none", "Nothing", "n.", missing="it is old")))
    for module in (working, pages):
        monkeypatch.setattr(module, "study", lambda name: whole)
    return whole


def test_work_that_is_done_is_not_done_again_even_after_a_line_was_cut(
    sums: Study, tmp_path: Path
) -> None:
    lines: list[str] = []
    row = sums.row("halves")
    working.run([(sums, [row])], "study", out=tmp_path, told=lines.append)
    assert len(lines) == 5
    path = working.file(tmp_path, "sums", row, "study")
    path.write_bytes(path.read_bytes()[:-20])  # a kill in the middle of the last line
    assert len(KeptResults([path]).done(working.units(row, "study"))) == 4
    working.run([(sums, [row])], "study", out=tmp_path, told=lines.append)
    assert len(lines) == 6
    assert "seed=5" in lines[-1]
    working.run([(sums, [row])], "study", out=tmp_path, told=lines.append)
    assert len(lines) == 6
    path.write_bytes(path.read_bytes() + b'{"unit": 3}\n')
    with pytest.raises(DovetailError, match="not a result"):
        KeptResults([path])


def test_a_result_is_written_without_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(path: Path) -> bytes:
        raise AssertionError(f"reads all of {path}")

    path = tmp_path / "halves.jsonl"
    results = KeptResults([path])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", whole)
        for seed in range(3):
            results.add({"seed": seed}, {"won": seed}, 0.5)
        with path.open("ab") as file:
            file.write(b'{"unit": {"se')  # a kill
        results.add({"seed": 3}, {"won": 3}, 0.5)
    found = KeptResults([path])
    assert [(record.unit["seed"], record.result["won"]) for record in found.records.values()] == [
        *((seed, seed) for seed in range(4))
    ]
    assert path.read_bytes().count(b"\n") == 5


def test_a_piece_that_fails_is_named_with_the_states_that_it_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def work(unit: Unit) -> dict[str, float]:
        raise DovetailError("the state is of another board")

    whole = Study("sums", "Sums", (replace(_row(), work=work),))
    monkeypatch.setattr(working, "study", lambda name: whole)
    unit = working.units(whole.rows[0], "quick", 1)[0]
    for states, used in (
        (None, ""),
        (States(tmp_path, (tmp_path / "none",)), ""),
        (States(tmp_path, (tmp_path,)), f"; it used the states in {tmp_path}"),
    ):
        with pytest.raises(DovetailError) as caught:
            working.work("sums", "halves", unit, states)
        said = f"sums halves (games=3 seed=1): the state is of another board{used}"
        assert str(caught.value) == said


def test_a_disk_that_takes_no_result_is_named_before_any_work(sums: Study, tmp_path: Path) -> None:
    (tmp_path / "sums").symlink_to(tmp_path / "missing")
    with pytest.raises(DovetailError, match=r"^cannot write .*halves.quick.jsonl: .*; make room"):
        working.run([(sums, sums.rows[:1])], "quick", out=tmp_path, told=pytest.fail)


def test_a_disk_that_becomes_full_spoils_no_result(tmp_path: Path) -> None:
    results = KeptResults([tmp_path / "halves.jsonl"])
    results.add({"seed": 1}, {"won": 1}, 0.5)
    with (
        full(results.path.stat().st_size + 9),
        pytest.raises(DovetailError, match=r"^cannot write"),
    ):
        results.add({"seed": 2}, {"won": 2}, 0.5)
    results.add({"seed": 3}, {"won": 3}, 0.5)
    assert [each.unit["seed"] for each in KeptResults([results.path]).records.values()] == [1, 3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{}", "line 1: not a result: Object missing required field `unit`; remove the line"),
        (
            '{"unit":{},"result":{},"date":"","versions":"","seconds":1}',
            "line 1: not a result: Object missing required field `seed`; remove the line",
        ),
        (
            '{"unit":{"games":3,"seed":1},"result":{},"date":"","versions":"","seconds":1}',
            "these results of row halves do not make its table (KeyError: 'won')",
        ),
    ],
)
def test_a_file_that_has_no_results_is_named(
    sums: Study, tmp_path: Path, line: str, said: str
) -> None:
    path = working.file(tmp_path, "sums", sums.rows[0], "quick")
    path.parent.mkdir()
    path.write_text(line)
    with pytest.raises(DovetailError) as caught:
        pages.at(sums, sums.rows[0], "quick", 1, tmp_path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_results_of_another_version_are_not_taken_for_none(sums: Study, tmp_path: Path) -> None:
    row = sums.row("halves")
    out, kept = tmp_path / "out", tmp_path / "kept"
    working.run([(sums, [row])], "quick", out=out, told=lambda line: None)
    path = working.file(out, "sums", row, "quick")
    path.write_text(re.sub(r'"result":\{.*?\}', '"result":{}', path.read_text()))
    with pytest.raises(DovetailError, match="do not make its table"):
        pages.find(sums, row, out, kept)


def test_a_page_says_at_what_size_it_was_run(sums: Study, tmp_path: Path) -> None:
    row = sums.row("halves")
    out, kept = tmp_path / "out", tmp_path / "kept"
    assert pages.find(sums, row, out, kept).size is None
    working.run([(sums, [row])], "quick", out=out, told=lambda line: None)
    found = pages.find(sums, row, out, kept)
    assert (found.size, found.whole, pages.verdict(found)) == ("quick", True, "won: agrees")
    working.run([(sums, [row])], "study", 2, out=out, told=lambda line: None)
    # Two of five seeds at the study's size do not displace what is complete.
    assert pages.find(sums, row, out, kept).size == "quick"
    working.run([(sums, [row])], "study", out=out, told=lambda line: None)
    text = pages.page(sums, [pages.find(sums, each, out, kept) for each in sums.rows])
    assert "| won | 0.5 | 0.46 |\n| *run at* | 9 games a seed, 5 seeds |  |\n" in text
    assert "45 games, distinct: all." in text
    assert "**Not run**: it is old." in text


def test_a_size_follows_the_seeds_that_were_run(sums: Study, tmp_path: Path) -> None:
    row = sums.row("halves")
    out, kept = tmp_path / "out", tmp_path / "kept"
    for seeds, quick, whole in ((2, "6 games", "2 seeds"), (7, "21 games", "7 seeds")):
        working.run([(sums, [row])], "quick", seeds, out=out, told=lambda line: None)
        assert pages.ran(pages.find(sums, row, out, kept)) == quick
        working.run([(sums, [row])], "study", seeds, out=out, told=lambda line: None)
        shown = pages.ran(pages.at(sums, row, "study", seeds, out))
        assert shown == f"9 games a seed, {whole}"
    assert pages.ran(pages.find(sums, row, out, kept)) == "9 games a seed, 7 seeds"


def test_pages_keep_the_results_that_they_rest_on(
    sums: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STUDIES", ("sums",))
    out, docs = tmp_path / "out", tmp_path / "docs"
    with pytest.raises(DovetailError, match="top of a checkout"):
        pages.write("sums", out, docs)
    docs.mkdir()
    working.run([(sums, [sums.row("halves")])], "quick", out=out, told=lambda line: None)
    first = pages.write("sums", out, docs).read_text()
    # Another checkout has no out/, and writes the same page from what was kept.
    assert pages.write("sums", tmp_path / "elsewhere", docs).read_text() == first
    summed = (docs / "README.md").read_text()
    assert "at a smaller size: 1; not run, although there is code: 0; without code: 1" in summed
    assert "Of the 1 rows that were run," in summed
    assert f"| not run | not run | - | {sums.rows[1].missing} |" in summed


def test_a_page_from_some_seeds_keeps_the_states_of_the_others(
    sums: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STUDIES", ("sums",))
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, seeds in (("all", (1, 2)), ("some", (1,))):
        out = tmp_path / name
        working.run([(sums, sums.rows[:1])], "quick", len(seeds), out=out, told=lambda line: None)
        for seed in seeds:
            States(out / "states/sums/halves.quick").write(f"{seed}", name.encode())
        pages.write("sums", out, docs)
    kept = members(docs / "states/sums.zip")
    assert kept == {"halves.quick/1.state": b"some", "halves.quick/2.state": b"all"}


def test_rows_that_share_a_file_keep_what_the_other_rests_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def others(values: Mapping[str, int], seeds: Sequence[int]) -> list[Unit]:
        return [{**values, "seed": 10 + seed} for seed in seeds]

    other = replace(_row(), key="others", units=others, shares="halves")
    whole = Study("sums", "Sums", (_row(), other))
    for module in (working, pages):
        monkeypatch.setattr(module, "study", lambda name: whole)
    monkeypatch.setattr(pages, "STUDIES", ("sums",))
    docs = tmp_path / "docs"
    docs.mkdir()
    working.run([(whole, whole.rows)], "quick", out=tmp_path, told=lambda line: None)
    first = pages.write("sums", tmp_path, docs).read_text()
    assert len(members(docs / "results/sums.zip")["halves.quick.jsonl"].splitlines()) == 4
    assert pages.write("sums", tmp_path / "elsewhere", docs).read_text() == first
    # One row is shown at another size from now on: what it had in the shared file stays, and so do
    # its states, though all that the page shows of that file was made here.
    before = members(docs / "results/sums.zip")["halves.quick.jsonl"]
    put(docs / "states/sums.zip", {"halves.quick/11.state": b"other"})
    working.run([(whole, whole.rows[1:])], "study", out=tmp_path / "later", told=lambda line: None)
    working.run([(whole, whole.rows[:1])], "quick", out=tmp_path / "later", told=lambda line: None)
    States(tmp_path / "later/states/sums/halves.quick").write("1", b"own")
    pages.write("sums", tmp_path / "later", docs)
    after = members(docs / "results/sums.zip")["halves.quick.jsonl"]
    units = [[json.loads(line)["unit"] for line in each.splitlines()] for each in (before, after)]
    assert units[0] == units[1]
    kept = members(docs / "states/sums.zip")
    assert kept == {"halves.quick/1.state": b"own", "halves.quick/11.state": b"other"}


@pytest.mark.long
def test_the_command_runs_a_row_in_processes_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["study", "dominion", "sizes", "--quick", "--jobs", "2"]
    assert command(app, "dovetail", given) == 0
    shown = capsys.readouterr()
    assert "all 16 figures agree" in shown.out
    assert "(quick)" in shown.err
    assert command(app, "dovetail", given) == 0
    assert "(quick)" not in capsys.readouterr().err
    assert command(app, "dovetail", ["study", "dominion", "--list"]) == 0
    assert "version-23-4" in capsys.readouterr().out
    for wrong, said in (
        (["study"], "give a study or --all"),
        (["study", "chess"], "there is no study 'chess'"),
        (["study", "dots", "ten"], "study dots has no row 'ten'"),
        (["study", "--all", "dots"], "--all runs every study, dots too; leave out one of them"),
        (["study", "dots", "six", "--page"], "from the runs so far; leave out six"),
        (["study", "dots", "--quick", "--page"], "from the runs so far; leave out --quick"),
    ):
        assert command(app, "dovetail", wrong) in (1, 2)
        assert said in capsys.readouterr().err
    assert command(app, "dovetail", ["study", "amazons", "people"]) == 1
    assert "cannot be run" in capsys.readouterr().err


def test_a_row_that_reads_results_which_are_not_here_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    best, across, dominion = study("best"), study("across"), study("dominion")
    told: list[str] = []
    chosen = [
        (best, [best.row("amazons")]),
        (across, [across.row("amazons-trainings")]),
        (dominion, [dominion.row("sizes")]),
    ]
    working.run(chosen, "quick", 1, out=tmp_path, told=told.append)
    for name, line in zip(("best amazons", "across amazons-trainings"), told, strict=False):
        assert f"left out: {name} reads results that a checkout has" in line
        assert "or run `dovetail study amazons weights` first" in line
    assert told[2].startswith("dominion sizes (quick)")
    with pytest.raises(DovetailError, match="best amazons reads results"):
        working.run([(best, [best.row("amazons")])], "quick", 1, out=tmp_path, told=told.append)


def test_processes_take_the_studies_in_turn_and_rows_that_read_results_last() -> None:
    best, dots = study("best"), study("dots")
    rows = [("best", best.row("amazons")), *[("best", best.row("2048"))] * 2]
    rows += [("dots", dots.row("five"))] * 3
    todo: list[working._Piece] = [
        (name, row, "quick", KeptResults([Path("x")]), {"seed": at})
        for at, (name, row) in enumerate(rows)
    ]
    order = [unit["seed"] for *_, unit in working._apart(todo)]
    assert order == [3, 1, 4, 2, 5, 0]


PRINTED = ("study", "published", "the study's best", "the literature's best")
"""How columns begin whose figures are not ours."""
MARKED = re.compile(
    r"[-\d.,]+(?: %)? \((?:[-\d.,]+\.\.[-\d.,]+|every seed)\)"  # or the same each time
    r"|\*[^*]+\*"  # in italics
    r"|[-\d.,]+ to [-\d.,]+|[-\d.,]+(?:; [-\d.,]+)+"  # by seed
)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_a_mean_of_ours_has_an_interval_or_is_marked(name: str, tmp_path: Path) -> None:
    """A number with a decimal point was not counted. As many figures have a sign as the row
    says. The page is what ``--page`` writes."""
    whole = study(name)
    found = [pages.find(whole, row, tmp_path, DOCS / "results") for row in whole.rows]
    assert pages.page(whole, found) == (DOCS / f"{name}.md").read_text()
    for row, drawn in ((each.row, each.drawn) for each in found):
        verdicts = [each.verdict for each in drawn.compared] if drawn else []
        cells = "".join(cell for line in drawn.lines for cell in line) if drawn else ""
        signs = {verdict: cells.count(sign) for verdict, sign in SIGNS.items()}
        assert signs == {verdict: verdicts.count(verdict) for verdict in SIGNS}, row.key
        for line in drawn.lines if drawn else ():
            assert drawn is not None
            for column, cell in zip(drawn.columns[1:], line[1:], strict=True):
                printed = column.startswith(PRINTED) or ": study" in column
                if not printed and not line[0].endswith(", study"):
                    assert not re.search(r"\d\.\d", MARKED.sub("", cell)), (row.key, line[0], cell)


def test_a_page_says_what_a_figure_without_an_interval_is(sums: Study, tmp_path: Path) -> None:
    row = sums.row("halves")
    working.run([(sums, [row])], "quick", out=tmp_path, told=lambda line: None)
    for cell, said in (
        ("*2.0*", "Figures in italics are means without an interval, for orientation."),
        ("2 % (every seed)", "*Every seed*: all seeds gave the same figure."),
        ("2.0 (1.0..3.0)", ""),
    ):
        drawn = Drawn(["", "study", "ours"], [["won", "0.5", cell]], 3, "all")
        shown = replace(row, draw=partial(_drawn, drawn))
        page = pages.page(sums, [pages.find(sums, shown, tmp_path, tmp_path / "kept")])
        assert [text for text in pages.MARKS.values() if text in page] == ([said] if said else [])
    assert interval(Estimate(2.0, -math.inf, math.inf)) == "*2.0*"
    assert interval(Estimate(2.0, 2.0, 2.0), 0, sign=" %") == "2 % (every seed)"


def test_other_seeds_are_counted_by_where_the_page_predicts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of five more seeds, from 0.5 with a half width of 0.1 over five: within 0.14."""

    def draw(done: Done) -> Drawn:
        found = 0.5 if done[0][0]["seed"] == 1 else value
        estimate = Estimate(found, found - 0.1, found + 0.1)
        compared = [Compared("won", 0.5, estimate, 5, (0, 1))]
        return Drawn(["", "study", "ours"], [["won", "0.5", "-"]], 3, "all", compared)

    whole = Study("sums", "Sums", (replace(_row(), draw=draw),))
    monkeypatch.setattr(working, "study", lambda name: whole)
    row, kept = whole.rows[0], tmp_path / "kept"
    working.run([(whole, [row])], "study", out=tmp_path, told=lambda line: None)
    path = working.file(tmp_path, "sums", row, "study")
    put(kept / "sums.zip", {path.name: path.read_bytes()})
    fresh = tmp_path / "from-seed-1001"
    working.run([(whole, [row])], "study", out=fresh, told=lambda line: None, first=1001)
    assert len(KeptResults([path]).records) == 5, "the page's seeds stay as they are"
    for value, said in ((0.63, "1 of 1 figures"), (0.65, "0 of 1 figures")):
        found = pages.at(whole, row, "study", None, fresh, 1001)
        assert {each.unit["seed"] for each in found.records} == set(range(1001, 1006))
        text = pages.fresh(whole, found, kept)
        assert said in text
        assert ("outside: won" in text) == (value == 0.65)
    assert "nothing to compare" in pages.fresh(whole, found, tmp_path / "none")


def test_results_of_other_code_are_named_and_kept(
    sums: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    chosen = [(sums, [sums.row("halves")])]
    working.run(chosen, "quick", out=tmp_path, told=lines.append)
    working.run(chosen, "quick", out=tmp_path, told=lines.append)
    assert len(lines) == 2
    monkeypatch.setattr(working, "digest", lambda work: "another")
    working.run(chosen, "quick", 3, out=tmp_path, told=lines.append)
    path = working.file(tmp_path, "sums", sums.row("halves"), "quick")
    assert lines[2] == (
        f"sums halves (quick): 2 of 3 results in {path} are of other code; remove the file to make "
        "them again"
    )
    assert [each.code for each in KeptResults([path]).records.values()][2] == "another"


@pytest.mark.parametrize("name", ALL)
def test_every_row_keeps_the_digest_of_a_short_training(name: str) -> None:
    kept = alike.read(DOCS / "results")[name]
    assert set(kept) == {row.key for row in study(name).rows if row.runs}


def test_a_short_training_says_whether_a_machine_rounds_alike(
    sums: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = sums.row("halves")
    kept = tmp_path / "results"
    kept.mkdir()
    assert alike.said(sums, row, kept).endswith("has no short training to compare")
    working.run([(sums, [row])], "quick", out=tmp_path, told=lambda line: None)
    alike.write(sums, tmp_path, kept)
    alike.write(Study("others", "Others", ()), tmp_path, kept)
    assert alike.said(sums, row, kept) == (
        "halves: a short training gives the kept digest: this machine rounds alike"
    )
    monkeypatch.setattr(alike, "work", lambda *piece: ({"won": 1.0 + 2**-52}, 0.1))
    assert alike.said(sums, row, kept).endswith("this machine rounds otherwise")
    monkeypatch.setattr(alike, "digest", lambda work: "another")
    assert alike.said(sums, row, kept).endswith("its code is another, or its rounding")
    assert alike.digest_of({"a": [{"seconds": 1, "b": 2}]}) == alike.digest_of({"a": [{"b": 2}]})


def test_two_that_measure_again_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each does every piece, though the other has done it, too."""
    together = Barrier(2)
    done: list[int] = []

    def work(unit: Unit) -> dict[str, float]:
        together.wait(60)
        done.append(unit["seed"])
        return {"won": 1.0 / unit["seed"]}

    whole = Study("sums", "Sums", (replace(_row(), work=work),))
    for module in (working, rows):
        monkeypatch.setattr(module, "study", lambda name: whole)
    monkeypatch.setattr(alike, "said", lambda *row: "")
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(again, "sums", "halves", quick=True, again=True, jobs=1, seeds=3)
            for _ in range(2)
        ]
        for each in both:
            each.result()
    assert sorted(done) == [1, 1, 2, 2, 3, 3]
    assert capsys.readouterr().out.count("none of these 3 pieces") == 2
    assert not list(tmp_path.iterdir())
