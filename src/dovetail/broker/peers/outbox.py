"""A peer's outgoing messages, kept until they have arrived or been answered.

Every frame that must arrive has a number, ``seq``, that rises within the session.  To resume is to
resend what is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile

from mypy_extensions import mypyc_attr

from dovetail.protocol import codec
from dovetail.protocol import messages as m

Address = Hashable
"""The shell's name of a connection; it changes when a peer reconnects."""

Said = list[tuple[Address, m.Message]]
"""(recipient, message) pairs in order; a recipient can be an ``Audience``."""


class Out:
    """The messages about to be sent, in order."""

    __slots__ = ("clock", "crowded", "messages", "spent")

    def __init__(self) -> None:
        self.messages: Said = []
        self.clock: Callable[[], float] | None = None
        """The clock that measures ``spent``; None to not measure it."""
        self.spent = 0.0
        """Seconds spent on making turns for watchers."""
        self.crowded = False
        """True while turns for watchers would be dropped, and so need not be made."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a snapshot makes it without its arguments
class Outbox:
    """A peer's outgoing messages, sent through ``out``."""

    __slots__ = (
        *("_answers", "_due", "_kept", "_out", "_sizes", "_unseen"),
        *("address", "asked", "present", "reliable", "seq"),
    )

    def __init__(self, out: Out, address: Address) -> None:
        self._out = out
        self.seq = 0
        """The number of the latest numbered frame."""
        self.asked: dict[int, m.Asked] = {}
        """Requests that are not answered yet."""
        self._kept: dict[int, m.Numbered] = {}
        self._answers: dict[int, int] = {}
        """The ``seq`` of the kept answer to each request, by the request's ``id``."""
        self._due = 0  # ``seq`` at the last call of ``unseen``
        self._sizes: dict[int, int] = {}  # bytes of each frame kept since before that
        self._unseen = 0  # the sum of these
        self.connect(address)

    def tell(self, message: m.Message) -> None:
        """Send a message that may be lost."""
        if self.present:
            self._out.messages.append((self.address, message))

    def deliver(self, message: m.Delivered) -> None:
        """Send a message that must arrive; keep it until it has."""
        self.seq = message.seq = self.seq + 1
        if not self.reliable:
            self._kept[self.seq] = message
            if isinstance(message, m.Reply | m.Saved | m.Error) and message.id is not None:
                self._answers[message.id] = self.seq
        if self.present:
            self._out.messages.append((self.address, message))

    def ask(self, message: m.Asked) -> int:
        """Send a request and keep it until it is answered; return its number."""
        self.seq = seq = message.seq = self.seq + 1
        self.asked[seq] = message
        if self.present:
            self._out.messages.append((self.address, message))
        return seq

    def answered(self, seq: int) -> None:
        """Drop a request whose answer has come."""
        try:  # noqa: SIM105 - `suppress` would cost more than the rest
            del self.asked[seq]
        except KeyError:
            pass

    def release(self, seq: int) -> None:
        """Stop waiting for the answer to a request, which must still arrive."""
        message = self.asked.pop(seq, None)
        if message is not None and not self.reliable:
            self._kept[seq] = message

    def arrived(self, seen: int) -> None:
        """Drop every frame up to a number that the peer has confirmed.  One that ``release`` kept
        behind later ones goes with these: a peer may confirm too often to look at all."""
        for seq in [*takewhile(seen.__ge__, self._kept)]:
            message = self._kept.pop(seq)
            if isinstance(message, m.Reply | m.Saved | m.Error) and message.id is not None:
                self._answers.pop(message.id, None)
            if self._sizes:
                self._unseen -= self._sizes.pop(seq, 0)

    def unseen(self) -> int:
        """Return the bytes kept since before the last call, which could have been confirmed."""
        for seq in reversed(self._kept):
            if seq in self._sizes:
                break
            if seq <= self._due:
                self._sizes[seq] = size = _size(self._kept[seq])
                self._unseen += size
        self._due = self.seq
        return self._unseen

    def reply_to(self, request: int) -> m.Delivered | None:
        """Return the kept answer to one of the peer's requests, if any."""
        message = self._kept.get(self._answers.get(request, 0))
        return message if isinstance(message, m.Reply | m.Saved | m.Error) else None

    @property
    def settled(self) -> int:
        """The highest number up to which no answer is pending."""
        return next(iter(self.asked), self.seq + 1) - 1

    def connect(self, address: Address) -> None:
        """Send over a connection from now on."""
        self.address = address
        self.present = True
        self.reliable = bool(getattr(address, "reliable", False))
        """True if the connection cannot lose messages, so that none are kept."""

    def disconnect(self) -> None:
        """Send nothing until ``connect``, but keep what must arrive."""
        self.present = False

    def replay(self, seen: int) -> int:
        """Resend what a resuming peer may have missed; return the number of frames."""
        self.arrived(seen)
        missed = sorted({*(seq for seq in self._kept if seq > seen), *self.asked})
        for seq in missed:
            message = self.asked.get(seq) or self._kept[seq]
            self._out.messages.append((self.address, message))
        return len(missed)

    def close(self) -> None:
        """Stop sending, and drop everything."""
        self.present = False
        self.reliable = True
        self._kept.clear()
        self._answers.clear()
        self._sizes.clear()
        self.asked.clear()


def _size(message: m.Message) -> int:
    try:
        return len(codec.encode(message))
    except codec.UNSENDABLE:
        return 0


class Audience:
    """Peers that are sent the same messages, any of which may be dropped."""

    __slots__ = ("_boxes",)

    def __init__(self, boxes: Iterable[Outbox]) -> None:
        self._boxes = tuple(boxes)

    def addresses(self) -> list[Address]:
        return [box.address for box in self._boxes if box.present]


def spread(out: Said) -> Said:
    """Return the pairs with each audience replaced by its members."""
    if not any(type(to) is Audience for to, _ in out):
        return out
    single: Said = []
    for to, message in out:
        single += [(each, message) for each in (to.addresses() if type(to) is Audience else [to])]
    return single
