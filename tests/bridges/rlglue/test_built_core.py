"""RL-Glue's own core for the bench, from a small tree that is laid out as its sources are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench import rlglue_core
from bench.measure import BenchError

CONFIGURE = """#!/bin/sh
here=$(dirname "$0")
for word in "$@"; do case $word in CFLAGS=*) flags=${word#CFLAGS=} ;; esac; done
mkdir -p src
printf 'src/rl_glue:\\n\\tcc %s -I%s/src -DMADE=1 -o $@ %s/src/RL_glue.c %s/src/RL_network_glue.c\\n' \\
    "$flags" "$here" "$here" "$here" > Makefile
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a tree whose program says how it was built."""
    inside = tmp_path / "sources/src"
    (inside / "rlglue").mkdir(parents=True)
    # A variable in a header, as in the original, is linked once for each file.
    (inside / "rlglue/RL_common.h").write_text("int steps;\nvoid glue(void);\n")
    (inside / "RL_glue.c").write_text(
        "#include <rlglue/RL_common.h>\nvoid glue(void) { steps = 7; }\n"
    )
    (inside / "RL_network_glue.c").write_text(
        "#include <stdio.h>\n#include <rlglue/RL_common.h>\n#ifndef MADE\n#define MADE 0\n#endif\n"
        'int main(void) { glue(); printf("%d %d\\n", steps, MADE); return 0; }\n'
    )
    (inside / "RL_direct_agent.c").write_text("#error not of this program\n")
    return inside.parent


@pytest.mark.parametrize("configured", [False, True])
def test_it_is_built_with_and_without_configure(
    sources: Path, tmp_path: Path, configured: bool
) -> None:
    if configured:
        (sources / "configure").write_text(CONFIGURE)
        (sources / "configure").chmod(0o755)
    target = tmp_path / "made/rl_glue"
    rlglue_core.build(sources, target)
    assert subprocess.check_output([target], text=True) == f"7 {int(configured)}\n"
    assert not [each for each in sources.rglob("*") if each.suffix not in ("", ".c", ".h")]


def test_what_is_wrong_is_said_in_a_line(sources: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"has no src/RL_glue\.c; name the folder"):
        rlglue_core.build(tmp_path, tmp_path / "rl_glue")
    (sources / "src/RL_glue.c").write_text("int wrong(\n")
    with pytest.raises(BenchError, match=r"failed: .*RL_glue\.c:1:.* error"):
        rlglue_core.build(sources, tmp_path / "rl_glue")


def test_a_row_says_what_to_do_if_it_is_not_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rlglue_core, "BUILT", tmp_path / "rl_glue")
    with (
        pytest.raises(BenchError, match=r"python -m bench\.rlglue_core FOLDER"),
        rlglue_core.started(),
    ):
        pass
