"""A legacy agent in a seat of a Dovetail game; ``Joined`` is the agent that the broker sees.

To the legacy agent, opponents and chance are part of its environment.
"""

from __future__ import annotations

import logging
import math
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, End, Seat
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError, Forfeit
from dovetail_bridges.rlglue import wire
from dovetail_bridges.rlglue.listener import Port
from dovetail_bridges.rlglue.peer import LegacyAgent, Lost, Peer
from dovetail_bridges.rlglue.seat import Numbering, SeatOptions, SeatView, replaced

log = logging.getLogger("dovetail.rlglue")

ENDED = frozenset(("terminated", "illegal-action", "timeout", "stalled"))
"""The ends of episodes reported by ``agent_end``: the game's own results, including forfeits."""
UNDERSTOOD = "message understood"
"""The beginning of an answer to a known message in RL-Glue's sample agents."""
_Folder = partial(TemporaryDirectory, prefix="dovetail-", ignore_cleanup_errors=True)


class JoinOptions(Struct, frozen=True):
    """Messages to a legacy agent beyond the game."""

    seat: SeatOptions = SeatOptions()
    end_truncated: bool = False
    """True to call ``agent_end`` for truncated episodes as well, which RL-Glue did not define."""
    freeze: tuple[str, ...] = ("freeze learning", "freeze exploring")
    """The messages sent before an evaluation."""
    unfreeze: tuple[str, ...] = ("unfreeze learning", "unfreeze exploring")
    """The messages sent after an evaluation."""
    save: str = ""
    """The message that makes the agent save its policy; ``{file}`` stands for the path."""
    load: str = ""
    """The message that makes the agent load its policy."""
    grace: Annotated[float, Meta(ge=0)] = 10.0
    """Seconds that a lost program has to reconnect."""


class _Kept(Struct):
    """A saved agent: its own policy and the numbering of observations."""

    policy: bytes
    observations: list[bytes] = []


