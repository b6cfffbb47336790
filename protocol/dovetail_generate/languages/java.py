"""Java: records nested in ``Message``, ``Space`` and ``Scene``, and an enum per enumeration.

A record has ``of`` with its required fields, ``withX`` for each field that has a default,
``toWire``, which leaves defaults out, and ``read``.  Code that uses nothing else still compiles
when a record gains an optional field.  ``Encodable``, ``Fields`` and ``Reader`` are by hand.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from textwrap import indent
from types import MappingProxyType
from typing import Any

from dovetail_generate import model
from dovetail_generate.languages.text import MARK, camel, comment, snake

WIDTH = 120
NESTED = WIDTH - 4
_FOLDER = "java/src/main/java/dev/dovetail"
_INDEXES = frozenset(("seat", "seats", "to_act", "blame"))
"""Fields whose integers number seats.  They are ``int``, as Java's indexes are."""
_UNSIGNED = frozenset(("number",))
"""Fields that may hold any integer of 64 bits, signed or not (SPEC.md, Types)."""
_RESERVED = re.compile(
    "abstract|boolean|byte|case|catch|char|clone|const|default|do|double|enum|extends|final"
    "|finalize|float|goto|hashCode|int|interface|long|native|new|notify|package|private|protected"
    "|public|short|static"
    "|strictfp|super|switch|synchronized|this|throws?|toString|transient|void|volatile|wait"
)
"""Names that a component of a record cannot have, besides the keywords that Python has, too."""
_AS = {"AgentStart": "AgentStep"}
"""Records that can be read as another, and which."""
_SCALARS = {
    "integer": ("long", "Long", "Reader.INTEGER"),
    "index": ("int", "Integer", "Reader.INDEX"),
    "unsigned": ("Number", "Number", "Reader.UNSIGNED"),
    "number": ("double", "Double", "Reader.NUMBER"),
    "boolean": ("boolean", "Boolean", "Reader.BOOLEAN"),
    "text": ("String", "String", "Reader.TEXT"),
    "binary": ("byte[]", "byte[]", "Reader.BINARY"),
    "any": ("Object", "Object", "Reader.ANY"),
    "payload": ("Object", "Object", "Reader.ANY"),
    "bound": ("Object", "Object", "Reader.BOUND"),
    "legal": ("Legal", "Legal", "Legal::read"),
    "space": ("Space", "Space", "Space::of"),
}
"""By kind, the type, the type as a type argument, and the reader."""
_ARRAYS = {
    "integer": ("long[]", "Reader.INTEGERS"),
    "index": ("int[]", "Reader.INDEXES"),
    "number": ("double[]", "Reader.NUMBERS"),
}

# -- names and types -------------------------------------------------------------------------------


def _name(wire: str) -> str:
    name = camel(wire)
    name = name[0].lower() + name[1:]
    return f"{name}_" if _RESERVED.fullmatch(name) else name


def _constant(word: str) -> str:
    return snake(word).upper()


def _kind(scalar: model.Scalar, field: str) -> str:
    if scalar.kind == "integer":
        return "index" if field in _INDEXES else "unsigned" if field in _UNSIGNED else scalar.kind
    return scalar.kind


def _type(kind: model.Type, field: str, *, boxed: bool = False) -> str:
    """Return the type of a field, or of what is in it."""
    match kind:
        case model.Scalar():
            return _SCALARS[_kind(kind, field)][boxed]
        case model.Optional(item=item):
            return _type(item, field, boxed=True)
        case model.Array(item=model.Scalar() as item) if _kind(item, field) in _ARRAYS:
            return _ARRAYS[_kind(item, field)][0]
        case model.Array(item=item):
            return f"List<{_type(item, field, boxed=True)}>"
        case model.Map(value=value):
            return f"Map<String, {_type(value, field, boxed=True)}>"
        case model.TupleOf(items=(model.Scalar(kind="number"), model.Scalar(kind="number"))):
            return "double[]"
        case model.TupleOf(items=(model.Scalar(kind="integer"), model.Scalar(kind="any"))):
            return "SeatValue"
        case model.OneOf():
            return "Object"
        case model.Reference(name=name):
            return name
    raise NotImplementedError(f"Java has no type for {kind}")


