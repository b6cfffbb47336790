"""A connected legacy program: requests and answers over its socket.

RL-Glue's programs speak one at a time, so a call blocks until its answer arrives; it also ends
when the program dies, violates the protocol, or takes too long.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Callable

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.rlglue import wire
from dovetail_bridges.rlglue.wire import Code, Frames, WireError

pack_header = wire.HEADER.pack
unpack_header = wire.HEADER.unpack_from
AGENT_STEP, ENV_STEP = Code.AGENT_STEP, Code.ENV_STEP  # looking a member up takes 0.2 us
SLICE = 0.25
"""Seconds between two checks of a waiting call."""
GOODBYE = 1.0
"""Seconds to wait for the echo of ``RLTerm``."""
SHORT = 1 << 12
"""Maximum bytes of a usual answer."""
PIECE = 1 << 16
LARGEST = 1 << 22
"""Maximum bytes read at a time."""


class Lost(DovetailError):
    """A legacy program disconnected or was dropped.

    Args:
        late: true if the program was too slow.
    """

    def __init__(self, text: str, *, late: bool = False) -> None:
        super().__init__(text)
        self.late = late


class Peer:
    """A legacy program that has announced its role.

    Args:
        connection: its socket, in blocking mode, with nothing read beyond the first frame.
        role: "agent", "environment" or "experiment".
        patience: seconds to wait for an answer; None waits forever.
    """

    def __init__(self, connection: socket.socket, role: str, patience: float | None = None) -> None:
        self.role = role
        self.patience = patience
        self.gone = ""
        """The reason why the connection was closed; empty while it is open."""
        self.busy = False
        """True while the program plays in a world: a newcomer must not take its place."""
        self.watch: Callable[[], None] | None = None
        """A function called while an answer is late; an exception from it ends the wait."""
        self._socket = connection
        self._frames = Frames()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _set_timeouts(connection)

    def ask(self, code: int, payload: bytes = b"") -> bytes:
        """Send a frame; return the payload of its answer.

        Raises:
            Lost: the program disconnected, or its answer has another code.
        """
        self.send(code, payload)
        got, answer = self.receive()
        if got != code:
            raise self.drop(f"answered code {code} with code {got}")
        return answer

    def checked(
        self, check: Callable[[bytes], bytes], what: str, code: int, payload: bytes = b""
    ) -> bytes:
        """Like ``ask``, and drop the program unless ``check`` accepts the answer as ``what``."""
        answer = self.ask(code, payload)
        try:
            return check(answer)
        except WireError as error:
            raise self.drop(f"sent no {what}: {error}") from None

    def send(self, code: int, payload: bytes = b"") -> None:
        """Send a frame.

        Raises:
            Lost: the program disconnected or does not read.
        """
        header = pack_header(code, len(payload))
        try:
            if len(payload) <= SHORT:
                sent = self._socket.send(header + payload)
            else:
                sent = self._socket.sendmsg((header, payload))
        except (BlockingIOError, TimeoutError):
            sent = 0
        except OSError as error:
            raise self.lose(f"is gone ({error.strerror or error})") from None
        if sent < 8 + len(payload):
            self._send_rest(memoryview(header + payload)[sent:])

    def _send_rest(self, view: memoryview) -> None:
        end = None
        while view:
            try:
                view = view[self._socket.send(view) :]
            except (BlockingIOError, TimeoutError):
                end = self._waited(end, "does not read what is sent to it")
            except OSError as error:
                raise self.lose(f"is gone ({error.strerror or error})") from None

    def receive(self, *, patient: bool = False) -> tuple[int, bytes]:
        """Return the code and payload of the next frame.

        Args:
            patient: if true, wait without limit, as for an experiment's next request.

        Raises:
            Lost: the program disconnected, was silent for too long, or sent an invalid frame.
        """
        frames = self._frames
        if frames.empty and (short := self._short()) is not None:
            return short
        end = None
        try:
            while (found := frames.take()) is None:
                if self.gone:
                    raise Lost(self.gone)
                try:
                    data = self._socket.recv(max(PIECE, min(frames.missing, LARGEST)))
                except (BlockingIOError, TimeoutError):
                    end = self._waited(end, "did not answer", patient)
                    continue
                except OSError as error:
                    raise self.lose(f"is gone ({error.strerror or error})") from None
                if not data:
                    raise self.lose("closed its connection")
                frames.feed(data)
        except WireError as error:
            raise self.drop(str(error)) from None
        return found

    def _short(self) -> tuple[int, bytes] | None:
        """Return the next frame if it arrives as nearly all do: in one piece, or as header and
        rest.

        Bytes of any other frame are kept for ``receive``.
        """
        data = b""
        try:
            data = self._socket.recv(SHORT)
            if len(data) >= 8:
                code, length = unpack_header(data)
                missing = 8 + length - len(data)
                if missing == 0:
                    return code, data[8:]
                if 0 < missing <= LARGEST:
                    rest = self._socket.recv(missing, socket.MSG_WAITALL)
                    if len(rest) == missing:
                        return code, data[8:] + rest if len(data) > 8 else rest
                    data += rest
        except (BlockingIOError, TimeoutError):
            pass
        except OSError as error:
            raise self.lose(f"is gone ({error.strerror or error})") from None
        else:
            if not data:
                raise self.lose("closed its connection")
        self._frames.feed(data)
        return None

    def _waited(self, end: float | None, what: str, patient: bool = False) -> float:
        """Check a wait; return the time at which it must end."""
        now = time.monotonic()
        if end is None:
            end = now + (1e9 if self.patience is None or patient else self.patience)
        if now > end:
            lost = self.drop(f"{what} within {self.patience:g} s")
            lost.late = True
            raise lost
        if self.watch is not None:
            self.watch()
        return end

    @property
    def alive(self) -> bool:
        """Return true if the connection seems open, without reading from it."""
        if self.gone:
            return False
        try:
            if not select.select([self._socket], [], [], 0)[0]:
                return True
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except (OSError, ValueError):
            return False

    def drop(self, why: str) -> Lost:
        """Send ``RLTerm`` and close; return the error to raise."""
        if not self.gone:
            with contextlib.suppress(OSError):
                self._socket.send(wire.frame(Code.TERM))
        return self.lose(why)

    def lose(self, why: str) -> Lost:
        """Close; return the error to raise."""
        self.gone = self.gone or f"the legacy {self.role} {why}"
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        return Lost(self.gone)

    def dismiss(self) -> None:
        """Send ``RLTerm``, wait briefly for its echo, and close."""
        if self.gone:
            return
        end = time.monotonic() + GOODBYE
        with contextlib.suppress(OSError, WireError):
            self._socket.send(wire.frame(Code.TERM))
            while time.monotonic() < end:
                found = self._frames.take()
                if found is not None and found[0] == Code.TERM:
                    break
                if found is None:
                    try:
                        data = self._socket.recv(PIECE)
                    except (BlockingIOError, TimeoutError):
                        continue
                    if not data:
                        break
                    self._frames.feed(data)
        self.lose("was dismissed")


def _set_timeouts(connection: socket.socket) -> None:
    """Set a socket's timeout: the kernel's where possible, which saves a system call per read."""
    try:
        slice_ = struct.pack("ll", 0, int(SLICE * 1e6))
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, slice_)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, slice_)
    except (OSError, AttributeError):
        connection.settimeout(SLICE)


class LegacyAgent:
    """The agent's side of the core, over its connection."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def init(self, spec: bytes) -> None:
        self.peer.ask(Code.AGENT_INIT, spec)

    def start(self, observation: bytes) -> bytes:
        return self.peer.checked(wire.check_adt, "action", Code.AGENT_START, observation)

    def step(self, percept: bytes) -> bytes:
        return self.peer.checked(wire.check_adt, "action", AGENT_STEP, percept)

    def end(self, reward: bytes) -> None:
        self.peer.ask(Code.AGENT_END, reward)

    def cleanup(self) -> None:
        self.peer.ask(Code.AGENT_CLEANUP)

    def message(self, body: bytes) -> bytes:
        return self.peer.checked(wire.check_text, "text", Code.AGENT_MESSAGE, body)


class LegacyEnvironment:
    """The environment's side of the core, over its connection."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def init(self) -> bytes:
        return self.peer.checked(wire.check_text, "text", Code.ENV_INIT)

    def start(self) -> bytes:
        return self.peer.checked(wire.check_adt, "observation", Code.ENV_START)

    def step(self, action: bytes) -> bytes:
        return self.peer.checked(wire.check_outcome, "observation", ENV_STEP, action)

    def cleanup(self) -> None:
        self.peer.ask(Code.ENV_CLEANUP)

    def message(self, body: bytes) -> bytes:
        return self.peer.checked(wire.check_text, "text", Code.ENV_MESSAGE, body)
