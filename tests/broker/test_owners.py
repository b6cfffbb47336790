"""Work has an owner: what a loop, a connection or a process began ends with it, or says that it
goes on."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dovetail import Agent, Environment, Experiment, InProcess, Spec, Turn, View, spaces
from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.runs.runs import PATIENCE
from dovetail.broker.shell.serve import in_thread
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import database

pytestmark = pytest.mark.processes

ENDLESS = 10**6
SOON = 20.0
"""Seconds within which something happens on a busy machine, where it is a matter of
milliseconds."""


class Coin(Environment):
    """One seat, one turn."""

    name = "coin"

    def init(self) -> Spec:
        return Spec(
            seats=1,
            observation_spaces=[spaces.Discrete(1)],
            action_spaces=[spaces.Discrete(2)],
        )

    def start(self, seed: int) -> Turn:
        return Turn(to_act=[0], seats=[View(0, 0, [0, 1])])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return Turn(seats=[View(0, 0)], terminated=True, outcome=[1.0])


class Counter(Agent):
    """Counts its decisions; one episode at a time, as a learner."""

    name = "counter"

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.count = 0

    def step(self, turn: Any) -> Any:
        self.count += 1
        return turn.legal[0]

    def message(self, body: Any) -> Any:
        return self.count


@pytest.fixture
def address() -> Iterator[str]:
    """A broker with both, in threads."""
    stop = threading.Event()
    made = in_thread("tcp://127.0.0.1:*", settings=Settings(heartbeat=0.2), journal=_no_journal)
    with made as address:
        threads = [
            threading.Thread(target=target, args=(what, address), kwargs={"stop": stop})
            for target, what in ((serve_environment, Coin), (serve_agent, Counter))
        ]
        for each in threads:
            each.start()
        yield address
        stop.set()
        for each in threads:
            each.join(SOON)


def _no_journal() -> Journal:
    return None  # type: ignore[return-value]


@pytest.fixture(params=["sockets", "in process"])
def experiment(request: pytest.FixtureRequest) -> Iterator[Experiment]:
    if request.param == "in process":
        with InProcess([Coin], [Counter], settings=Settings(heartbeat=0.2)) as made:
            yield made
        return
    with Experiment.connect(request.getfixturevalue("address")) as made:
        made.expect(["coin"], ["counter"])
        yield made


def playing(experiment: Experiment) -> list[int]:
    """Return the numbers of the runs that the broker has."""
    return [each["run"] for each in experiment.catalogue()["runs"]]


def by_break(run: Any) -> None:
    for _ in run:
        break


def by_error(run: Any) -> None:
    def fail() -> None:
        for _ in run:
            raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"):
        fail()


def by_interrupt(run: Any) -> None:
    wait, calls = run._experiment._connection.receive, []

    def interrupted(timeout: float | None) -> Any:
        calls.append(timeout)
        if len(calls) > 2:
            run._experiment._connection.receive = wait
            raise KeyboardInterrupt
        return wait(timeout)

    run._experiment._connection.receive = interrupted
    with pytest.raises(KeyboardInterrupt):
        run.wait()


def by_collection(run: Any) -> None:
    results = iter(run)
    next(results)
    ring: list[Any] = [results]
    ring.append(ring)
    del results, ring
    gc.collect()


def by_closing(run: Any) -> None:
    results = iter(run)
    next(results)
    results.close()


def by_asynchronous_break(run: Any) -> None:
    async def some() -> None:
        async for _ in run:
            break

    asyncio.run(some())


def by_cancelled_task(run: Any) -> None:
    async def some() -> None:
        task = asyncio.create_task(run.finished())
        while run.progress.finished < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(some())


LEAVING = (
    by_break,
    by_error,
    by_interrupt,
    by_collection,
    by_closing,
    by_asynchronous_break,
    by_cancelled_task,
)


@pytest.mark.parametrize("leave", LEAVING)
def test_leaving_the_loop_ends_the_run_and_frees_its_agents(
    experiment: Experiment, leave: Callable[[Any], None]
) -> None:
    counter = experiment.create("counter")
    run = experiment.run("coin", [counter], episodes=ENDLESS)
    leave(run)
    assert len(experiment.run("coin", [counter], episodes=3).wait()) == 3
    assert playing(experiment) == []
    assert run.done is not None
    assert run.done.reason == "cancelled"
    count = experiment.message(counter, None)
    experiment.wait(0.05)
    assert experiment.message(counter, None) == count
    assert not experiment._open
    assert not experiment._answers


def test_a_generator_that_is_collected_in_the_middle_of_another_call_waits_for_its_end(
    experiment: Experiment,
) -> None:
    counter, other = experiment.create("counter"), experiment.create("counter")
    results: Any = iter(experiment.run("coin", [counter], episodes=ENDLESS))
    next(results)
    receive = experiment._connection.receive
    sent: list[int] = []

    def collected(timeout: float | None) -> Any:
        nonlocal results
        results = None
        sent.append(len(experiment._unanswered))
        return receive(timeout)

    experiment._connection.receive = collected  # type: ignore[method-assign]
    assert len(experiment.run("coin", [other], episodes=3).wait()) == 3
    assert sent[0] == 0
    assert len(experiment.run("coin", [counter], episodes=3).wait()) == 3


def test_a_loop_that_is_not_left_early_cancels_nothing(experiment: Experiment) -> None:
    counter = experiment.create("counter")
    run = experiment.run("coin", [counter], episodes=3)
    assert [each.index for each in run] == [0, 1, 2]
    assert run.done is not None
    assert run.done.reason == "finished"


def test_a_run_that_is_polled_goes_on(experiment: Experiment) -> None:
    counter = experiment.create("counter")
    run = experiment.run("coin", [counter], episodes=ENDLESS)
    while not run.poll():
        pass
    assert playing(experiment) == [run.number]
    run.cancel()


def test_a_run_that_waits_for_busy_agents_names_the_run_that_has_them(
    experiment: Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    counter = experiment.create("counter")
    first = experiment.run("coin", [counter], episodes=1, stepwise=True)
    first.start()
    second = experiment.run("coin", [counter], episodes=1)
    with caplog.at_level(logging.WARNING, "dovetail"):
        begun = time.monotonic()
        while not second.progress.waiting:
            assert second.poll(0.1) == []
            assert time.monotonic() - begun < SOON
        assert time.monotonic() - begun > PATIENCE - 0.5
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            second.poll(0.1)
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 1
    assert f"run {second.number} waits: agent {int(counter)} ('counter')" in said[0]
    assert f"plays in run {first.number} of " in said[0]
    first.cancel()
    assert len(second.wait()) == 1


# -- forked children -------------------------------------------------------------------------------


def forked(work: Callable[[], object]) -> int:
    """Do something in a forked child; return its exit status: 0, or 1 for an error."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_that_leaves_an_experiment_ends_nothing(experiment: Experiment) -> None:
    counter = experiment.create("counter")

    def leave() -> None:
        with (
            experiment,
            pytest.raises(DovetailError, match=r"belongs to process \d+, .* forked; open another"),
        ):
            experiment.catalogue()

    run = experiment.run("coin", [counter], episodes=2)
    assert forked(leave) == 0
    assert len(run.wait()) == 2
    assert experiment.message(counter, None) == 2


