"""Requests of browsers to the broker, carried out in the hub's thread.

Making an agent may take long, and no one else shall wait for it: such a request is a generator that
gives the thread back meanwhile.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from dovetail.client.client import Experiment as Client
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, Refused

log = logging.getLogger("dovetail.web")

CREATING = 30.0
"""Seconds for a program to make an agent."""

Steps = Generator[m.ExperimentCreate | None, Any, Any]
"""A request that makes agents.

It yields each agent that it wants and gets the number of the instance; then it yields None, after
which it is not given up.  If it is given up before, or an agent cannot be made, DovetailError is
raised in it; what it was given is its to clean up.
"""


class Jobs:
    """Requests that wait to be carried out, and those that wait for an agent."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[Client], None], Future[Any]]] = (
            queue.SimpleQueue()
        )
        self._making: dict[int, tuple[Steps, Future[Any]]] = {}
        """By the number of the request at the broker."""

    def add(self, job: Callable[[Client], Any]) -> Future[Any]:
        """Have a request carried out that takes the broker's time only; return its result to
        come."""
        future: Future[Any] = Future()
        self._waiting.put((lambda client: self._do(client, job, future), future))
        return future

    def make(self, steps: Callable[[Client], Steps]) -> Future[Any]:
        """Have a request carried out that makes agents; return its result to come."""
        future: Future[Any] = Future()
        self._waiting.put((lambda client: self._step(client, steps(client), future), future))
        return future

    def work(self, client: Client) -> None:
        """Carry out what can be carried out now."""
        for number in list(self._making):
            answer = client.answer(number)
            if isinstance(answer, m.Reply):
                self._step(client, *self._making.pop(number), int(answer.body["instance"]))
            elif isinstance(answer, m.Error):
                error = Refused(answer.code, answer.message)
                self._step(client, *self._making.pop(number), error=error)
        while not self._waiting.empty():
            work, _ = self._waiting.get()
            work(client)

    def fail(self, error: DovetailError) -> None:
        """End all requests: the broker is gone, and what it made for them, too."""
        while not self._waiting.empty():
            _, future = self._waiting.get()
            _failed(future, error)
        for steps, future in self._making.values():
            steps.close()
            _failed(future, error)
        self._making.clear()

    def _do(self, client: Client, job: Callable[[Client], Any], future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(job(client))
        except DovetailError as error:
            future.set_exception(error)
        except Exception:  # a fault of the page must not end the games of others
            log.exception("what a browser asked for failed")
            _failed(future, DovetailError("The page failed; see its log"))

    def _step(
        self,
        client: Client,
        steps: Steps,
        future: Future[Any],
        made: int | None = None,
        error: DovetailError | None = None,
    ) -> None:
        """Run a request up to the next agent that it wants, with the one that was made for it."""
        given_up = DovetailError("the request was given up")
        try:
            if error is None and future.cancelled():
                error = given_up
                if made is not None:
                    client.forget(client.post(m.Cleanup(0, made)))
            wanted = steps.send(made) if error is None else steps.throw(error)
            if wanted is None:
                going = future.set_running_or_notify_cancel()
                wanted = steps.send(None) if going else steps.throw(given_up)
            assert wanted is not None
            self._making[client.post(wanted)] = steps, future
        except StopIteration as end:
            future.set_result(end.value)
        except DovetailError as problem:
            _failed(future, problem)
        except Exception:
            log.exception("what a browser asked for failed")
            _failed(future, DovetailError("The page failed; see its log"))


def _failed(future: Future[Any], error: DovetailError) -> None:
    """Say why a request failed, unless it was given up."""
    if future.running() or (not future.cancelled() and future.set_running_or_notify_cancel()):
        future.set_exception(error)
