"""An experiment's secret: no agent finds by counting what the game has drawn, and every run can be
repeated."""

from __future__ import annotations

import json
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.files import file as files
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.files import sweep
from dovetail_experiments.stages.runner import RunnerOptions, execute
from dovetail_games.connect_four import ConnectFour
from dovetail_studies.archive import Member
from dovetail_studies.rlgame import work

pytestmark = pytest.mark.processes

GAME = '''
import random
from dovetail import Agent, Environment, Spec, Turn, spaces
from dovetail.protocol.seeds import derive

class Guess(Environment):
    def init(self):
        return Spec(seats=2, observation_spaces=[spaces.Discrete(11)], action_spaces=[spaces.Discrete(10)], chance=True)

    def start(self, seed):
        rng = random.Random(seed)
        self.hidden, shown = rng.randrange(10), rng.randrange(1, 11)
        return Turn.simultaneous({0: shown, 1: shown})

    def step(self, actions):
        hit = [float(actions[seat] == self.hidden) for seat in (0, 1)]
        winners = [0, 1] if hit[0] == hit[1] else [hit.index(1.0)]
        return Turn.end([0, 0], hit, winners=winners)

class Honest(Agent):
    def step(self, decision):
        return decision.rng.randrange(10)

class Cheat(Agent):
    """Knows SPEC.md and the file but for its secret; tries each seed a person would choose."""

    def __init__(self, parameters=None, seed=0):
        super().__init__(parameters, seed)
        self.mine = seed

    def step(self, decision):
        for master in range(30):
            run = derive(master, "evaluation", "ev")
            for index in range(40):
                env = derive(run, "episode", index)
                seats = [derive(env, "seat", k) for k in (0, 1)]
                seats += [derive(derive(run, "agents"), "seat", index, k) for k in (0, 1)]
                if decision.seed in seats:
                    return random.Random(env).randrange(10)
            if self.mine == derive(master, "agent", "cheat"):
                raise ValueError("the seed is known")
        return random.Random(derive(derive(0, "evaluation", "ev"), "episode", 0)).randrange(10)
'''
CHEAT = """name = "cheat"
seed = 22
[environment]
name = "{where}/game.py:Guess"
[agents.honest]
type = "{where}/game.py:Honest"
[agents.cheat]
type = "{where}/game.py:Cheat"
[[evaluations]]
name = "ev"
seats = ["cheat", "honest"]
episodes = 40
openings = 0
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file whose first agent cheats, on an account that has no secret yet."""
    monkeypatch.delenv(sealing.VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "account"))
    (tmp_path / "game.py").write_text(GAME)
    path = tmp_path / "cheat.toml"
    path.write_text(CHEAT.format(where=tmp_path.as_posix()))
    return path


def played(path: Path, out: Path, **overrides: Any) -> list[tuple[Any, ...]]:
    """Return seed, actions and the cheat's return of each episode."""
    done = execute(path, options=RunnerOptions(in_process=True), out=out, overrides=overrides)
    query = (
        "SELECT episodes.seed, digest, seats.return FROM episodes JOIN seats "
        "ON seats.episode = episodes.id WHERE seats.seat = 0 ORDER BY episodes.id"
    )
    with sqlite3.connect(done.folder / "results.sqlite") as database:
        return database.execute(query).fetchall()


def hits(found: list[tuple[Any, ...]]) -> int:
    return sum(int(each[-1]) for each in found)


@pytest.mark.parametrize("seed", [0, 22])
def test_counting_through_small_seeds_finds_nothing(path: Path, tmp_path: Path, seed: int) -> None:
    assert hits(played(path, tmp_path / "out", seed=seed)) <= 12, "4 of 40 by chance"


