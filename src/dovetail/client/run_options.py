"""The options of ``Experiment.run``, written by ``make generate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from dovetail.protocol.messages import AgentLost, Breach, ClockRule, Crash, Mode


class RunOptions(TypedDict, total=False):
    """The options of ``Experiment.run``, each a field of the message ``run``."""

    agents_seed: int | None
    answer_timeout: float | None
    check: bool | None
    clock: ClockRule | dict[str, Any]
    concurrency: int
    configuration: dict[str, Any]
    derivation: int
    episodes: int
    first_index: int
    label: str
    lookahead: bool
    max_turns: int | None
    mode: Mode
    modes: Sequence[Mode]
    names: Sequence[str]
    on_agent_lost: AgentLost
    on_crash: Crash
    on_illegal: Breach
    on_timeout: Breach
    opening_turns: int
    openings: Sequence[Sequence[Sequence[Any]]]
    peer: str | None
    retries: int
    rotate: bool
    save_every: int
    secret: bool
    seed: int
    seeds: Sequence[int] | None
    stacked: bool
    stepwise: bool
    substitutes: Sequence[int | str]
    texts: bool
    thoughts: bool
