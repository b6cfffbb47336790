"""The results of one execution as plain values for JSON, the same as in the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.reports.standings import standings
from dovetail_experiments.stages.schedule import StageResult
from dovetail_experiments.statistics import Tally
from dovetail_experiments.statistics.censored import Censored


def numbers(
    file: ExperimentFile, played: Sequence[StageResult], software: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the results of an execution: a row per agent, seat and stage, and standings.

    Args:
        software: the software versions that the stages record.
    """
    return {
        "experiment": file.name,
        "seed": file.seed,
        "software": list(software),
        "stages": [_stage(each, found) for each in played for found in each.tallies],
        "tournaments": [
            _standings(file, number, played) for number in range(len(file.tournaments))
        ],
    }


def conduct(played: Sequence[StageResult]) -> list[dict[str, Any]]:
    """Return thinking times and faults of each agent, over all stages."""
    rows: dict[str, dict[str, Any]] = {}
    for each in played:
        for found in each.tallies:
            row = rows.setdefault(
                found.agent,
                {"agent": found.agent, "seats": 0, "decisions": 0, "seconds": 0.0}
                | {"seconds_per_decision": None, "breaches": 0},
            )
            row["seats"] += found.games
            row["decisions"] += found.decisions
            row["seconds"] += found.seconds
            row["breaches"] += found.breaches
            if row["decisions"]:
                row["seconds_per_decision"] = row["seconds"] / row["decisions"]
    return list(rows.values())


def endings(played: Sequence[StageResult]) -> list[dict[str, Any]]:
    """Return counts of episodes by reason, seat at fault, and whether they were retried."""
    counts: Counter[tuple[str, bool, int]] = Counter()
    for each in played:
        for (reason, again, blame), count in each.endings.counts.items():
            counts[reason, again, -1 if blame is None else blame] += count
    return [
        {"reason": reason, "again": again, "blame": None if blame < 0 else blame, "episodes": count}
        for (reason, again, blame), count in sorted(counts.items())
    ]


def encoded(found: Any) -> bytes:
    """Return plain values as indented JSON; non-finite numbers become null."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _stage(each: StageResult, found: Tally) -> dict[str, Any]:
    stage = each.stage
    return {
        "stage": stage.number,
        "kind": stage.kind,
        "name": stage.part.name,
        "first": stage.first,
        "episodes": stage.episodes,
        "trained": stage.trained,
        "agent": found.agent,
        "seat": found.seat,
        "games": found.games,
        "wins": found.wins,
        "draws": found.draws,
        "losses": found.losses,
        "truncated": found.truncated,
        "distinct": found.distinct.distinct,
        "won": asdict(found.win_rate) if found.decided else None,
        "return": asdict(found.mean_return),
        "seconds_per_decision": found.seconds / found.decisions if found.decisions else None,
        "breaches": found.breaches,
        "interrupted": found.interrupted,
        "uncounted": found.uncounted,
        "capped": None if found.uncut is None else _capped(found.uncut),
    }


def _capped(found: Censored) -> dict[str, Any]:
    return {
        "cap": found.cap,
        "capped": found.capped,
        "up_to_cap": found.limited,
        "mean": None if found.mean is None else asdict(found.mean),
        "median": found.median,
        "why": found.why,
        "above": found.above,
    }


def _standings(file: ExperimentFile, number: int, played: Sequence[StageResult]) -> dict[str, Any]:
    found = standings(file, file.tournaments[number], played)
    return {
        "name": found.name,
        "caption": found.caption,
        "notes": found.notes,
        "tests": [{"pair": list(each.pair), "line": each.line} for each in found.tests],
        "players": [
            {
                "player": row.player,
                "games": row.games if found.seats > 1 else row.episodes,
                "wins": row.wins if found.seats > 1 else None,
                "draws": row.draws if found.seats > 1 else None,
                "losses": row.losses if found.seats > 1 else None,
                "truncated": row.truncated,
                "points": row.points if found.seats > 1 else None,
                "score": asdict(row.score),
                "elo": None if row.elo is None else asdict(row.elo),
                "one_sided": row.one_sided,
                "distinct": row.distinct.distinct,
                "superior_to_next": row.next_best,
                "capped": None if row.capped is None else _capped(row.capped),
            }
            for row in found.rows
        ],
        "comparisons": [
            {"player": one, "against": other, "difference": asdict(each.mean)}
            | {"t": each.t, "p": each.p, "wilcoxon": each.wilcoxon}
            for (one, other), each in found.comparisons.items()
        ],
        "cross_table": [
            {"player": one, "against": other, "points": points, "games": games}
            for (one, other), (points, games) in found.crosses.items()
        ],
    }
