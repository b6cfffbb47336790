"""``dovetail keys``: programs' keys, and the access file with their permissions."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.common import UsageError, show, table, warn
from dovetail.cli.group import group
from dovetail.cli.standard_streams import reserved
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

AccessPath = Annotated[
    Path, typer.Option("--access", metavar="PATH", help="The broker's access file.")
]
MaybeAccess = Annotated[
    Path | None, typer.Option("--access", metavar="PATH", help="The broker's access file.")
]


class Role(StrEnum):
    """The roles of a program."""

    environment = "environment"
    agent = "agent"
    experiment = "experiment"
    observer = "observer"


commands = group(help="Make, list and revoke keys for a broker.")


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(commands, name="keys")


@commands.command()
def make(
    name: str,
    access: MaybeAccess = None,
    role: list[Role] | None = None,
    offer: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None,
    public: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    web: bool = False,
    server: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    out: Annotated[Path | None, typer.Option(metavar="PATH")] = None,
) -> None:
    """Make a key, and allow it in an access file, which is created if there is none.

    The key file is for the program's user alone. The public key may be shown to anyone.

    Example: dovetail keys make ada --access access.toml --role agent

    Example: dovetail keys make ada --server 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'

    Example: dovetail keys make ada --access access.toml --public
        'Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID'

    Example: dovetail keys make visitors --access access.toml --web --offer 'guest-*'

    Args:
        name: A name for the key, such as its owner's.
        role: With --access: a role that the key may take; may be repeated. Default: all.
        offer: With --access: an environment or agent that the key may offer, with * for any
            characters; may be repeated. Default: all.
        public: With --access: allow this public key, which its owner made, instead of making one.
        web: With --access: make a token for programs in a browser instead of a key; without --role
            for agents alone.
        server: The broker's public key, if the broker's access file is on another machine.
        out: Key file to write; default: NAME.key in your settings.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a key; use letters, digits, - and _")
    if access is None and (role or offer or public or web):
        raise UsageError(
            "--role, --offer, --public and --web change an access file; name it with --access"
        )
    if web and (public or server or out):
        raise UsageError("--web makes a token, which has no --public, --server and --out")
    for given in filter(None, (public, server)):
        if wrong := keys.problem(given):
            raise UsageError(wrong)
    if access is not None:
        server = _broker(access).public
        _free(access, name)
        if web:
            from dovetail.broker.peers.access import digest

            token = secrets.token_urlsafe(24)
            roles = [each.value for each in role or (Role.agent,)]
            _allow(access, name, "token", digest(token), roles, offer or [])
            print(f"token  {token}")
            return
    if public is None:
        key = keys.make(server or "")
        path = out or folder() / f"{name}.key"
        keys.write(path, key, name)
        public = key.public
        print(f"key file    {path}")
    if access is not None:
        _allow(access, name, "public", public, [each.value for each in role or ()], offer or [])
    print(f"public key  {public}")
    if access is None and server is None:
        warn(
            'add the broker\'s public key to the file, `server = "..."`, or set DOVETAIL_SERVER_KEY'
        )


@commands.command("list")
def list_(
    access: MaybeAccess = None,
    json_: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """List the keys in an access file, or your own key files.

    Example: dovetail keys list --access access.toml

    Example: dovetail keys list

    Args:
        json_: Print JSON.
    """
    rows = _own() if access is None else _allowed(access)
    if json_:
        with reserved() as out:
            print(jsontext.write(rows, indent=1), file=out)
        return
    if not rows:
        print("no keys; `dovetail keys make NAME` makes one")
        return
    lines = ((" ".join(v) if isinstance(v, list) else v for v in row.values()) for row in rows)
    found = table(rows[0], lines, box=None)
    for column in found.columns:
        column.no_wrap = column.header == "public key"
    show(found)


@commands.command()
def revoke(name: str, access: AccessPath) -> None:
    """Revoke a key; a running broker disconnects its programs within a second.

    Example: dovetail keys revoke ada --access access.toml

    Args:
        name: The name of the key.
    """
    from dovetail.broker.peers import access_file

    known = access_file.read(access)
    if name not in known.keys:
        raise UsageError(f"{access} has no key {name!r}; it has {', '.join(known.keys) or 'none'}")
    if known.keys[name].revoked:
        print(f"the key {name} was revoked before")
        return
    header = re.compile(
        rf"^[ \t]*\[[ \t]*keys[ \t]*\.[ \t]*([\"']?){re.escape(name)}\1[ \t]*\].*$", re.M
    )
    text = header.sub(
        lambda found: f"{found[0]}\nrevoked = true", access.read_text("utf-8"), count=1
    )
    _replace(access, text, name, revoked=True)
    print(f"revoked the key {name}")


def folder() -> Path:
    """Return the folder of the user's own keys."""
    return Path(typer.get_app_dir("dovetail")) / "keys"


def _own() -> list[dict[str, str | list[str]]]:
    rows: list[dict[str, str | list[str]]] = []
    for path in sorted(folder().glob("*.key")):
        key = keys.read(path)
        rows.append({"key": path.stem, "public key": key.public, "file": str(path)})
    return rows


def _allowed(access: Path) -> list[dict[str, str | list[str]]]:
    from dovetail.broker.peers import access_file

    return [
        {
            "key": name,
            "public key": grant.public or "a token",
            "roles": list(grant.roles),
            "offers": grant.offers,
            "uses": grant.uses,
            "state": "revoked" if grant.revoked else "allowed",
        }
        for name, grant in access_file.read(access).keys.items()
    ]


# -- the access file -------------------------------------------------------------------------


def _broker(access: Path) -> keys.Key:
    """Return the broker's key for an access file; create both if there is no such file."""
    from dovetail.broker.peers import access_file
    from dovetail.broker.peers.access import Access

    if access.exists():
        return keys.read(access_file.broker_key(access, access_file.read(access)))
    path = access_file.broker_key(access, Access())
    if not path.exists():
        keys.write(path, keys.make(), "of the broker")
    access.parent.mkdir(parents=True, exist_ok=True)
    access.write_text(
        "# Who may use the broker: docs/keys.md. The broker reads this file again when it "
        "changes.\n",
        "utf-8",
    )
    return keys.read(path)


def _free(access: Path, name: str) -> None:
    from dovetail.broker.peers import access_file

    if name in access_file.read(access).keys:
        raise UsageError(f"{access} has a key {name!r} already; choose another name")


def _allow(
    access: Path, name: str, kind: str, credential: str, roles: list[str], offers: list[str]
) -> None:
    lines = ["", f"[keys.{name}]", f"{kind} = {jsontext.option(credential)}"]
    if roles:
        lines.append(f"roles = {jsontext.option(roles)}")
    if offers:
        lines.append(f"offers = {jsontext.option(offers)}")
    text = access.read_text("utf-8")
    _replace(access, text.rstrip("\n") + "\n" + "\n".join(lines) + "\n", name, revoked=False)


def _replace(access: Path, text: str, name: str, *, revoked: bool) -> None:
    """Replace an access file atomically, after checking that the change took effect."""
    from dovetail.broker.peers import access_file

    made, temporary = tempfile.mkstemp(dir=access.parent, prefix=access.name)
    try:
        with os.fdopen(made, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, access.stat().st_mode & 0o777)
        try:
            found = access_file.read(Path(temporary)).keys.get(name)
        except DovetailError:
            found = None
        if found is None or found.revoked is not revoked:
            wanted = f"`revoked = {str(revoked).lower()}` under [keys.{name}]"
            raise DovetailError(f"cannot change {access}; write {wanted} yourself")
        os.replace(temporary, access)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
