"""Decodes ``turns`` and ``actions``; columns that contradict the batch are refused whole."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Any

import numpy as np

from dovetail.broker.rules.legality import LARGEST
from dovetail.protocol import columns
from dovetail.protocol import messages as m
from dovetail.protocol.columns import Column
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Discrete

WIDEST = 4096
"""Maximum bytes of a legal-action mask; beyond it a list would be shorter."""
MAX_SEATS = 16
"""Maximum seats: each turn's record has room for an action of every seat."""


def problem(spec: m.Spec) -> str:
    """Return why a game cannot be batched, or an empty string."""
    space = spec.action_spaces[0]
    if not isinstance(space, Discrete) or any(each != space for each in spec.action_spaces):
        return "its seats do not share one Discrete action space"
    if columns.width(space) > WIDEST:
        return f"it has more than {8 * WIDEST:,} actions"
    if not columns.width(space):
        return "all of its actions are below 0, for which a mask has no bit"
    if spec.seats > MAX_SEATS:
        return f"it has more than {MAX_SEATS} seats"
    if space.start < -8 * WIDEST:
        return f"it has actions below {-8 * WIDEST:,}"
    return ""


def turns(given: m.Turns, batch: Column, spec: m.Spec, space: Any) -> Column:
    """Replace the columns of turns by checked ones; return the indices of the slots that ended.
    Raises ProtocolError (``invalid``): they contradict the batch, the spec or each other."""
    size, number = len(batch), spec.seats
    slots = columns.read("slots", given.slots, np.int32, -1)
    if not columns.same(slots, batch):
        raise ProtocolError("invalid", f"`slots`: {_difference(slots, batch)}")
    go, ended, failed = batch, batch[:0], 0
    if given.over is not None:
        over = given.over = columns.read("over", given.over, np.uint8, size)
        if (over > 3).any():
            raise ProtocolError("invalid", f"`over` has a {int(over.max())}; it is 0 to 3")
        go, ended = batch[over == 0], np.flatnonzero((over == 1) | (over == 2))
        failed = size - len(go) - len(ended)
    rows, given.seats = _acting(given, go, number)
    given.rows = rows
    if given.rewards is not None:
        given.rewards = columns.read("rewards", given.rewards, np.float64, size, number)
    if given.legal is not None:
        width = columns.width(space)
        given.legal = columns.read("legal", given.legal, np.uint8, len(rows), width)
    given.observations = columns.values("observations", given.observations, len(rows))
    if given.afterstates is not m.NIL and given.afterstates is not None:
        if given.legal is None:
            raise ProtocolError("invalid", "`afterstates` need `legal`")
        total = int(columns.counts(given.legal).sum())
        given.afterstates = columns.values("afterstates", given.afterstates, total)
    else:
        given.afterstates = None
    finals = given.finals = columns.values("finals", given.finals, len(ended))
    if isinstance(finals, np.ndarray):
        whole = finals.ndim > 1 and finals.shape[1] == number
    else:
        whole = all(isinstance(e, list) and len(e) == number for e in finals or ())
    if not whole and len(ended):
        raise ProtocolError("invalid", f"`finals` needs an observation for each of {number} seats")
    if given.outcomes is not None:
        shape = len(ended), number
        given.outcomes = columns.read("outcomes", given.outcomes, np.float64, *shape)
    if given.truncated is not None:
        cut = columns.read("truncated", given.truncated, np.uint8, len(ended), number)
        if (cut > 1).any():
            raise ProtocolError("invalid", f"`truncated` has a {int(cut.max())}; it is 0 or 1")
        given.truncated = cut
    if len(given.faults) != failed:
        raise ProtocolError("invalid", "`faults` needs an entry for each slot with `over` 3")
    return ended


def wrong(read: m.Turns, batch: Column, ended: Column) -> dict[int, str]:
    """Return, by slot, faults of checked turns that end only that slot's episode."""
    found = {}
    if read.rewards is not None and not columns.every(finite := np.abs(read.rewards) <= LARGEST):
        for at in np.flatnonzero(~finite.all(axis=1)).tolist():
            slot = int(batch[at])
            found[slot] = f"rewards of slot {slot} are {read.rewards[at].tolist()}"
    if read.legal is not None and not columns.every(read.legal):
        for slot in read.rows[~read.legal.any(axis=1)].tolist():
            found.setdefault(slot, f"slot {slot} has a seat to act without a legal action")
    outcomes = read.outcomes
    if outcomes is not None:
        partial = ~np.isnan(outcomes).all(axis=1) & ~(np.abs(outcomes) <= LARGEST).all(axis=1)
        for at in np.flatnonzero(partial).tolist():
            slot = int(batch[ended[at]])
            found.setdefault(slot, f"`outcomes` of slot {slot} are {outcomes[at].tolist()}")
    return found


