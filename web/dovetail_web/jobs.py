"""Browsers' requests to the broker, carried out in the hub's thread.

Creating an agent can take long.  So as not to hold up the others, such a request is a generator
that yields the thread meanwhile.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from dovetail.client.client import Experiment as Client
from dovetail.client.replies import numbered
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, Refused

log = logging.getLogger("dovetail.web")

CREATING = 30.0
"""Timeout for creating an agent, in seconds."""

Steps = Generator[m.ExperimentCreate | None, Any, Any]
"""A request that creates agents.

It yields the creation of each agent and is sent the instance's number; then it yields None, after
which it cannot be given up.  If it is given up before, or an agent cannot be created, DovetailError
is raised in it, and it has to clean up the agents it was given.
"""


class Jobs:
    """Requests that are queued or waiting for an agent."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[Client], None], Future[Any]]] = (
            queue.SimpleQueue()
        )
        self._making: dict[int, tuple[Steps, Future[Any]]] = {}
        """Requests waiting for an agent, by the number of its creation at the broker."""

    def add(self, job: Callable[[Client], Any]) -> Future[Any]:
        """Queue a request that needs only the broker; return its future result."""
        future: Future[Any] = Future()
        self._waiting.put((lambda client: self._do(client, job, future), future))
        return future

    def make(self, steps: Callable[[Client], Steps]) -> Future[Any]:
        """Queue a request that creates agents; return its future result."""
        future: Future[Any] = Future()
        self._waiting.put((lambda client: self._step(client, steps(client), future), future))
        return future

    def work(self, client: Client) -> None:
        """Carry out the requests that can be carried out now."""
        for number in list(self._making):
            answer = client.answer(number)
            if isinstance(answer, m.Reply):
                self._step(client, *self._making.pop(number), numbered(answer.body, "instance"))
            elif isinstance(answer, m.Error):
                error = Refused(answer.code, answer.message)
                self._step(client, *self._making.pop(number), error=error)
        while not self._waiting.empty():
            work, _ = self._waiting.get()
            work(client)

    def fail(self, error: DovetailError) -> None:
        """Fail all requests, since the broker is gone, and with it their agents."""
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
        """Resume a request with the agent created for it, up to the next creation."""
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
    """Set a request's error, unless it was given up."""
    if future.running() or (not future.cancelled() and future.set_running_or_notify_cancel()):
        future.set_exception(error)
