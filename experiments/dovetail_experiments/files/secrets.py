"""Secrets that prevent agents from guessing an experiment's seed.

The seed in a file is a small number, so an agent could find it from any value derived from it.
Experiments that run code from outside Dovetail therefore derive their seeds from a secret as well.
A file may give its own secret. Otherwise it is derived from the account's, so the same file and
seed give the same episodes. A run's ``experiment.json`` contains it, for use on other machines.
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
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.files.sweep import SweepPlan, read

log = logging.getLogger("dovetail")

VARIABLE = "DOVETAIL_SECRET"
"""Variable with a secret to use instead of the account's file; ``none`` disables secrets."""
_FORM = re.compile("[0-9a-f]{32}")


def prepared(path: Path, overrides: Mapping[str, Any] | None) -> SweepPlan:
    """Read an experiment file, and add its derivation and, if needed, its secret.

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
    """Return the agents whose code is not part of an installed package."""
    known = plugins.names("agent")
    return [
        name
        for name, part in file.agents.items()
        if part.command is not None or part.register or part.type not in known
    ]


def of(account: str, file: ExperimentFile) -> str:
    """Return a secret specific to an experiment, so that its record does not reveal others."""
    name = f"{file.name}/{file.seed}".encode()
    return hmac.digest(bytes.fromhex(account), name, "sha256")[:16].hex()


def account() -> str:
    """Return this account's secret, created on first use; empty if secrets are disabled.

    Raises:
        DovetailError: the stored value is not a secret.
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
    """Return the secret in a file readable only by its owner; create it if it is missing.

    Raises:
        DovetailError: the content is not a secret.
        OSError: the file cannot be read or written.
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
        os.link(temporary, path)  # atomic; the first writer wins
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def _checked(secret: str, where: str) -> str:
    if not _FORM.fullmatch(secret):
        raise DovetailError(f"{where} must have 32 hexadecimal digits in lower case")
    return secret