def _acting(given: m.Turns, go: Column, number: int) -> tuple[Column, Column]:
    """Return the slot and seat of each decision, which must cover the slots in progress.  Raises
    ProtocolError (``invalid``): a row is doubled, foreign or missing."""
    rows = columns.read("rows", given.rows, np.int32, -1)
    seats = columns.read("seats", given.seats, np.int32, len(rows))
    if not columns.every(seats.view(np.uint32) < number):  # a negative number is a large one
        raise ProtocolError("invalid", f"`seats` has a seat that is not 0 to {number - 1}")
    if columns.same(rows, go):
        return rows, seats
    key = rows.astype(np.int64) * number + seats
    if (np.diff(key) <= 0).any():
        at = int(np.argmax(np.diff(key) <= 0))
        what = "twice" if key[at] == key[at + 1] else "out of order"
        raise ProtocolError("invalid", f"`rows`: slot {rows[at]}, seat {seats[at]} is {what}")
    acting = rows if number == 1 else rows[np.diff(rows, prepend=-1) != 0]
    if not np.array_equal(acting, go):
        raise ProtocolError("invalid", f"`rows`: {_difference(acting, go)}")
    return rows, seats


def actions(given: m.Actions, rows: Column, seats: Column) -> dict[int, m.Fault]:
    """Replace the columns of an answer to some decisions by checked ones; return the faults by row.
    Raises ProtocolError (``invalid``): the rows are not those of the decisions."""
    count = len(rows)
    slots = columns.read("slots", given.slots, np.int32, -1)
    if not columns.same(slots, rows):
        raise ProtocolError("invalid", f"`slots`: {_difference(slots, rows)}")
    if not columns.same(columns.read("seats", given.seats, np.int32, count), seats):
        raise ProtocolError("invalid", "`seats` are not those of the decisions, in their order")
    given.actions = columns.read("actions", given.actions, np.int64, count)
    if given.refused is not None:
        given.refused = columns.read("refused", given.refused, np.int32, count)
    measures = given.measures
    if measures is not None and not (isinstance(measures, list) and len(measures) == count):
        raise ProtocolError("invalid", f"`measures` needs a map for each of {count} rows")
    if any(not 0 <= row < count for row in given.resigns):
        raise ProtocolError("invalid", f"`resigns` names a row beyond {count - 1}")
    faults: dict[int, m.Fault] = {}
    if len(given.faults) > count:
        raise ProtocolError("invalid", f"`faults` has more than an entry for each of {count} rows")
    named = list(zip(rows.tolist(), seats.tolist(), strict=True)) if given.faults else []
    for fault in given.faults:
        low, high = (-1, MAX_SEATS) if fault.seat is None else (fault.seat, fault.seat)
        at = range(bisect_left(named, (fault.slot, low)), bisect_right(named, (fault.slot, high)))
        if not at:
            seat = "" if fault.seat is None else f", seat {fault.seat}"
            text = f"`faults` names slot {fault.slot}{seat}, which has no row"
            raise ProtocolError("invalid", text)
        faults.update(dict.fromkeys(at, fault))
    return faults


def _difference(found: Column, wanted: Column) -> str:
    """Return how the received slots differ from the expected ones."""
    came, asked = found.tolist(), wanted.tolist()
    twice = {each for each, count in Counter(came).items() if count > 1}
    doubled = sorted(twice - {each for each, count in Counter(asked).items() if count > 1})
    foreign, missing = sorted(set(came) - set(asked)), sorted(set(asked) - set(came))
    for what, slots in (("foreign", foreign), ("missing", missing), ("doubled", doubled)):
        if slots:
            names = ", ".join(map(str, slots[:5])) + (", ..." if len(slots) > 5 else "")
            return f"slot {names} {what}; expected those of the batch, in their order"
    return "out of order; expected those of the batch, in their order"
