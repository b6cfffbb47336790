"""The conformer of docs/reference/conformer.md, on top of Dovetail's own Python."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from dovetail.client.client import Experiment
from dovetail.conform.reading import reading
from dovetail.peer.agents.agent import RESIGN, Agent, Decision, End, Lookahead, Seat, Thoughts
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.environment import Environment, IllegalAction
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.peer.link import Link
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import mask
from dovetail.protocol.scenes import Scene
from dovetail.protocol.spaces import Discrete, Space


class Refusing(Struct, frozen=True, forbid_unknown_fields=True):
    refuse: bool = False


class Conformer(Agent):
    """Counts what it hears."""

    name = "conformer"
    Parameters = Refusing
    parameters: Refusing
    wants = ("afterstates", "text", "scene")
    capacity = 0

    def __init__(self, parameters: Refusing | None = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.decisions = self.ends = 0
        self.reward = 0.0
        self.spec: m.Spec | None = None
        self.last: dict[str, Any] = {}
        self.seeds: dict[tuple[int, int], int] = {}

    def init(self, seat: Seat) -> None:
        if self.parameters.refuse:
            raise DovetailError("the conformer was told to refuse")
        self.spec = seat.spec

    def step(self, decision: Decision) -> Any:
        seen = decision.observation
        if isinstance(seen, str) and seen == "crash":
            raise ValueError("told to crash")
        if decision.mode == "learn":
            self.decisions += 1
            self.reward += decision.reward
        clock = decision.clock
        about = None if clock is None else msgspec.structs.asdict(clock)
        seed = decision.seed
        self.last = {"clock": about, "text": decision.text, "mode": decision.mode, "seed": seed}
        self.last |= {"afterstates": decision.afterstates, "scene": decision.scene}
        if isinstance(seen, str) and seen == "resign":
            self.report(regret=0.5)
            return RESIGN
        if decision.legal is not None:
            values = [float(action) for action in decision.legal]
            decision.thoughts = Thoughts(values, text=f"turn {decision.turn}")
            return max(decision.legal)
        return self._look(seen["look"]) if isinstance(seen, dict) and "look" in seen else seen

    def _look(self, lines: list[list[list[Any]]]) -> Generator[Lookahead, Any, Any]:
        try:
            previews = yield Lookahead([[tuple(actions) for actions in line] for line in lines])
        except DovetailError:
            return "refused"
        return [preview.rewards for preview in previews]

    def end(self, end: End) -> None:
        if end.mode == "learn":
            self.ends += 1
            self.reward += end.reward

    def message(self, body: Any) -> Any:
        match body:
            case "crash":
                raise ValueError("told to crash")
            case "counters":
                return {"decisions": self.decisions, "ends": self.ends, "reward": self.reward}
            case "last":
                return self.last
            case "spec":
                assert self.spec is not None
                return {
                    "observation_spaces": self.spec.observation_spaces,
                    "action_spaces": self.spec.action_spaces,
                }
        return body

    def save(self) -> bytes:
        return f"{self.decisions} {self.ends} {self.reward}".encode()

    def load(self, state: bytes) -> None:
        try:
            decisions, ends, reward = state.split()
            self.decisions, self.ends, self.reward = int(decisions), int(ends), float(reward)
        except ValueError:
            raise DovetailError("these bytes are not a saved conformer") from None


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    seats: Annotated[int, Meta(ge=1)] = 2
    turns: Annotated[int, Meta(ge=1)] = 3
    simultaneous: bool = False
    mask: bool = False
    space: Space = Discrete(3)
    observation: Any = 0
    truncate: bool = False
    fail: Literal["", "open", "start", "step"] = ""


class ConformerGame(Environment[Options]):
    """Counts turns."""

    name = "conformer"
    configuration: Options

    def init(self) -> m.Spec:
        self._fail("open")
        given = self.configuration
        return m.Spec(
            seats=given.seats,
            observation_spaces=[given.space],
            action_spaces=[given.space],
            reward_range=(0.0, 1.0),
            max_turns=given.turns,
            afterstates=True,
        )

    def _fail(self, where: str) -> None:
        if self.configuration.fail == where:
            raise ValueError(f"told to fail in {where}")

    def start(self, seed: int) -> m.Turn:
        self._fail("start")
        self.turn = 0
        given = self.configuration
        seen = (
            seed
            if isinstance(given.observation, str) and given.observation == "seed"
            else given.observation
        )
        return m.Turn(
            to_act=self._to_act(), seats=[self._view(seat, seen) for seat in self._to_act()]
        )

    def _to_act(self) -> list[int]:
        given = self.configuration
        return list(range(given.seats)) if given.simultaneous else [self.turn % given.seats]

    def _view(self, seat: int, seen: Any, reward: float = 0.0) -> m.View:
        space = self.configuration.space
        legal: list[int] | bytes | None = None
        if isinstance(space, Discrete):
            legal = list(range(space.start, space.start + space.n))
            if self.configuration.mask:
                legal = mask(legal, space.n)
        return m.View(seat, seen, legal, reward)

    def step(self, actions: Mapping[int, Any]) -> m.Turn:
        self._fail("step")
        for seat, action in actions.items():
            if isinstance(action, int) and action == -1:
                raise IllegalAction("-1 is never legal", seat)
        given = self.configuration
        acted = self._to_act()
        self.turn += 1
        seen = [[seat, action] for seat, action in actions.items()]
        over = self.turn >= given.turns
        views = [self._view(seat, seen, float(seat in acted)) for seat in range(given.seats)]
        if over:
            for view in views:
                view.legal = None
        outcome = [1 / len(acted) if seat in acted else 0.0 for seat in range(given.seats)]
        return m.Turn(
            to_act=[] if over else self._to_act(),
            seats=views,
            terminated=over and not given.truncate,
            truncated=over and given.truncate,
            outcome=outcome if over and not given.truncate else None,
        )

    def text(self, seat: int | None = None) -> str:
        return f"turn {self.turn}"

    def afterstates(self, seat: int) -> Any:
        space = self.configuration.space
        if not isinstance(space, Discrete):
            return None
        return [[self.turn + 1, space.start + number] for number in range(space.n)]

    def scene(self, seat: int | None = None) -> Scene:
        return Scene(width=1.0, height=1.0, caption=f"turn {self.turn}")

    def message(self, body: Any) -> Any:
        if isinstance(body, str) and body == "crash":
            raise ValueError("told to crash")
        return body


def unread(value: Any) -> Any:
    """Return what a JSON reading stands for."""
    match value:
        case {"$bytes": data}:
            return bytes.fromhex(data)
        case {"$float": text}:
            return float(text)
        case {"$tensor": {"dtype": dtype, "shape": shape, "data": data}}:
            return np.array([unread(each) for each in data], dtype).reshape(shape)
        case {"$extension": {"code": code, "data": data}}:
            return msgspec.msgpack.Ext(code, bytes.fromhex(data))
        case dict():
            return {key: unread(each) for key, each in value.items()}
        case list():
            return [unread(each) for each in value]
    return value


REQUESTS = {each.__struct_config__.tag: each for each in m.FromExperiment.__args__}


def write(key: str, value: Any) -> None:
    print(json.dumps({key: reading(value)}), flush=True)


class Told(Experiment):
    """An experiment that keeps every event in the order in which it came."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.events: list[tuple[str, dict[str, Any]]] = []

    def _take(self, message: m.Message) -> None:
        super()._take(message)
        if isinstance(message, m.Welcome) and not message.resumed and self.lost_is_possible:
            raise DovetailError("the broker does not know this experiment any more")
        self.lost_is_possible = True
        if isinstance(message, m.Episode | m.Progress | m.Done | m.WatchedTurn):
            event = codec.decode(codec.encode(message))
            self.events.append((event.pop("type"), event))

    lost_is_possible = False