def _reader(kind: model.Type, field: str, words: frozenset[str]) -> str:
    """Return the reader of a field, or of what is in it; ``words`` are the enumerations' names."""
    match kind:
        case model.Scalar(minimum=low, maximum=high, exclusive=exclusive):
            reader = _SCALARS[_kind(kind, field)][2]
            if low is not None:
                reader = f"Reader.{'above' if exclusive else 'atLeast'}({reader}, {low})"
            return reader if high is None else f"Reader.atMost({reader}, {high})"
        case model.Optional(item=item):
            return f"Reader.orNil({_reader(item, field, words)})"
        case model.Array(item=model.Scalar(minimum=low) as item) if _kind(item, field) in _ARRAYS:
            reader = _ARRAYS[_kind(item, field)][1]
            return reader if low is None else f"Reader.allAtLeast({reader}, {low})"
        case model.Array(item=item):
            return f"Reader.list({_reader(item, field, words)})"
        case model.Map(value=value):
            return f"Reader.map({_reader(value, field, words)})"
        case model.TupleOf(items=(model.Scalar(kind="number"), model.Scalar(kind="number"))):
            return "Reader.TWO_NUMBERS"
        case model.TupleOf():
            return "SeatValue::read"
        case model.OneOf(items=(first, second)):
            return f"Reader.either({_reader(first, field, words)}, {_reader(second, field, words)})"
        case model.Reference(name=name):
            return f"Reader.word({name}.class)" if name in words else f"{name}::read"
    raise NotImplementedError(f"Java has no reader for {kind}")


def _default(kind: model.Type, field: str, value: Any) -> str:
    """Return a default as an expression."""
    match kind:
        case _ if value is None:
            return "null"
        case model.Optional(item=item):
            return _default(item, field, value)
        case model.Scalar(kind="integer"):
            return f"{value}" if field in _INDEXES else f"{value}L"
        case model.Scalar(kind="binary"):
            return "new byte[0]"
        case model.Scalar() if isinstance(value, float):
            sign = "POSITIVE" if value > 0 else "NEGATIVE"
            return f"Double.{sign}_INFINITY" if math.isinf(value) else repr(value)
        case model.Scalar():
            return json.dumps(value)
        case model.Array() if not value:
            array = _type(kind, field)
            return f"new {array[:-1]}0]" if array.endswith("[]") else "List.of()"
        case model.Map() if not value:
            return "Map.of()"
        case model.Reference(name=name):
            return f"{name}.of()" if value == {} else f"{name}.{_constant(value)}"
    raise NotImplementedError(f"Java has no default {value!r} of {kind}")


# -- text ------------------------------------------------------------------------------------------


def _javadoc(summary: str, width: int, tags: Iterable[tuple[str, str]] = ()) -> str:
    lines = comment(_words(summary), " * ", width)
    if not tags and len(lines) == 1 and len(lines[0]) + 4 <= width:
        return f"/**{lines[0][2:]} */"
    lines += [" *"] if tags else []
    for tag, meaning in tags:
        first, *rest = comment(f"{tag} {_words(meaning)}", " * ", width - 4)
        lines += [first, *(f" *     {line[3:]}" for line in rest)]
    return "\n".join(["/**", *lines, " */"])


def _words(text: str) -> str:
    """Return prose as Javadoc has it."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;")):
        text = text.replace(sign, entity)
    return re.sub(r"\bnil\b", "null", re.sub(r"`([^`]*)`", r"{@code \1}", text))


def _list(head: str, items: list[str], tail: str, width: int, *, column: bool = False) -> str:
    """Write a list in one line or, if that is too long, in several; in a column, with one item
    each."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= width:
        return line
    deeper = " " * (len(head) - len(head.lstrip()) + 8)
    if column:
        return f"{head}\n{deeper}" + f",\n{deeper}".join(items) + tail
    return "\n".join([head, *comment(", ".join(items) + tail, deeper, width)])


def _block(items: Iterable[str], spaces: int, separator: str = "") -> str:
    return indent(f"{separator}\n".join(items), " " * spaces)


# -- records ---------------------------------------------------------------------------------------


