"""The messages of the cases for agents, and the list of these cases."""

from __future__ import annotations

from typing import Any

from dovetail.conform.case import Cases, Failed
from dovetail.conform.program import Program, brief, same

CASES = Cases("agent")
case = CASES.case

SPEC: dict[str, Any] = {
    "type": "spec",
    "match": 1,
    "name": "trial",
    "seats": 2,
    "observation_spaces": [{"space": "Discrete", "n": 100}],
    "action_spaces": [{"space": "Discrete", "n": 3}],
}


def create(p: Program, instance: int = 1, **fields: Any) -> None:
    """Create an instance."""
    p.reply("create", instance=instance, agent="conformer", **fields)


def init(match: int = 1, seat: int = 0, instance: int = 1, **spec: Any) -> dict[str, Any]:
    """Return an ``init``."""
    about = {**SPEC, "match": match, **spec}
    taken = {"type": "init", "match": match, "seat": seat, "instance": instance, "spec": about}
    return {**taken, "agent": "conformer"}


def start(
    episode: int, match: int = 1, seat: int = 0, turn: int = 0, **more: Any
) -> dict[str, Any]:
    """Return the first decision of an episode, with three legal actions by default."""
    first = {"type": "start", "episode": episode, "match": match, "seat": seat, "turn": turn}
    return {**first, "seed": 5, "observation": 0, "legal": [0, 1, 2], **more}


def step(episode: int, turn: int, seat: int = 0, **more: Any) -> dict[str, Any]:
    """Return a later decision."""
    later = {"type": "step", "episode": episode, "seat": seat, "turn": turn}
    return {**later, "observation": 0, "legal": [0, 1, 2], **more}


def end(episode: int, seat: int = 0, match: int = 1, **more: Any) -> dict[str, Any]:
    """Return an ``end``."""
    return {"type": "end", "episode": episode, "seat": seat, "match": match, **more}


def acts(p: Program, episode: int, turn: int, seat: int = 0, action: Any = 2) -> None:
    """Check that the next message is this action."""
    p.expect("action", episode=episode, turn=turn, seat=seat, action=action)


def counters(
    p: Program,
    decisions: int,
    ends: int,
    reward: float,
    instance: int = 1,
    *allowed: tuple[str, dict[str, Any]],
) -> None:
    """Check an instance's counters; only what is allowed may come before."""
    found = p.only("message", {"instance": instance, "body": "counters"}, *allowed)
    wanted = {"decisions": decisions, "ends": ends, "reward": reward}
    if not same(found, wanted):
        raise Failed(f"counters {brief(wanted)}", brief(found))


def seated(p: Program, *seats: int, **fields: Any) -> None:
    """Create instance 1 and seat it in match 1."""
    create(p, **fields)
    p.send(*(init(seat=seat) for seat in seats or (0,)))


def begun(p: Program, **more: Any) -> list[dict[str, Any]]:
    """Seat instance 1 and let it act in episode 1; return the decision as sent."""
    seated(p)
    sent = p.send(start(1, **more))
    acts(p, 1, 0)
    return sent


def works(p: Program) -> None:
    """Check that the program makes an agent which plays an episode."""
    instance = 1000 + len(p.said)  # what was not used yet
    create(p, instance)
    p.send(init(instance, 0, instance), start(instance, instance))
    acts(p, instance, 0)
    p.send(end(instance, match=instance), {"type": "leave", "match": instance})
    counters(p, 1, 1, 0.0, instance)
