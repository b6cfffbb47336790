"""The contract as data: every message, part, enumeration and limit, for the emitters to write down.

The source is the source text of the types: annotations, defaults and the docstrings below them.
Nothing here knows a language; ``contract()`` returns the same for all emitters.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from dovetail.protocol import codec, errors, messages, scenes, spaces
from dovetail_generate.words import WORDS

ROLES = ("environment", "agent", "experiment", "observer")

# -- types -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts: ``integer``, ``number``, ``text``, ``binary``, ``boolean`` or ``any``.

    ``payload`` is any value that passes through unopened; ``legal`` a list of action numbers, a bit
    mask or nil; ``space`` a map whose ``space`` names its kind; ``bound`` a number or nested arrays
    of numbers.
    """

    kind: str
    minimum: float | None = None
    maximum: float | None = None
    exclusive: bool = False
    """True if ``minimum`` itself is excluded."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array of any length."""

    item: Type


@dataclass(frozen=True, slots=True)
class TupleOf:
    """An array of exactly these."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A map from text."""

    value: Type


@dataclass(frozen=True, slots=True)
class Optional:
    """A value or nil."""

    item: Type


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several types, none of them nil."""

    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A record or an enumeration, by name."""

    name: str


Type = Scalar | Array | TupleOf | Map | Optional | OneOf | Reference

# -- declarations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record."""

    name: str
    type: Type
    required: bool
    default: Any
    """A plain Python value; None for nil and for a required field, ``{}`` for a record."""
    meaning: str


@dataclass(frozen=True, slots=True)
class RecordType:
    """A message or a part of one."""

    name: str
    tag: str | None
    """``type`` of a message (``space`` of a space) on the wire; None for a part."""
    summary: str
    fields: tuple[Field, ...]
    to_broker: tuple[str, ...]
    """Roles that send it."""
    to_peer: tuple[str, ...]
    """Roles that receive it."""
    module: Literal["messages", "spaces", "scenes"]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Words that a text is one of."""

    name: str
    summary: str
    members: tuple[tuple[str, str], ...]
    """Each word and what it means."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Everything that a client needs as data."""

    version: int
    records: tuple[RecordType, ...]
    """In the order of the source: messages, spaces, scenes."""
    enumerations: tuple[Enumeration, ...]
    error_codes: Enumeration

    def record(self, name: str) -> RecordType:
        """Return the record of that name."""
        return next(each for each in self.records if each.name == name)


def references(record: RecordType) -> set[str]:
    """Return the names of the records and enumerations that the fields of a record hold."""

    def inside(kind: Type) -> set[str]:
        match kind:
            case Reference(name):
                return {name}
            case Array(item) | Optional(item) | Map(item):
                return inside(item)
            case TupleOf(items) | OneOf(items):
                return set[str]().union(*map(inside, items))
        return set()

    return set[str]().union(*(inside(field.type) for field in record.fields))


# -- from the source -------------------------------------------------------------------------------

_SCALARS: dict[str, Scalar] = {
    "int": Scalar("integer"),
    "str": Scalar("text"),
    "bool": Scalar("boolean"),
    "float": Scalar("number"),
    "bytes": Scalar("binary"),
    "Any": Scalar("any"),
    "Payload": Scalar("payload"),
    "Legal": Scalar("legal"),
    "Space": Scalar("space"),
    "Bound": Scalar("bound"),
    "Natural": Scalar("integer", 0),
    "Positive": Scalar("integer", 1),
    "GroupSize": Scalar("integer", 0, 65_536),
    "Count": Scalar("integer", 1),
    "Seconds": Scalar("number", 0),
}


_ABSTRACT = {
    *("Message", "Sequenced", "SequencedRequest", "Asking", "Part", "_Space"),
    *("RunCommand", "GameRules", "PlayRules", "RunRules"),
}


def _type(node: ast.expr) -> Type:
    match node:
        case ast.Name(id="Shape"):
            return Array(Scalar("integer", 0))
        case ast.Name(id=name):
            return _SCALARS.get(name) or Reference(name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return Optional(_type(left))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return OneOf((_type(left), _type(right)))
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return Array(_type(inner))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inner)):
            return TupleOf(tuple(_type(each) for each in inner))
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return Map(_type(inner))
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, ast.Call(keywords=bounds)])
        ):
            scalar = _type(kind)
            assert isinstance(scalar, Scalar)
            limits = {str(each.arg): ast.literal_eval(each.value) for each in bounds}
            return Scalar(
                scalar.kind,
                limits.get("ge", limits.get("gt", scalar.minimum)),
                limits.get("le", scalar.maximum),
                "gt" in limits,
            )
    raise NotImplementedError(f"no emitter knows the annotation {ast.unparse(node)}")


def _text(node: ast.stmt | None) -> str:
    """Return the docstring that a statement is, in one line; empty if it is none."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return " ".join(words.split()).replace("``", "`")
    return ""


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default of a field that has one."""
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.required:
        return None
    default = default_of(field)
    if isinstance(default, msgspec.Raw):
        return None
    return {} if isinstance(default, msgspec.Struct) else default


def _records(
    module: types.ModuleType, name: Literal["messages", "spaces", "scenes"]
) -> list[RecordType]:
    """Return the structs of a module, each with inherited fields first.

    Raises:
        ValueError: a field has no docstring.
    """
    assert module.__file__ is not None
    declared: dict[str, dict[str, Field]] = {}
    records: list[RecordType] = []
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        kind = getattr(module, node.name) if isinstance(node, ast.ClassDef) else None
        if not (isinstance(node, ast.ClassDef) and kind and issubclass(kind, msgspec.Struct)):
            continue
        known = {field.name: field for field in msgspec.structs.fields(kind)}
        fields: dict[str, Field] = {}
        for base in node.bases:
            fields |= declared.get(ast.unparse(base), {})
        for line, below in pairwise([*node.body, ast.Pass()]):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                field = known[line.target.id]
                if not (meaning := _text(below)):
                    where = f"{module.__name__}.{node.name}.{field.name}"
                    raise ValueError(f"{where} has no docstring")
                type_, default = _type(line.annotation), _default(field)
                fields[field.name] = Field(field.name, type_, field.required, default, meaning)
        declared[node.name] = fields
        tag = kind.__struct_config__.tag
        records.append(
            RecordType(
                node.name,
                tag if isinstance(tag, str) else None,
                _text(node.body[0]),
                tuple(fields[each] for each in kind.__struct_fields__),
                tuple(role for role in ROLES if kind in get_args(codec.AT_BROKER[role])),
                tuple(role for role in ROLES if kind in get_args(codec.AT_PEER[role])),
                name,
            )
        )
    return [each for each in records if each.name not in _ABSTRACT]


def _enumerations(module: types.ModuleType) -> list[Enumeration]:
    """Return the module's own aliases of ``Literal`` whose words ``WORDS`` explains."""
    found = []
    for name, meanings in WORDS.items():
        if name not in vars(module):
            continue
        members = get_args(getattr(module, name))
        if set(members) != set(meanings) - {""}:
            raise ValueError(f"WORDS[{name!r}] explains other words than {name} has")
        found.append(
            Enumeration(name, meanings[""], tuple((each, meanings[each]) for each in members))
        )
    return found


@cache
def contract() -> Contract:
    """Return the contract as data.

    Raises:
        ValueError: a field has no docstring, or a word of an enumeration no meaning.
    """
    records = (
        *_records(messages, "messages"),
        *_records(spaces, "spaces"),
        *_records(scenes, "scenes"),
    )
    [codes] = _enumerations(errors)
    return Contract(messages.VERSION, records, tuple(_enumerations(messages)), codes)
