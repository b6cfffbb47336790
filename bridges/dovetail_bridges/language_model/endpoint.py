"""A server with an OpenAI-style interface: POST .../chat/completions."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct

from dovetail.peer.extras import absent
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError

LARGEST = 1 << 20
"""Maximum bytes of an answer."""
AGAIN = {408, 409, 429, 500, 502, 503, 504}
"""Statuses after which a retry may succeed."""
SLACK = 0.5
"""Seconds for a request to end after its connection was cut."""
PAUSE = 0.5
"""Seconds before the first retry, doubling before each further one."""


class Settings(Struct, frozen=True):
    """The model's server, from the local user's environment variables only."""

    url: str
    """The URL up to the version, such as http://127.0.0.1:8080/v1."""
    key: str = ""
    model: str = ""
    tokens: int | None = None
    """Maximum tokens for this program; None for no limit."""
    transcripts: str = ""
    """The folder of transcripts; empty to write none."""

    def __repr__(self) -> str:
        return f"Settings({self.url!r})"  # never the key


def settings() -> Settings:
    """Return the settings in the environment variables.

    Raises:
        DovetailError: DOVETAIL_MODEL_URL is missing, or a value is invalid.
    """
    url = os.environ.get("DOVETAIL_MODEL_URL", "").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise DovetailError(
            f"DOVETAIL_MODEL_URL is {url!r}; expected the address of an OpenAI-style server, such "
            "as http://127.0.0.1:8080/v1"
        )
    given = os.environ.get("DOVETAIL_MODEL_TOKENS", "")
    if given and not given.isdecimal():
        raise DovetailError(f"DOVETAIL_MODEL_TOKENS is {given!r}; expected a number of tokens")
    return Settings(
        url,
        os.environ.get("DOVETAIL_MODEL_KEY", ""),
        os.environ.get("DOVETAIL_MODEL", ""),
        int(given) if given else None,
        os.environ.get("DOVETAIL_MODEL_TRANSCRIPTS", ""),
    )


class Answer(Struct, frozen=True):
    """The answer of the server."""

    text: str
    tokens: int
    """Tokens of question and answer by the server's count, or else estimated from the length."""


class Late(DovetailError):
    """The time for an answer is over."""


class Endpoint:
    """A connection to the server.

    Args:
        where: its address and key.
        sleep: waits before a retry.

    Raises:
        DovetailError: httpx is not installed.
    """

    def __init__(self, where: Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise DovetailError(absent(error) or str(error)) from None
        self.where = where
        self._sleep = sleep
        self._failures = (httpx.TransportError, httpx.InvalidURL, httpx.DecodingError)
        headers = {"Authorization": f"Bearer {where.key}"} if where.key else {}
        # A redirection could lead the key elsewhere.
        self._client = httpx.Client(headers=headers, follow_redirects=False)

    def ask(self, messages: Sequence[dict[str, str]], limit: float, **options: Any) -> Answer:
        """Return the model's answer, with retries after the server's failures while there is time.

        Args:
            limit: seconds in all.
            options: further fields of the request.

        Raises:
            Late: there was no answer in time.
            DovetailError: the server refuses the request, or its answer has an unexpected form.
        """
        end = time.monotonic() + limit
        body = {"messages": list(messages), **options}
        pause, why = PAUSE, "no answer"
        while (left := end - time.monotonic()) > 0:
            try:
                cut = Cut()
                with cut.after(left):
                    post = partial(self._post, body, left, cut)
                    found = answer(post, left + SLACK)
                if found is None:  # a look-up of its name cannot be cut
                    break
                status, data, wait = found
                if time.monotonic() >= end:  # what came may be cut off
                    break
            except self._failures as error:
                why = " ".join(str(error).split())[:200] or type(error).__name__
            else:
                if status == 200:
                    return _read(data, messages)
                why = f"status {status}: {_problem(data)}"
                if status not in AGAIN:
                    raise DovetailError(f"the model's server refused the request, {why}")
                pause = max(pause, wait)
            if time.monotonic() + pause >= end:
                break
            self._sleep(pause)
            pause *= 2
        raise Late(f"the model did not answer within {limit:.3g} s ({why})")

    def _post(self, body: dict[str, Any], left: float, cut: Cut) -> tuple[int, bytes, float]:
        url = f"{self.where.url}/chat/completions"
        told = {"trace": cut.trace}
        with self._client.stream("POST", url, json=body, timeout=left, extensions=told) as response:
            data = b""
            for part in response.iter_bytes():
                data += part
                if len(data) > LARGEST:
                    raise DovetailError(f"the model's server sent more than {LARGEST:,} bytes")
            wait = 0.0
            with suppress(ValueError):
                wait = float(response.headers.get("Retry-After", ""))
            return response.status_code, data, wait

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def _read(data: bytes, messages: Sequence[dict[str, str]]) -> Answer:
    try:
        body = json.loads(data)
        text = body["choices"][0]["message"]["content"]
        if text is None:
            text = ""
        if not isinstance(text, str):
            raise TypeError
    except (*codec.UNREADABLE, KeyError, IndexError, TypeError):
        raise DovetailError(
            f"the model's server answered {data[:60]!r}; expected choices with a message"
        ) from None
    usage = body.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    if type(tokens) is not int or tokens < 0:
        tokens = (sum(len(each["content"]) for each in messages) + len(text)) // 4 + 1
    return Answer(text, tokens)


def _problem(data: bytes) -> str:
    """Return the server's error in one line."""
    try:
        error = json.loads(data)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (*codec.UNREADABLE, KeyError, TypeError):
        text = data.decode("utf-8", "replace")
    return " ".join(str(text).split())[:200]


T = TypeVar("T")

OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The events of httpcore that bring a new socket."""


class Cut:
    """Cuts the connection of an unshared httpx client, whatever it is waiting for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the socket in use; for the ``trace`` extension of a request."""
        if event in OPENED:
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._over:
                    self._shut()

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Cut the connection if the block takes longer than ``seconds``."""
        self._over = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        with self._lock:
            self._over = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it is closed
                self._socket.shutdown(socket.SHUT_RDWR)


def answer(call: Callable[[], T], seconds: float) -> T | None:
    """Call a function and return its result, or None after ``seconds``.

    It then continues in a daemon thread.
    """
    found: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            found.put((call(), None))
        except Exception as error:
            found.put((None, error))

    threading.Thread(target=work, daemon=True).start()
    try:
        value, error = found.get(timeout=seconds)
    except Empty:
        return None
    if error is not None:
        raise error
    return value
