"""The program under test, as the scripted broker sees it: a process, a socket and a transcript."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import numpy as np
import zmq

from dovetail.conform.case import Failed
from dovetail.conform.reading import reading
from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.transport.libzmq import receive, send

TOKEN = "conformance"
"""The access token that the program finds in its environment."""
LOOK = 0.3
"""Seconds between looks at whether the program still runs."""
Fields = dict[str, Any]
ANY: Any = object()
"""A field that must be there, whatever its value."""
NUMBERED = {
    role: {each.__struct_config__.tag for each in get_args(m.Numbered) if each in get_args(kinds)}
    - {"error"}
    for role, kinds in codec.AT_PEER.items()
}
"""The types of frames that carry a ``seq``, by receiver; an ``error`` does if it has an ``id``."""


class Said(msgspec.Struct, frozen=True):
    """The frames of one ZeroMQ message, and their sender."""

    sender: str
    frames: list[bytes]


def _show(frame: bytes) -> str:
    try:
        text = jsontext.write(reading(codec.decode(frame)))
    except ProtocolError as error:
        text = f"<{error.code}: {error}>"
    data = frame.hex()
    if len(text) > 300:
        text = f"{text[:300]}..."
    if len(data) > 200:
        data = f"{data[:200]}... ({len(frame)} bytes)"
    return f"{text}\n      {data}"


def transcript(said: Sequence[Said]) -> list[str]:
    """Return the frames exchanged, each as JSON and as bytes."""
    return [f"{each.sender}: {_show(frame)}" for each in said for frame in each.frames]


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same to the contract.

    A whole number that was a float may come back as an integer: some languages have one number
    type.
    """
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (one != one and other != other)
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def require(truth: bool, expected: str, got: Any) -> None:
    """Fail the case unless something is true."""
    if not truth:
        raise Failed(expected, brief(got))


def holds(found: Any, **wanted: Any) -> None:
    """Check fields of a map, which may have others."""
    got = {key: found.get(key) for key in wanted} if isinstance(found, dict) else found
    require(same(got, wanted), brief(wanted), found)


def brief(value: Any) -> str:
    """Return a value for a line of a report."""
    text = jsontext.write(reading(value))
    return text if len(text) <= 300 else f"{text[:300]}..."


