"""People's acts at the page's tables, and the runs for hints and replays."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Collection, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dovetail.client.client import Experiment as Client
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.seeds import derive
from dovetail_bridges.connection_limits import loopback
from dovetail_web import opponents
from dovetail_web.chairs import Chair, Chairs
from dovetail_web.games import position_of
from dovetail_web.jobs import CREATING, Steps
from dovetail_web.mirrors import Mirror
from dovetail_web.tables import HINT, Hint, Plan, Replaying, Sitter, Table

if TYPE_CHECKING:
    from dovetail_web.hub import Hub

log = logging.getLogger("dovetail.web")
MOST_TABLES = 200
SHARE = 4
"""One address may have the SHARE-th part of all tables, and loopback, from where a proxy connects,
twice as many."""
BEGIN_SECONDS = 3.0
"""Seconds for which the form waits for the first turn, or for the game's error about its
options."""
HINT_SECONDS = 30.0
REPLAY_SECONDS = 30.0
GONE = "The broker went away"
AWAY_SECONDS = 5.0
"""Seconds of silence after which a person's page counts as closed; an open one sends every
second."""
UNSEEN_MINUTES = 5
"""Minutes after which a game ends if all its people have closed their pages."""


def _clean(client: Client, instance: int) -> None:
    client.forget(client.post(m.Cleanup(0, instance)))


def _failure(episode: m.Episode) -> str:
    return " ".join((episode.message or episode.reason).split())[:200]


class People:
    """The games that people have started, and their requests there.

    Args:
        hub: the connection to the broker.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.tables: dict[str, Table] = {}
        self._hints: dict[int, Hint] = {}
        """By run."""
        self._replays: dict[int, Replaying] = {}
        """By run."""
        self._lock = threading.Lock()
        self._waiting = ThreadPoolExecutor(4, "patience")

    # -- what they ask for ------------------------------------------------------------------------

    def play(self, plan: Plan, by: str = "") -> Table:
        """Start a game.

        Args:
            plan: the game and its seats.
            by: the visitor's address.

        Raises:
            DovetailError: there is no broker, or it refuses.
        """
        chairs = self._present()
        self._make_room(by)
        taken = [
            chairs.add(each.name, self._hub.changed) if each.kind == "person" else None
            for each in plan.seats
        ]
        table = Table(plan, taken, by=by)
        with self._lock:
            self.tables[table.key] = table
            done = [each for each in self.tables.values() if each.done]
            for each in done[: max(0, len(self.tables) - MOST_TABLES)]:
                self._clear(each)
        try:
            self._hub.make(lambda client: self._begin(client, table, []))
            # A game that has to be compiled takes longer; its own page says then what is wrong.
            if table.begun.wait(BEGIN_SECONDS) and table.problem:
                raise DovetailError(table.problem)
        except DovetailError:
            self._clear(table)
            raise
        return table

    def _make_room(self, by: str) -> None:
        """Make room for one more table, if need be by ending the oldest abandoned one.

        Raises:
            DovetailError: there are too many.
        """
        playing = [each for each in list(self.tables.values()) if not each.done]
        mine = [each for each in playing if each.by == by]
        most = MOST_TABLES * (2 if loopback(by) else 1) // SHARE
        for tables, limit, what in (
            (mine, most, "from your address"),
            (playing, MOST_TABLES, "here"),
        ):
            if len(tables) < limit:
                continue
            left = next((each for each in tables if self.left(each)), None)
            if left is None:
                raise DovetailError(f"{limit} games are being played {what}; end one first")
            self._break_off(left)
            return

    def left(self, table: Table) -> bool:
        """Return whether all people at a table have closed their pages."""
        now = time.monotonic()
        return bool(table.people) and now - table.seen > AWAY_SECONDS and not table.done

    def away(self, table: Table) -> list[str]:
        """Return the people who closed their page in the middle of a game."""
        since = time.monotonic() - AWAY_SECONDS
        return [] if table.done else [each.name for each in table.people if each.seen < since]

    def _break_off(self, table: Table) -> None:
        """End an abandoned game, and count it as ended at once."""
        table.done = table.abandoned = True
        table.problem = "No one was here, and others wanted to play; the game ended."
        if table.run is not None:
            run = table.run
            self._hub.later(lambda client: client.forget(client.post(m.Cancel(0, run=run))))

    def _present(self) -> Chairs:
        if self._hub.chairs is None:
            raise DovetailError(
                f"There is no broker at {self._hub.address}; start one and try again"
            )
        return self._hub.chairs

    def _clear(self, table: Table) -> None:
        self.tables.pop(table.key, None)
        for chair in table.people:
            if self._hub.chairs is not None:
                self._hub.chairs.remove(chair.key)

    def _begin(
        self,
        client: Client,
        table: Table,
        line: list[list[Any]],
        kept: Mapping[int, int | str] = MappingProxyType({}),
    ) -> Steps:
        """Start a table's run in the hub's thread, perhaps with agents that have played before."""
        plan = table.plan
        table.agents = agents = []
        try:
            for number, (sitter, chair) in enumerate(zip(plan.seats, table.chairs, strict=True)):
                if number in kept:
                    agents.append(kept[number])
                    continue
                seed = derive(plan.seed, "agent", number)
                made = yield from self._agent(sitter, seed, chair, number)
                agents.append(made)
                if isinstance(made, int):
                    table.instances.append(made)
            yield None
            more = {"clock": plan.clock, "answer_timeout": None, "label": "page"}
            run = plan.run(agents, line, names=plan.names, stepwise=not table.people, **more)

            def named(number: int) -> None:
                table.run = number
                if run.stepwise:
                    client.forget(client.post(m.ExperimentStart(0, number)))

            self._hub.started(client, run, named)
        except DovetailError:
            for each in table.instances:
                _clean(client, each)
            table.instances.clear()
            raise

    def _agent(
        self, who: Sitter, seed: int, chair: Chair | None, seat: int = 0
    ) -> Generator[m.ExperimentCreate, int, int | str]:
        """Return an agent for a seat: an instance, or the name of a single agent."""
        if chair is None:
            offers = self._hub.catalogue.get("agents", [])
            if any(each["name"] == who.name and each.get("instance") for each in offers):
                return who.name
            trained = who.trained and opponents.state(who.trained[seat % len(who.trained)])
            wanted = m.ExperimentCreate(
                *(0, who.name, who.parameters, seed, trained or None),
                peer=who.peer or None,
                timeout=CREATING,
            )
        else:
            wanted = self._person(chair, seed)
        return (yield wanted)

    def _person(self, chair: Chair, seed: int = 0) -> m.ExperimentCreate:
        """Return the creation of a chair's agent."""
        chairs = self._present()
        parameters = {"chair": chair.key}
        return m.ExperimentCreate(
            0, chairs.agent, parameters, seed, peer=chairs.name, timeout=CREATING
        )

    def take_back(self, table: Table, chair: Chair) -> None:
        """Take back a person's last move and all that followed, by replaying the game up to it.

        Raises:
            DovetailError: this table does not allow it, or there is nothing to take back.
        """
        if not table.plan.undo:
            raise DovetailError(
                "Moves cannot be taken back where there is a clock or several people play"
            )

        def begin(client: Client) -> Steps:
            turn = table.decided(chair.seat)
            if turn is None:
                raise DovetailError("You have not moved yet")
            yield from self._restarted(client, table, table.line(turn))

        self._hub.make(begin)

    def _restarted(
        self, client: Client, table: Table, line: list[list[Any]], kept: Collection[int] = ()
    ) -> Steps:
        """Restart a table's game from a line of actions, in the hub's thread.

        Args:
            client: the connection.
            table: the game.
            line: the joint actions to replay.
            kept: the seats whose agents stay, since a program with a thinking agent cannot create
                another.
        """
        run, agents = table.run, {seat: table.agents[seat] for seat in kept}
        table.restart()
        if run is not None:
            with contextlib.suppress(DovetailError):  # it was over
                client.request(m.Cancel(0, run=run))
            self._hub.drop(run)
        for each in set(table.instances) - set(agents.values()):
            _clean(client, each)
            table.instances.remove(each)
        try:
            yield from self._begin(client, table, line, agents)
        except DovetailError as error:
            table.done, table.problem = True, str(error)
            raise

    def stand_in(self, table: Table) -> Sitter | None:
        """Return a quick player in an idle program without agents of this table; None if none.

        A thinking agent keeps its whole program busy.
        """
        found, quick = self._hub.catalogue, opponents.QUICK
        instances = found.get("instances", [])
        here = {each["peer"] for each in instances if each["instance"] in table.instances}
        busy = {each["peer"] for each in instances if each["busy"]}
        peers = [
            each["peer"]
            for each in found.get("agents", [])
            if each["name"] == quick.name and each["peer"] not in here
        ]
        if not peers:
            return None
        peer = min(peers, key=lambda each: each in busy)
        return replace(opponents.STAND_IN, peer=peer)

    def _stuck(self, table: Table) -> tuple[int, int, Sitter]:
        """Return the turn and seat of the agent that people are waiting for, and its stand-in."""
        awaited, quick = table.awaited(), self.stand_in(table)
        if awaited is None:
            raise DovetailError("No agent is to act alone")
        if quick is None:
            raise DovetailError(f"No free program offers {opponents.QUICK.name}; end the game")
        return *awaited, quick

    def replace(self, table: Table) -> None:
        """Replace the agent that people are waiting for by a quick player."""
        turn, seat, quick = self._stuck(table)

        def begin(client: Client) -> Steps:
            if table.awaited() == (turn, seat):
                table.plan = table.plan.seated(seat, quick)
                others = set(range(len(table.agents))) - {seat}
                yield from self._restarted(client, table, table.line(turn), others)

        self._hub.make(begin)

    def decide(self, table: Table) -> None:
        """Have a quick player make the decision that people are waiting for.

        Raises:
            DovetailError: no agent is keeping people waiting, or there is no stand-in.
        """
        turn, seat, quick = self._stuck(table)
        if table.hurried == turn:
            raise DovetailError("Wait; another player is already deciding")
        table.hurried = turn
        line, hint = table.line(turn), Hint(None, 0, seat, turn, quick.name)

        def ask(client: Client) -> Steps:
            try:
                seats: list[int | str] = []
                for number, _ in enumerate(table.plan.seats):
                    made = yield from self._agent(quick, number, None)
                    seats.append(made)
                    if isinstance(made, int):
                        hint.instances.append(made)
                yield None
                run = table.plan.run(
                    seats, line, answer_timeout=HINT_SECONDS, max_turns=turn + 1, label=HINT
                )
                self._hub.started(client, run, lambda number: self._hints.update({number: hint}))
            except DovetailError:
                self._end(client, hint)
                raise

        def go_on(client: Client) -> Steps:
            if table.awaited() == (turn, seat):
                everyone = range(len(table.agents))
                yield from self._restarted(client, table, [*line, found], everyone)

        self._hub.make(ask)
        try:
            found = hint.found.get(timeout=HINT_SECONDS)
        except queue.Empty:
            found = []
        if not found:
            table.hurried, table.heard_at = -1, time.monotonic()  # it may be tried again
            raise DovetailError(f"{quick.name} does not decide either; end the game")
        self._hub.make(go_on)

    def hint(self, table: Table, chair: Chair, agent: str) -> None:
        """Ask an agent for a hint, which arrives at the person's chair.

        The agent sees no more than the person: it takes the person's seat in another game with the
        same seed and actions.  The other seats have another instance of it or, if it is a single
        agent, a chair that does not act.

        Raises:
            DovetailError: the table does not allow hints, it is not the person's turn, or the agent
                is unknown.
        """
        decision = chair.decision
        if not table.plan.hints:
            raise DovetailError("Several people play, and this game was started without hints")
        if decision is None:
            raise DovetailError("Ask for a hint when it is your turn")
        if (chair.hint or {}).keys() == {"number", "by"}:
            raise DovetailError("Wait for the hint that you have asked for")
        seat, turn, number = decision.seat.seat, decision.turn, chair.number

        def begin(client: Client) -> Steps:
            line = table.line(turn)
            hint = Hint(chair, number, seat, turn, agent)
            try:
                seats = yield from self._advised(table, hint)
                yield None
                run = table.plan.run(
                    seats, line, answer_timeout=HINT_SECONDS, max_turns=turn + 1, label=HINT
                )

                def named(number: int) -> None:
                    self._hints[number] = hint

                self._hub.started(client, run, named)
            except DovetailError:
                self._end(client, hint)
                raise

        chair.hint = {"number": number, "by": agent}
        self._hub.changed()
        try:
            self._hub.make(begin)
        except DovetailError:
            chair.hint = None
            raise

    def _advised(
        self, table: Table, hint: Hint
    ) -> Generator[m.ExperimentCreate, int, list[int | str]]:
        """Return the agents by seat in the game of a hint."""
        who, seed, count = Sitter("agent", hint.agent), table.plan.seed, len(table.plan.seats)
        made = yield from self._agent(who, derive(seed, "agent", 0), None)
        if isinstance(made, int):
            hint.instances.append(made)
        other: int | str = made
        if count > 1:
            if isinstance(made, str):
                if not table.acts_alone(hint.seat, hint.turn):
                    raise DovetailError(
                        f"{made} is one program, and would also see what the other seats that act "
                        "now see; ask another agent"
                    )
                hint.idle = self._present().add("hint", lambda: None)
            other = yield from self._agent(who, derive(seed, "agent", 1), hint.idle)
            if isinstance(other, int):
                hint.instances.append(other)
        return [made if seat == hint.seat else other for seat in range(count)]

    def _end(self, client: Client, hint: Hint) -> None:
        """Clean up after a hint, in the hub's thread."""
        for each in hint.instances:
            _clean(client, each)
        hint.instances.clear()
        if hint.idle is not None and self._hub.chairs is not None:
            self._hub.chairs.remove(hint.idle.key)

    def replay(self, record: EpisodeRecord) -> list[dict[str, Any]]:
        """Replay a recorded episode at the broker, whose game need not be installed here.

        The whole episode is played as an opening, so that no seat is asked.

        Returns:
            The positions.

        Raises:
            DovetailError: there is no broker or no such game, or the replay differs.
        """
        chairs = self._present()
        replaying = Replaying(chairs.add("replay", lambda: None))

        def begin(client: Client) -> Steps:
            replaying.instance = yield self._person(replaying.chair)
            agents: list[int | str] = [replaying.instance] * len(record.result.seats)
            run = m.Run(
                *(0, record.environment, agents, record.configuration),
                seeds=[record.result.seed],
                mode="evaluate",
                retries=0,
                openings=[[[action for _, action in joint] for joint in record.actions]],
                max_turns=max(1, len(record.actions)),
                label=HINT,
            )

            def named(number: int) -> None:
                self._replays[number] = replaying

            try:
                yield None
                self._hub.started(client, run, named)
            except DovetailError:
                _clean(client, replaying.instance)
                raise

        try:
            self._hub.make(begin)
            if not replaying.done.wait(REPLAY_SECONDS):
                raise DovetailError(f"the game was not played again in {REPLAY_SECONDS:g} s")
        finally:
            chairs.remove(replaying.chair.key)
        if replaying.problem or not replaying.turns:
            raise DovetailError(replaying.problem or "the game showed no turn")
        return [position_of(turn) for turn in replaying.turns]

    def resign(self, table: Table, chair: Chair) -> None:
        """Resign for a person, at the latest when the seat is to act."""
        if table.done:
            raise DovetailError("The game is over")
        answer = chair.resign()
        if answer is not None:
            self._present().answer(answer)

    def again(self, table: Table, *, swapped: bool = False) -> Table:
        """Return the next game of the same people; start it if need be.

        Args:
            table: the game that is over.
            swapped: whether everyone moves to the next seat, if it is this request that starts it.
        """
        if not table.done:
            raise DovetailError("Finish this game first")
        with table.following:
            if table.again is None:
                table.moves = int(swapped)
                table.again = self.play(table.next(), table.by)
                self._hub.changed()
            return table.again

    def act(self, chair: Chair, number: int, choice: int) -> None:
        """Answer with a person's choice; raise as ``Chair.chosen`` does."""
        self._present().answer(chair.chosen(number, choice))

    def leave(self, table: Table, who: str) -> None:
        """End a game early; the others are told who did."""
        run = table.run
        if run is not None and not table.done:
            table.ended = who
            self._hub.ask(lambda client: client.request(m.Cancel(0, run=run)))

    def tidy(self, client: Client, now: float) -> None:
        """End abandoned games, in the hub's thread; ``now`` is a monotonic time."""
        for table in list(self.tables.values()):
            left = table.people and now - table.seen > 60 * UNSEEN_MINUTES
            if left and table.run is not None and not (table.done or table.abandoned):
                table.abandoned = True
                client.forget(client.post(m.Cancel(0, run=table.run)))
            elif self._overdue(table, now):
                self._waiting.submit(self._hurry, table)

    def step(self, client: Client, now: float) -> None:
        """Continue games of agents alone, in the hub's thread, at a monotonic time."""
        for table in list(self.tables.values()):
            if table.run is not None and table.due(now):
                client.forget(client.post(m.ExperimentStep(0, table.run)))

    def _overdue(self, table: Table, now: float) -> bool:
        """Return whether people have waited for an agent for the planned time."""
        patience, awaited = table.plan.patience, table.awaited()
        return (
            patience is not None
            and awaited is not None
            and table.hurried != awaited[0]
            and now - table.heard_at > patience
        )

    def _hurry(self, table: Table) -> None:
        with contextlib.suppress(DovetailError):  # they wait on, and may replace it
            self.decide(table)

    # -- what the hub hears -----------------------------------------------------------------------

    def runs(self) -> set[int]:
        """Return the runs to watch turn by turn."""
        return {*self._playing(), *self._hints, *self._replays}

    def _playing(self) -> set[int]:
        tables = list(self.tables.values())
        return {each.run for each in tables if each.run is not None and not each.done}

    def table(self, run: int) -> Table | None:
        """Return the table of a run; None if people did not start it."""
        return next((each for each in list(self.tables.values()) if each.run == run), None)

    def mirrored(self, table: Table, turn: m.WatchedTurn) -> None:
        """Show waiting people their own seats' scenes, where a game hides hands."""
        if turn.scene is None or not table.people:
            return
        try:
            if turn.turn == 0 and turn.scene.get("cards"):
                table.mirror = Mirror(table.plan)
            if table.mirror is None:
                return
            table.mirror.follow(turn.turn, dict(turn.actions), turn.scene)
            for seat, chair in enumerate(table.chairs):
                if chair is not None:
                    waits = seat not in turn.to_act
                    chair.own = table.mirror.scene(seat) if waits else None
        except Exception as error:  # rules of another version; then hands are hidden
            log.info("table %s: hands are not shown between turns: %s", table.key, error)
            table.mirror = None
            for chair in table.people:
                chair.own = None

    def turn(self, turn: m.WatchedTurn) -> bool:
        """Handle a turn; return whether it belongs to a run for a hint or a replay."""
        hint, replaying = self._hints.get(turn.run), self._replays.get(turn.run)
        if replaying is not None:
            if len(replaying.turns) == turn.turn:
                replaying.turns.append(turn)
        elif hint is not None and turn.turn == hint.turn + 1:
            for seat, action in turn.actions:
                if seat == hint.seat:
                    hint.found.put([action])
                    if hint.chair is not None:
                        hint.chair.hinted(hint.number, hint.agent, action)
        return hint is not None or replaying is not None

    def ended(self, episode: m.Episode) -> None:
        hint = self._hints.get(episode.run)
        chair = None if hint is None else hint.chair
        if hint is not None:
            hint.found.put([])
        if hint is not None and chair and (chair.hint or {}).keys() == {"number", "by"}:
            chair.hint = {
                "number": hint.number,
                "by": hint.agent,
                "problem": f"{hint.agent} has no hint: {_failure(episode)}",
            }
        replaying = self._replays.get(episode.run)
        if replaying is not None and episode.reason not in ("terminated", "truncated"):
            replaying.problem = f"the replay failed: {_failure(episode)}"

    def done(self, done: m.Done) -> None:
        replaying = self._replays.pop(done.run, None)
        if replaying is not None:
            self._hub.later(partial(_clean, instance=replaying.instance))
            if done.reason == "failed":
                replaying.problem = done.message
            replaying.done.set()
        hint = self._hints.pop(done.run, None)
        if hint is not None:
            self._hub.later(partial(self._end, hint=hint))
        for table in list(self.tables.values()):
            if table.run == done.run:
                table.done = True
                table.problem = done.message if done.reason == "failed" else table.problem
                if table.abandoned and not table.problem:
                    table.problem = f"No one was here for {UNSEEN_MINUTES} minutes; the game ended."
                table.begun.set()
                for each in table.instances:
                    self._hub.later(partial(_clean, instance=each))
                table.instances.clear()

    def gone(self) -> None:
        """End all games, since the broker is gone."""
        for table in list(self.tables.values()):
            if not table.done:
                table.done = True
                table.problem = (
                    f"{GONE}, and the game has ended. Begin it again once the broker is back."
                )
                table.begun.set()
        for each in self._replays.values():
            each.problem = GONE
            each.done.set()
        self._replays.clear()
        self._hints.clear()
