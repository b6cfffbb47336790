"""Quoting of names, paths and texts in URLs, file names, pages and tables.

``dovetail.peer.quoting`` has commands.  The URL of a database is built by
``dovetail_experiments.records.database.url_of``, HTML by templates or as elements.  A test finds
text that is formatted into such a syntax instead.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode, urlunsplit

from dovetail.protocol.display_text import TURNING

MAX_NAME = 100
"""Maximum bytes of a file name derived from a name."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_TURNING = re.compile(TURNING)
_TURNING_BYTES = re.compile(rb"\xe2(?:\x80[\xa8-\xae]|\x81[\xa6-\xaf])")


def path(*parts: object, **query: object) -> str:
    """Return the path of a page on this host, with its query.

    >>> path("play", "a/b c"), path("table", 7, chair="x&y")
    ('/play/a%2Fb%20c', '/table/7?chair=x%26y')
    """
    text = "".join(f"/{quote(str(part), safe='')}" for part in parts)
    return f"{text}?{urlencode(query, quote_via=quote)}" if query else text


def origin(host: str, port: int) -> str:
    """Return the HTTP origin of a program.

    >>> origin("127.0.0.1", 80), origin("::1", 80)
    ('http://127.0.0.1:80', 'http://[::1]:80')
    """
    return urlunsplit(("http", f"[{host}]:{port}" if ":" in host else f"{host}:{port}", "", "", ""))


def file_name(name: str) -> str:
    """Return a distinct file name for a name; the name itself if it is harmless.

    >>> file_name("agent-first"), file_name("../a b")
    ('agent-first', '.._a_b-2c2c791a')
    """
    plain = re.sub(r"[^\w.@+=-]", "_", name, flags=re.ASCII)
    harmless = plain == name and len(name) <= MAX_NAME and name.strip(".")
    if harmless and not name.startswith(("-", ".")) and not _RESERVED.fullmatch(name):
        return name
    return f"{plain[:MAX_NAME].lstrip('-') or '_'}-{sha256(name.encode()).hexdigest()[:8]}"


def cell(value: Any) -> Any:
    """Return a value for a CSV file, with a quote before text that looks like a formula.

    >>> cell("=1+1"), cell("-5"), cell(-5), cell("td")
    ("'=1+1", '-5', -5, 'td')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def straight(text: str) -> str:
    """Return a text for a page, where nothing in it changes the order of what is around it.

    >>> straight("won\u202e 3 to 1")
    'won 3 to 1'
    """
    return _TURNING.sub("", text)


def straight_bytes(text: bytes) -> bytes:
    """Return UTF-8 as ``straight`` does a text."""
    return _TURNING_BYTES.sub(b"", text)