def _as(record: model.RecordType, other: model.RecordType) -> str:
    """Write what makes another record of the fields that both have."""
    own = {each.name for each in record.fields}
    values = [
        _name(each.name) if each.name in own else _default(each.type, each.name, each.default)
        for each in other.fields
    ]
    return f"""\
/** {{@return {{@code {other.name}}} with the same fields}} */
{other.name} as{other.name}() {{
{_list(f"    return new {other.name}(", values, ");", NESTED - 4)}
}}"""


def _record(
    record: model.RecordType,
    implemented: str,
    words: frozenset[str],
    width: int,
    other: Mapping[str, model.RecordType] = MappingProxyType({}),
) -> str:
    fields = {_name(each.name): each for each in record.fields}
    types = {name: _type(field.type, field.name) for name, field in fields.items()}
    defaults = {
        name: _default(field.type, field.name, field.default) for name, field in fields.items()
    }
    given = [name for name, field in fields.items() if field.required]

    def made(head: str, parameters: list[str], values: list[str]) -> str:
        if parameters:  # an array may come last as a list of arguments
            parameters[-1] = re.sub(r"^(int|long|double)\[\]", r"\1...", parameters[-1])
        header = _list(f"public static {head}(", parameters, ") {", width - 4)
        call = _list(f"    return new {record.name}(", values, ");", width - 4)
        return f"{header}\n{call}\n}}"

    of = [f"{types[name]} {name}" for name in given]
    others = "the other" if given else "all"
    rest = "these" if len(given) == len(fields) else f"defaults in {others}"
    summary = f"{{@return {{@code {record.name}}} with {rest} fields}}"
    members = [
        f"/** {summary} */\n"
        + made(f"{record.name} of", of, [n if n in given else defaults[n] for n in fields])
    ]
    for name in fields:
        if name not in given:
            method = f"with{name[0].upper()}{name[1:].removesuffix('_')}"
            body = made(f"{record.name} {method}", [f"{types[name]} {name}"], list(fields))
            members.append(
                f"/** {{@return a copy with another {{@code {name}}}}} */\n"
                + body.replace("public static", "public", 1)
            )
    if record.name in _AS:
        members.append(_as(record, other[_AS[record.name]]))
    members += [_to_wire(record, fields, defaults), _read(record, fields, defaults, words)]
    tags = [(f"@param {name}", field.meaning) for name, field in fields.items()]
    components = [f"{types[name]} {name}" for name in fields]
    tail = f") implements {implemented} {{"
    return "\n".join(
        [
            _javadoc(record.summary, width, tags),
            _list(f"record {record.name}(", components, tail, width, column=True),
            _block(members, 4, "\n"),
            "}",
        ]
    )


def _to_wire(
    record: model.RecordType, fields: dict[str, model.Field], defaults: dict[str, str]
) -> str:
    tag = "space" if record.module == "spaces" else "type"
    puts = [f'.put("{tag}", "{record.tag}")'] if record.tag else []
    for name, field in fields.items():
        default = "" if field.required else f", {defaults[name]}"
        puts.append(f'.put("{field.name}", {name}{default})')
    return f"""\
@Override
public Map<String, Object> toWire() {{
    return Fields.writer()
{_block([*puts, ".map();"], 12)}
}}"""


def _read(
    record: model.RecordType,
    fields: dict[str, model.Field],
    defaults: dict[str, str],
    words: frozenset[str],
) -> str:
    reads = []
    for name, field in fields.items():
        how = f'"{field.name}", {_reader(field.type, field.name, words)}'
        required = f"fields.required({how})"
        reads.append(required if field.required else f"fields.optional({how}, {defaults[name]})")
    return f"""\
static {record.name} read(Object value) {{
    Fields fields = Fields.of(value);
{_list(f"    return new {record.name}(", reads, ");", 60, column=True)}
}}"""


# -- files -----------------------------------------------------------------------------------------


def _enumeration(enumeration: model.Enumeration) -> str:
    members = [
        f'{_javadoc(meaning, NESTED - 4)}\n{_constant(word)}("{word}")'
        for word, meaning in enumeration.members
    ]
    return f"""\
{_javadoc(enumeration.summary, NESTED)}
enum {enumeration.name} implements Encodable {{
{_block(members, 4, ",")};

    private final String wire;

    {enumeration.name}(String wire) {{
        this.wire = wire;
    }}

    @Override
    public String toWire() {{
        return wire;
    }}
}}"""


