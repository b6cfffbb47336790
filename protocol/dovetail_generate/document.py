"""The generated blocks of SPEC.md and the documents beside it; the prose is written by hand."""

from __future__ import annotations

import ast
import json
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec

from dovetail.conform.reading import reading
from dovetail.protocol import codec, messages, scenes, spaces, states
from dovetail_generate import examples
from dovetail_generate.examples import tag
from dovetail_generate.model import ROLES, declarations, default_of

_BLOCK = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


# -- the types, from their source -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field of a message as the document describes it."""

    name: str
    type: str
    default: str | None
    """As it is written on the wire; None if the field is required."""
    meaning: str


@dataclass(frozen=True, slots=True)
class Description:
    """A message or part as the document describes it."""

    summary: str
    fields: list[FieldRow]


_WORDS = {
    "int": "integer",
    "str": "text",
    "bool": "boolean",
    "float": "number",
    "bytes": "binary",
    "Any": "any",
    "Payload": "any",
    "Legal": "array of integer, binary or nil",
    "Natural": "integer ≥ 0",
    "Positive": "integer ≥ 1",
    "GroupSize": "integer from 0 to 65,536",
    "Count": "integer ≥ 1",
    "Seconds": "number ≥ 0",
    "Shape": "array of integer ≥ 0",
    "Bound": "number or nested arrays of number",
    "Space": "[space](SPEC.md#spaces)",
}
_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def _words(node: ast.expr) -> str:
    """Return the words for an annotation."""
    match node:
        case ast.Constant(value=None):
            return "nil"
        case ast.Name(id=name):
            if name in _WORDS:
                return _WORDS[name]
            kind = getattr(messages, name, None)
            if kind is None:
                return name  # of a scene, described beside it
            if isinstance(kind, type) and issubclass(kind, messages.Message):
                return f"[`{tag(kind)}`](#{_anchor(kind)})"
            if isinstance(kind, type):
                return f"[{name}](#{_anchor(kind)})"
            return " \\| ".join(f"`{each}`" for each in get_args(kind))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_words(left)} or {_words(right)}"
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return f"array of {_words(inner)}"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inner)):
            return f"[{', '.join(_words(each) for each in inner)}]"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return f"map of {_words(inner)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=inner)):
            return " \\| ".join(f"`{ast.literal_eval(each)}`" for each in inner)
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, ast.Call(keywords=bounds)])
        ):
            limits = [f"{_SIGNS[str(b.arg)]} {ast.literal_eval(b.value)}" for b in bounds]
            return f"{_words(kind)} {' and '.join(limits)}"
    raise NotImplementedError(ast.unparse(node))


def _on_wire(default: Any) -> str:
    if isinstance(default, msgspec.Raw) or default is None:
        return "nil"
    if isinstance(default, msgspec.Struct):
        return "all defaults"
    if default == b"":
        return "empty"
    if isinstance(default, float):
        return "∞" if default > 1e300 else "-∞" if default < -1e300 else f"{default:g}"
    return f"{json.dumps(default)}"


def describe(module: types.ModuleType) -> dict[str, Description]:
    """Return the structs of a module by name.

    Raises:
        ValueError: a field has no docstring.
    """

    def default(info: msgspec.structs.FieldInfo) -> str | None:
        return None if info.required else _on_wire(default_of(info))

    return {
        name: Description(
            summary,
            [
                FieldRow(each.info.name, _words(each.annotation), default(each.info), each.meaning)
                for each in fields
            ],
        )
        for name, (_, summary, fields) in declarations(module).items()
    }


# -- SPEC.md --------------------------------------------------------------------------------------


def _anchor(kind: type) -> str:
    return re.sub(r"[`(),]", "", _heading(kind).lower().replace(" ", "-"))


def _ways(kind: type) -> tuple[list[str], list[str]]:
    """Return the roles that send a message type to the broker, and those that receive it."""
    up = [role for role in ROLES if kind in get_args(codec.AT_BROKER[role])]
    down = [role for role in ROLES if kind in get_args(codec.AT_PEER[role])]
    return up, down


def _heading(kind: type) -> str:
    if not issubclass(kind, messages.Message):
        return kind.__name__
    name = f"`{tag(kind)}`"
    same = {
        each for _, _, kinds in examples.directions() for each in kinds if tag(each) == tag(kind)
    }
    if len(same) == 1:
        return name
    up, down = _ways(kind)
    if up and not down:
        return f"{name} from an {up[0]}"
    return f"{name} to an {down[0]}"


def _who(kind: type) -> str:
    up, down = _ways(kind)

    def listed(roles: list[str]) -> str:
        return "any peer" if len(roles) == len(ROLES) else " or ".join(roles)

    ways = [f"{listed(up)} → broker"] if up else []
    numbered = ", numbered" if kind in get_args(messages.Numbered) else ""
    ways += [f"broker → {listed(down)}{numbered}"] if down else []
    return "; ".join(ways)


_NAMES = {"id", "match", "episode", "seat", "run", "instance"}
"""Numbers that name what a message is about, which is said once for all."""


def _fields(fields: list[FieldRow], known: Mapping[FieldRow, str] | None = None) -> Iterator[str]:
    """Yield the table of some fields; those that are ``known`` from another table are named
    only."""
    fields = [field for field in fields if field.name != "seq"]  # said once, as "numbered"
    if not fields:
        yield "No fields."
        return
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    names = [field for field in fields if field.name in _NAMES and field.default is None]
    if names:
        yield f"| {_listed(names)} | integer | what it is about |"
    seen: dict[str, list[FieldRow]] = {}
    for field in fields:
        if field in names:
            continue
        if known is not None and field in known:
            seen.setdefault(known[field], []).append(field)
            continue
        yield _row(field)
    for where, same in seen.items():
        yield f"| {_listed(same)} | | as in {where} |"


def _row(field: FieldRow) -> str:
    default = "" if field.default is None else f" = {field.default}"
    return f"| `{field.name}` | {field.type}{default} | {field.meaning} |"


def _listed(fields: Iterable[FieldRow]) -> str:
    return ", ".join(f"`{field.name}`" for field in fields)


def _of(names: list[str]) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        described = describe(messages)
        known: dict[FieldRow, str] = {}
        for name in names:
            kind = getattr(messages, name)
            fields = described[name].fields
            yield f"### {_heading(kind)}"
            yield ""
            who = f"*{_who(kind)}.* " if issubclass(kind, messages.Message) else ""
            yield who + described[name].summary
            yield ""
            yield from _fields(fields, known)
            yield ""
            yield "```"
            yield _brief(examples.example(kind))
            yield "```"
            yield ""
            for field in fields:
                known.setdefault(field, f"[{_heading(kind)}](#{_anchor(kind)})")

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
        names = ", ".join(f"[`{tag(kind)}`](MESSAGES.md#{_anchor(kind)})" for kind in kinds)
        yield f"| {sender} | {receiver} | {names} |"


def _spaces() -> Iterator[str]:
    described = describe(spaces)
    yield "| space | field | type | meaning |"
    yield "|---|---|---|---|"
    for kind in get_args(spaces.Space):
        one = described[kind.__name__]
        yield f"| `{kind.__name__}` | | | {one.summary} |"
        yield from (f"| {_row(field)}" for field in one.fields)


def _scenes() -> Iterator[str]:
    described = describe(scenes)
    for name in ("Scene", "Seated", "Cell", "Piece", "Card", "Zone", "Mark", "Choice"):
        yield f"**{name}**: {described[name].summary}"
        yield ""
        yield from _fields(described[name].fields)
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
