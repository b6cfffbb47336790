"""``dovetail keys``, and programs with keys in their terminals."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def access(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "access.toml").read_text())


def test_keys_are_made_listed_and_revoked(dovetail: Any, tmp_path: Path) -> None:
    made = dovetail(
        "keys", "make", "ada", "--access", "access.toml", "--role", "agent", "--offer", "td*"
    )
    assert (made.code, made.err) == (0, "")
    path = tmp_path / "config" / "dovetail" / "keys" / "ada.key"
    key = tomllib.loads(path.read_text())
    broker = tomllib.loads((tmp_path / "access.key").read_text())
    assert made.out == f"key file    {path}\npublic key  {key['public']}\n"
    assert key["server"] == broker["public"]
    entry = {"public": key["public"], "roles": ["agent"], "offers": ["td*"]}
    assert access(tmp_path) == {"keys": {"ada": entry}}
    for file in (path, tmp_path / "access.key"):
        assert file.stat().st_mode & 0o777 == 0o600

    other = dovetail("keys", "make", "bob", "--server", broker["public"])
    public = other.out.split()[-1]
    dovetail("keys", "make", "bob", "--access", "access.toml", "--public", public)
    assert access(tmp_path)["keys"]["bob"] == {"public": public}
    assert len(list(path.parent.iterdir())) == 2
    listed = dovetail("keys", "list", "--access", "access.toml").out
    assert public in listed
    assert "revoked" not in listed
    assert key["public"] in dovetail("keys", "list").out

    (tmp_path / "access.toml").write_text("# by hand\n" + (tmp_path / "access.toml").read_text())
    assert (
        dovetail("keys", "revoke", "ada", "--access", "access.toml").out == "revoked the key ada\n"
    )
    assert access(tmp_path)["keys"] == {
        "ada": {**entry, "revoked": True},
        "bob": {"public": public},
    }
    assert (tmp_path / "access.toml").read_text().startswith("# by hand\n")
    assert "before" in dovetail("keys", "revoke", "ada", "--access", "access.toml").out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["make", "a b"], "'a b' is not a name for a key; use letters, digits, - and _"),
        (["make", "ada", "--role", "agent"], "change an access file; name it with --access"),
        (["make", "ada", "--server", "x"], "'x' is not a key; expected 40 characters"),
        (["make", "old", "--access", "old.toml"], "old.toml has a key 'old' already"),
        (["revoke", "odl", "--access", "old.toml"], "old.toml has no key 'odl'; it has old"),
        (["revoke", "old", "--access", "no.toml"], "cannot read no.toml: No such file"),
    ],
)
def test_mistakes_are_one_line(
    dovetail: Any, tmp_path: Path, arguments: list[str], line: str
) -> None:
    dovetail("keys", "make", "old", "--access", "old.toml")
    before = (tmp_path / "old.toml").read_text()
    answer = dovetail("keys", *arguments)
    assert answer.code in (1, 2)
    assert line in answer.err
    assert answer.err.count("\n") == 1
    assert (tmp_path / "old.toml").read_text() == before


def test_an_entry_that_cannot_be_changed_stays(dovetail: Any, tmp_path: Path) -> None:
    dovetail("keys", "make", "ada", "--access", "access.toml")
    path = tmp_path / "access.toml"
    path.write_text(path.read_text() + "revoked = false\n")
    before = path.read_text()
    answer = dovetail("keys", "revoke", "ada", "--access", "access.toml")
    assert answer.code == 1
    assert "write `revoked = true` under [keys.ada] yourself" in answer.err
    assert path.read_text() == before
    assert not [each for each in tmp_path.iterdir() if "access.toml" in each.name and each != path]


def test_programs_meet_beyond_loopback_by_their_keys(terminals: Any, dovetail: Any) -> None:
    for name in ("ada", "bob"):
        dovetail("keys", "make", name, "--access", "access.toml", "--out", f"{name}.key")
    broker = terminals.broker(
        *("--journal", "none", "--access", "access.toml"), bind="tcp://0.0.0.0:*"
    )
    terminals.address = terminals.address.replace("0.0.0.0", "127.0.0.1")
    game = terminals.env("--key", "ada.key")
    plain = terminals.agent("First")
    game.expect("^environment count_up ready")
    assert plain.wait() == 1
    plain.expect(
        "^dovetail: the broker at .* lets in only programs with a key; give the option key", "err"
    )
    dovetail("keys", "revoke", "ada", "--access", "access.toml")
    assert game.wait() == 1
    game.expect("^dovetail: the broker refuses: the key 'ada' was revoked$", "err")
    assert len(game.lines["err"]) == 1
    assert broker.lines["err"] == []
