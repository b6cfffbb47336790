"""Writes down what the Python types know: tables in SPEC.md, schema.json and vectors/.

``python -m dovetail.protocol.generate`` writes the files; ``--check`` says which are out of date
and changes nothing.  The source of every table is the source text of the types: annotations,
defaults and the docstrings below them.  SPEC.md's prose between the tables is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec

from dovetail.protocol import codec, examples, messages, scenes, spaces, states
from dovetail.protocol.examples import reading, tag

FOLDER = Path(__file__).resolve().parent
SPEC = "SPEC.md"
SCHEMA = "schema.json"
_BLOCK = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


# -- the types, from their source -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
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
    fields: list[Field]


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
    "Seconds": "number ≥ 0",
    "Shape": "array of integer ≥ 0",
    "Bound": "number or nested arrays of number",
    "Space": "[space](#spaces)",
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


def _text(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split()).replace("``", "`")
    return ""


def describe(module: types.ModuleType) -> dict[str, Description]:
    """Return the structs of a module by name.

    Raises:
        ValueError: a field has no docstring.
    """
    assert module.__file__ is not None
    found: dict[str, Description] = {}
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        kind = getattr(module, node.name) if isinstance(node, ast.ClassDef) else None
        if (
            kind is None
            or not issubclass(kind, msgspec.Struct)
            or not isinstance(node, ast.ClassDef)
        ):
            continue
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        fields = [field for base in bases if base in found for field in found[base].fields]
        known = {field.name: field for field in msgspec.structs.fields(kind)}
        for place, line in enumerate(node.body):
            if not (isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)):
                continue
            name = line.target.id
            meaning = _text(node.body[place + 1]) if place + 1 < len(node.body) else ""
            if not meaning:
                raise ValueError(f"{module.__name__}.{node.name}.{name} has no docstring")
            field = known[name]
            default: str | None = None
            if not field.required:
                factory = field.default_factory
                default = _on_wire(field.default if factory is msgspec.NODEFAULT else factory())
            fields.append(Field(name, _words(line.annotation), default, meaning))
        found[node.name] = Description(_text(node.body[0]), fields)
    return found


# -- SPEC.md --------------------------------------------------------------------------------------

ROLES = ("environment", "agent", "experiment", "observer")


def _anchor(kind: type) -> str:
    return (
        _heading(kind)
        .lower()
        .replace(" ", "-")
        .replace("`", "")
        .replace("(", "")
        .replace(")", "")
        .replace(",", "")
    )


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
    ways += [f"broker → {listed(down)}"] if down else []
    return "; ".join(ways)


def _fields(fields: list[Field]) -> Iterator[str]:
    if not fields:
        yield "No fields."
        return
    yield "| field | type | | meaning |"
    yield "|---|---|---|---|"
    for field in fields:
        need = "required" if field.default is None else f"default {field.default}"
        yield f"| `{field.name}` | {field.type} | {need} | {field.meaning} |"


def _of(names: list[str]) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        described = describe(messages)
        for name in names:
            kind = getattr(messages, name)
            yield f"### {_heading(kind)}"
            yield ""
            who = f"*{_who(kind)}.* " if issubclass(kind, messages.Message) else ""
            yield who + described[name].summary
            yield ""
            yield from _fields(described[name].fields)
            yield ""

    return lines


_SESSION = ["Hello", "Welcome", "Ping", "Pong", "Error", "Bye", "Reply", "Offer", "Limits"]
_ENVIRONMENT = [
    *("Open", "Spec", "EnvironmentStart", "EnvironmentStep", "Turn", "View", "Symmetry"),
    *("EnvironmentLookahead", "Position", "EnvironmentMessage", "Close"),
]
_AGENT = [
    *("Create", "Init", "AgentStart", "AgentStep", "Clock", "Action", "End", "AgentLookahead"),
    *("Save", "Saved", "Load", "AgentMessage", "Leave", "Cleanup"),
]
_EXPERIMENT = [
    *("Catalogue", "ExperimentCreate", "Run", "ClockRule", "Pause", "Drain", "Cancel"),
    *("ExperimentStart", "ExperimentStep", "ExperimentMessage", "Watch", "WatchedTurn"),
    *("Episode", "SeatResult", "Progress", "Done"),
]


def _accepted() -> Iterator[str]:
    yield "| sender | receiver | message types |"
    yield "|---|---|---|"
    for sender, receiver, kinds in examples.directions():
        names = ", ".join(f"[`{tag(kind)}`](#{_anchor(kind)})" for kind in kinds)
        yield f"| {sender} | {receiver} | {names} |"


def _spaces() -> Iterator[str]:
    described = describe(spaces)
    for kind in get_args(spaces.Space):
        one = described[kind.__name__]
        yield f"**`{kind.__name__}`**: {one.summary}"
        yield ""
        yield from _fields(one.fields)
        yield ""


def _scenes() -> Iterator[str]:
    described = describe(scenes)
    for name in ("Scene", "Cell", "Piece", "Card", "Choice"):
        yield f"**{name}**: {described[name].summary}"
        yield ""
        yield from _fields(described[name].fields)
        yield ""


TABLES: dict[str, tuple[states.Table, str]] = {
    "session": (states.SESSION, "new: refused with `hello-first`; ready: as the role's table says"),
    "match": (states.MATCH, "ignored and counted"),
    "seat": (states.SEAT, "an agent's `action`: ignored and counted; another's seat: `illegal`"),
    "run": (states.RUN, "refused with `wrong-state`"),
}
"""The state machines, and what becomes of a message that a table does not name."""

EVENTS = {"lost", "grace over", "last turn", "give up", "finished", "failed"}
"""What moves a state without being a message."""


def _states(name: str) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        table, otherwise = TABLES[name]
        yield "| state | message or event | next state | otherwise |"
        yield "|---|---|---|---|"
        for state, row in table.items():
            if not row:
                yield f"| {state} | | | nothing; this is the end |"
            for event, following in row.items():
                what = f"*{event}*" if event in EVENTS else f"`{event}`"
                yield f"| {state} | {what} | {following} | {otherwise} |"

    return lines


def _example() -> Iterator[str]:
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


BLOCKS: dict[str, Callable[[], Iterator[str]]] = {
    "accepted": _accepted,
    "messages of a session": _of(_SESSION),
    "messages of an environment": _of(_ENVIRONMENT),
    "messages of an agent": _of(_AGENT),
    "messages of an experiment": _of(_EXPERIMENT),
    "scenes": _scenes,
    "spaces": _spaces,
    **{f"states of a {name}": _states(name) for name in TABLES},
    "exchange": _example,
}


def spec(text: str) -> str:
    """Return SPEC.md with its generated blocks made anew.

    Raises:
        ValueError: a block is missing, unknown or there twice.
    """
    names = [match.group(2) for match in _BLOCK.finditer(text)]
    if sorted(names) != sorted(BLOCKS):
        raise ValueError(f"SPEC.md must have each of {sorted(BLOCKS)} once, and has {names}")

    def block(match: re.Match[str]) -> str:
        body = "\n".join(BLOCKS[match.group(2)]()).strip()
        return f"{match.group(1)}\n{body}\n\n{match.group(3)}"

    return _BLOCK.sub(block, text)


# -- schema.json ----------------------------------------------------------------------------------

_BYTES = {
    "title": "bytes",
    "description": "MessagePack bin, in hexadecimal.",
    "type": "object",
    "properties": {"$bytes": {"type": "string", "pattern": "^([0-9a-f]{2})*$"}},
    "required": ["$bytes"],
    "additionalProperties": False,
}
_NUMBER = {
    "title": "number",
    "description": 'An integer or float; one that JSON cannot hold is {"$float": "inf"}.',
    "anyOf": [
        {"type": "number"},
        {
            "type": "object",
            "properties": {"$float": {"enum": ["inf", "-inf", "nan"]}},
            "required": ["$float"],
            "additionalProperties": False,
        },
    ],
}


def _for_json() -> types.ModuleType:
    """Return the messages once more, with payloads that the schema generator can describe."""
    assert messages.__file__ is not None
    source = Path(messages.__file__).read_text(encoding="utf-8")
    source = source.replace("if TYPE_CHECKING:", "if True:", 1)
    source = source.replace('NIL = Raw(b"\\xc0")', "NIL = None", 1)
    module = types.ModuleType("dovetail.protocol._messages_for_json")
    sys.modules[module.__name__] = module
    exec(compile(source, messages.__file__, "exec"), module.__dict__)
    return module


def _mend(value: Any) -> Any:
    """Replace what bytes and numbers are in JSON by what they are in a reading."""
    if isinstance(value, list):
        return [_mend(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("contentEncoding") == "base64":
        rest = {k: v for k, v in value.items() if k not in ("type", "contentEncoding", "default")}
        if "default" in value:
            rest["default"] = {"$bytes": ""}
        return {"$ref": "#/$defs/bytes", **rest}
    if value == {"type": "number"}:
        return {"$ref": "#/$defs/number"}
    return {key: reading(each) if key == "default" else _mend(each) for key, each in value.items()}


def schema() -> str:
    """Return schema.json."""
    module = _for_json()
    names = {
        f"{sender} to {receiver}": codec_name
        for (sender, receiver, _), codec_name in zip(
            examples.directions(),
            [
                *("FromEnvironment", "FromAgent", "FromExperiment", "FromObserver"),
                *("ToEnvironment", "ToAgent", "ToExperiment", "ToExperiment"),
            ],
            strict=True,
        )
    }
    unions = [getattr(module, name) for name in names.values()]
    references, components = msgspec.json.schema_components(unions)
    described = {**describe(messages), **describe(spaces)}
    for name, component in components.items():
        fields = described[name].fields if name in described else []
        component["description"] = described[name].summary if name in described else ""
        for field in fields:
            component["properties"][field.name].setdefault("description", field.meaning)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dovetail, protocol version {messages.VERSION}",
        "description": (
            'The JSON reading of a frame: binary is {"$bytes": hex}, a tensor {"$tensor": '
            '{dtype, shape, data}}, a float that JSON cannot hold {"$float": text}.'
        ),
        "directions": dict(zip(names, _mend(list(references)), strict=True)),
        "$defs": {**_mend(components), "bytes": _BYTES, "number": _NUMBER},
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


# -- vectors/ -------------------------------------------------------------------------------------


def _dump(description: str, **lists: list[dict[str, Any]]) -> str:
    parts = [f' "description": {json.dumps(description)},\n "version": {messages.VERSION}']
    for name, entries in lists.items():
        rows = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in entries)
        parts.append(f' "{name}": [\n{rows}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def valid_vectors() -> str:
    """Return vectors/valid.json."""
    said = [
        {
            "name": each.name,
            "direction": f"{each.sender} to {each.receiver}",
            "receiver": each.receiver,
            "type": tag(type(each.message)),
            "hex": (frame := codec.encode(each.message)).hex(),
            "json": reading(codec.decode(frame)),
        }
        for each in examples.valid()
    ]
    bare = [
        {
            "name": name,
            "hex": (frame := codec.encode(value)).hex(),
            "json": reading(codec.decode(frame)),
        }
        for name, value in examples.values()
    ]
    return _dump(
        "Frames that the receiver must read as the JSON says. Another encoder may order keys otherwise "
        "and write shorter or longer headers.",
        messages=said,
        values=bare,
    )


def malformed_vectors() -> str:
    """Return vectors/malformed.json."""
    entries = [
        {
            "name": each.name,
            "receiver": each.receiver,
            **({"from": each.role or "nobody yet"} if each.receiver == "broker" else {}),
            **({"limits": msgspec.to_builtins(each.limits)} if each.limits else {}),
            "hex": each.frame.hex(),
            "code": each.code,
        }
        for each in examples.malformed()
    ]
    return _dump(
        "Frames that the receiver must refuse with an error of this code. `from` is the role of "
        "the peer that sends it to the broker, or `nobody yet` if it has not said hello.",
        malformed=entries,
    )


def files() -> dict[Path, str]:
    """Return what every generated file must hold."""
    return {
        FOLDER / SPEC: spec((FOLDER / SPEC).read_text(encoding="utf-8")),
        FOLDER / SCHEMA: schema(),
        FOLDER / "vectors" / "valid.json": valid_vectors(),
        FOLDER / "vectors" / "malformed.json": malformed_vectors(),
    }


def stale() -> list[Path]:
    """Return the generated files that are not what they must be."""
    return [
        path
        for path, text in files().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or check them; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dovetail.protocol.generate", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="write nothing; say what is stale")
    check = parser.parse_args(arguments).check
    old = stale()
    for path in old:
        name = path.relative_to(FOLDER.parent)
        if check:
            print(f"{name} is out of date; run python -m dovetail.protocol.generate")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files()[path], encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
