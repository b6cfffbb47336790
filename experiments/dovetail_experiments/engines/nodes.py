"""Preparation of a node: compare versions, unpack the user's files, check the experiment."""

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
"""Command to install a missing package."""


class Outfit(Struct, frozen=True):
    """A node's requirements for playing."""

    versions: dict[str, str]
    """Version of each package; empty if the driver lacks it, too."""
    shipment: Shipment = {}
    """The user's own files."""
    experiments: list[str] = []
    """Experiments as JSON; a node checks their code and options."""
    identity: str = ""
    """Distinguishes it from other outfits."""


def versions() -> dict[str, str]:
    """Return the package versions of this process."""
    made = provenance.here()
    software = made.software.removeprefix("dovetail ")
    return dict(zip(PACKAGES, (software, made.python, made.numpy, made.numba), strict=True))


def difference(mine: dict[str, str], theirs: dict[str, str]) -> str:
    """Return the differences between a node and the driver as one line; empty if there are none.

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
    """Add the address in the cluster to this machine's name, which others may share."""
    global _address
    _address = address


def node() -> str:
    """Return the name of this machine, with its address if known."""
    return f"{socket.gethostname()} ({_address})" if _address else socket.gethostname()


_scratch: list[Scratch] = []
_checked: set[str] = set()
"""Outfits that this process already has."""


@cache
def _folder(identity: str) -> Scratch:
    found = Scratch()
    _scratch.append(found)
    return found


def fit_out(outfit: Outfit) -> None:
    """Prepare this process to play; repeated calls do nothing.

    Compares versions, unpacks the user's files into a private folder, makes that the current
    folder, and checks the experiments.

    Raises:
        DovetailError: this node cannot play; the message names it.
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
