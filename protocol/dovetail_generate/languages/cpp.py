"""C++: aggregates with the contract's defaults, and one ``visit`` each for reading and writing.

``include/dovetail`` has the enumerations, the spaces' structs and the messages.  ``src/fields.hpp``
lists the fields for the visitors of ``src/reader.hpp`` and ``src/writer.hpp``, and which message a
type names. ``src/messages.cpp`` builds the code that reads and writes each of them.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from dovetail_generate import model
from dovetail_generate.languages.text import MARK, comment, snake

WIDTH = 110
"""The ``ColumnLimit`` of ``.clang-format``."""

_KEYWORDS = (
    "and auto bool break case catch char class const continue default delete do double else enum "
    "explicit export extern false float for friend goto if inline int long namespace new not "
    "operator or private protected public register return short signed static struct switch "
    "template this throw true try typename union unsigned using virtual void volatile while "
    "xor"
)
_RESERVED = {*_KEYWORDS.split(), "type", "kind"}
"""Keywords, and the constants that name a message and a space."""
_SCALARS = {
    "integer": "std::int64_t",
    "number": "double",
    "text": "std::string",
    "binary": "Bytes",
    "boolean": "bool",
    "any": "Value",
    "payload": "Value",
    "legal": "Legal",
    "space": "Boxed<Space>",
    "bound": "Value",
}
_BOXED = """
/// A value that is declared before its type is complete; copies share it.
template <class T>
class Boxed {
public:
    Boxed() = default;
    Boxed(T value) : held_(std::make_shared<const T>(std::move(value))) {}
    const T& operator*() const {
        static const T nothing{};
        return held_ ? *held_ : nothing;
    }
    const T* operator->() const { return &**this; }

private:
    std::shared_ptr<const T> held_;
};
"""
_ZERO = {"integer": "0", "number": "0.0", "boolean": "false"}


def _name(word: str) -> str:
    name = snake(word)
    return f"{name}_" if name in _RESERVED else name


def _space(record: model.RecordType) -> str:
    return f"{record.module}::{record.name}"


def _declared(kind: model.Type) -> str:
    match kind:
        case model.Scalar(kind=scalar):
            return _SCALARS[scalar]
        case model.Reference(name=name):
            return name
        case model.Optional(item=item):
            return f"std::optional<{_declared(item)}>"
        case model.Array(
            item=model.Scalar(kind="space")
        ):  # a vector may hold what is declared later
            return "std::vector<Space>"
        case model.Map(value=model.Scalar(kind="space")):
            return "std::vector<std::pair<std::string, Space>>"
        case model.Array(item=item):
            return f"std::vector<{_declared(item)}>"
        case model.TupleOf(items=(first, second)):
            return f"std::pair<{_declared(first)}, {_declared(second)}>"
        case model.OneOf(items=items):
            return f"std::variant<{', '.join(_declared(item) for item in items)}>"
        case model.Map(value=model.Scalar(kind="any")):
            return "Map"
        case model.Map(value=item):  # in its own order, which ``Map`` keeps too
            return f"std::vector<std::pair<std::string, {_declared(item)}>>"
    raise NotImplementedError(f"no C++ type for {kind}")


def _bounds(kind: model.Type) -> list[tuple[str, float, str]]:
    """Return what a value is checked for: the visitor's method, the bound, and the words."""
    match kind:
        case model.Optional(item=item):
            return _bounds(item)
        case model.Array(item=item):
            return [(method, bound, f"each {words}") for method, bound, words in _bounds(item)]
        case model.Scalar(minimum=low, maximum=high, exclusive=exclusive):
            how = ("above", "above") if exclusive else ("at_least", "at least")
            least = [] if low is None else [(how[0], low, f"{how[1]} {low:g}")]
            return least + ([] if high is None else [("at_most", high, f"at most {high:g}")])
    return []


