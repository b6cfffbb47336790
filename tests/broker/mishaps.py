"""The mishaps of a simulated schedule, and their rates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong: probabilities per frame, times in simulated seconds."""

    cut: float = 0.0
    """The connection breaks and what is under way on it is lost."""
    repeat: float = 0.0
    """A frame arrives twice."""
    death: float = 0.0
    """The program dies without a word."""
    rubbish: float = 0.0
    """A frame of random bytes precedes it."""
    delay: float = 0.01
    """Longest way of a frame."""
    absence: float = 12.0
    """Longest time until a program reconnects, or another takes the place of a dead one."""
    kill: float = 0.0
    """The broker dies before, in the middle of, or after writing down and sending; another
    starts."""
    outage: float = 6.0
    """Longest time until it does."""
    snapshot: float = 0.02
    """The broker takes a snapshot."""
    disk: float = 0.0
    """The disk refuses, for up to a second."""
    stall: float = 0.0
    """The broker, or the program that a frame is for, stands still, as if suspended."""
    asleep: float = 6.0
    """Longest time until it moves on."""
