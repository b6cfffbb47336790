"""Preparing a node: versions compared, the user's files unpacked, the experiment checked."""

from __future__ import annotations

import os
import socket
import sys
from functools import cache

from msgspec import Struct

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import file as files
from dovetail_experiments.files.checking import check_file
from dovetail_experiments.files.shipping import Shipment, unpack
from dovetail_experiments.stages.scratch import Scratch

PACKAGES = ("Dovetail", "Python", "numpy", "numba")
INSTALL = {"numba": "pip install 'dovetail[games]'"}
"""The way to install what a node lacks."""


class Outfit(Struct, frozen=True):
    """The needs of a node that plays."""

    versions: dict[str, str]
    """By package; empty for what the driver does not have either."""
    shipment: Shipment = {}
    """The user's own files."""
    experiments: list[str] = []
    """Experiments as JSON, whose code and options a node checks."""
    identity: str = ""
    """Tells it from others."""


def versions() -> dict[str, str]:
    """Return the versions of this process."""
    made = provenance.here()
    software = made.software.removeprefix("dovetail ")
    return dict(zip(PACKAGES, (software, made.python, made.numpy, made.numba), strict=True))


def difference(mine: dict[str, str], theirs: dict[str, str]) -> str:
    """Return in one line what a node has otherwise than the driver; empty if nothing.

    >>> difference({"numpy": "2.3"}, {"numpy": "2.2"})
    'it has numpy 2.2, and this machine numpy 2.3; install the same'
    """
    for name, version in mine.items():
        other = theirs.get(name, "")
        if other == version:
            continue
        here = f"{name} {version}" if version else f"no {name}"
        there = f"{name} {other}" if other else f"no {name}"
        how = INSTALL.get(name, "install the same") if not other else "install the same"
        return f"it has {there}, and this machine {here}; {how}"
    return ""


_address = ""


def called(address: str) -> None:
    """Name this machine by its address in the cluster, too: several may have one name."""
    global _address
    _address = address


def node() -> str:
    """Return the name of this machine, with its address if that is known."""
    return f"{socket.gethostname()} ({_address})" if _address else socket.gethostname()


_scratch: list[Scratch] = []
_checked: set[str] = set()
"""The outfits that this process has."""


@cache
def _folder(identity: str) -> Scratch:
    found = Scratch()
    _scratch.append(found)
    return found


def fit_out(outfit: Outfit) -> None:
    """Prepare this process to play, once: compare versions, unpack the user's files into a private
    folder, make it the current one, and check the experiments.

    Raises:
        DovetailError: this node cannot play; the line names it.
    """
    if wrong := difference(outfit.versions, versions()):
        raise DovetailError(f"node {node()}: {wrong}")
    known = bool(_scratch)
    folder = _folder(outfit.identity).path
    if not known or os.getcwd() != str(folder):
        unpack(outfit.shipment, folder)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(folder), os.environ.get("PYTHONPATH")))
        )
    if outfit.identity in _checked:
        return
    try:
        for text in outfit.experiments:
            check_file(files.stored(text))
    except DovetailError as error:
        raise DovetailError(f"node {node()}: {error}") from None
    _checked.add(outfit.identity)
