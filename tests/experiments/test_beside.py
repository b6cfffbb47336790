"""Paths in an experiment file: from the file's folder, or from the current one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dovetail_experiments.files import file as files
from dovetail_experiments.files.relative_paths import beside

TOP = Path(__file__).resolve().parents[2]
TEXT = """
name = "x"
[environment]
name = "./game.py:Game"
[agents.a]
type = "../players/one.py:One"
state = "./a.state"
register = ["encoder:e=./coding.py:encode", "encoder:f=coding.py:encode"]
[agents.b]
type = "two.py:Two"
[agents.c]
type = "c"
command = ["./run", "--to", "{address}"]
[[evaluations]]
name = "./not a path"
seats = ["a", "b"]
openings = "./lines.txt"
[sweep.parameters]
"agents.b.type" = ["./three.py:Three", "random"]
"""


def test_paths_with_a_point_start_at_the_files_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "e.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    found = files.table(Path("study/e.toml"), {"agents.b.state": "./b.state"})
    assert found["environment"]["name"] == f"{folder}/game.py:Game"
    a, b, c = (found["agents"][each] for each in "abc")
    assert a["type"] == f"{tmp_path}/players/one.py:One"
    assert a["state"] == f"{folder}/a.state"
    assert a["register"] == [f"encoder:e={folder}/coding.py:encode", "encoder:f=coding.py:encode"]
    assert (b["type"], b["state"]) == ("two.py:Two", "./b.state")
    assert c["command"] == [f"{folder}/run", "--to", "{address}"]
    assert found["evaluations"][0]["openings"] == f"{folder}/lines.txt"
    assert found["sweep"]["parameters"]["agents.b.type"] == [f"{folder}/three.py:Three", "random"]


def test_names_of_stages_stay_as_they_are() -> None:
    assert beside(tomllib.loads(TEXT), Path("/x"))["evaluations"][0]["name"] == "./not a path"


@pytest.mark.parametrize(
    "wrong",
    [{"agents": 3}, {"agents": {"a": 1}}, {"environment": []}, {"sweep": {"parameters": 1}}],
)
def test_what_has_another_form_is_left_to_the_reader(wrong: dict[str, object]) -> None:
    assert beside(wrong, Path("/x")) == wrong


def test_a_wheel_has_no_file_whose_programs_it_lacks() -> None:
    wheel = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]
    every = sorted(TOP.glob("experiments/dovetail_experiments/examples/*.toml"))
    lacking = [
        each.relative_to(TOP).as_posix()
        for each in every
        if "clients/" in each.read_text(encoding="utf-8")
    ]
    assert lacking
    assert sorted(wheel["exclude"]) == lacking
    assert len(every) > len(lacking)
