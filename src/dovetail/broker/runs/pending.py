"""Finds the request that an unreadable or unsendable answer was for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.broker.peers.peers import Peer
from dovetail.broker.runs.runs import Runs
from dovetail.protocol import messages as m


def awaited(runs: Runs, peer: Peer, kind: str, about: Mapping[str, Any]) -> int | None:
    """Return the ``seq`` of the request that an answer is for, by its type and readable fields;
    None if none is pending."""
    match = runs.matches.get(about.get("match", 0))
    play = runs.episodes.get(about.get("episode", 0))
    if kind in ("turns", "actions"):
        return runs.stacked.awaited(peer, kind, about.get("match", 0), about.get("instance"))
    if kind == "spec":
        return match.asked if match is not None and match.environment is peer else None
    if kind == "error" or play is None:
        return about.get("answers")
    episode = play.episode
    if kind == "turn":
        owed = episode.awaits(about.get("turn", episode.turn + 1))
        return play.asked if owed and play.match.environment is peer else None
    seat = about.get("seat", -1)
    if not episode.owes(seat, about.get("turn", episode.turn)):
        return None
    seat = play.match.seats[seat]
    return seat.asked if seat.instance.peer is peer else None


def answered(runs: Runs, peer: Peer | None, answer: m.Message) -> int | None:
    """Return the ``seq`` of the request that a peer's message answers, if any."""
    if peer is None:
        return None
    names = ("match", "instance", "episode", "turn", "seat", "answers")
    about = {name: getattr(answer, name) for name in names if hasattr(answer, name)}
    return awaited(runs, peer, str(type(answer).__struct_config__.tag), about)