def experiment(broker: str, token: str | None) -> int:
    hello = m.Hello(m.VERSION, "experiment", token=token)
    link = Link(broker, hello)
    told = Told(link)
    try:
        write("welcome", link.session.welcome.name if link.session.welcome else "")
        for line in sys.stdin:
            command = unread(json.loads(line))
            kind = command.pop("type")
            try:
                if kind == "wait":
                    while True:
                        while not told.events:
                            told.wait()
                        event, body = told.events.pop(0)
                        write(event, body)
                        if event == command["for"]:
                            break
                    continue
                request = msgspec.convert({"type": kind, "id": 0, **command}, REQUESTS[kind])
                answer = told._exchange(request)
            except DovetailError as error:
                code = getattr(error, "code", None)
                if code is None:
                    write("lost", str(error))
                    return 1
                write("error", {"code": code, "message": str(error)})
                continue
            if isinstance(answer, m.Saved):
                write("saved", answer.state)
            else:
                write("reply", codec.opened(getattr(answer, "body", None)))
    finally:
        told.close()
    return 0


def main(role: str) -> int:
    broker = os.environ.get("DOVETAIL_BROKER", "tcp://127.0.0.1:5757")
    token = os.environ.get("DOVETAIL_TOKEN")
    try:
        if role == "agent":
            serve_agent(Conformer, broker, token=token)
        elif role == "environment":
            serve_environment(ConformerGame, broker, token=token)
        else:
            return experiment(broker, token)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
