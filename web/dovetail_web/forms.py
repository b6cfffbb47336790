"""Forms built from the JSON Schemas of offers, and their input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.limits import check
from dovetail.protocol.messages import Limits

LONGEST = 10_000
"""Maximum characters of an answer."""
LONGEST_TITLE = 60
"""Maximum characters of a description for it to be an option's title."""
FIRST = 3
"""The options among which those stand that a form shows at once: games name the board's first."""
WIDEST = 2.0**53
"""The largest number where an option has no limit: every language represents it exactly."""


class FormField(Struct, frozen=True):
    """One option of a form."""

    name: str
    kind: str
    """``number``, ``checkbox``, ``choice``, ``text`` or ``json``."""
    value: str
    help: str = ""
    options: tuple[str, ...] = ()
    least: str = ""
    most: str = ""
    whole: bool = False
    seats: bool = False
    """True if it is the number of seats."""
    given: str = ""
    """Its title, if the offer has one."""

    @property
    def label(self) -> str:
        """Return its name for visitors."""
        return self.name.replace("_", " ")

    @property
    def title(self) -> str:
        """Return what it sets, in words: its description if that is short, or else its name."""
        text = self.given or (self.help if self._told else self.label)
        return f"{text[:1].upper()}{text[1:]}"

    @property
    def note(self) -> str:
        """Return what its title does not say."""
        if self.given or not self._told:
            return self.help
        limits = _range(self)
        return f"{limits.capitalize()}." if limits else ""

    @property
    def _told(self) -> bool:
        """True if its description says all."""
        return 0 < len(self.help) <= LONGEST_TITLE and not set(":;.") & set(self.help)


def few(found: list[FormField]) -> list[FormField]:
    """Return the options that a form shows at once: counts among the first ones."""
    return [each for each in found[:FIRST] if each.whole and each.least not in ("", "0", "-1")]


def fields(parameters: Mapping[str, Any]) -> list[FormField]:
    """Return a form's fields for an offer's ``parameters``."""
    return [_field(str(name), schema) for name, schema in parameters.items()]


def _field(name: str, schema: Any) -> FormField:
    schema = schema if isinstance(schema, dict) else {}
    match schema.get("anyOf"):
        case [dict(kind), {"type": "null"}]:  # may be left empty
            schema = {**kind, **schema}
    default = schema.get("default")
    about = str(schema.get("description", ""))[:300].replace("`", "")
    title = str(schema.get("title", ""))[:LONGEST_TITLE]
    options = schema.get("enum")
    kind = schema.get("type")
    if isinstance(options, list) and all(isinstance(each, str | int | float) for each in options):
        return FormField(name, "choice", str(default), about, tuple(map(str, options)), given=title)
    if kind == "boolean":
        return FormField(name, "checkbox", "on" if default else "", about, given=title)
    if kind in ("integer", "number"):
        least, most = (str(schema.get(each, "")) for each in ("minimum", "maximum"))
        value = "" if default is None else str(default)
        seats = schema.get("x-seats") is True
        whole = kind == "integer"
        return FormField(name, "number", value, about, (), least, most, whole, seats, title)
    if kind == "string":
        value = "" if default is None else str(default)
        return FormField(name, "text", value, about, given=title)
    return FormField(name, "json", jsontext.option(default), about, given=title)


def read(parameters: Mapping[str, Any], given: Mapping[str, str], seats: int = 0) -> dict[str, Any]:
    """Return the options that a person changed.

    Args:
        parameters: the offer's parameters.
        given: the form's fields.
        seats: the number of seats taken, as the value of the option for it unless that was set; 0
            if unknown.

    Raises:
        DovetailError: an answer is not of its type; the text names the option.
    """
    found: dict[str, Any] = {}
    for field in fields(parameters):
        text = given.get(field.name, "").strip()
        if field.seats and seats and text in ("", field.value):
            text = str(seats)
        if len(text) > LONGEST:
            raise DovetailError(f"Option {field.label}: at most {LONGEST} characters, please")
        if text == field.value or (not text and field.kind != "checkbox"):
            continue
        found[field.name] = _value(field, text, parameters[field.name])
    return found


def of_agent(
    parameters: Mapping[str, Any], given: Mapping[str, str], seat: int, agent: str
) -> dict[str, Any]:
    """Return the options that a person changed for the agent at a seat; raise as ``read`` does.

    Args:
        parameters: the parameters of the agent's offer.
        given: the form's fields: ``a.SEAT.OPTION``, and ``a.SEAT.`` for the agent that the options
            belong to.
        seat: the number of the seat.
        agent: the agent chosen for it.
    """
    start = f"a.{seat}."
    if given.get(start) != agent:
        return {}
    return read(parameters, under(start, given))


def under(start: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form whose names start with ``start``, without that prefix."""
    return {key[len(start) :]: text for key, text in given.items() if key.startswith(start)}


def _value(field: FormField, text: str, schema: Any) -> Any:
    try:
        match field.kind:
            case "checkbox":
                return bool(text)
            case "number":
                value = int(text) if field.whole else float(text)
                least = float(field.least or -WIDEST)
                if not least <= value <= float(field.most or WIDEST):  # NaN is not, either
                    raise ValueError
                return value
            case "choice":
                return next(each for each in schema["enum"] if str(each) == text)
            case "json":
                value = json.loads(text)
                check(codec.encode(value), Limits())  # a broker takes it
                return value
    except (StopIteration, DovetailError, *codec.UNSENDABLE):
        wanted = {
            "number": f"a {'whole ' * field.whole}number {_range(field)}".rstrip(),
            "choice": f"one of {', '.join(field.options)}",
        }.get(field.kind, "JSON")
        raise DovetailError(
            f"Option {field.label}: {text[:80]!r} is not valid; give {wanted}"
        ) from None
    return text


def _range(field: FormField) -> str:
    if field.least and field.most:
        return f"from {field.least} to {field.most}"
    return f"from {field.least} on" if field.least else f"up to {field.most}" * bool(field.most)
