"""Go: structs, each with a method ``wire`` that reads and writes its fields.

What a struct leaves zero has its default.  Where the default is not Go's zero value, a zero that is
not a valid value stands for the default; elsewhere the field is a pointer and nil stands for it, if
the struct is one that clients send (in the others, reading fills the default in).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from dovetail_generate import model
from dovetail_generate.languages.text import MARK, camel, comment

ROLES = ("environment", "agent", "experiment")
_INITIALISMS = {"id": "ID", "dtype": "DType", "nvec": "NVec"}
_INDEXES = {
    *("applied", "blame", "capacity", "concurrency", "decisions", "depth", "elements", "frame"),
    *("seat", "seats", "shape", "to_act", "turn", "turns", "version"),
}
"""Integers that index or count what is in memory, so ``int``; numbers and seeds are ``int64``."""
_SPECIAL = {"number": ("uint64", "unsigned"), "dtype": ("DType", "dtype")}
"""Fields whose Go type the contract's type does not tell."""
_SCALARS = {
    "number": ("float64", "number"),
    "text": ("string", "text"),
    "binary": ("[]byte", "blob"),
    "boolean": ("bool", "boolean"),
    "any": ("any", "value"),
    "payload": ("any", "payload"),
    "space": ("Space", "space"),
    "bound": ("any", "bound"),
}


def _name(wire: str) -> str:
    return _INITIALISMS.get(wire) or camel(wire)


