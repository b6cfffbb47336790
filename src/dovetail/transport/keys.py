"""Keys of CURVE, ZeroMQ's encryption: pairs, the files that hold them, and a broker's lock.

Keys are 32 bytes, written as 40 characters (Z85, https://rfc.zeromq.org/spec/32/), as libzmq and
its bindings take them.  A key file has a line for each part, ``public = "..."``, so that any
language can read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import BinaryIO

from dovetail.protocol import outside
from dovetail.protocol.errors import DovetailError

FILE, SERVER = "DOVETAIL_KEY", "DOVETAIL_SERVER_KEY"
"""The environment variables with a program's key file, and with the broker's public key."""
LENGTH = 40
"""Characters of a key."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}

_ABOUT = """\
# The Dovetail key {name}. Keep it secret: anyone who can read this file can act as {name}.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """A program's pair of keys."""

    public: str
    secret: str
    server: str = ""
    """The public key of the broker that it is for; empty for a broker's own."""

    def __repr__(self) -> str:
        return f"<Key {self.public}>"


WITHOUT = Key("", "")
"""No key, whatever the environment variables say."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A broker's lock: it lets in programs with a key that ``admits`` accepts."""

    key: Key
    admits: Callable[[str], bool]
    """Takes a public key; libzmq calls it from another thread."""


def make(server: str = "") -> Key:
    """Return a new pair."""
    from nacl.bindings import crypto_box_keypair

    public, secret = crypto_box_keypair()
    return Key(text(public), text(secret), server)


def public(secret: str) -> str:
    """Return the public key that belongs to a secret one."""
    from nacl.bindings import crypto_scalarmult_base

    return text(crypto_scalarmult_base(raw(secret)))


def raw(key: str) -> bytes:
    """Return a key's bytes.

    Raises:
        ValueError: it is not a key.
    """
    if len(key) != LENGTH or not _VALUES.keys() >= set(key):
        raise ValueError(key)
    parts = []
    for start in range(0, LENGTH, 5):
        value = reduce(lambda value, digit: 85 * value + _VALUES[digit], key[start : start + 5], 0)
        if value >> 32:  # five characters may be too much
            raise ValueError(key)
        parts.append(value.to_bytes(4, "big"))
    return b"".join(parts)


def text(key: bytes) -> str:
    """Return the characters of a key."""
    digits = []
    for start in range(0, len(key), 4):
        value = int.from_bytes(key[start : start + 4], "big")
        digits += [_DIGITS[value // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(digits)


def problem(key: str) -> str:
    """Return why a text is not a key; empty if it is one."""
    try:
        raw(key)
    except ValueError:
        return (
            f"{key!r} is not a key; expected {LENGTH} characters such as `dovetail keys make` "
            "prints"
        )
    return ""


def read(path: Path, server: str | None = None) -> Key:
    """Return the key in a file.

    Args:
        path: the file.
        server: the broker's public key, in place of the one in the file.

    Raises:
        DovetailError: the file cannot be read, others can read it, it has no key, or the halves of
            two.
    """
    try:
        mode = path.stat().st_mode
        found = outside.table(path, outside.SHORT)
    except OSError as error:
        raise DovetailError(f"cannot read the key {path}: {error.strerror}") from None
    except DovetailError as error:
        raise DovetailError(f"{path} is not a key file: {error}") from None
    if os.name == "posix" and mode & 0o077:
        raise DovetailError(f"other users can read the key {path}; run `chmod 600 {path}`")
    for name in ("public", "secret"):
        if problem(str(found.get(name, ""))):
            raise DovetailError(f"{path} has no {name} key; make one with `dovetail keys make`")
    if public(found["secret"]) != found["public"]:
        raise DovetailError(
            f"{path}: its public and its secret key do not belong together; copy the whole "
            "file again, or make a new key with `dovetail keys make`"
        )
    server = server or str(found.get("server", ""))
    if server and (wrong := problem(server)):
        raise DovetailError(f"the broker's public key for {path}: {wrong}")
    return Key(found["public"], found["secret"], server)


def write(path: Path, key: Key, name: str) -> None:
    """Write a key to a new file that its owner alone can read.

    Raises:
        DovetailError: there is such a file, or it cannot be written.
    """
    lines = [f'public = "{key.public}"', f'secret = "{key.secret}"']
    if key.server:
        lines.append(f'server = "{key.server}"')
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with private(path) as file:
            file.write((_ABOUT.format(name=name) + "\n".join(lines) + "\n").encode())
    except FileExistsError:
        raise DovetailError(f"{path} exists already; choose another name or remove it") from None
    except OSError as error:
        raise DovetailError(f"cannot write the key {path}: {error.strerror}") from None


def private(path: Path) -> BinaryIO:
    """Return a new file that its owner alone can read.

    Raises:
        FileExistsError: there is such a file.
    """
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def without(variables: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for a program whose broker uses no keys."""
    return {name: each for name, each in variables.items() if name not in (FILE, SERVER)}


def chosen(key: Key | Path | str | None) -> Key | None:
    """Return the key to connect with, None for none.

    Args:
        key: a key or its file; None takes the file that DOVETAIL_KEY names, if it is set.

    Raises:
        DovetailError: the file has no key, or the broker's public key is not known.
    """
    if key is None:
        key = os.environ.get(FILE) or WITHOUT
    if isinstance(key, str | Path):
        path = Path(key).expanduser()
        key = read(path, os.environ.get(SERVER))
        if not key.server:
            raise DovetailError(
                f"{path} does not name the broker's public key; add `server = ...` to it, "
                f"or set {SERVER}"
            )
    return key if key.secret else None
