"""Chairs: people's seats, as agents of one program that answer when the person does."""

from __future__ import annotations

import itertools
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dovetail._version import __version__
from dovetail.peer.agents.agent import RESIGN, Agent, Decision, End, Seat
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.remote_seat import Answer, RemoteSeat
from dovetail.peer.link import Link
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.scenes import choices_of, scene_of
from dovetail_web.positions import LONGEST_TEXT, drawn, plain

log = logging.getLogger("dovetail.web")
LOOK = 0.01
"""Seconds between two checks for people's choices."""


class Chair(RemoteSeat):
    """A person's seat.

    Args:
        name: the person's name.
        changed: called after each change.
    """

    def __init__(self, name: str, changed: Callable[[], None]) -> None:
        super().__init__()
        self.key = secrets.token_urlsafe(16)
        """The secret that authorises a browser for this seat."""
        self.name = name
        self.changed = changed
        self.seat: int | None = None
        self.number = 0
        """The number of positions shown to the person."""
        self.actions: list[Any] = []
        """The action behind each displayed choice."""
        self.shown: dict[str, Any] | None = None
        """The latest position as the seat may see it."""
        self.own: dict[str, Any] | None = None
        """The seat's own scene while others act, if known."""
        self.hint: dict[str, Any] | None = None
        """An agent's hint: ``number`` of the position and ``by``, with ``choice`` and ``label``, or
        with ``problem``."""
        self.seen = time.monotonic()
        """The time of the latest message from the person's page."""

    def step(self, decision: Decision) -> Any:
        """Show a decision to the person."""
        answer = super().step(decision)
        if answer is RESIGN:
            return answer
        self.seat = decision.seat.seat
        self.hint = None
        legal = decision.legal
        scene, problem = drawn(decision.scene, legal if legal is not None else [])
        self.actions = list(legal or [])
        if scene is not None and "choices" in scene:
            self.actions = [each.action for each in choices_of(scene_of(decision.scene), legal)]
        if scene is not None and legal and "choices" not in scene:
            scene["choices"] = [{"label": str(action)} for action in legal[:1000]]
        if scene is None and legal:
            scene = {"choices": [{"label": str(action)} for action in legal[:1000]]}
        if legal is None:
            problem = "This game's actions cannot be chosen by pointing. Give the seat to an agent."
        clock = decision.clock
        self._show(
            decision.turn,
            scene,
            decision.text,
            problem,
            clock=None if clock is None else [clock.decision, clock.left],
        )
        return answer

    def end(self, end: End) -> None:
        """Show the end of the game to the person."""
        super().end(end)
        scene, problem = drawn(end.scene)
        if scene is not None or end.text:
            self._show(None, scene, end.text, problem)
        else:
            self.number += 1
            self.changed()

    def _show(
        self,
        turn: int | None,
        scene: dict[str, Any] | None,
        text: str | None,
        problem: str,
        **more: Any,
    ) -> None:
        self.number += 1
        self.shown = {
            "number": self.number,
            "turn": turn,
            "seat": self.seat,
            "at": time.monotonic(),
            "scene": scene,
            "text": (text or "")[:LONGEST_TEXT],
            "problem": problem,
            **more,
        }
        self.changed()

    def seen_by(self, seat: int) -> dict[str, Any] | None:
        """Return the position shown to the person, for a seat."""
        if self.shown is None and self.own is None:
            return None
        nothing = {"number": 0, "turn": None, "seat": seat, "at": 0.0, "scene": None}
        return {**nothing, "text": "", "problem": "", **(self.shown or {}), "own": self.own}

    def chosen(self, number: int, choice: int) -> Answer:
        """Answer the open decision with a choice.

        Args:
            number: the number of the position that the person saw.
            choice: the index of the choice among the legal actions.

        Raises:
            DovetailError: it is not this person's turn, or there is no such choice.
        """
        decision = self.decision
        if decision is None or number != self.number:
            raise DovetailError("That turn is over; look at the new position")
        if not 0 <= choice < len(self.actions):
            raise DovetailError(f"There is no choice {choice}; choose a highlighted one")
        action = self.actions[choice]
        answer = self.act(action)
        if self.shown is not None:
            scene = dict(self.shown["scene"] or {})
            scene.pop("choices", None)
            self.number += 1
            self.shown = {**self.shown, "number": self.number, "scene": scene, "turn": None}
        self.changed()
        return answer

    def hinted(self, number: int, agent: str, action: Any) -> None:
        """Show an agent's action for the position with a number as a hint."""
        decision, scene = self.decision, (self.shown or {}).get("scene") or {}
        if decision is None or number != self.number:
            return
        at = next((n for n, each in enumerate(self.actions) if plain(each) == plain(action)), None)
        labels = scene.get("choices", [])
        label = labels[at]["label"] if at is not None and at < len(labels) else str(plain(action))
        self.hint = {"number": number, "by": agent, "choice": at, "label": label}
        self.changed()


class Chosen(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Person``."""

    chair: str = ""


class Chairs:
    """All chairs of a page, and the program that holds them."""

    def __init__(self, address: str, token: str | None, name: str) -> None:
        self._chairs: dict[str, Chair] = {}
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        chairs = self._chairs

        class Person(Agent[Chosen]):
            """A person at the page."""

            name = "person-at-the-page"
            wants = ("text", "scene")
            capacity = 0

            def init(self, seat: Seat) -> None:
                if self.parameters.chair not in chairs:
                    raise DovetailError("only the page seats people; start a game there")

            def step(self, decision: Decision) -> Any:
                return chairs[self.parameters.chair].step(decision)

            def end(self, end: End) -> None:
                chairs[self.parameters.chair].end(end)

        self.agent = Person.name
        self.name = name
        self._host = AgentHost([Person])
        software = f"dovetail-web {__version__}"
        hello = m.Hello(m.VERSION, "agent", name, self._host.offers(), token, software=software)
        self._stop = threading.Event()
        self._link = Link(address, hello, 10.0, self._stop)
        self._thread = threading.Thread(target=self._run, name="chairs", daemon=True)
        self._thread.start()

    def add(self, name: str, changed: Callable[[], None]) -> Chair:
        chair = Chair(name, changed)
        self._chairs[chair.key] = chair
        return chair

    def remove(self, key: str) -> None:
        self._chairs.pop(key, None)

    def answer(self, answer: Answer) -> None:
        """Send a person's answer."""
        self._answers.put(answer)

    def close(self) -> None:
        """Leave the broker."""
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and not self._link.departed:
                out = self._host.handle(self._link.receive(LOOK))
                for _ in itertools.repeat(None):
                    try:
                        answer = self._answers.get_nowait()
                    except queue.Empty:
                        break
                    out += self._host.answer(*answer)
                if out:
                    self._link.send(out)
        except DovetailError as error:
            log.warning("the seats of people are lost: %s", error)
        finally:
            self._link.close()
