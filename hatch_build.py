"""Writes the revision into what is built, and compiles hot modules by mypyc if DOVETAIL_COMPILE=1.

The file `_revision.txt` is what `dovetail.peer.provenance` reads where there is no checkout.
`pyproject.toml` lists the modules that are compiled.  The wheel keeps their sources beside the
extension modules, which Python prefers.  docs/decisions has the reasons; `make compiled` is the
command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "DOVETAIL_COMPILE"
REVISION = "_revision.txt"
"""The file with the revision: at the top of a source distribution, in the package of a wheel."""

CLIENT = "clients/typescript/dist/src"
"""The compiled client for browsers, which the page hands out; absent where it was not built."""


def wanted() -> bool:
    """Return whether this build compiles.

    Raises:
        ValueError: the variable has an unknown value.
    """
    value = os.environ.get(SWITCH, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"{SWITCH} is {value!r}; set it to 1 to compile, or 0")
    return value == "1"


def revision(root: Path) -> str:
    """Return what is built: of a checkout by git, of a source distribution what it was built of."""
    if (root / ".git").exists():
        words = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()
    with contextlib.suppress(OSError):
        return (root / REVISION).read_text(encoding="utf-8").strip()
    return ""


class BuildHook(BuildHookInterface[BuilderConfig]):
    """Adds the revision, and extension modules to a wheel; an editable installation has neither."""

    def dependencies(self) -> list[str]:
        """Return what an isolated build needs: the compiler, and what the sources import."""
        if self.target_name != "wheel" or not wanted():
            return []
        core = self.metadata.core
        # The transport imports it where a page is served; mypy must know its types.
        websockets = [
            each for each in core.optional_dependencies["web"] if each.startswith("websockets")
        ]
        return ["mypy[mypyc]>=1.16", *websockets, *core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the revision, compile, and name the files for the archive."""
        if version != "standard":
            return
        self._mark(build_data)
        client = Path(self.root, CLIENT)
        if client.is_dir():
            place = "dovetail_web/client" if self.target_name == "wheel" else CLIENT
            build_data["force_include"][str(client)] = place
        if self.target_name == "wheel" and wanted():
            self._compiled(build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only made for the archive."""
        if self._made is not None:
            self._made.unlink(missing_ok=True)

    _made: Path | None = None

    def _mark(self, build_data: dict[str, Any]) -> None:
        found = revision(Path(self.root))
        if not found:
            return
        handle, name = tempfile.mkstemp(suffix=REVISION)
        self._made = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(found + "\n")
        self._made.chmod(0o644)
        place = f"dovetail/{REVISION}" if self.target_name == "wheel" else REVISION
        build_data["force_include"][name] = place

    def _compiled(self, build_data: dict[str, Any]) -> None:
        work = Path(self.root, "build", "compiled")
        built = work / "lib"
        shutil.rmtree(built, ignore_errors=True)
        with contextlib.chdir(Path(self.root, "src")):  # a module is named after its path
            _compile(self.config["modules"], built, work)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for each in (*built.rglob("*.so"), *built.rglob("*.pyd")):
            build_data["force_include"][str(each)] = str(each.relative_to(built))


def _compile(modules: list[str], built: Path, work: Path) -> None:
    """Build the extension modules of sources in the current folder."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    options = ["--config-file", "../pyproject.toml", "--cache-dir", str(work / "mypy")]
    extensions = mypycify(
        [*options, *(f"{each.replace('.', '/')}.py" for each in modules)],
        opt_level="2",
        debug_level="0",
        target_dir=str(work / "c"),
        group_name="dovetail",
    )
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib = str(built)
    command.build_temp = str(work / "objects")
    command.ensure_finalized()
    command.run()