class _Emitter:
    """Writes the declarations of one contract."""

    def __init__(self, contract: model.Contract) -> None:
        self.contract = contract
        self.enumerations = {each.name: each for each in contract.enumerations}
        self.messages = [each for each in contract.records if each.module == "messages"]
        self.spaces = [each for each in contract.records if each.module == "spaces"]

    def default(self, field: model.Field) -> str | None:
        """Return a default that is not the type's zero, empty or nil value."""
        kind, default = field.type, field.default
        inner = kind.item if isinstance(kind, model.Optional) else kind
        if field.required or default is None:
            return None
        if isinstance(inner, model.Reference) and inner.name in self.enumerations:
            first = self.enumerations[inner.name].members[0][0]
            same = default == first and inner is kind
            return None if same else f"{inner.name}::{_name(default)}"
        if not default and inner is kind:
            return None
        return self._literal(default)

    @staticmethod
    def _literal(value: Any) -> str:
        if isinstance(value, float) and math.isinf(value):
            return f"{'-' * (value < 0)}std::numeric_limits<double>::infinity()"
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}".replace(",", "'") if abs(value) >= 10_000 else str(value)
        if isinstance(value, bool | float | str):
            return json.dumps(value)
        raise NotImplementedError(f"no C++ literal for {value!r}")

    def member(self, field: model.Field) -> Iterator[str]:
        """Yield the lines that declare a field."""
        bounds = " and ".join(words for _, _, words in _bounds(field.type))
        meaning = f"{field.meaning} {bounds[:1].upper()}{bounds[1:]}." if bounds else field.meaning
        yield from comment(meaning, "    /// ", WIDTH)
        initial = self.default(field) or "{}"
        match field.type:
            case model.Scalar(kind=scalar) if initial == "{}":
                initial = _ZERO.get(scalar, initial)
            case model.Reference(name=name) if initial == "{}" and name in self.enumerations:
                initial = f"{name}::{_name(self.enumerations[name].members[0][0])}"
        yield f"    {_declared(field.type)} {_name(field.name)} = {initial};"

    def record(self, record: model.RecordType) -> Iterator[str]:
        """Yield the lines of a struct."""
        yield from comment(f"{record.summary} {self._ways(record)}".strip(), "/// ", WIDTH)
        yield f"struct {record.name} {{"
        if record.tag:
            constant = "type" if record.module == "messages" else "kind"
            yield f'    static constexpr const char* {constant} = "{record.tag}";'
        for field in record.fields:
            yield from self.member(field)
        yield from ("};", "")

    @staticmethod
    def _ways(record: model.RecordType) -> str:
        def listed(roles: tuple[str, ...]) -> str:
            return "any peer" if len(roles) == len(model.ROLES) else " or ".join(roles)

        ways = [f"{listed(record.to_broker)} to broker"] if record.to_broker else []
        ways += [f"broker to {listed(record.to_peer)}"] if record.to_peer else []
        return f"The message `{record.tag}`, {' and '.join(ways)}." if ways else ""

    def visit(self, record: model.RecordType) -> Iterator[str]:
        """Yield the function that shows a record's fields to a visitor."""
        yield "template <class V, class M>"
        if not record.fields:
            yield from (f"void visit(V&, M&, Of<{_space(record)}>) {{}}", "")
            return
        yield f"void visit(V& v, M& m, Of<{_space(record)}>) {{"
        for field in record.fields:
            arguments = [f'"{field.name}"', f"m.{_name(field.name)}"]
            default = self.default(field)
            method = "required" if field.required else "optional"
            if field.type == model.Scalar("bound"):
                method = "bound"
            more = [default] if default else []
            yield f"    v.{method}({', '.join(arguments + more)});"
            for check, bound, _ in _bounds(field.type):
                yield f"    v.{check}({', '.join([*arguments, f'{bound:g}'])});"
        yield from ("}", "")

    @staticmethod
    def enumeration(enumeration: model.Enumeration) -> Iterator[str]:
        """Yield an enumeration and the function that lists its words."""
        name = enumeration.name
        yield from comment(enumeration.summary, "/// ", WIDTH)
        yield f"enum class {name} {{"
        last = enumeration.members[-1][0]
        for word, meaning in enumeration.members:
            yield from comment(meaning, "    /// ", WIDTH)
            yield f"    {_name(word)}{',' * (word != last)}"
        yield from ("};", "", "/// Calls `each` with every member and the contract's word for it.")
        yield from ("template <class Each>", f"constexpr void words({name}, Each each) {{")
        for word, _ in enumeration.members:
            yield f'    each({name}::{_name(word)}, "{word}");'
        yield from ("}", "")

    def made(self) -> Iterator[str]:
        """Yield the function that makes the empty message that a type names."""
        yield "/// The empty message of a type, if a peer of this role receives such."
        yield "inline std::optional<messages::Incoming> made(Role role, std::string_view type) {"
        yield "    switch (role) {"
        received = {
            role: [each for each in self.messages if role in each.to_peer] for role in model.ROLES
        }
        roles = list(model.ROLES)
        while roles:
            records = received[roles[0]]
            alike = [role for role in roles if received[role] == records]
            roles = [role for role in roles if role not in alike]
            for role in alike:
                yield f"        case Role::{role}:"
            for record in records:
                yield f'            if (type == "{record.tag}") return {_space(record)}();'
            yield "            break;"
        yield from ("    }", "    return std::nullopt;", "}", "")
        yield "/// The empty space of a kind, if there is such."
        yield "inline std::optional<Space> made(std::string_view kind) {"
        for record in self.spaces:
            yield f'    if (kind == "{record.tag}") return Space({_space(record)}());'
        yield from ("    return std::nullopt;", "}", "")


