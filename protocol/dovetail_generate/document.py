"""The generated blocks of SPEC.md and the documents beside it; the prose is written by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_args

from dovetail.conform.reading import reading
from dovetail.protocol import codec, messages, spaces, states
from dovetail_generate import examples, model

_BLOCK = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


_WORDS = {
    "payload": "any",
    "legal": "array of integer, binary or nil",
    "bound": "number or nested arrays of number",
    "space": "[space](SPEC.md#spaces)",
}
"""Kinds of scalars that have other words than their name."""


def _words(kind: model.Type) -> str:
    """Return the words for a type."""
    match kind:
        case model.Scalar(name, None, None):
            return _WORDS.get(name, name)
        case model.Scalar(name, low, None, exclusive):
            return f"{name} {'>' if exclusive else '≥'} {low}"
        case model.Scalar(name, None, high):
            return f"{name} ≤ {high:,}"
        case model.Scalar("integer", 0, high):
            return f"integer from 0 to {high:,}"
        case model.Scalar(name, low, high):
            return f"{name} ≥ {low} and ≤ {high}"
        case model.Optional(item):
            return f"{_words(item)} or nil"
        case model.OneOf(items):
            return " or ".join(map(_words, items))
        case model.Array(item):
            return f"array of {_words(item)}"
        case model.TupleOf(items):
            return f"[{', '.join(map(_words, items))}]"
        case model.Map(value):
            return f"map of {_words(value)}"
        case model.Reference(name):
            for enumeration in model.contract().enumerations:
                if enumeration.name == name:
                    return " \\| ".join(f"`{word}`" for word, _ in enumeration.members)
            record = model.contract().record(name)
            if record.module == "scenes":  # described beside it
                return name
            return f"[{f'`{record.tag}`' if record.tag else name}](#{_anchor(record)})"


def _on_wire(field: model.Field) -> str:
    """Return a field's default as it is written on the wire."""
    match field.default:
        case None:
            return "nil"
        case {} if isinstance(field.type, model.Reference):
            return "all defaults"
        case b"":
            return "empty"
        case float(default):
            return "∞" if default > 1e300 else "-∞" if default < -1e300 else f"{default:g}"
    return json.dumps(field.default)


def _anchor(record: model.RecordType) -> str:
    return re.sub(r"[`(),]", "", _heading(record).lower().replace(" ", "-"))


def _heading(record: model.RecordType) -> str:
    if record.tag is None:
        return record.name
    name = f"`{record.tag}`"
    if len([each for each in model.contract().records if each.tag == record.tag]) == 1:
        return name
    if record.to_broker and not record.to_peer:
        return f"{name} from an {record.to_broker[0]}"
    return f"{name} to an {record.to_peer[0]}"


def _who(record: model.RecordType) -> str:
    def listed(roles: tuple[str, ...]) -> str:
        return "any peer" if len(roles) == len(model.ROLES) else " or ".join(roles)

    ways = [f"{listed(record.to_broker)} → broker"] if record.to_broker else []
    numbered = getattr(messages, record.name) in get_args(messages.Numbered)
    down = f"broker → {listed(record.to_peer)}{', numbered' * numbered}"
    return "; ".join(ways + [down] * bool(record.to_peer))


_NAMES = {"id", "match", "episode", "seat", "run", "instance"}
"""Numbers that name what a message is about, which is said once for all."""


