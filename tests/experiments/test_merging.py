"""Trials that several programs play, and one that joins what they left."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.experiments.test_trials import FILE, HERE, SEARCH, account

from dovetail.peer import provenance
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.commands import results as commands
from dovetail_experiments.files.sweep import TrialSelection
from dovetail_experiments.records.records import Records
from dovetail_experiments.reports import over_seeds
from dovetail_experiments.stages.merging import merge
from dovetail_experiments.stages.trials import SweepResult, execute


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    path = tmp_path / "seeded.toml"
    path.write_text(FILE)
    return path


def played(path: Path, out: Path, only: TrialSelection | None = None) -> SweepResult:
    done = execute(path, out=out, options=HERE, only=only)
    assert isinstance(done, SweepResult)
    return done


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_parts_that_are_merged_are_the_whole(
    seeded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = played(seeded, tmp_path / "whole")
    odd = played(seeded, tmp_path / "parts", TrialSelection.part("1/2"))
    last = played(seeded, tmp_path / "parts", TrialSelection.range("4"))
    to = tmp_path / "parts" / "seeded"
    assert [each.folder.relative_to(to) for each in (odd, last)] == [
        Path("part-1-of-2"),
        Path("part-4"),
    ]
    merge(to, [odd.folder, last.folder])
    assert "3 of 4 trials are present; missing: 2" in capsys.readouterr().out
    second = played(seeded, tmp_path / "parts", TrialSelection.range("2-2"))
    parts = [second.folder, odd.folder, last.folder]
    assert merge(to, parts) == [4]
    assert merge(to, parts) == []
    assert capsys.readouterr().out.count("already") == 3 + 4
    with Records(to) as records:
        rows = sorted(records.rows("executions"), key=lambda row: row["trial"])
        order = [row["id"] for row in rows]
        series = over_seeds.series(records, order)
    merged = SweepResult(whole.plan, to, whole.url, order, series)
    assert [each.runs for each in series] == [each.runs for each in whole.series]
    assert (to / "results.json").read_text() == (whole.folder / "results.json").read_text()
    assert account(merged)[-2] == account(whole)[-2]
    assert (to / "report.html").is_file()
    texts = []
    for each in (whole.folder, to):
        commands.export(str(each), str(tmp_path / "games.txt"))
        text = (tmp_path / "games.txt").read_text()
        texts.append(sorted(line for line in text.splitlines() if not line.startswith("[Date")))
    labels = [{line for line in each if line.startswith("[Label")} for each in texts]
    assert len(labels[0]) == len(labels[1]) == 4 * 3
    assert len(texts[0]) == len(texts[1])


@pytest.mark.long
def test_what_does_not_belong_together_is_refused(seeded: Path, tmp_path: Path) -> None:
    one = played(seeded, tmp_path / "one", TrialSelection.range("1"))
    to = tmp_path / "to"
    merge(to, [one.folder])
    seeded.write_text(FILE.replace("episodes = 6", "episodes = 8"))
    other = played(seeded, tmp_path / "other", TrialSelection.range("2"))
    with pytest.raises(DovetailError, match=r"other values of evaluations than those in") as caught:
        merge(to, [other.folder])
    assert "\n" not in str(caught.value)
    seeded.write_text(FILE)
    made = provenance.Provenance("9.8", "abc", "3.11.9", "2.3.0", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "here", lambda: made)
        old = played(seeded, tmp_path / "old", TrialSelection.range("2"))
    with pytest.raises(DovetailError, match=r"was played by dovetail 9\.8 .*, but .* by dovetail"):
        merge(to, [old.folder])
    with Records(to) as records:
        assert len(list(records.rows("executions"))) == 1


@pytest.mark.fast
def test_selections() -> None:
    assert TrialSelection.part("3/3").of(8) == [3, 6]
    assert TrialSelection.range("7-9").of(8) == [7, 8]
    assert TrialSelection.range("9").of(8) == []
    for text in ("0/3", "4/3", "3", "a/b", "1/0"):
        with pytest.raises(DovetailError, match="expected K/N"):
            TrialSelection.part(text)
    for text in ("0", "3-2", "x", "1/2"):
        with pytest.raises(DovetailError, match="expected a number"):
            TrialSelection.range(text)


def test_what_has_no_parts(seeded: Path, tmp_path: Path) -> None:
    with pytest.raises(DovetailError, match="there is no trial 5-9: seeded has 4"):
        played(seeded, tmp_path, TrialSelection.range("5-9"))
    sweep = FILE.partition("[sweep.parameters]")[2].partition("\n\n")
    search = SEARCH + "[sweep.parameters]" + sweep[0]
    seeded.write_text(FILE.replace("[sweep.parameters]" + sweep[0], search))
    with pytest.raises(DovetailError, match="its trials depend on the results of others"):
        played(seeded, tmp_path, TrialSelection.range("1"))
    seeded.write_text(
        FILE.replace("seeds = [1, 2]", "").replace("[sweep.parameters]" + sweep[0], "")
    )
    with pytest.raises(DovetailError, match="cannot be played in parts: it is one trial"):
        played(seeded, tmp_path, TrialSelection.range("1"))


@pytest.mark.parametrize("broken", [False, True])
def test_the_script_for_ssh_plays_parts_fetches_and_merges_them(
    seeded: Path, tmp_path: Path, broken: bool
) -> None:
    """``ssh`` and ``scp`` are stand-ins; what Dovetail is asked for is real but for its playing."""
    script = Path(__file__).parents[2] / "docs" / "several-machines" / "ssh.sh"
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_ins = {
        "ssh": f'echo "$1: $2" >> {tmp_path}/asked; {"false" if broken else "true"}',
        "scp": f'echo "$2 $3" >> {tmp_path}/fetched; mkdir -p "$3/$(basename "$2")"',
        "dovetail": f'echo "$@" >> {tmp_path}/merged',
    }
    for name, text in stand_ins.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["bash", script, "a file.toml", "seeded", "one", "two"],
        cwd=tmp_path,
        env={"PATH": f"{programs}:{os.defpath}"},
        check=False,
    )
    assert done.returncode == broken
    asked = sorted((tmp_path / "asked").read_text().splitlines())
    assert asked == [
        f"{host}: cd {tmp_path} && dovetail run a\\ file.toml --trial {k}/2 --resume "
        for k, host in enumerate(("one", "two"), 1)
    ]
    where = f"{tmp_path}/out/seeded/part"
    assert (tmp_path / "fetched").read_text().splitlines() == [
        f"one:{where}-1-of-2 out/seeded/",
        f"two:{where}-2-of-2 out/seeded/",
    ]
    merged = "merge out/seeded out/seeded/part-1-of-2 out/seeded/part-2-of-2"
    assert (tmp_path / "merged").read_text().strip() == merged


def test_the_script_for_slurm_gives_each_index_its_trial(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "docs" / "several-machines" / "slurm.sh"
    (tmp_path / "dovetail").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "dovetail").chmod(0o755)
    index = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "20"}
    done = subprocess.run(
        ["bash", script, "sweep.toml", "--in-process"],
        env={"PATH": f"{tmp_path}:{os.defpath}", **index},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "run sweep.toml --resume --trial 3/20 --in-process"