class Program:
    """Starts the program and talks with it as a broker would.

    Args:
        context: the ZeroMQ context.
        command: the program and its arguments; ``{broker}`` in them becomes the address.
        role: its role.
        patience: seconds to wait for anything that must come.
    """

    def __init__(
        self, context: zmq.Context[Any], command: Sequence[str], role: m.Role, patience: float
    ) -> None:
        self.role = role
        self.patience = patience
        self.said: list[Said] = []
        self.welcome: Fields = {}
        self.greeted: Fields = {}
        """The last ``hello`` of the program."""
        self.listening = False
        """Of an experiment: whether it waits for a turn."""
        self.seq = 0
        """The number of the last frame of this session that must arrive."""
        self.first: Fields = {}
        """The first ``hello`` of the program."""
        self._context = context
        self._decoder: codec.Decoder[Any] = codec.Decoder(codec.AT_BROKER[role])
        self._peer = b""
        self._waiting: deque[Fields] = deque()
        self._unheard = False
        """True while the program has sent nothing after its ``hello``."""
        self._since = 0
        """The number of messages when it did."""
        self._pings = itertools.count(1)
        self._ids = itertools.count(1)
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._lines = b""
        environment = {
            **os.environ,
            "DOVETAIL_BROKER": self.address,
            "DOVETAIL_TOKEN": TOKEN,
        }
        try:
            self.process = subprocess.Popen(
                [each.replace("{broker}", self.address) for each in command],
                env=environment,
                stdin=subprocess.PIPE if role == "experiment" else subprocess.DEVNULL,
                stdout=subprocess.PIPE if role == "experiment" else subprocess.DEVNULL,
                stderr=self.errors,
            )
        except BaseException:
            self._socket.close()
            raise

    # -- saying ------------------------------------------------------------------------------------

    def send(self, *messages: Fields | bytes) -> list[Fields]:
        """Send messages, or bytes as they are, as the frames of one ZeroMQ message.

        A message that must arrive gets the session's next ``seq`` unless it has one.  Return the
        messages as they are sent, so that they can be sent again.
        """
        sent = [each if isinstance(each, bytes) else self._numbered(each) for each in messages]
        frames = [each if isinstance(each, bytes) else codec.encode(each) for each in sent]
        self.said.append(Said("kit", frames))
        send(self._socket, [self._peer, *frames])
        return [each for each in sent if not isinstance(each, bytes)]

    def _numbered(self, message: Fields) -> Fields:
        must_arrive = message["type"] in NUMBERED[self.role] or (
            message["type"] == "error" and "id" in message
        )
        if not must_arrive or "seq" in message:
            return message
        self.seq += 1
        return {**message, "seq": self.seq}

    def ping(self, settled: int = 0) -> int:
        """Send a ping; return its number."""
        number = next(self._pings)
        self.send({"type": "ping", "number": number, "settled": settled})
        return number

    def request(self, kind: str, **fields: Any) -> int:
        """Send a request with a new ``id``; return the ``id``."""
        number = next(self._ids)
        self.send({"type": kind, "id": number, **fields})
        return number

    # -- hearing -----------------------------------------------------------------------------------

    def _hear(self, until: float) -> None:
        """Receive one ZeroMQ message from the program."""
        left = until - time.monotonic()
        if left <= 0 or not self._socket.poll(int(left * 1000) + 1):
            raise TimeoutError
        peer, *frames = receive(self._socket)
        self.said.append(Said("program", frames))
        if not frames or (frames[0] == b"" and len(frames) > 1):
            raise Failed("frames and no empty delimiter part (S3.3)", "an empty first part")
        for frame in frames:
            try:
                self._decoder.decode(frame)
                message = codec.decode(frame)
            except ProtocolError as error:
                raise Failed(
                    f"a message that a broker accepts from an {self.role} (S9.1)",
                    f"{error.code}: {error}",
                ) from None
            if message == self.greeted and self._unheard and self._says_hello_again(peer):
                continue
            if message["type"] != "pong" and message["type"] != "ping":
                self._unheard = False
            if peer != self._peer and message["type"] == "hello":
                self._peer = peer
                self._waiting.clear()
            if message["type"] == "ping":
                self.send({"type": "pong", "number": message.get("number", 0)})
            elif peer == self._peer:
                self._waiting.append(message)

    def _says_hello_again(self, peer: bytes) -> bool:
        """Repeat the frames that the program missed, if it repeated its ``hello`` because we were
        slow (S4.6)."""
        missed = [each.frames for each in self.said[self._since :] if each.sender == "kit"]
        if peer != self._peer:
            self._peer, self._since = peer, len(self.said)
        elif self.greeted.get("resume"):
            return False
        else:
            del missed[1:]  # the rest will arrive
        for frames in missed:
            self.send(*frames)
        return True

    def hear(self, what: str, patience: float | None = None, *, pongs: bool = False) -> Fields:
        """Return the next message that is neither a ping nor, unless asked for, a pong.

        Raises:
            Failed: none came.
        """
        until = time.monotonic() + (self.patience if patience is None else patience)
        while True:
            while self._waiting:
                message = self._waiting.popleft()
                if pongs or message["type"] != "pong":
                    return message
            # Messages that a program sent before it ended may still be in transit.
            gone = self.process.poll()
            now = time.monotonic()
            try:
                self._hear(min(until, now + LOOK))
            except TimeoutError:
                if gone is not None:
                    raise Failed(what, f"an exit with status {gone}") from None
                if time.monotonic() >= until:
                    waited = patience or self.patience
                    raise Failed(what, f"nothing in {waited:g} s") from None

    def expect(self, kind: str, patience: float | None = None, **fields: Any) -> Fields:
        """Return the next message, which must be of this type and have these fields.

        A field that is expected to be its default may be left out.
        """
        what = kind + (f" with {brief_fields(fields)}" if fields else "")
        message = self.hear(what, patience, pongs=kind == "pong")
        self.check(message, kind, fields)
        return message

    def answer_to(self, sent: Fields | bytes, kind: str, **fields: Any) -> Fields:
        """Send a message; return the next one heard, which must be as ``expect`` says."""
        self.send(sent)
        return self.expect(kind, **fields)

    def rejects(self, sent: Fields, **fields: Any) -> None:
        """Send a message, which must get an ``error`` that ``answers`` it."""
        self.send(sent)
        self.expect("error", answers=self.seq, **fields)

    def check(self, message: Fields, kind: str, fields: Fields) -> None:
        for name, value in {"type": kind, **fields}.items():
            found = message.get(name, _default(kind, name, self.role))
            right = found is not None if value is ANY else same(found, value)
            if not right:
                raise Failed(
                    f"{kind} with {brief_fields({name: value})}",
                    f"{message['type']} with {brief_fields({name: found})}"
                    if message["type"] == kind
                    else brief(message),
                )

    def expect_all(self, wanted: Sequence[tuple[str, Fields]]) -> None:
        """Take as many messages as are wanted, in any order."""
        left = list(wanted)
        while left:
            what = " and ".join(f"{kind} with {brief_fields(fields)}" for kind, fields in left[:3])
            message = self.hear(what)
            found = next((each for each in left if self._is(message, *each)), None)
            if found is None:
                raise Failed(what, brief(message))
            left.remove(found)

    def quiet(self, why: str, *allowed: tuple[str, Fields], settled: int = 0) -> None:
        """Check with a ping that the program sent only pongs and the allowed messages."""
        number = self.ping(settled)
        while True:
            message = self.hear(f"pong {number}", pongs=True)
            if message["type"] != "pong":
                if not any(self._is(message, *each) for each in allowed):
                    raise Failed(f"nothing ({why})", brief(message))
            elif message.get("number", 0) == number:
                return

    def only(self, kind: str, fields: Fields, *allowed: tuple[str, Fields]) -> Any:
        """Send a request and return the ``body`` of its reply; only what is allowed may come
        besides."""
        number = self.request(kind, **fields)
        while True:
            message = self.hear(f"a reply to {kind} {number}")
            if self._is(message, "reply", {"id": number}):
                return message.get("body")
            if not any(self._is(message, *each) for each in allowed):
                raise Failed(f"a reply to {kind} {number}", brief(message))

    def _is(self, message: Fields, kind: str, fields: Fields) -> bool:
        try:
            self.check(message, kind, fields)
        except Failed:
            return False
        return True

    def reply(self, kind: str, **fields: Any) -> Any:
        """Send a request and return the ``body`` of its reply."""
        number = self.request(kind, **fields)
        return self.expect("reply", id=number).get("body")

    def refused(self, kind: str, **fields: Any) -> Fields:
        """Send a request that must be answered with an ``error``."""
        number = self.request(kind, **fields)
        return self.expect("error", id=number, code=ANY, message=ANY)

    # -- sessions ----------------------------------------------------------------------------------

    def hello(self, patience: float | None = None) -> Fields:
        """Return the program's next ``hello``; drop earlier frames of that connection."""
        while True:
            message = self.hear("hello", patience)
            if message["type"] == "hello":
                self.greeted = message
                self.first = self.first or message
                self._unheard, self._since = True, len(self.said)
                return message

    def resumes(self, patience: float | None = None) -> None:
        """Check that the program says ``hello`` to resume its session."""
        self.hello(patience)
        wanted = {"role": self.role, "token": TOKEN, "name": self.first.get("name", "")}
        self.check(self.greeted, "hello", {**wanted, "resume": self.session, "seen": self.seq})

    def greet(
        self, session: str = "", *, resumed: bool = False, heartbeat: float = 30.0, **more: Any
    ) -> None:
        """Answer a ``hello``."""
        if not resumed:
            self.seq = 0
        self.welcome = {
            "type": "welcome",
            "session": session or os.urandom(16).hex(),
            "name": self.greeted.get("name") or "program",
            "resumed": resumed,
            "heartbeat": heartbeat,
            **more,
        }
        self.send(self.welcome)

    @property
    def session(self) -> str:
        """The token of the last welcome."""
        return str(self.welcome["session"])

    def vanish(self, seconds: float) -> None:
        """Close the broker's socket for a while, then bind a new one at the same address."""
        self._socket.close(linger=0)
        time.sleep(seconds)
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        end = time.monotonic() + self.patience
        while True:
            try:
                self._socket.bind(self.address)
                break
            except zmq.ZMQError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self._peer = b""
        self._waiting.clear()

    @property
    def routing_id(self) -> bytes:
        """The identity under which the socket knows the connection."""
        return self._peer

    # -- the process -------------------------------------------------------------------------------

    def command(self, **fields: Any) -> None:
        """Write a command for the conformer of an experiment."""
        assert self.process.stdin is not None
        line = jsontext.write(reading(fields)).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def end_of_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def line(self, key: str, value: Any = ANY) -> Any:
        """Return what the program's next line of output has under a key.

        Pings of the program are answered meanwhile.
        """
        output = self.process.stdout
        assert output is not None
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(output, zmq.POLLIN)
        until = time.monotonic() + self.patience
        while b"\n" not in self._lines:
            ready = dict(poller.poll(max(0, int((until - time.monotonic()) * 1000))))
            data = os.read(output.fileno(), 1 << 16) if output.fileno() in ready else b""
            self._lines += data
            if self._socket in ready:
                self._hear(time.monotonic() + 1)
            elif not data:
                gone = self.process.poll()
                left = "nothing" if gone is None else f"an exit with status {gone}"
                raise Failed(f'a line of output with "{key}"', left)
        text, self._lines = self._lines.split(b"\n", 1)
        try:
            found = json.loads(text)
        except codec.UNREADABLE:
            raise Failed("a line of JSON on standard output", repr(text)) from None
        if not isinstance(found, dict) or key not in found:
            raise Failed(f'a line of output with "{key}"', text.decode().strip())
        if value is not ANY and not same(found[key], reading(value)):
            raise Failed(f'"{key}": {brief(value)} in the output', brief(found[key]))
        return found[key]

    def departs(self, status: int) -> None:
        """Check that the program ends without another message."""
        self.exits(status)
        with contextlib.suppress(TimeoutError):
            while True:
                self._hear(time.monotonic() + LOOK)
        for message in self._waiting:
            if message["type"] != "pong":
                raise Failed("nothing (`bye` is not answered)", brief(message))

    def exits(self, *status: int) -> None:
        """Check that the program ends with one of these statuses."""
        try:
            found = self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            raise Failed(f"an exit with status {status[0]}", "the program still runs") from None
        if found not in status:
            raise Failed(f"an exit with status {' or '.join(map(str, status))}", str(found))

    def stderr(self) -> str:
        """Return what the program wrote on standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close(self) -> None:
        """End the process, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._socket.close(linger=0)


def brief_fields(fields: Fields) -> str:
    """Return fields for a line of a report."""
    return ", ".join(
        f"{name} {'...' if value is ANY else brief(value)}" for name, value in fields.items()
    )


def _default(kind: str, name: str, role: str) -> Any:
    """Return the value of an omitted field."""
    for each in codec.AT_BROKER[role].__args__:
        if each.__struct_config__.tag == kind:
            for field in msgspec.structs.fields(each):
                if field.name == name:
                    if field.default_factory is not msgspec.NODEFAULT:
                        return msgspec.to_builtins(field.default_factory())
                    return None if field.required else field.default
    return None
