"""TypeScript: ``src/core/messages.ts``, an interface and a reader for each message and part.

The text is what prettier leaves unchanged at the client's width of 110 columns.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from dovetail_generate import model
from dovetail_generate.languages.text import MARK, comment

WIDTH = 110
WIDE = {
    *("id", "match", "episode", "instance", "run", "number", "agents"),
    *("seed", "seeds", "n", "start", "nvec"),
}
"""Fields whose integers may need all 64 bits, and so a ``bigint``; all others count something."""

_TYPES = {
    "number": "number",
    "text": "string",
    "binary": "Uint8Array",
    "boolean": "boolean",
    "any": "any",
    "payload": "any",
    "legal": "s.Legal",
    "space": "Space",
    "bound": "s.Bound",
}
_READERS = {"binary": "s.binary", "boolean": "s.boolean", "payload": "s.payload", "space": "Space"}

HEAD = f"""// {MARK}
/**
 * The messages of the contract and their parts, with the names of SPEC.md.
 *
 * Fields that a sender may leave out are marked with `?`.  A received message has all its fields,
 * with defaults for those that were left out; `Complete` is its type.
 * @module
 */

import * as s from "./schema.js";
import type {{ Complete }} from "./schema.js";
import type {{ Int }} from "./values.js";

const message = s.tagged("type");
const kind = s.tagged("space");
"""


def emit(contract: model.Contract) -> dict[str, str]:
    """Return the client's generated files."""
    return {"typescript/src/core/messages.ts": _Emitter(contract).text()}


def _doc(words: str, indent: str = "", tags: Iterable[str] = ()) -> list[str]:
    words = re.sub(r"\bnil\b", "null", words)
    one = f"{indent}/** {words} */"
    if len(one) <= WIDTH and not tags:
        return [one]
    lines = comment(words, f"{indent} * ", WIDTH)
    return [f"{indent}/**", *lines, *(f"{indent} * {tag}" for tag in tags), f"{indent} */"]


def _list(before: str, names: Iterable[str], after: str) -> list[str]:
    """Return names in brackets, on one line if they fit."""
    names = list(names)
    one = f"{before}{', '.join(names)}{after}"
    return [one] if len(one) <= WIDTH else [before, *(f"  {name}," for name in names), after]


def _union(before: str, names: list[str], after: str) -> list[str]:
    """Return a union of names: on one line, as one line inside brackets, or as a line for each."""
    words = " | ".join(names)
    bracket = after != ";"
    one = f"{before}{'' if bracket else ' '}{words}{after}"
    if len(one) <= WIDTH:
        return [one]
    if bracket and len(words) + 2 <= WIDTH:
        return [before, f"  {words}", after]
    lines = [before, *(f"  | {name}" for name in names)]
    return [*lines, after] if bracket else [*lines[:-1], lines[-1] + after]


def _literal(value: Any) -> str:
    match value:
        case bytes():
            return f"new Uint8Array({list(value) if value else 0})"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float() if value.is_integer():
            return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def declared(type_: model.Type, scalar: Callable[[str], str]) -> str:
    """Return a type as TypeScript writes it; ``scalar`` names the kinds without parts."""
    match type_:
        case model.Scalar(kind):
            return scalar(kind)
        case model.Reference(name):
            return name
        case model.Array(inner):
            item = declared(inner, scalar)
            return f"({item})[]" if "|" in item else f"{item}[]"
        case model.TupleOf(items):
            return f"[{', '.join(declared(each, scalar) for each in items)}]"
        case model.Map(inner):
            return f"Record<string, {declared(inner, scalar)}>"
        case model.Optional(inner):
            return f"{declared(inner, scalar)} | null"
        case model.OneOf(items):
            return " | ".join(declared(each, scalar) for each in items)