class Joined(Agent):
    """A legacy RL-Glue agent."""

    name = "rlglue"

    def __init__(self, port: Port, options: JoinOptions | None = None) -> None:
        super().__init__()
        self._port = port
        self.options = options or JoinOptions()
        index = self.options.seat.index
        self._numbering = Numbering(index) if index else None
        self._peer: Peer | None = None
        """The program that has heard ``agent_init``."""
        self._told: SeatView | None = None
        """The view from which the program's task spec was written."""
        self._frozen = False
        self._deaf = False
        """True if the program does not understand the freezing messages."""
        self._views: dict[tuple[int, int], SeatView] = {}
        self._playing: tuple[int, int] | None = None
        """The episode and seat of an ``agent_start`` that no end has followed yet."""

    # -- the verbs -------------------------------------------------------------------------------

    def init(self, seat: Seat) -> None:
        view = SeatView(seat.spec, seat.seat, self.options.seat, self._numbering)
        self._views = {key: each for key, each in self._views.items() if key[0] == seat.match}
        self._views[seat.match, seat.seat] = view
        if self._playing is None and self._port.peer("agent") is not None:
            self._ready(view)

    def start(self, decision: Decision) -> Any:
        try:
            return self._start(decision)
        except Lost as error:  # the player is what is measured
            raise Forfeit("timeout" if error.late else "unavailable", str(error)) from None

    def _start(self, decision: Decision) -> Any:
        here = (decision.episode, decision.seat.seat)
        if self._playing is not None and self._playing[0] == decision.episode:
            raise DovetailError(
                "a legacy agent holds one seat of an episode at a time; seat another program "
                "beside it"
            )
        self._playing = None
        view = self._view(decision.seat)
        agent = self._ready(view)
        self._freeze(agent, decision.mode == "evaluate")
        shown = wire.packed(view.show(decision.observation, decision.legal))
        answer = agent.start(shown)
        self._playing = here
        return self._act(agent, view, decision, shown, answer)

    def step(self, decision: Decision) -> Any:
        try:
            return self._step(decision)
        except Lost as error:
            raise Forfeit("timeout" if error.late else "unavailable", str(error)) from None

    def _step(self, decision: Decision) -> Any:
        if self._playing != (decision.episode, decision.seat.seat):
            return self._start(decision)
        peer = self._peer
        assert peer is not None
        agent = LegacyAgent(peer)
        view = self._view(decision.seat)
        shown = wire.packed(view.show(decision.observation, decision.legal))
        answer = agent.step(wire.REWARD.pack(decision.reward) + shown)
        return self._act(agent, view, decision, shown, answer)

    def end(self, end: End) -> None:
        if self._playing != (end.episode, end.seat.seat):
            return  # it never acted, and agents read the action before in ``agent_end``
        self._playing = None
        heard = end.reason in ENDED or (end.reason == "truncated" and self.options.end_truncated)
        if heard and self._peer is not None and not self._peer.gone:
            LegacyAgent(self._peer).end(wire.REWARD.pack(end.reward))

    def message(self, body: Any) -> Any:
        if not isinstance(body, str):
            raise DovetailError(f"a legacy agent takes texts; got {type(body).__name__}")
        return wire.text_of(LegacyAgent(self._found()).message(wire.text(body)))

    def save(self) -> bytes:
        known = [] if self._numbering is None else list(self._numbering.known)
        with _Folder() as folder:
            file = Path(folder) / "policy"
            answer = self._policy("save", self.options.save, file)
            if not file.is_file():
                raise DovetailError(f"the legacy agent saved nothing; it answered {answer!r}")
            return codec.encode(_Kept(file.read_bytes(), known))

    def load(self, state: bytes) -> None:
        try:
            kept: _Kept = codec.Decoder[_Kept](_Kept).decode(state)
        except DovetailError as error:
            raise DovetailError(f"this is not a saved legacy agent: {error}") from None
        with _Folder() as folder:
            file = Path(folder) / "policy"
            file.write_bytes(kept.policy)
            self._policy("load", self.options.load, file)
        if self._numbering is not None:
            known = {each: number for number, each in enumerate(kept.observations)}
            self._numbering.known = known

    def cleanup(self) -> None:
        told, self._told = self._told, None
        self._playing = None
        if told is not None and self._peer is not None and not self._peer.gone:
            LegacyAgent(self._peer).cleanup()

    # -- the program -----------------------------------------------------------------------------

    def _view(self, seat: Seat) -> SeatView:
        return self._views[seat.match, seat.seat]

    def _found(self) -> Peer:
        """Return the program; wait up to ``grace`` seconds for one to reconnect."""
        peer = self._port.peer("agent")
        if peer is None:
            claimed = self._port.claim(["agent"], self.options.grace)
            if claimed is None:
                raise Lost(
                    f"no legacy agent is connected at port {self._port.number}; start it with "
                    f"RLGLUE_PORT={self._port.number}"
                )
            peer = claimed["agent"]
        peer.busy = True
        if peer is not self._peer:
            self._peer, self._told = peer, None
            self._frozen = self._deaf = False
        return peer

    def _ready(self, view: SeatView) -> LegacyAgent:
        """Return the program; send it the task spec first if need be."""
        agent = LegacyAgent(self._found())
        if self._told is None or self._told.same != view.same:
            if self._told is not None:
                agent.cleanup()
            self._told = None
            spec = view.task_spec
            try:
                agent.init(wire.text(spec))
            except Lost as error:
                raise Lost(f"{error} at the task spec: {spec}", late=error.late) from None
            except DovetailError as error:
                raise DovetailError(f"{error} at the task spec: {spec}") from None
            self._told = view
        return agent

    def _freeze(self, agent: LegacyAgent, frozen: bool) -> None:
        if frozen == self._frozen:
            return
        self._frozen = frozen
        if self._deaf:
            return
        for body in self.options.freeze if frozen else self.options.unfreeze:
            answer = wire.text_of(agent.message(wire.text(body)))
            if not answer.lower().startswith(UNDERSTOOD):
                log.warning(
                    "the legacy agent answered %r to %r; its evaluations may change it",
                    answer,
                    body,
                )
                self._deaf = True
                return

    def _act(
        self, agent: LegacyAgent, view: SeatView, decision: Decision, shown: bytes, answer: bytes
    ) -> Any:
        """Return the action in an answer; after an illegal one, ask again or replace it."""
        options = view.options
        legal = decision.legal
        action = view.action(wire.unpacked(answer))
        if legal is None or not isinstance(action, int):
            return action
        if options.illegal != "retry":
            if action in legal or options.illegal == "judge":
                return action
            decision.refused += 1
            return replaced(view, action, legal, decision.rng)
        allowed = _allowed(decision)
        end = time.monotonic() + allowed / 2
        refusal = wire.REWARD.pack(view.penalty) + shown
        while action not in legal and decision.refused < options.tries and time.monotonic() < end:
            decision.refused += 1
            action = view.action(wire.unpacked(agent.step(refusal)))
        return action

    def _policy(self, what: str, template: str, file: Path) -> str:
        if "{file}" not in template:
            raise DovetailError(
                f"a legacy agent has no way to {what} unless --{what} gives its message, with "
                f"{{file}} for the path"
            )
        agent = LegacyAgent(self._found())
        return wire.text_of(agent.message(wire.text(template.replace("{file}", str(file)))))


def _allowed(decision: Decision) -> float:
    """Return the seconds left on the decision's clock."""
    clock = decision.clock
    if clock is None:
        return math.inf
    return min(math.inf if each is None else each for each in (clock.decision, clock.left))
