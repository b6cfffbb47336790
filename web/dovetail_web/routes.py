"""Routes with numbers, as in ``{name:number}``."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.routing import Route

__all__ = ["Route"]


class Number(IntegerConvertor):
    """A route's number of at most as many digits as brokers and databases use."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", Number())