class _Emitter:
    def __init__(self, contract: model.Contract) -> None:
        self.contract = contract
        self.spaces = [each for each in contract.records if each.module == "spaces"]
        others = [each for each in contract.records if each.module != "spaces"]
        self.records = [*self.spaces, *others]
        self.enumerations = (*contract.enumerations, contract.error_codes)
        parts = [each for each in others if each.tag is None]
        named = {name for each in self.records for name in model.references(each)}
        # A record that no field names is in the body of a reply, in either direction.
        loose = [each for each in parts if each.name not in named and each.module == "messages"]
        self.sent = self.closure([*(each for each in others if each.to_broker), *loose])
        self.sent |= {each.name for each in others if each.module == "scenes"}
        self.read = self.closure([*(each for each in others if each.to_peer), *loose, *self.spaces])
        self.known: set[str] = set()
        """Records above the line that is being written."""

    def closure(self, records: list[model.RecordType]) -> set[str]:
        """Return the names of records and of all that is inside them."""
        found: set[str] = set()
        while records:
            record = records.pop()
            found.add(record.name)
            inner = model.references(record) - found
            records += [each for each in self.records if each.name in inner]
        return found

    # -- types -------------------------------------------------------------------------------------

    def field(self, record: model.RecordType, field: model.Field) -> list[str]:
        """Return the declaration of a field: read-only lists and ``?`` in what may be sent."""
        sent = record.name in self.sent
        wide = "Int" if field.name in WIDE else "number"
        type_ = declared(field.type, lambda kind: wide if kind == "integer" else _TYPES[kind])
        inner = field.type.item if isinstance(field.type, model.Optional) else field.type
        if isinstance(inner, model.Array) and (sent or record.module == "spaces"):
            type_ = f"readonly {type_}"
        optional = sent and not field.required
        tags = []
        if optional and field.default not in (None, [], {}, b"", ""):
            tags = [f"@defaultValue {_literal(field.default)}"]
        mark = "?" if optional else ""
        return [*_doc(field.meaning, "  ", tags), f"  {field.name}{mark}: {type_};"]

    # -- readers -----------------------------------------------------------------------------------

    def reader(self, type_: model.Type, wide: bool) -> str:
        match type_:
            case model.Scalar("integer", low, high):
                bounds = [_literal(each) for each in (low, high) if each is not None]
                if wide:
                    return f"s.atLeast({', '.join(bounds)})" if bounds else "s.integer"
                return f"s.within({', '.join(bounds)})" if bounds else "s.small"
            case model.Scalar("number", low, high, exclusive) if (low, high) != (None, None):
                bounds = [
                    _literal(-math.inf if low is None else low),
                    *([_literal(high)] if high is not None else []),
                ]
                return f"s.{'above' if exclusive else 'bounded'}({', '.join(bounds)})"
            case model.Scalar("space"):
                return "Space" if "Space" in self.known else "() => Space()"
            case model.Scalar(kind):
                return _READERS.get(kind, f"s.{kind}")
            case model.Reference(name):
                if name in {each.name for each in self.enumerations}:
                    return name
                if self.contract.record(name).tag:  # a message inside another has its type too
                    return f's.union("type", "invalid", [{name}])'
                return f"{name}.read" if name in self.known else f"() => {name}.read()"
            case model.Array(inner):
                return f"s.array({self.reader(inner, wide)})"
            case model.TupleOf(items):
                return f"s.pair({', '.join(self.reader(each, wide) for each in items)})"
            case model.Map(inner):
                return f"s.map({self.reader(inner, wide)})"
            case model.Optional(inner):
                return f"s.nullable({self.reader(inner, wide)})"
            case model.OneOf(items):
                return f"s.either({', '.join(self.reader(each, wide) for each in items)})"

    def read_field(self, field: model.Field) -> str:
        reader = self.reader(field.type, field.name in WIDE)
        if field.required:
            return f"  {field.name}: s.required({reader}),"
        default = _literal(field.default)
        if isinstance(field.type, model.Reference) and field.default == {}:
            default = f"{field.type.name}.complete({{}})"
        return f"  {field.name}: s.optional({reader}, {default}),"

    # -- declarations ------------------------------------------------------------------------------

    def enumeration(self, each: model.Enumeration) -> list[str]:
        lines = ["", *_doc(each.summary), f"export type {each.name} ="]
        for word, meaning in each.members:
            lines += [*_doc(meaning, "  "), f"  | {json.dumps(word)}"]
        lines[-1] += ";"
        words = (json.dumps(word) for word, _ in each.members)
        return [*lines, *_list(f"export const {each.name} = s.oneOf<{each.name}>(", words, ");")]

    def record(self, record: model.RecordType) -> list[str]:
        tag = {"messages": "type", "spaces": "space", "scenes": ""}[record.module]
        lines = ["", *_doc(record.summary), f"export interface {record.name} {{"]
        if record.tag is not None:
            lines.append(f"  {tag}: {json.dumps(record.tag)};")
        for field in record.fields:
            lines += self.field(record, field)
        lines.append("}")
        if record.name in self.read:
            make = {"type": "message", "space": "kind"}[tag] if record.tag else "s.struct"
            name = json.dumps(record.tag or record.name.lower())
            start = f"export const {record.name} = {make}<{record.name}>({name}, {{"
            fields = [self.read_field(field) for field in record.fields]
            lines += [start, *fields, "});"] if fields else [f"{start}}});"]
        self.known.add(record.name)
        return lines

    def space(self) -> list[str]:
        names = [each.name for each in self.spaces]
        self.known.add("Space")
        return [
            "",
            *_doc("The space of an observation or action."),
            f"export type Space = {' | '.join(names)};",
            *_list(
                'export const Space: s.Reader<Space> = s.union("space", "invalid", [', names, "]);"
            ),
        ]

    def unions(self) -> list[str]:
        lines, readers = [], []
        for role in model.ROLES:
            heard = [each.name for each in self.contract.records if role in each.to_peer]
            said = [each.name for each in self.contract.records if role in each.to_broker]
            name = role.capitalize()
            lines += ["", f"/** A message from the broker to peers of the role `{role}`. */"]
            lines += _union(f"export type To{name} = Complete<", heard, ">;")
            lines += ["", f"/** A message from peers of the role `{role}`. */"]
            lines += _union(f"export type From{name} =", said, ";")
            readers += [f'  {role}: s.union("type", "unknown-type", [']
            readers += [f"    {each}," for each in heard] + ["  ]),"]
        lines += ["", "/** The messages that each role receives. */", "export interface Heard {"]
        lines += [f"  {role}: To{role.capitalize()};" for role in model.ROLES]
        lines += ["}", "", "/** Reads what a peer of each role receives. */"]
        lines.append("export const readers: { readonly [R in Role]: s.Reader<Heard[R]> } = {")
        return [*lines, *readers, "};"]

    def text(self) -> str:
        version = self.contract.version
        lines = ["/** The version of the protocol. */", f"export const VERSION = {version};"]
        for each in self.enumerations:
            lines += self.enumeration(each)
        for place, record in enumerate(self.records):
            if place == len(self.spaces):
                lines += self.space()
            lines += self.record(record)
        return "\n".join([HEAD, *lines, *self.unions(), ""])
