"""The report of an experiment as a single, self-contained HTML page."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import msgspec

from dovetail.peer import provenance
from dovetail.peer.quoting import command
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.seats import player
from dovetail_experiments.files import sweep
from dovetail_experiments.files.file import ExperimentFile, Tournament
from dovetail_experiments.files.sweep import Keys
from dovetail_experiments.quoting import straight
from dovetail_experiments.records.replay import replay
from dovetail_experiments.reports import (
    charts,
    games,
    kept,
    numbers,
    over_seeds,
    over_tasks,
    report,
)
from dovetail_experiments.reports.drawing import svg
from dovetail_experiments.reports.sheets import Sheet, conduct, endings, sheet, stages
from dovetail_experiments.reports.standings import standings
from dovetail_experiments.reports.table import standings_table
from dovetail_experiments.stages.schedule import StageResult

SAMPLES = 2
"""Number of games to draw."""
FRAMES = 8
"""Positions to draw of each game."""
CUTS = 8
"""Points of a curve of ratings."""

STYLE = """
:root { color-scheme: light dark; --text: light-dark(#1b2024, #eceff1);
  --muted: light-dark(#555d64, #a8b1b8); --line: light-dark(#dfdcd3, #353c42);
  --sunken: light-dark(#eceae3, #0f1214); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  background: light-dark(#f6f5f1, #14171a); color: var(--text); }
h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; margin: .6rem 0 .2rem; font-size: 14px; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid var(--muted); } td { border-bottom: 1px solid var(--line); }
td:first-child, th:first-child, td.text, th.text { text-align: left; }
caption { text-align: left; font-weight: 600; }
.note { color: var(--muted); font-size: 13px; white-space: pre-line; }
pre { background: var(--sunken); padding: .6rem .8rem; overflow-x: auto; }
.scroll { overflow-x: auto; } .frames { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; } figcaption { font-size: 13px; color: var(--muted); }
.frames svg { background: #fff; border-radius: 8px; }
"""


@dataclass(frozen=True, slots=True)
class PageSource:
    """An execution to show in detail."""

    row: Mapping[str, Any]
    """Its row of the table ``executions``."""
    file: ExperimentFile
    played: Sequence[StageResult]
    complete: bool
    folder: Path
    """Folder of its journal."""
    software: Sequence[str] = ()
    """Software versions that its stages record."""

    @property
    def journal(self) -> Path:
        """Journal of its games."""
        return self.folder / f"games-{self.row['id']}.journal"


def page(
    sources: Sequence[PageSource],
    series: Sequence[over_seeds.Series],
    command: str,
    asked: Keys | None = None,
    exact: int = kept.GAMES,
) -> str:
    """Return the page.

    Args:
        sources: the executions; the last one is shown in detail.
        series: evaluation results over seeds; empty for a single execution.
        command: the command that plays the experiment again.
        asked: the seeds, sweep and report settings of its file, if known.
        exact: games of each tournament and evaluation to compare with exact values.
    """
    last = sources[-1]
    file = last.file
    asked = asked or Keys()
    html = Xml.Element("html", {"lang": "en"})
    head = Xml.SubElement(html, "head")
    Xml.SubElement(head, "meta", {"charset": "utf-8"})
    Xml.SubElement(head, "meta", {"name": "viewport", "content": "width=device-width"})
    Xml.SubElement(head, "title").text = file.name
    Xml.SubElement(head, "meta", {"name": "color-scheme", "content": "light dark"})
    styles = [(charts.FOLDER / each).read_text(encoding="utf-8") for each in charts.STYLES]
    Xml.SubElement(head, "style").text = "\n".join([STYLE, *styles])
    body = Xml.SubElement(html, "body")
    _add(body, "h1", file.name)
    if file.description:
        _add(body, "p", file.description)
    _overview(body, sources, command)
    if series:
        _add(body, "h2", "Over seeds")
        shown_series = over_seeds.distinct(series, list(file.agents))
        scales = sweep.scales(asked.sweep)
        over = over_tasks.rows(shown_series, scales)
        found = over_seeds.tables(over_seeds.rows(shown_series, asked.report.level))
        for table in [*found, *over_tasks.tables(over)]:
            _sheet(body, sheet(table))
        for each in over:
            _chart(body, charts.profile(each))
        best = over_tasks.best(
            series, None if asked.sweep is None else asked.sweep.objective, scales
        )
        if best:
            _add(body, "p", best.plain)
        for group in over_seeds.grouped(shown_series):
            _chart(body, charts.over_seeds(group))
        _add(body, "p", f"What follows is the last execution, with seed {file.seed}.", "note")
    _results(body, last)
    sample = kept.KeptSample(last.row["id"], last.played, exact)
    drawn = _sampled(last, sample)
    _kept(body, sample)
    _conduct(body, last)
    _measures(body, last)
    _games(body, last.journal, drawn)
    _add(body, "h2", "The file")
    folded = Xml.SubElement(body, "details")
    _add(folded, "summary", "All its settings, as JSON")
    shown = msgspec.json.format(msgspec.json.encode(file), indent=2).decode()
    _add(folded, "pre", shown)
    if any(body.iter("figure")):
        for name in charts.SCRIPTS:
            _add(body, "script", (charts.FOLDER / name).read_text(encoding="utf-8"))
    text = straight(Xml.tostring(html, encoding="unicode", method="html"))
    return f"<!DOCTYPE html>\n{text}\n"


def _overview(body: Xml.Element, sources: Sequence[PageSource], command: str) -> None:
    last = sources[-1]
    row, file = last.row, last.file
    seeds = [str(each.file.seed) for each in sources]
    shown = list(dict.fromkeys(seeds))
    sets = {each.row["variant"] for each in sources}
    made = list(dict.fromkeys(text for each in sources for text in each.software))
    rows: list[tuple[str, str]] = [
        ("environment", file.environment.name),
        ("configuration", _json(file.environment.configuration) or "default"),
        ("seeds", ", ".join(shown)),
        ("executions", str(len(sources)) + (f", {len(sets)} sets of values" if any(sets) else "")),
        ("software", "; ".join(filter(None, made)) or row["software"] or provenance.UNRECORDED),
        ("platform", row["platform"] or "not recorded"),
        ("started", _when(sources[0].row["started"])),
        ("finished", _when(row["finished"]) if row["finished"] else "not finished"),
    ]
    if warning := provenance.mixed(made, "results"):
        _add(body, "p", warning, "note")
    open_ = [each for each in sources if not each.complete]
    if open_:
        stages = f"{len(open_[0].played)} of its stages are finished"
        what = f"{len(open_)} of {len(sources)} executions" if len(sources) > 1 else "The execution"
        _add(
            body,
            "p",
            f"{what} still running, or interrupted: {stages}, and only those are shown."
            if len(sources) > 1
            else f"{what} is still running, or was interrupted: {stages}, and only those are "
            "shown.",
            "note",
        )
    _rows(body, ("", ""), rows, text=(0, 1))
    _add(body, "p", "To play it again:")
    _add(body, "pre", command)
    agents = [
        (name, part.type, _json(part.parameters) or "default", str(file.agent_seed(name)))
        for name, part in file.agents.items()
    ]
    title = "Agents" if len(sources) == 1 else "Agents of the last execution"
    _rows(body, ("agent", "type", "parameters", "seed"), agents, text=(0, 1, 2), title=title)


def _results(body: Xml.Element, last: PageSource) -> None:
    file, played = last.file, last.played
    for tournament in file.tournaments:
        _add(body, "h2", f"Tournament {tournament.name}")
        if not last.complete:
            _add(
                body,
                "p",
                "These intervals are preliminary until all meetings are played: they do not allow "
                "for repeated looks.",
                "note",
            )
        _sheet(body, sheet(standings_table(standings(file, tournament, played), full=True)))
        curves = ratings(file, played, tournament)
        if curves:
            _chart(body, charts.plain("Ratings", "share of the games", "Elo", curves))
    measure, found = report.curves(file, played)
    if any(len(points) > 1 for points in found.values()):
        _chart(body, charts.learning(measure, found))
    _add(body, "h2", "All stages")
    _sheet(body, stages(played))


def ratings(
    file: ExperimentFile, played: Sequence[StageResult], tournament: Tournament
) -> dict[str, list[tuple[float, float]]]:
    """Return the players' ratings after increasing shares of each meeting's games; empty if there
    are none."""
    if tournament.seats != 2 or tournament.format != "round-robin":
        return {}
    curves: dict[str, list[tuple[float, float]]] = {}
    meetings = [each for each in played if each.stage.kind == "tournament"]
    for cut in range(1, CUTS + 1):
        # A meeting decided early has fewer games than its stage.
        part = [each.until((1 + each.endings.last) * cut // CUTS) for each in meetings]
        for row in standings(file, tournament, part).rows:
            if row.elo is not None and abs(row.elo.value) < 1e6:
                curves.setdefault(row.player, []).append((cut / CUTS, row.elo.value))
    return {player: points for player, points in curves.items() if len(points) > 1}


def _kept(body: Xml.Element, sample: kept.KeptSample) -> None:
    """Add the share of value-keeping moves, for games whose endings are solved."""
    found = sample.table()
    if found is not None:
        _add(body, "h2", "Value-keeping moves")
        _sheet(body, found)


def _conduct(body: Xml.Element, last: PageSource) -> None:
    _add(body, "h2", "Thinking times and faults")
    _sheet(body, conduct(numbers.conduct(last.played)))
    _sheet(body, endings(numbers.endings(last.played), last.played))


def _measures(body: Xml.Element, last: PageSource) -> None:
    """Add the agents' measures during learning, over the episodes of all phases."""
    drawn = charts.measured(last.played)
    if drawn:
        _add(body, "h2", "What agents measured")
    for each in drawn:
        _chart(body, each)


# -- games ---------------------------------------------------------------------------------------


def _sampled(last: PageSource, sample: kept.KeptSample) -> list[tuple[int, EpisodeRecord]]:
    """Return the games to draw, and add all to the sample; the journal may be long."""
    samples: list[tuple[int, EpisodeRecord]] = []
    rng = random.Random(last.file.seed)
    seen = 0
    for number, record in games.counted(last.journal) if last.journal.is_file() else ():
        sample.add(record)
        if record.mode != "evaluate":
            continue
        seen += 1  # reservoir sampling: every game is equally likely to stay
        if len(samples) < SAMPLES:
            samples.append((number, record))
        elif (at := rng.randrange(seen)) < SAMPLES:
            samples[at] = number, record
    return samples


def _games(body: Xml.Element, journal: Path, samples: Sequence[tuple[int, EpisodeRecord]]) -> None:
    if not samples:
        return
    _add(body, "h2", "Sample games")
    for number, record in sorted(samples, key=lambda each: each[0]):
        result = record.result
        agents = " against ".join(record.players)
        ended = (
            ""
            if result.outcome is None
            else f", outcome {', '.join(f'{x:g}' for x in result.outcome)}"
        )
        _add(body, "p", f"Game {number}: {agents}; {result.turns} turns, {result.reason}{ended}")
        frames = Xml.SubElement(body, "div", {"class": "frames"})
        for caption, drawn in _frames(record):
            figure = Xml.SubElement(frames, "figure")
            figure.append(drawn)
            _add(figure, "figcaption", caption)
        _add(body, "pre", command("replay", journal, number))


def _frames(record: EpisodeRecord) -> Iterable[tuple[str, Xml.Element]]:
    turns = len(record.actions)
    wanted = {round(turns * number / (FRAMES - 1)) for number in range(FRAMES)}
    try:
        for number, (environment, _) in enumerate(replay(record)):
            if number not in wanted:
                continue
            scene = environment.scene(None)
            if scene is None:
                drawn = Xml.Element("pre")
                drawn.text = environment.text(None)
            else:
                drawn = svg(scene)
            acted = ""
            if number:
                acted = ", ".join(f"{player(seat)}: {a}" for seat, a in record.actions[number - 1])
            yield f"turn {number} {acted}".strip(), drawn
    except Exception:  # environment of another version: the rest of the page is still right
        return


# -- elements ------------------------------------------------------------------------------------


def _add(parent: Xml.Element, tag: str, text: str, style: str = "") -> Xml.Element:
    found = Xml.SubElement(parent, tag, {"class": style} if style else {})
    found.text = text
    return found


def _rows(
    body: Xml.Element,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    title: str = "",
) -> None:
    scroll = Xml.SubElement(body, "div", {"class": "scroll"})
    table = Xml.SubElement(scroll, "table")
    if title:
        _add(table, "caption", title)
    if any(heads):
        line = Xml.SubElement(table, "tr")
        for number, head in enumerate(heads):
            _add(line, "th", head, "text" if number in text else "")
    for row in rows:
        line = Xml.SubElement(table, "tr")
        for number, cell in enumerate(row):
            _add(line, "td", cell, "text" if number in text else "")


def _sheet(body: Xml.Element, found: Sheet) -> None:
    _rows(body, found.heads, found.rows, text=found.text, title=found.title)
    if found.note:
        _add(body, "p", found.note, "note")


def _chart(body: Xml.Element, chart: charts.Chart) -> None:
    figure = Xml.SubElement(body, "figure", {"class": "plot"})
    Xml.SubElement(figure, "script", {"type": "application/json"}).text = charts.written(chart)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode() if value else ""


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