def _fields(
    fields: Iterable[model.Field], known: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the table of some fields; those whose row is ``known`` from another table are named
    only."""
    fields = [field for field in fields if field.name != "seq"]  # said once, as "numbered"
    if not fields:
        yield "No fields."
        return
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    names = [field for field in fields if field.name in _NAMES and field.required]
    if names:
        yield f"| {_listed(names)} | integer | what it is about |"
    seen: dict[str, list[model.Field]] = {}
    for field in fields:
        if field in names:
            continue
        if (row := _row(field)) in known:
            seen.setdefault(known[row], []).append(field)
        else:
            yield row
    for where, same in seen.items():
        yield f"| {_listed(same)} | | as in {where} |"


def _row(field: model.Field) -> str:
    default = "" if field.required else f" = {_on_wire(field)}"
    return f"| `{field.name}` | {_words(field.type)}{default} | {field.meaning} |"


def _listed(fields: Iterable[model.Field]) -> str:
    return ", ".join(f"`{field.name}`" for field in fields)


def _of(names: list[str]) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        known: dict[str, str] = {}
        for record in map(model.contract().record, names):
            who = "" if record.tag is None else f"*{_who(record)}.* "
            yield from (f"### {_heading(record)}", "", who + record.summary, "")
            yield from _fields(record.fields, known)
            yield from ("", "```", _brief(examples.example(getattr(messages, record.name))))
            yield from ("```", "")
            for field in record.fields:
                known.setdefault(_row(field), f"[{_heading(record)}](#{_anchor(record)})")

    return lines


_SESSION = ["Hello", "Welcome", "Ping", "Pong", "Error", "Bye", "Reply", "Offer", "Limits"]
_ENVIRONMENT = [
    *("Open", "Spec", "EnvironmentStart", "EnvironmentStep", "Turn", "View", "Symmetry"),
    *("EnvironmentLookahead", "Preview", "EnvironmentMessage", "Close"),
]
_AGENT = [
    *("Create", "Init", "AgentStart", "AgentStep", "Clock", "Action", "Thoughts"),
    *("End", "AgentLookahead"),
    *("Save", "Saved", "Load", "AgentMessage", "Leave", "Cleanup"),
]
_EXPERIMENT = [
    *("Catalogue", "ExperimentCreate", "Run", "ClockRule", "Pause", "Drain", "Cancel"),
    *("ExperimentStart", "ExperimentStep", "ExperimentMessage", "Watch", "WatchedTurn"),
    *("Episode", "SeatResult", "Progress", "Done"),
]


_STACKED = ["EnvironmentSteps", "Turns", "Fault", "AgentSteps", "Actions", "Ends", "Episodes"]


def _accepted() -> Iterator[str]:
    yield "| sender | receiver | message types |"
    yield "|---|---|---|"
    for sender, receiver, kinds in examples.directions():
        records = [model.contract().record(kind.__name__) for kind in kinds]
        names = ", ".join(f"[`{each.tag}`](MESSAGES.md#{_anchor(each)})" for each in records)
        yield f"| {sender} | {receiver} | {names} |"


def _spaces() -> Iterator[str]:
    yield "| space | field | type | meaning |"
    yield "|---|---|---|---|"
    for kind in get_args(spaces.Space):
        record = model.contract().record(kind.__name__)
        yield f"| `{record.name}` | | | {record.summary} |"
        yield from (f"| {_row(field)}" for field in record.fields)


def _scenes() -> Iterator[str]:
    for name in ("Scene", "Seated", "Cell", "Piece", "Card", "Zone", "Mark", "Choice"):
        record = model.contract().record(name)
        yield f"**{name}**: {record.summary}"
        yield ""
        yield from _fields(record.fields)
        yield ""


TABLES: dict[str, tuple[Mapping[Any, Mapping[str, str]], str]] = {
    "a session": (
        states.SESSION,
        "without a session, any other message gets `hello-first`; S4.6 is about a second `hello`",
    ),
    "the environment of a match": (
        states.MATCH,
        "any other `spec`, `turn` or `error` is ignored and counted",
    ),
    "a seat": (
        states.SEAT,
        "any other `action` or `error` is ignored and counted; an `action` for a seat that is not "
        "the sender's also gets `illegal`",
    ),
    "a run": (
        states.RUN,
        "any other request gets `wrong-state`; one about a run that is over, `unknown`; `cancel` "
        "also "
        "stands for the loss of the experiment or the broker",
    ),
}
"""The state machines, and what becomes of a message that a table does not name."""

EVENTS = {
    "lost": "the connection is gone or was silent too long",
    "replaced": "a newcomer took the peer's name",
    "grace over": "the peer did not come back",
    "last turn": "a `turn` whose `to_act` is empty",
    "give up": "the broker ends the episode",
    "overdue": "the answer did not come in time",
    "unpause": "`pause` with `paused` false",
    "finished": "no episode is left",
    "failed": "the run cannot continue",
}
"""Events that move a state without being a message, and their time."""


def _machines() -> Iterator[str]:
    yield "| event | when |"
    yield "|---|---|"
    yield from (f"| *{event}* | {when} |" for event, when in EVENTS.items())
    for name, (table, otherwise) in TABLES.items():
        yield ""
        yield f"| {name} | message or event → next state |"
        yield "|---|---|"
        for state, row in table.items():
            moves = [
                f"{f'*{event}*' if event in EVENTS else f'`{event}`'} → {following}"
                for event, following in row.items()
            ]
            yield f"| {state} | {', '.join(moves) or 'nothing; this is the end'} |"
        yield f"| *any* | {otherwise} |"


def _drawn(table: Mapping[Any, Mapping[str, str]], indent: str) -> Iterator[str]:
    """Yield a state machine as Mermaid draws it."""
    states_ = list(table)
    yield f"{indent}[*] --> {states_[0]}"
    for state, row in table.items():
        if not row:
            yield f"{indent}{state} --> [*]"
        for following in dict.fromkeys(row.values()):
            events = ", ".join(each for each, there in row.items() if there == following)
            yield f"{indent}{state} --> {following}: {events}"


def _session_drawn() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield from _drawn(states.SESSION, "    ")
    yield "```"


def _episode_drawn() -> Iterator[str]:
    """Yield both sides of an episode in one picture: what the environment is at, and what a
    seat."""
    yield "```mermaid"
    yield "stateDiagram-v2"
    for name, about, table in (
        ("environment", "the environment of the match", states.MATCH),
        ("seat", "each of its seats", states.SEAT),
    ):
        yield f'    state "{about}" as {name} {{'
        yield from _drawn(table, "        ")
        yield "    }"
    yield "```"


def _bytes() -> Iterator[str]:
    """Yield the whole worked exchange, with the bytes."""
    for number, (sender, receiver, message) in enumerate(examples.exchange(), 1):
        frame = codec.encode(message)
        text = json.dumps(reading(codec.decode(frame)), ensure_ascii=False)
        yield f"{number}. **{sender} → {receiver}**, {len(frame)} bytes"
        yield ""
        yield "   ```"
        yield f"   {text}"
        digits = frame.hex()
        for start in range(0, len(digits), 96):
            yield f"   {digits[start : start + 96]}"
        yield "   ```"
        yield ""


def _brief(message: Any) -> str:
    """Return the JSON reading of a message, without what a reader need not see to follow."""
    shown = reading(codec.decode(codec.encode(message)))
    if "spec" in shown:
        shown["spec"] = ...
    if "limits" in shown:
        del shown["limits"]
    return json.dumps(shown, ensure_ascii=False, default=lambda _: "...").replace('"..."', "{…}")


def _lines(said: Iterable[tuple[str, str, Any]]) -> Iterator[str]:
    """Yield what an agent hears (``<``) and says (``>``)."""
    yield "```"
    for sender, receiver, message in said:
        if isinstance(message, str):
            yield f"  ({message})"
        elif "agent" in (sender, receiver):
            yield f"{'>' if sender == 'agent' else '<'} {_brief(message)}"
    yield "```"


BLOCKS: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "protocol/SPEC.md": {
        "an agent's episode": lambda: _lines(examples.exchange()),
        "accepted": _accepted,
        "spaces": _spaces,
        "a session": _session_drawn,
        "an episode": _episode_drawn,
        "state machines": _machines,
    },
    "protocol/MESSAGES.md": {
        "messages of a session": _of(_SESSION),
        "messages of an environment": _of(_ENVIRONMENT),
        "messages of an agent": _of(_AGENT),
        "messages of an experiment": _of(_EXPERIMENT),
        "stacked messages": _of(_STACKED),
    },
    "protocol/SCENES.md": {"scenes": _scenes},
    "protocol/EXCHANGE.md": {
        "exchange": _bytes,
        "an agent's lost connection": lambda: _lines(examples.interrupted()[14:26]),
    },
}
"""The generated blocks of each document."""


def document(name: str, text: str) -> str:
    """Return a document with its generated blocks written again.

    Raises:
        ValueError: a block is missing, unknown or there twice.
    """
    blocks = BLOCKS[name]
    names = [match.group(2) for match in _BLOCK.finditer(text)]
    if sorted(names) != sorted(blocks):
        raise ValueError(f"{name} must have each of {sorted(blocks)} once, and has {names}")

    def block(match: re.Match[str]) -> str:
        body = "\n".join(blocks[match.group(2)]()).strip()
        return f"{match.group(1)}\n{body}\n\n{match.group(3)}"

    return _BLOCK.sub(block, text)