def _variant(name: str, items: Iterable[str]) -> list[str]:
    """Return the alias of a variant as clang-format breaks its lines."""
    words = ", ".join(items)

    def filled(start: str) -> list[str]:
        start += "std::variant<"
        indent = " " * len(start)
        return textwrap.wrap(words + ">;", WIDTH, initial_indent=start, subsequent_indent=indent)

    beside, below = filled(f"using {name} = "), filled("    ")
    return beside if len(beside) <= len(below) else [f"using {name} =", *below]


def _file(summary: str, includes: Iterable[str], space: str, body: Iterator[str]) -> str:
    head = [f"// {MARK}", "", "/// \\file", *comment(summary, "/// ", WIDTH), "#pragma once", ""]
    text = "\n".join(body).rstrip("\n")
    named = [f"#include {each}" if each else "" for each in includes]
    lines = [*head, *named, *([""] if named else []), f"namespace {space} {{", "", text, ""]
    return "\n".join([*lines, f"}}  // namespace {space}", ""])


def emit(contract: model.Contract) -> dict[str, str]:
    """Return the C++ client's generated files."""
    emitter = _Emitter(contract)
    standard = ["<cstdint>", "<optional>", "<string>", "<utility>", "<variant>", "<vector>"]

    def enumerations() -> Iterator[str]:
        for each in (*contract.enumerations, contract.error_codes):
            yield from emitter.enumeration(each)

    def spaces() -> Iterator[str]:
        yield from ("class Space;", *_BOXED.split("\n"), "namespace spaces {", "")
        for each in emitter.spaces:
            yield from emitter.record(each)
        yield "}  // namespace spaces"

    def messages() -> Iterator[str]:
        yield "/// The version of the protocol."
        yield f"inline constexpr std::int64_t kVersion = {contract.version};"
        yield from ("", "namespace messages {", "")
        for each in emitter.messages:
            yield from emitter.record(each)
        yield "/// Any message of a broker."
        yield from _variant("Incoming", (each.name for each in emitter.messages if each.to_peer))
        yield from ("", "}  // namespace messages")

    def fields() -> Iterator[str]:
        yield from ("template <class T>", "struct Of {};", "")
        for each in (*emitter.messages, *emitter.spaces):
            yield from emitter.visit(each)
        yield from emitter.made()

    built = [f"template struct Coding<{_space(each)}>;" for each in emitter.messages]
    space = "dovetail::codec"
    head = [f"// {MARK}", "", '#include "coding.hpp"', "", f"namespace {space} {{", ""]
    return {
        "cpp/include/dovetail/enumerations.hpp": _file(
            "The contract's enumerations and error codes.", [], "dovetail", enumerations()
        ),
        "cpp/include/dovetail/space_kinds.hpp": _file(
            "The kinds of spaces, after Gymnasium's.",
            [*sorted((*standard, "<limits>", "<memory>")), "", '"dovetail/value.hpp"'],
            "dovetail",
            spaces(),
        ),
        "cpp/include/dovetail/messages.hpp": _file(
            "The messages of the contract and their parts; SPEC.md says when each is sent.",
            [
                *standard,
                "",
                '"dovetail/enumerations.hpp"',
                '"dovetail/spaces.hpp"',
                '"dovetail/value.hpp"',
            ],
            "dovetail",
            messages(),
        ),
        "cpp/src/fields.hpp": _file(
            "The fields of every message, part and space, once for reading and writing.",
            ["<limits>", "<optional>", "<string_view>", "", '"dovetail/messages.hpp"'],
            "dovetail::fields",
            fields(),
        ),
        "cpp/src/messages.cpp": "\n".join([*head, *built, "", f"}}  // namespace {space}", ""]),
    }
