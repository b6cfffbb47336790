"""The results of one execution as plain values, for JSON: what the tables show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dovetail._version import __version__
from dovetail.experiments.file import ExperimentFile
from dovetail.experiments.schedule import Played, tallies
from dovetail.experiments.standings import standings
from dovetail.experiments.statistics import Estimate, Tally


def numbers(file: ExperimentFile, played: Sequence[Played]) -> dict[str, Any]:
    """Return the results of an execution: a row for each agent and seat of each stage, and standings."""
    return {
        "experiment": file.name,
        "seed": file.seed,
        "software": f"dovetail {__version__}",
        "stages": [_stage(each, found) for each in played for found in tallies(each)],
        "tournaments": [
            _standings(file, number, played) for number in range(len(file.tournaments))
        ],
    }


def encoded(found: Any) -> bytes:
    """Return plain values as indented JSON; what is not a finite number is null."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _stage(each: Played, found: Tally) -> dict[str, Any]:
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
        "won": _estimate(found.win_rate) if found.decided else None,
        "return": _estimate(found.mean_return),
        "seconds_per_decision": found.seconds / found.decisions if found.decisions else None,
        "breaches": found.breaches,
        "interrupted": found.interrupted,
    }


def _estimate(found: Estimate) -> dict[str, float]:
    return {"value": found.value, "low": found.low, "high": found.high}


def _standings(file: ExperimentFile, number: int, played: Sequence[Played]) -> dict[str, Any]:
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
                "score": _estimate(row.score),
                "elo": None if row.elo is None else _estimate(row.elo),
                "one_sided": row.one_sided,
                "distinct": row.distinct.distinct,
                "superior_to_next": row.next_best,
            }
            for row in found.rows
        ],
        "cross_table": [
            {"player": one, "against": other, "points": points, "games": games}
            for (one, other), (points, games) in found.crosses.items()
        ],
    }
