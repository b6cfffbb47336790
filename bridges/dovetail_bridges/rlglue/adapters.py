"""A Dovetail game or agent in the roles that a legacy experiment leaves open.

A legacy experiment drives an agent and an environment, one call at a time.  ``SeatedGame`` is a
seat of a Dovetail game in the environment's place; the other seats are native agents.
``NativeAgent`` is a native agent in the agent's place: it plays a game of one seat, whose turns are
the experiment's calls.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from dovetail.client.client import Experiment, RunHandle
from dovetail.peer.environments.environment import Environment, Spec, Turn, sole_action
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.serving import serve_host
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.rlglue import taskspec, wire
from dovetail_bridges.rlglue.core import AgentSide, Pair
from dovetail_bridges.rlglue.environment import spec_of
from dovetail_bridges.rlglue.layout import Layout, legacy
from dovetail_bridges.rlglue.peer import LegacyAgent, LegacyEnvironment, Peer
from dovetail_bridges.rlglue.seat import Numbering, SeatOptions, SeatView, replaced
from dovetail_bridges.rlglue.serve import Make

if TYPE_CHECKING:
    from dovetail.client.sitting import Sitting

EPISODES = 1 << 40
"""Episodes of a run: in effect without limit, since the legacy experiment decides when to stop."""
_numbers = itertools.count(1)
SLICE = 0.1
"""Seconds between two checks of a wait."""


class NativeSide(Struct, frozen=True):
    """The native side of a legacy experiment."""

    game: str = ""
    configuration: dict[str, Any] = {}
    against: tuple[str, ...] = ()
    """The agents of the other seats, in seat order."""
    seat: int = 0
    player: str = ""
    """The native agent that the experiment drives."""
    seed: int = 0
    mode: m.Mode = "learn"
    view: SeatOptions = SeatOptions()
    address: str | None = None
    token: str | None = None
    patience: float | None = 60.0


class SeatedGame:
    """A seat of a Dovetail game, as an environment."""

    def __init__(self, table: NativeSide) -> None:
        self.table = table
        self.sitting: Sitting | None = None
        self.legal: list[int] | None = None
        """The legal actions of the open decision."""
        self.observation: Any = None
        """The seat's last observation."""
        self._experiment: Experiment | None = None
        self._view: SeatView | None = None
        self._tries = 0
        self._shown = b""
        self._numbering = Numbering(table.view.index) if table.view.index else None

    # -- the environment's side ------------------------------------------------------------------

    def init(self) -> bytes:
        return wire.text(self._ready().task_spec)

    def start(self) -> bytes:
        view = self._ready()
        sitting = self._sitting()
        seen, info = sitting.reset()
        return self._show(view, seen, info)

    def step(self, action: bytes) -> bytes:
        view, sitting = self._ready(), self._sitting()
        answer: Any = None
        if sitting.decision is not None:
            answer = view.action(wire.unpacked(action))
            legal = self.legal
            if legal is not None and isinstance(answer, int) and answer not in legal:
                options = view.options
                if options.illegal == "retry" and self._tries < options.tries:
                    # As an environment of RL-Glue would: nothing happened, here is a penalty.
                    self._tries += 1
                    sitting.decision.refused = self._tries
                    return wire.OUTCOME.pack(0, view.penalty) + self._shown
                if options.illegal not in ("retry", "judge"):
                    answer = replaced(view, answer, legal, sitting.decision.rng)
        seen, reward, terminated, truncated, info = sitting.step(answer)
        over = int(terminated or truncated)
        return wire.OUTCOME.pack(over, reward) + self._show(view, seen, info)

    def cleanup(self) -> None:
        sitting, self.sitting = self.sitting, None
        self._view = None
        if sitting is not None:
            sitting.close()

    def message(self, body: bytes) -> bytes:
        self._ready()
        answer = self._sitting().message(wire.text_of(body))
        return wire.text("" if answer is None else str(answer))

    # -- inside ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the broker."""
        with contextlib.suppress(DovetailError):
            self.cleanup()
        experiment, self._experiment = self._experiment, None
        if experiment is not None:
            experiment.close()

    def _sitting(self) -> Sitting:
        assert self.sitting is not None
        return self.sitting

    def _ready(self) -> SeatView:
        """Return the view of the seat; take the seat first if need be."""
        if self._view is not None:
            return self._view
        table = self.table
        if self._experiment is None:
            self._experiment = Experiment.connect(table.address, token=table.token)
        self.sitting = self._experiment.sit(
            table.game,
            list(table.against),
            seat=table.seat,
            configuration=table.configuration,
            seed=table.seed,
            mode=table.mode,
            illegal="forfeit",
            patience=table.patience,
        )
        spec = self.sitting.spec
        self._view = SeatView(spec, table.seat, table.view, self._numbering)
        return self._view

    def _show(self, view: SeatView, seen: Any, info: Mapping[str, Any]) -> bytes:
        self.observation, self.legal = seen, info["legal"]
        self._tries = 0
        if info["over"] and seen is None:
            self._shown = wire.EMPTY
        else:
            self._shown = wire.packed(view.show(seen, self.legal))
        return self._shown


