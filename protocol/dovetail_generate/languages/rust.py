"""The Rust client's messages and spaces, and the table that its tests read the vectors with.

Structs and enumerations are plain Rust; below each a macro of ``clients/rust/src/field.rs`` has the
compiler write how it is read and written.  rustfmt leaves what stands in such a macro as it is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dovetail_generate import model
from dovetail_generate.languages.text import MARK, camel, comment

PATHS = {
    "crate::field": ("incoming", "record", "requests", "tagged", "words"),
    "crate::messages": ("Player",),
    "crate::space": ("Bound", "Legal", "Space"),
    "crate::value": ("Map", "Payload", "Value"),
    "std::collections": ("BTreeMap",),
}
"""Where the names that a generated file may need come from."""

_KEYWORDS = (
    "as async await break const continue dyn else enum extern fn for if impl in let loop match mod "
    "move mut pub ref return static struct trait type unsafe use where while yield"
)
KEYWORDS = frozenset(_KEYWORDS.split())
INDEXES = frozenset(("seat", "seats", "to_act", "blame", "shape"))
"""Fields that count seats or elements, which is what Rust's own collections are indexed by."""

SCALARS = {
    "number": "f64",
    "text": "String",
    "binary": "Vec<u8>",
    "boolean": "bool",
    "any": "Value",
    "payload": "Value",
    "legal": "Option<Legal>",
    "space": "Space",
    "bound": "Bound",
}


def _type(kind: model.Type, index: bool) -> str:
    """Return the Rust type; integers of a field that is an ``index`` are ``usize``."""
    match kind:
        case model.Scalar("integer", minimum=minimum):
            return "usize" if index else "i64" if minimum is None else "u64"
        case model.Scalar(kind=name):
            return SCALARS[name]
        case model.Array(item):
            return f"Vec<{_type(item, index)}>"
        case model.TupleOf((model.Scalar("integer"), *rest)):  # of a seat and what is its own
            return f"({', '.join(['usize', *(_type(each, index) for each in rest)])})"
        case model.TupleOf(items):
            return f"({', '.join(_type(each, index) for each in items)})"
        case model.Map(model.Scalar("any")):
            return "Map"
        case model.Map(value):
            return f"BTreeMap<String, {_type(value, index)}>"
        case model.Optional(item):
            return f"Option<{_type(item, index)}>"
        case model.OneOf((model.Scalar("integer"), model.Scalar("text"))):
            return "Player"
        case model.Reference(name):
            return name
    raise NotImplementedError(f"Rust has no type for {kind}")


def _default(kind: model.Type, value: Any) -> str:
    """Return a default as an expression."""
    match kind, value:
        case model.Optional(item), _ if value is not None:
            return f"Some({_default(item, value)})"
        case model.Scalar("any" | "payload"), None:
            return "Default::default()"
        case model.Scalar("bound"), _:
            return f"Bound::of({_default(model.Scalar('number'), value)})"
        case model.Reference(name), str():
            return f"{name}::{camel(value)}"
        case model.Reference(name), _:
            return f"{name}::default()"
        case _, None:
            return "None"
        case _, bool():
            return str(value).lower()
        case model.Scalar("number"), _ if math.isinf(value):
            return "f64::INFINITY" if value > 0 else "f64::NEG_INFINITY"
        case model.Scalar("number"), _:
            return repr(float(value))
        case _, int():
            return f"{value:_}"
        case _, str() if value:
            return f"{json.dumps(value)}.to_owned()"
        case _, str() | bytes() | list() | dict() if not value:
            return "Default::default()"
    raise NotImplementedError(f"Rust has no default {value!r} for {kind}")


def _about(words: str, indent: str = "") -> list[str]:
    return comment(words, f"{indent}/// ")


def _identifier(name: str) -> str:
    return f"r#{name}" if name in KEYWORDS else name


def _field(record: model.RecordType, field: model.Field) -> tuple[str, list[str], str]:
    """Return a field's identifier, its lines in the struct and its line in the macro."""
    name, kind = _identifier(field.name), _type(field.type, field.name in INDEXES)
    if kind == "Value" and record.to_peer:
        kind = "Payload"  # that it cannot be read must not cost the message around it
    if kind == "Space" and record.module == "spaces":
        kind = "std::boxed::Box<Space>"  # a space cannot hold another of its own size
    meaning = field.meaning
    if kind.startswith("Option"):
        meaning = re.sub(r"\b(nil|null)\b", "`None`", meaning)
    default = "" if field.required else f" = {_default(field.type, field.default)}"
    lines = [*_about(meaning, "    "), f"    pub {name}: {kind},"]
    return name, lines, f'    {name} "{field.name}"{default},'


