"""Compiles hot modules into the wheel by mypyc if DOVETAIL_COMPILE=1; without it, does nothing.

`pyproject.toml` lists the modules.  The wheel keeps their sources beside the extension modules,
which Python prefers.  docs/decisions has the reasons; `make compiled` is the command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "DOVETAIL_COMPILE"


def wanted() -> bool:
    """Return whether this build compiles.

    Raises:
        ValueError: the variable has an unknown value.
    """
    value = os.environ.get(SWITCH, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"{SWITCH} is {value!r}; set it to 1 to compile, or 0")
    return value == "1"


class CompileHook(BuildHookInterface[BuilderConfig]):
    """Adds extension modules to a wheel; an editable installation stays plain Python."""

    def dependencies(self) -> list[str]:
        """Return what an isolated build needs: the compiler, and what the sources import."""
        if not wanted():
            return []
        return ["mypy[mypyc]>=1.16", *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the files for the wheel."""
        if version != "standard" or not wanted():
            return
        work = Path(self.root, "build", "compiled")
        stage = work / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        # As in the wheel, because a module is named after its path.
        for source, target in self.build_config.sources.items():
            for path in Path(self.root, source).rglob("*.py"):
                copy = stage / target / path.relative_to(Path(self.root, source))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        shutil.copy(Path(self.root, "pyproject.toml"), stage)
        built = work / "lib"
        shutil.rmtree(built, ignore_errors=True)
        with contextlib.chdir(stage):
            _compile(self.config["modules"], built, work)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for each in built.rglob("*.so"):
            build_data["force_include"][str(each)] = str(each.relative_to(built))


def _compile(modules: list[str], built: Path, work: Path) -> None:
    """Build the extension modules of sources in the current folder."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    options = ["--explicit-package-bases", "--cache-dir", str(work / "mypy")]
    extensions = mypycify(
        [*options, *(f"{each.replace('.', '/')}.py" for each in modules)],
        opt_level="2",
        debug_level="0",
        target_dir="c",
        group_name="dovetail",
    )
    command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib = str(built)
    command.build_temp = str(work / "objects")
    command.ensure_finalized()
    command.run()
