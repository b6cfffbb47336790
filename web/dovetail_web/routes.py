"""Routes of the page, whose numbers are ``{name:number}``."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.routing import Route

__all__ = ["Route"]


class Number(IntegerConvertor):
    """Any number that a broker or a database counts with; ``int`` raises an error from 4,300 digits
    on."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", Number())