def _dispatch(records: list[model.RecordType]) -> str:
    """Write how a peer of each role reads what the broker sends."""
    received: dict[str, list[str]] = {}
    for role in model.ROLES:
        cases = [
            f'    case "{each.tag}" -> {each.name}.read(fields);'
            for each in records
            if role in each.to_peer
        ]
        received.setdefault("\n".join(cases), []).append(_constant(role))
    roles = [
        f"""\
case {", ".join(roles)} -> switch (type) {{
{cases}
    default -> throw ProtocolException.unknown(role, type);
}};"""
        for cases, roles in received.items()
    ]
    return f"""\
/**
 * Reads a message that a broker sends to a peer of a role.
 *
 * @param role the peer's role
 * @param fields the message as a map
 * @return the message
 * @throws ProtocolException code {{@code unknown-type}} or {{@code invalid}}
 */
static Message read(Role role, Map<String, Object> fields) {{
    String type = Fields.type(fields);
    try {{
        return switch (role) {{
{_block(roles, 12)}
        }};
    }} catch (ProtocolException error) {{
        throw error.in(type);
    }}
}}"""


def _any_space(spaces: list[model.RecordType]) -> str:
    cases = [f'case "{each.tag}" -> {each.name}.read(value);' for each in spaces]
    return f"""\
/**
 * Reads a space from the form in which it travels.
 *
 * @param value a map whose {{@code space}} names the kind
 * @return the space
 * @throws ProtocolException code {{@code invalid}}
 */
static Space of(Object value) {{
    String kind = Fields.of(value).required("space", Reader.TEXT);
    return switch (kind) {{
{_block(cases, 8)}
        default -> throw ProtocolException.invalid("must be a space, not " + kind);
    }};
}}"""


def _file(text: str) -> str:
    return f"""\
// {MARK}
package dev.dovetail;

import java.util.List;
import java.util.Map;

{text}
"""


def emit(contract: model.Contract) -> dict[str, str]:
    """Return the text of Java's generated files."""
    words = frozenset(each.name for each in contract.enumerations)
    messages = [each for each in contract.records if each.module == "messages" and each.tag]
    parts = [each for each in contract.records if each.module == "messages" and not each.tag]
    spaces = [each for each in contract.records if each.module == "spaces"]
    drawn = [each for each in contract.records if each.module == "scenes" and each.name != "Scene"]

    def interface(name: str, summary: str, members: list[str]) -> str:
        header = f"/** {summary} */\npublic sealed interface {name} extends Encodable {{"
        return _file(f"{header}\n{_block(members, 4, blank)}\n}}")

    def records(of: list[model.RecordType], implemented: str) -> list[str]:
        others = {each.name: each for each in of}
        return [_record(each, implemented, words, NESTED, others) for each in of]

    blank = "\n"
    to_wire = "@Override\nMap<String, Object> toWire();"
    version = "/** The protocol version that this library speaks. */"
    seq = "/** {@return the number of a frame that must arrive; 0 for any other} */"
    message = [
        f"{version}\nint VERSION = {contract.version};",
        _dispatch(messages),
        to_wire,
        f"{seq}\ndefault long seq() {{\n    return 0;\n}}",
        *map(_enumeration, (*contract.enumerations, contract.error_codes)),
        *records(messages, "Message"),
        *records(parts, "Encodable"),
    ]
    space = [_any_space(spaces), to_wire, *records(spaces, "Space")]
    scene = _record(contract.record("Scene"), "Encodable", words, WIDTH)
    scene = scene.replace("\nrecord", "\npublic record").removesuffix("}")
    scene += f"\n{_block(records(drawn, 'Encodable'), 4, blank)}\n}}"
    return {
        f"{_FOLDER}/Message.java": interface(
            "Message", "A message, and the parts and words that messages consist of.", message
        ),
        f"{_FOLDER}/Space.java": interface(
            "Space", "The values that an observation or action can have.", space
        ),
        f"{_FOLDER}/Scene.java": _file(scene),
    }