def test_a_forked_child_that_leaves_a_loop_or_a_seat_cancels_nothing(
    experiment: Experiment,
) -> None:
    counter = experiment.create("counter")
    run = experiment.run("coin", [counter], episodes=50)
    results = iter(run)
    first = next(results)
    with experiment.sit("coin") as game:
        _, info = game.reset()
        assert forked(results.close) == 0  # type: ignore[attr-defined]
        assert forked(game.close) == 0
        *_, terminated, _, info = game.step(info["legal"][0])
        assert terminated
    assert len([first, *results]) == 50


def test_a_forked_child_that_closes_a_broker_leaves_its_parents_as_it_is(tmp_path: Path) -> None:
    journal = tmp_path / "games.journal"
    place = InProcess([Coin], [Counter], f"ipc://{tmp_path}/broker", journal=journal)
    with place as experiment:
        assert forked(place.close) == 0
        assert (tmp_path / "broker").exists()
        counter = experiment.create("counter")
        assert len(experiment.run("coin", [counter], episodes=2).wait()) == 2


def test_a_forked_child_has_connections_of_its_own_to_a_store(tmp_path: Path) -> None:
    engine = database.writing(f"sqlite:///{tmp_path}/store.sqlite")
    with engine.begin() as connection:
        mine = connection.connection.dbapi_connection
        assert mine is not None

    def look() -> None:
        with engine.begin() as connection:
            assert connection.connection.dbapi_connection is not mine
            connection.execute(sa.text("SELECT 1"))
        engine.dispose()

    assert forked(look) == 0
    with engine.begin() as connection:
        assert connection.connection.dbapi_connection is mine
    engine.dispose()
