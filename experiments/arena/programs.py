"""The arena's own programs: an environment for each game and the baselines, started again if they end."""

from __future__ import annotations

import json
import logging
import secrets
import time
from pathlib import Path

from dovetail.experiments.arena.description import Arena, Baseline, Ladder
from dovetail.experiments.arena.referee import baseline
from dovetail.experiments.processes import Processes
from dovetail.peer import plugins

log = logging.getLogger("dovetail")

AGAIN = 5.0
"""Seconds until a program that has ended is started again."""


class Programs:
    """Environments and baselines of an arena, each a process; a context that ends them.

    Args:
        arena: whose.
        address: of the broker.
        token: the broker's, for environments.
        logs: the folder for what they print.
    """

    def __init__(self, arena: Arena, address: str, token: str, logs: Path) -> None:
        self._token = token
        self._address = address
        self._logs = logs
        self.tokens: dict[str, str] = {}
        """Whose each baseline's token is."""
        self._environments: dict[str, Ladder] = {}
        self._baselines: dict[str, tuple[Baseline, str]] = {}
        for ladder in arena.ladders:
            if ladder.command is None:
                plugins.find("environment", ladder.game)  # reports the problem sooner
            known = [(e.game, e.command, e.configuration) for e in self._environments.values()]
            if (ladder.game, ladder.command, ladder.configuration) not in known:
                self._environments[f"environment-{ladder.name}"] = ladder
            for each in ladder.baselines:
                if each.command is None:
                    plugins.find("agent", each.type)
                one = secrets.token_hex(24)
                self.tokens[one] = baseline(ladder, each.name)
                self._baselines[f"baseline-{ladder.name}-{each.name}"] = each, one
        self._again: dict[str, float] = {}

    def __enter__(self) -> Programs:
        self._processes = Processes(address=self._address, logs=self._logs)
        try:
            for name in (*self._environments, *self._baselines):
                self._start(name)
        except BaseException:
            self._processes.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    def tend(self) -> None:
        """Start again what has ended, after a while."""
        now = time.monotonic()
        for name, text in self._processes.ended().items():
            if name not in self._again:
                log.warning("%s; starting it again in %g s", text, AGAIN)
                self._again[name] = now + AGAIN
            elif now >= self._again[name]:
                del self._again[name]
                self._start(name)

    def _start(self, name: str) -> None:
        if name in self._environments:
            ladder = self._environments[name]
            if ladder.command is not None:
                self._processes.command(name, ladder.command, self._token)
                return
            # Set where it is served, too: some options are the local user's only.
            given = ladder.configuration.items()
            more = [word for k, v in given for word in ("--set", f"{k}={json.dumps(v)}")]
            self._processes.start(name, ["env", ladder.game, "--name", name, *more], self._token)
            return
        agent, token = self._baselines[name]
        if agent.command is not None:
            self._processes.command(name, agent.command, token)
        else:
            self._processes.start(name, ["agent", agent.type, "--name", name], token)