def _listed(words: list[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _zero_is_valid(kind: model.Type, field: str) -> bool:
    """Return whether Go's zero value is a value of the type that a program may mean."""
    match kind:
        case model.Scalar(kind="integer" | "number", minimum=low, exclusive=exclusive):
            return low is None or low < 0 or (low == 0 and not exclusive)
        case model.Scalar():
            return field != "dtype"
        case model.Reference():  # of an enumeration: no word is empty
            return False
    return True


def _range(kind: model.Type, member: str) -> tuple[str, str]:
    """Return the condition that a value is in its range, and what it must be in words."""
    match kind:
        case model.Scalar(minimum=low, maximum=high, exclusive=exclusive) if low is not None:
            condition = f"{member} {'>' if exclusive else '>='} {low:g}"
            if high is not None:
                return f"{condition} && {member} <= {high:g}", f"between {low:g} and {high:g}"
            return condition, f"above {low:g}" if exclusive else f"{low:g} or more"
        case model.Array(item=model.Scalar(minimum=low)) if low is not None:
            return f"len({member}) == 0 || slices.Min({member}) >= {low:g}", f"{low:g} or more"
    return "", ""


class _Emitter:
    """Writes the declarations of one contract."""

    def __init__(self, contract: model.Contract) -> None:
        self.contract = contract
        self.records = {each.name: each for each in contract.records if each.module != "scenes"}
        self.enumerations = {each.name: each for each in contract.enumerations}
        self.sent: set[str] = set()
        self.received: set[str] = set()
        self.roles: dict[str, set[str]] = {name: set() for name in self.records}
        inner = {part for each in self.records.values() for part in self._parts(each)}
        for record in self.records.values():
            # A record that is neither a message nor a part of one is in the body of a reply.
            free = not record.to_broker + record.to_peer and record.name not in inner
            for part in self._within(record):
                if record.to_broker or free:
                    self.sent.add(part)
                if record.to_peer or free:
                    self.received.add(part)
                roles = ROLES if free else record.to_broker + record.to_peer
                self.roles[part].update(set(roles) & set(ROLES))

    def _within(self, record: model.RecordType) -> set[str]:
        """Return the names of a record and of those that it contains."""
        return {record.name}.union(*(self._within(self.records[n]) for n in self._parts(record)))

    def _parts(self, record: model.RecordType) -> set[str]:
        """Return the names of the records that the fields of a record are or hold."""
        return model.references(record) & self.records.keys()

    # -- types ------------------------------------------------------------------------------------

    def form(self, kind: model.Type, field: str) -> tuple[str, str]:
        """Return the Go type of a value and the form that reads and writes it."""
        match kind:
            case model.Scalar() if field in _SPECIAL:
                return _SPECIAL[field]
            case model.Scalar(kind="integer"):
                return "int" if field in _INDEXES else "int64", "integer"
            case model.Scalar(kind=scalar) if scalar in _SCALARS:
                return _SCALARS[scalar]
            case model.Reference(name=name):
                return name, "mapOf" if name in self.records else f"form{name}"
            case model.Array(item=item):
                go, form = self.form(item, field)
                return f"[]{go}", f"arrayOf({self._of(item, go, form)})"
            case model.Map(value=item):
                go, form = self.form(item, field)
                return f"map[string]{go}", f"dictOf({self._of(item, go, form)})"
            case model.TupleOf(items=(model.Scalar(kind="number"), model.Scalar(kind="number"))):
                return "[2]float64", "interval"
            case model.TupleOf(
                items=(model.Scalar(kind="integer"), model.Scalar(kind="any" | "payload"))
            ):
                return "SeatValue", "pair"
            case model.OneOf():
                return "any", "value"
            case model.Optional():
                pass
        raise NotImplementedError(f"no Go type for field {field}: {kind}")

    @staticmethod
    def _of(item: model.Type, go: str, form: str) -> str:
        """Return a form as an argument, instantiated where Go cannot infer its type."""
        return f"{form}[{go}]" if form in ("integer", "mapOf") else form

    def field(self, record: model.RecordType, field: model.Field) -> tuple[str, str, list[str]]:
        """Return a field's Go type, what its comment adds, and its lines in ``wire``."""
        member, key = f"m.{_name(field.name)}", json.dumps(field.name)
        kind = field.type.item if isinstance(field.type, model.Optional) else field.type
        optional, default = isinstance(field.type, model.Optional), field.default
        if kind == model.Scalar("legal"):
            return "[]int64", "", [f"w.legal({key}, &{member}, &{member}Mask)"]
        go, form = self.form(kind, field.name)
        zero, said = _zero_is_valid(kind, field.name), self._default(kind, default)
        is_record = isinstance(kind, model.Reference) and kind.name in self.records

        def lines(helper: str, *more: str, unless: str = "", pointer: str = "") -> list[str]:
            first = f"{helper}({', '.join(('w', key, '&' + member, *more))})"
            condition, words = _range(kind, pointer + member)
            if not condition or go == "uint64" or record.name not in self.received:
                return [first]
            guard = f"{member} == {unless} || " if unless else ""
            return [first, f'w.check({guard}{condition}, {key}, "{words}")']

        match kind:
            case _ if field.required and not optional:
                return go, "", lines("need", form)
            case model.Reference() if is_record and not optional:
                return go, "", lines("part")
            case model.Array() | model.Scalar(kind="binary") if optional and default is None:
                return go, "", lines("orNone", form)
            case model.Array(item=item) if not default:
                return go, "", lines("array", self._of(item, *self.form(item, field.name)))
            case model.Map(value=item) if not default and not optional:
                return go, "", lines("dict", self._of(item, *self.form(item, field.name)))
            case model.Scalar(kind="binary") if not default:
                return go, "", lines("orEmpty", form)
            case model.Scalar(kind="bound") if isinstance(default, float) and math.isinf(default):
                sign = "-" if default < 0 else ""
                return go, f"Nil stands for {sign}∞.", lines("unbounded", f"{sign}1")
            case model.Scalar(kind="number") if optional and default is not None and not zero:
                note = f"Zero stands for {said}, math.Inf(1) for nil."
                return go, note, lines("limit", said, form)
            case _ if optional and default is None and (zero or is_record):
                return f"*{go}", "", lines("orNil", form, unless="nil", pointer="*")
            case model.Reference() if optional and default is None:
                return go, "Empty stands for nil.", lines("orZero", form)
            case model.Scalar() if optional and default is None:
                return go, "Zero stands for nil.", lines("orZero", form, unless="0")
            case model.Scalar() | model.Reference() if not zero and not optional:
                empty = (
                    "Zero" if isinstance(kind, model.Scalar) and kind.kind != "text" else "Empty"
                )
                return go, f"{empty} stands for {said}.", lines("orDefault", said, form)
            case model.Scalar() | model.Reference() if optional or (
                default and record.name in self.sent
            ):
                pointed = lines("orPointer", said, form, unless="nil", pointer="*")
                return f"*{go}", f"Nil stands for {said}.", pointed
            case model.Scalar():
                return go, "", lines("opt", said, form)
        raise NotImplementedError(f"no Go field for {record.name}.{field.name}")

    @staticmethod
    def _default(kind: model.Type, default: Any) -> str:
        if default is None:
            return "nil"
        if isinstance(kind, model.Reference):
            return f"{kind.name}{camel(str(default))}"
        if isinstance(default, float) and math.isfinite(default):
            return repr(default).removesuffix(".0")
        return "" if isinstance(default, bytes) else json.dumps(default, ensure_ascii=False)

    # -- declarations -----------------------------------------------------------------------------

    def record(self, record: model.RecordType) -> Iterator[str]:
        """Yield the lines of a struct and its methods."""
        yield from comment(f"{self._what(record)}. {record.summary}", "// ")
        lines, wire = list[str](), list[str]()
        for field in record.fields:
            go, note, code = self.field(record, field)
            lines += comment(f"{field.meaning} {note}".strip(), "\t// ")
            lines.append(f"\t{_name(field.name)} {go}")
            if field.type == model.Scalar("legal"):
                lines += [
                    "\t// The same as a bit mask, in its place; see [Mask].",
                    "\tLegalMask []byte",
                ]
            wire += [f"\t{line}" for line in code]
        if lines:
            yield from (f"type {record.name} struct {{", *lines, "}", "")
            yield from (f"func (m *{record.name}) wire(w *wire) {{", *wire, "}", "")
        else:
            yield from (f"type {record.name} struct{{}}", "")
            yield from (f"func (*{record.name}) wire(*wire) {{}}", "")
        if record.tag:
            method = "variant" if record.module == "spaces" else "kind"
            yield f'func (*{record.name}) {method}() string {{ return "{record.tag}" }}'
            yield ""
        fields = {field.name: field for field in record.fields}
        if "seq" in fields:
            yield f"func (m *{record.name}) seq() int64 {{ return m.Seq }}"
            yield ""
        if "experiment" in record.to_broker and "id" in fields and fields["id"].required:
            yield f"func (m *{record.name}) setID(id int64) {{ m.ID = id }}"
            yield ""

    def _what(self, record: model.RecordType) -> str:
        if record.module == "spaces":
            return f"{record.name} is a space"
        if record.tag is None:
            every = self.records.values()
            owners = [each.name for each in every if record.name in self._parts(each)]
            return f"{record.name} is part of {_listed(owners, 'and') or 'replies'}"

        def listed(roles: tuple[str, ...]) -> str:
            own = [f"an {each}" for each in roles if each in ROLES]
            every = len(own) == len(ROLES)
            return "any peer" if every else _listed(own, "or") or "an observer"

        ways = [f"from {listed(record.to_broker)}"] if record.to_broker else []
        ways += [f"to {listed(record.to_peer)}"] if record.to_peer else []
        if not ways:
            return f'{record.name} is the message "{record.tag}"'
        return f'{record.name} is the message "{record.tag}" {", and ".join(ways)}'

    @staticmethod
    def enumeration(enumeration: model.Enumeration) -> Iterator[str]:
        """Yield the lines of a type of text, its words and its form."""
        name, summary = enumeration.name, enumeration.summary
        names = [f"{name}{camel(word)}" for word, _ in enumeration.members]
        yield from comment(f"{name} says {summary[0].lower()}{summary[1:]}", "// ")
        yield from (f"type {name} string", "", f"// The words of {name}.", "const (")
        for constant, (word, meaning) in zip(names, enumeration.members, strict=True):
            yield from comment(meaning, "\t// ")
            yield f'\t{constant} {name} = "{word}"'
        form = f"var form{name} = oneOf({', '.join(names)})"
        if len(form) > 100:
            form = f"var form{name} = oneOf(\n" + "".join(f"\t{each},\n" for each in names) + ")"
        yield from (")", "", form, "")

    def header(self) -> Iterator[str]:
        """Yield what is neither a record nor an enumeration."""
        codes = self.contract.error_codes
        yield from ("// Version is the version of the protocol.",)
        yield from (f"const Version = {self.contract.version}", "")
        summary = codes.summary
        yield from comment(f"The codes say {summary[0].lower()}{summary[1:]}", "// ")
        yield "const ("
        for word, meaning in codes.members:
            yield from comment(meaning, "\t// ")
            yield f'\tCode{camel(word)} = "{word}"'
        yield from (")", "")
        limits = ", ".join(
            f"{_name(each.name)}: {each.default}" for each in self.contract.record("Limits").fields
        )
        yield "// DefaultLimits are those of a receiver that names none."
        yield from (f"var DefaultLimits = Limits{{{limits}}}", "")

    def spaces(self) -> Iterator[str]:
        """Yield the spaces, and the function that makes an empty one."""
        spaces = [each for each in self.records.values() if each.module == "spaces"]
        yield "// newSpace returns an empty space of a kind, or nil."
        yield from _switch("newSpace", "Space", spaces)
        for record in spaces:
            yield from self.record(record)

    def messages(self, role: str) -> Iterator[str]:
        """Yield the messages of one role, and the function that makes an empty one to it."""
        received = [each for each in self.records.values() if role in each.to_peer]
        yield (
            f"// to{camel(role)} returns an empty message of a kind that an {role} receives, or "
            "nil."
        )
        yield from _switch(f"to{camel(role)}", "Message", received)
        yield from self.of({role})

    def of(self, roles: set[str] | None) -> Iterator[str]:
        """Yield the records that only one role uses, or those that several do."""
        for record in self.records.values():
            own = self.roles[record.name]
            if record.module == "messages" and (own == roles if roles else len(own) != 1):
                yield from self.record(record)


def _switch(name: str, result: str, records: list[model.RecordType]) -> Iterator[str]:
    yield from (f"func {name}(kind string) {result} {{", "\tswitch kind {")
    for record in records:
        yield from (f'\tcase "{record.tag}":', f"\t\treturn new({record.name})")
    yield from ("\t}", "\treturn nil", "}", "")


def _file(lines: Iterator[str]) -> str:
    body = "\n".join(lines).rstrip("\n")
    imports = 'import "slices"\n\n' if "slices." in body else ""
    return f"// {MARK}\n\npackage dovetail\n\n{imports}{body}\n"


def emit(contract: model.Contract) -> dict[str, str]:
    """Return the Go client's generated files."""
    emitter = _Emitter(contract)

    def shared() -> Iterator[str]:
        yield from emitter.header()
        for enumeration in contract.enumerations:
            yield from emitter.enumeration(enumeration)
        yield from emitter.of(None)
        yield from emitter.spaces()

    return {
        "go/messages_gen.go": _file(shared()),
        **{f"go/messages_{role}_gen.go": _file(emitter.messages(role)) for role in ROLES},
    }