@pytest.mark.parametrize("more", [{"derivation": 1}, {"secret": ""}])
def test_the_same_search_succeeds_where_there_is_no_secret(
    path: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    assert hits(played(path, tmp_path / "out", **more)) == 40


@pytest.mark.long
def test_the_same_file_and_seed_give_the_same_episodes(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = played(path, tmp_path / "1")
    assert played(path, tmp_path / "2") == first
    assert [each[0] for each in played(path, tmp_path / "3", seed=23)] != [x[0] for x in first]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another account"))
    assert [each[0] for each in played(path, tmp_path / "4")] != [each[0] for each in first]
    record = tmp_path / "1" / "cheat" / "experiment.json"
    assert played(record, tmp_path / "5") == first, "whoever holds the record repeats the run"


def test_a_record_of_former_versions_is_repeated_as_it_was(path: Path, tmp_path: Path) -> None:
    old = played(path, tmp_path / "1", derivation=1)
    record = tmp_path / "1" / "cheat" / "experiment.json"
    table = json.loads(record.read_text())
    assert table.pop("derivation") == 1
    assert "secret" not in table
    record.write_text(json.dumps(table))  # as it was written before there was the key
    assert played(record, tmp_path / "2") == old


def test_a_stored_file_of_former_versions_has_the_first_derivation(path: Path) -> None:
    file = files.read(path, {"derivation": 1})
    text = files.text(file)
    assert {"secret", "derivation"} & json.loads(text).keys() == set()
    assert files.stored(text) == file
    new = files.read(path, {"secret": "ab" * 16})
    assert files.stored(files.text(new)) == new


def test_installed_agents_need_no_secret(path: Path) -> None:
    path.write_text(path.read_text().replace("game.py:Honest", "game.py:Cheat"))
    assert sealing.guests(files.read(path)) == ["honest", "cheat"]
    mine = {"agents.honest.type": "random", "agents.cheat.type": "td"}
    assert sealing.guests(files.read(path, mine)) == []
    assert sealing.prepared(path, mine).base.secret is None
    assert sealing.prepared(path, {**mine, "agents.cheat.command": ["x"]}).base.secret is not None


def test_a_record_reveals_no_other_secret(path: Path) -> None:
    found = [
        sealing.prepared(path, more).base.secret
        for more in ({}, {"seed": 23}, {"name": "other"}, {"agents.honest.type": "random"})
    ]
    assert len(set(found)) == 3
    assert found[0] == found[3]
    assert sealing.account() not in found


def test_a_seed_of_a_part_is_not_found_either(path: Path) -> None:
    more = {"evaluations.0.seed": 5, "secret": "ab" * 16}
    file, other = files.read(path, more), files.read(path, {**more, "seed": 1})
    [part] = file.evaluations
    assert file.play_seed(part) == other.play_seed(part) != 5
    assert files.read(path, {**more, "secret": ""}).play_seed(part) == 5


@pytest.mark.parametrize("secret", ["ABCDEF" * 5 + "AB", "ab", "random"])
def test_what_is_no_secret_is_refused(path: Path, secret: str) -> None:
    with pytest.raises(DovetailError, match="32 hexadecimal digits in lower case"):
        sweep.read(path, {"secret": secret})


def test_a_secret_contradicts_the_first_derivation(path: Path) -> None:
    with pytest.raises(DovetailError, match="derivation 1 has no secret; remove one"):
        sweep.read(path, {"secret": "ab" * 16, "derivation": 1})


def test_a_secret_is_drawn_once_and_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "secret"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(sealing.kept, [path] * 40))
    assert len(found) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["secret"]
    path.write_text("nothing\n")
    with pytest.raises(DovetailError, match="must have 32 hexadecimal digits"):
        sealing.kept(path)


def test_an_account_that_can_keep_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv(sealing.VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert sealing.account() != sealing.account()
    assert "cannot keep a secret" in caplog.text


def test_an_arena_draws_a_secret_for_each_season(tmp_path: Path) -> None:
    def seeds(folder: Path) -> tuple[int, int]:
        with ArenaStore(folder / FILE, create=True) as store:
            first = store.master(store.season().number, 1)
            return first, store.master(store.season("2").number, 1)

    one, other = seeds(tmp_path / "one"), seeds(tmp_path / "other")
    assert len({*one, *other}) == 4
    with ArenaStore(tmp_path / "one" / FILE) as store:
        assert (store.master(1, 1), store.master(2, 1)) == one, "kept in its folder"
        player = store.enter("four", "alice", "a")
        unit = store.plan(2, "four", 1, [player, player])
    assert unit.seed == derive(one[1], "four", "unit", unit.id)
    assert unit.seed != derive(1, "four", "unit", unit.id)
    kept = sorted((tmp_path / "one" / "secrets").iterdir())
    assert [each.name for each in kept] == ["season-1", "season-2"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in kept} == {0o600}


@pytest.mark.parametrize(
    ("seed", "names", "warned"),
    [(7, ("a", "b"), True), (2**62 + 1, ("a", "b"), False), (7, ("a", "a"), False)],
)
def test_a_seed_that_competing_programs_can_guess_is_named_once(
    seed: int, names: tuple[str, str], warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with InProcess([ConnectFour]) as experiment:
        for _ in range(2):
            experiment._warn(m.Run(0, "connect_four", list(names), seed=seed))
    assert caplog.text.count("a and b may find the seed 7 by counting") == warned


@pytest.mark.rule("S8.7")
def test_what_a_run_draws_and_what_its_record_says() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        dice = experiment.create("random")

        def digests(**options: Any) -> list[str]:
            run = experiment.run("connect_four", [dice, dice], episodes=3, **options)
            return [each.digest for each in run]

        first = digests(seed=1)
        assert digests(seed=1) == digests(seed=2, agents_seed=derive(1, "agents")) == first
        assert digests(seed=1, derivation=1) != first
        assert digests(seed=1, agents_seed=2) != first


def test_a_study_repeats_its_kept_results() -> None:
    """They were played before there was a second derivation."""
    kept = Path(__file__).parents[2] / "studies/pages/results/rlgame.zip"
    lines = Member(kept, "pilot.quick.jsonl").read_bytes().splitlines()
    first = json.loads(lines[0])
    assert work.pilot(first["unit"]) == first["result"]
