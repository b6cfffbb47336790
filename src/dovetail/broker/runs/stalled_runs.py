"""Explains why a run cannot start an episode."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.broker.matches.instances import Instance
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.limits import quoted

PATIENCE = 2.0
"""Seconds without an episode after which an experiment is told what its run is waiting for."""


def waiting(run: RunState, playing: Callable[[Instance], RunState | None], now: float) -> str:
    """Return a line that says what a run is waiting for; empty if it has not waited long.
    ``playing`` returns the oldest run in which an agent plays an episode."""
    asked_for = run.permits or not run.rules.stepwise
    if run.machine.state != "running" or run.running or not run.schedule or not asked_for:
        run.held = None
        return ""
    if run.held is None:
        run.held = now
    if now - run.held < PATIENCE:
        return ""
    for assignment in run.assignments(run.schedule.first):
        if not assignment.instance.free():
            return _agent(assignment.instance, playing)
    if run.short and not run.matches:
        name = quoted(run.asked.environment)
        return f"environment {name} plays as many matches as it can; wait until a run is over"
    if not run.idle:
        return f"environment {quoted(run.asked.environment)} has not opened a match yet"
    return ""


def _agent(instance: Instance, playing: Callable[[Instance], RunState | None]) -> str:
    """Return a line that says why an agent cannot be seated."""
    agent = f"agent {instance.number} ({quoted(instance.agent)})"
    if instance.lost:
        return f"{agent} was lost with its program and is not back yet"
    if instance.stalled:
        return f"{agent} left a decision unanswered, and its program is silent"
    other = playing(instance)
    if other is not None:
        where = f"run {other.number} of {quoted(other.experiment.name)}"
        game, left = quoted(other.asked.environment), other.asked.episodes - other.finished
        text = f"{agent} plays in {where} ({game}, {left} episodes left)"
        return f"{text}; wait until that run is over, or cancel it"
    return f"{agent} cannot begin another episode yet"
