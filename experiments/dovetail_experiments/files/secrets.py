"""Secrets of experiments: what keeps agents from finding an experiment's seed by counting.

A seed in a file is a small number, and whatever was derived from it lets an agent recognise
it.  Where code takes part that Dovetail did not bring, the file's secret is derived with it.  A
file may name its own; otherwise the experiment gets one of this account's: the same each time, so
that the same file and seed give the same episodes.  A run's ``experiment.json`` names it, for other
machines.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.peer import plugins
from dovetail.protocol.errors import DovetailError
from dovetail.transport.keys import private
from dovetail_experiments.files.file import AgentPart, ExperimentFile
from dovetail_experiments.files.sweep import SweepPlan, read

log = logging.getLogger("dovetail")

VARIABLE = "DOVETAIL_SECRET"
"""The account's secret in place of its file; ``none`` leaves experiments without one."""
_FORM = re.compile("[0-9a-f]{32}")


def prepared(path: Path, overrides: Mapping[str, Any] | None) -> SweepPlan:
    """Return what an experiment file asks for, with its derivation and, if it needs one, its
    secret.

    Raises:
        DovetailError: the file or the account's secret cannot be read.
    """
    plan = read(path, overrides)
    file = plan.base
    more: dict[str, Any] = {}
    if "derivation" not in plan.given:
        more["derivation"] = file.derivation
    if file.secret is None and file.derivation > 1 and guests(file) and (mine := account()):
        more["secret"] = of(mine, file)
        log.info("%s: agents of others play, so all seeds are derived with a secret", file.name)
    return read(path, {**(overrides or {}), **more}) if more else plan


def guests(file: ExperimentFile) -> list[str]:
    """Return the agents with code that does not belong to an installed package."""
    known = plugins.names("agent")
    return [name for name, part in file.agents.items() if _guest(part, known)]


def _guest(part: AgentPart, known: list[str]) -> bool:
    return part.command is not None or bool(part.register) or part.type not in known


def of(account: str, file: ExperimentFile) -> str:
    """Return an experiment's own secret, so that its record reveals no other's."""
    name = f"{file.name}/{file.seed}".encode()
    return hmac.digest(bytes.fromhex(account), name, "sha256")[:16].hex()


def account() -> str:
    """Return this account's secret, drawn when it is first needed; empty if there is to be none.

    Raises:
        DovetailError: it is not a secret.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return "" if named == "none" else _checked(named, VARIABLE)
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    path = Path(home).expanduser() / "dovetail" / "secret"
    try:
        return kept(path)
    except OSError as error:
        log.warning(
            "cannot keep a secret in %s: %s; the next run has another, and plays other episodes, "
            "unless %s is set",
            *(path, error.strerror, VARIABLE),
        )
        return secrets.token_hex(16)


def kept(path: Path) -> str:
    """Return the secret in a file that its owner alone can read; draw it if there is none.

    Raises:
        DovetailError: the file has no secret.
        OSError: it cannot be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _draw(path)
    return _checked(path.read_text("ascii", "replace").strip(), str(path))


def _draw(path: Path) -> None:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with private(temporary) as file:
        file.write(secrets.token_hex(16).encode() + b"\n")
    try:
        os.link(temporary, path)  # whole or not at all; the first decides
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def _checked(secret: str, where: str) -> str:
    if not _FORM.fullmatch(secret):
        raise DovetailError(f"{where} must have 32 hexadecimal digits in lower case")
    return secret