def _record(record: model.RecordType, key: str) -> Iterator[str]:
    fields = [_field(record, each) for each in record.fields]
    yield ""
    yield from _about(record.summary)
    yield "#[derive(Clone, Debug, PartialEq)]"
    if fields:
        yield f"pub struct {record.name} {{"
        for _, lines, _ in fields:
            yield from lines
        yield "}"
    else:
        yield f"pub struct {record.name} {{}}"
    yield ""
    tag = f' "{key}" = "{record.tag}"' if record.tag else ""
    yield f"record! {{ {record.name}{tag};"
    yield from (line for _, _, line in fields)
    yield "}"


def _enumeration(enumeration: model.Enumeration) -> Iterator[str]:
    yield ""
    yield from _about(enumeration.summary)
    yield "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]"
    yield "#[non_exhaustive]"
    yield f"pub enum {enumeration.name} {{"
    for place, (word, meaning) in enumerate(enumeration.members):
        yield from _about(meaning, "    ")
        if place == 0:
            yield "    #[default]"
        yield f"    {camel(word)},"
    yield "}"
    yield ""
    yield f"words! {{ {enumeration.name};"
    yield from (f'    {camel(word)} "{word}",' for word, _ in enumeration.members)
    yield "}"


def _union(
    name: str, summary: str, macro: str, records: Iterable[model.RecordType]
) -> Iterator[str]:
    """Yield an enumeration with one variant for each record, by its tag."""
    records = list(records)
    yield ""
    yield from _about(summary)
    yield "#[derive(Clone, Debug, PartialEq)]"
    if macro == "incoming":
        yield "#[non_exhaustive]"
        yield "#[allow(clippy::large_enum_variant)] // a message is taken apart where it is read"
    yield f"pub enum {name} {{"
    for each in records:
        yield from _about(each.summary, "    ")
        yield f"    {camel(str(each.tag))}({each.name}),"
    yield "}"
    yield ""
    yield f"{macro}! {{ {name};"
    yield from (f"    {camel(str(each.tag))}({each.name})," for each in records)
    yield "}"


def _messages(contract: model.Contract) -> Iterator[str]:
    records = [each for each in contract.records if each.module == "messages"]
    yield ""
    yield "/// The version of the protocol that this library speaks."
    yield f"pub const VERSION: i64 = {contract.version};"
    for enumeration in (contract.error_codes, *contract.enumerations):
        yield from _enumeration(enumeration)
    for record in records:
        yield from _record(record, "type")
    common = [each for each in records if set(each.to_peer) == set(model.ROLES)]
    yield from _union("ToAll", "A message that every peer receives.", "incoming", common)
    for role in ("environment", "agent", "experiment"):
        received = (each for each in records if role in each.to_peer and each not in common)
        summary = f"A message that only an {role} receives."
        if role == "experiment":
            summary = "A message that only an experiment or an observer receives."
        yield from _union(f"To{camel(role)}", summary, "incoming", received)
    yield ""
    yield "requests! {"
    for each in records:
        asks = any(field.name == "id" and field.required for field in each.fields)
        if asks and "experiment" in each.to_broker:
            yield f"    {each.name},"
    yield "}"


def _spaces(contract: model.Contract) -> Iterator[str]:
    spaces = [each for each in contract.records if each.module == "spaces"]
    yield from _union("Space", "The space of an observation or action.", "tagged", spaces)
    for record in spaces:
        yield from _record(record, "space")


def _table(contract: model.Contract) -> Iterator[str]:
    """Yield the type of each message of the vectors, for a macro of the tests."""
    yield ""
    yield "use dovetail::messages::*;"
    yield ""
    yield "table! {"
    for record in contract.records:
        directions = [f"{role} to broker" for role in record.to_broker]
        directions += [f"broker to {role}" for role in record.to_peer]
        yield from (f'    "{each}", "{record.tag}" => {record.name},' for each in directions)
    yield "}"


def _file(about: str, body: Iterable[str]) -> str:
    """Return a file of these lines, with what they use imported."""
    text = "\n".join(body)
    code = re.sub(r"///.*", "", text)
    head = [f"// {MARK}", "", f"//! {about}", ""]
    for path, names in PATHS.items():
        used = [each for each in names if re.search(rf"\b{each}\b", code)]
        used = [each for each in used if not re.search(rf"^pub \w+ {each}\b", code, re.M)]
        if used and not code.lstrip().startswith("use "):
            listed = used[0] if len(used) == 1 else f"{{{', '.join(used)}}}"
            head.append(f"use {path}::{listed};")
    return "\n".join(head).rstrip() + "\n" + text + "\n"


def emit(contract: model.Contract) -> dict[str, str]:
    """Return the generated files by path below ``clients/``."""
    return {
        "rust/src/generated/messages.rs": _file(
            "The messages of the protocol and their parts.", _messages(contract)
        ),
        "rust/src/generated/spaces.rs": _file("The spaces of the protocol.", _spaces(contract)),
        "rust/tests/common/table.rs": _file("The messages in the vectors.", _table(contract)),
    }