class _Turns(Environment):
    """A game of one seat whose turns are the calls of a legacy experiment."""

    player: ClassVar[NativeAgent]

    def init(self) -> Spec:
        self._turns, self._actions = self.player.turns, self.player.actions
        return self.player.spec

    def start(self, seed: int) -> Turn:
        return self._next()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self._actions.put(sole_action(actions, 0, over=False))
        return self._next()

    def message(self, body: Any) -> Any:
        raise DovetailError("this game is a legacy experiment; it takes no messages")

    def _next(self) -> Turn:
        turn = self._turns.get()
        if turn is None:
            raise DovetailError("the legacy experiment is over")
        return turn


class NativeAgent:
    """A Dovetail agent, as an agent of RL-Glue.

    Args:
        table: names the agent.
        name: the game's name at the broker; unique there.
        game: the Dovetail game in which it plays, if that is native too: it then sees what its seat
            sees.
        watch: called while an answer takes long; an exception from it ends the wait.
    """

    def __init__(
        self,
        table: NativeSide,
        name: str,
        game: SeatedGame | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self.table = table
        self.turns: queue.Queue[Turn | None] = queue.Queue()
        self.actions: queue.Queue[Any] = queue.Queue()
        self.spec = Spec()
        self._name = name
        self._game = game
        self._watch = watch
        self._experiment: Experiment | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._failed: list[Exception] = []
        self._instance: int | None = None
        """The number of the agent's instance, if it was made for this experiment."""
        self._run: RunHandle | None = None
        self._layouts: tuple[Layout, Layout] | None = None
        self._view: SeatView | None = None
        self._open = False
        """True while an episode is in progress."""
        self._unheard = 0
        """Finished episodes whose results have not arrived yet."""
        self._seen: Any = None

    # -- the agent's side ------------------------------------------------------------------------

    def init(self, spec: bytes) -> None:
        self._leave()
        experiment = self._connected()
        if self._game is not None and self._game.sitting is not None:
            seat, whole = self.table.seat, self._game.sitting.spec
            self._view = SeatView(whole, seat, replace(self.table.view, index=0, mask=""))
            self.spec = replace(
                whole,
                seats=1,
                observation_spaces=[whole.observation_space(seat)],
                action_spaces=[whole.action_space(seat)],
                afterstates=False,
            )
        else:
            task = taskspec.read(wire.text_of(spec))
            self._layouts = legacy(task.observations), legacy(task.actions)
            self.spec = spec_of(task, *self._layouts, self._name)
        self.turns, self.actions = queue.Queue(), queue.Queue()
        self._run = experiment.run(
            self._name,
            [self._who(experiment)],
            episodes=EPISODES,
            seed=self.table.seed,
            mode=self.table.mode,
            answer_timeout=None,
            retries=0,
        )

    def start(self, observation: bytes) -> bytes:
        if self._open:  # cut off by the experiment
            self.turns.put(Turn.end([self._seen], [0.0], truncated=True))
            self._unheard += 1
        self._open = True
        return self._ask(observation, 0, 0.0)

    def step(self, percept: bytes) -> bytes:
        return self._ask(percept, 8, wire.REWARD.unpack_from(percept)[0])

    def end(self, reward: bytes) -> None:
        seen = self._seen if self._game is None else self._game.observation
        self.turns.put(Turn.end([seen], [wire.REWARD.unpack(reward)[0]]))
        self._open = False
        self._unheard += 1
        limit = self._limit()
        while self._unheard:  # the call returns once the agent has heard it, as over RL-Glue's wire
            self._look(SLICE)
            self._watch()
            limit()

    def cleanup(self) -> None:
        self._leave()
        number, self._instance = self._instance, None
        if number is not None and self._experiment is not None:
            self._experiment.cleanup(number)

    def message(self, body: bytes) -> bytes:
        experiment = self._connected()
        who = self._who(experiment)
        if isinstance(who, str):
            for each in experiment.catalogue()["instances"]:
                if each["agent"] == who:
                    who = int(each["instance"])
                    break
        if isinstance(who, str):
            raise DovetailError(f"{who} takes messages once it has been seated")
        answer = experiment.message(who, wire.text_of(body))
        return wire.text("" if answer is None else str(answer))

    # -- inside ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the broker."""
        with contextlib.suppress(DovetailError):
            self.cleanup()
        self._stop.set()
        if self._experiment is not None:
            self._experiment.close()
        if self._thread is not None:
            self._thread.join(5.0)

    def _ask(self, payload: bytes, at: int, reward: float) -> bytes:
        legal = None
        if self._game is not None:
            self._seen, legal = self._game.observation, self._game.legal
        else:
            assert self._layouts is not None
            self._seen = self._layouts[0].unpack(wire.unpacked(payload, at))
        self.turns.put(Turn.ask(0, self._seen, legal, reward))
        limit = self._limit()
        while True:
            try:
                action = self.actions.get(timeout=SLICE)
                break
            except queue.Empty:
                self._look()
                self._watch()
                limit()
        if self._view is not None:
            return wire.packed(self._view.pack(action))
        assert self._layouts is not None
        return wire.packed(self._layouts[1].pack(action))

    def _limit(self) -> Callable[[], None]:
        """Return a check that raises once the agent's time is up."""
        patience = self.table.patience
        end = math.inf if patience is None else time.monotonic() + patience

        def check() -> None:
            if time.monotonic() > end:
                raise DovetailError(
                    f"the agent {self.table.player} did not answer within {patience:g} s"
                )

        return check

    def _look(self, wait: float = 0.0) -> None:
        """Handle messages from the broker; raise if an episode or the run failed."""
        if self._failed:
            raise self._failed[0]
        if self._run is None:
            return
        for each in self._run.poll(wait) or ():
            self._unheard -= 1
            if each.reason not in ("terminated", "truncated"):
                raise DovetailError(f"{self.table.player}: {each.message or each.reason}")

    def _leave(self) -> None:
        run, self._run = self._run, None
        self._open = False
        self._unheard = 0
        if run is not None:
            with contextlib.suppress(DovetailError):
                run.cancel()
            self.turns.put(None)

    def _who(self, experiment: Experiment) -> int | str:
        """Return the agent: a connected program's name, or an instance made for this experiment."""
        name = self.table.player
        for offer in experiment.catalogue()["agents"]:
            if offer["name"] == name and offer.get("instance"):
                return name
        if self._instance is None:
            self._instance = experiment.create(name, seed=self.table.seed)
        return self._instance

    def _connected(self) -> Experiment:
        if self._experiment is None:
            self._experiment = Experiment.connect(self.table.address, token=self.table.token)
            kind = type("TurnsHere", (_Turns,), {"name": self._name, "player": self})
            self._thread = threading.Thread(target=self._serve, args=[kind], daemon=True)
            self._thread.start()
            self._experiment.expect([self._name])
        return self._experiment

    def _serve(self, kind: type[Environment]) -> None:
        try:
            table = self.table
            serve_host(
                EnvironmentHost([kind]),
                table.address,
                self._name,
                table.token,
                ready=lambda _: None,
                stop=self._stop,
            )
        except Exception as error:
            self._failed.append(error)


def experiments(table: NativeSide) -> tuple[Make, list[str]]:
    """Return how worlds are made in which a native game or agent takes part, and the roles that
    are legacy."""
    roles = ["experiment"]
    if not table.player:
        roles.append("agent")
    if not table.game:
        roles.append("environment")

    def make(peers: Mapping[str, Peer]) -> Pair:
        game = SeatedGame(table) if table.game else None
        environment = game or LegacyEnvironment(peers["environment"])
        experiment = peers["experiment"]
        agent: AgentSide
        if table.player:
            name = f"rlglue-{os.getpid()}-{next(_numbers)}"
            agent = NativeAgent(table, name, game, experiment.watch or (lambda: None))
        else:
            agent = LegacyAgent(peers["agent"])
        return Pair(agent, environment)

    return make, roles
