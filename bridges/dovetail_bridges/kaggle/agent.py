"""A Kaggle agent file as an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import HIGHEST
from dovetail_bridges.kaggle import views
from dovetail_bridges.kaggle.process import Process

START = 60.0
"""Maximum seconds for running a file."""


class KaggleParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Kaggle``."""

    policy: Annotated[
        str,
        Meta(
            description="The name of a registered file with the agent: dovetail agent kaggle "
            "--register policy:NAME=FILE.py."
        ),
    ]
    timeout: Annotated[
        float, Meta(gt=0, le=86_400, description="Seconds for a decision, if the run has no clock.")
    ] = 60.0
    in_a_row: Annotated[
        int, Meta(ge=2, le=HIGHEST, description="`inarow` in the configuration of Connect Four.")
    ] = 4


class Kaggle(Agent[KaggleParameters]):
    """Seats an agent file written for Kaggle's environments; their package is not needed.

    The file runs in its own process, which is not a sandbox: it can do anything its user can.  Only
    files registered by the program's user are run.  Each episode runs the file again, as Kaggle
    does.  Connect Four is observed as in connectx, Kaggle's environments as they are, other games
    as in Kaggle's OpenSpiel games.

    Raises:
        DovetailError: there is no such registered file, or it cannot be run.
    """

    name = "kaggle"
    wants = ("text", "scene")

    def __init__(self, parameters: KaggleParameters, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        found = registered("policy", parameters.policy, who="agent kaggle, option 'policy'")
        self._file = Path(str(found))
        if not self._file.is_file():
            raise DovetailError(f"agent kaggle, option 'policy': there is no file {self._file}")
        self._child: Process | None = None
        self._fresh = False
        self._reset()

    def _reset(self) -> None:
        """Run the file again, in a new process if there is none."""
        if self._child is None:
            self._child = Process(self._file)
        try:
            self._child.ask({"reset": True}, START)
        except DovetailError:
            self._drop()
            raise
        self._fresh = True

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def start(self, decision: Decision) -> Any:
        if not self._fresh:
            self._reset()
        self._fresh = False
        return self.step(decision)

    def step(self, decision: Decision) -> Any:
        if self._child is None:
            self._reset()
        assert self._child is not None
        theirs = views.theirs(decision)
        observation, configuration = views.view(decision, theirs, self.parameters.in_a_row)
        clock = decision.clock
        limits = [self.parameters.timeout] if clock is None else [clock.decision, clock.left]
        timeout = min(
            (each for each in limits if each is not None), default=self.parameters.timeout
        )
        message = {"observation": observation, "configuration": configuration}
        try:
            return views.action(self._child.ask(message, timeout), decision, theirs)
        except DovetailError:
            self._drop()
            raise

    def cleanup(self) -> None:
        self._drop()
