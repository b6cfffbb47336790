"""A Kaggle agent file as an agent."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision
from dovetail.peer.registry import registered
from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail.protocol.outside import HIGHEST
from dovetail_bridges.child import Child
from dovetail_bridges.kaggle import views, worker

START = 60.0
"""Maximum seconds for running a file."""


log = logging.getLogger("dovetail.kaggle")


class Process(Child):
    """A running ``worker.py``.

    Raises:
        DovetailError: it cannot be started.
    """

    def __init__(self, file: Path) -> None:
        script = str(Path(worker.__file__).resolve())
        super().__init__([sys.executable, "-u", script, str(file)], file.name, log.warning)

    def ask(self, message: Any, timeout: float) -> Any:
        """Send a message; return the answer.

        Raises:
            DovetailError: the program reports an error, has exited, does not answer in time, or
                does not answer in JSON; after the last three it is gone.
        """
        self.say(jsontext.write(message))
        line = self.until(lambda _: True, timeout)
        try:
            answer = json.loads(line)
        except codec.UNREADABLE:
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"ok", "error"}:
            self.end()
            text = f"{self.name} answered {line[:60]!r}, which is not an answer"
            raise Forfeit("unavailable", text)
        if "error" in answer:
            raise Forfeit("unavailable", f"{self.name} raised {answer['error']}")
        return answer["ok"]


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
