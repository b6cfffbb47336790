"""Our games pass PettingZoo's checks, and PettingZoo's environments earn the same here as there."""

from __future__ import annotations

import functools
import random
import types
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    seed_test,
)
from tests.bridges.places import GAMES, QUICK

import dovetail_bridges.pettingzoo
from dovetail import DovetailError, Environment, IllegalAction, InProcess, Spec, Turn
from dovetail.peer.agents.agent import Agent, Decision, End
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol.seeds import derive
from dovetail.protocol.spaces import Discrete
from dovetail.testing import check_environment
from dovetail_agents.general.search.agents import MCTSAgent
from dovetail_bridges import arguments
from dovetail_bridges.pettingzoo.from_pettingzoo import PettingZoo

pytestmark = pytest.mark.learners

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in GAMES if name not in QUICK]


class Duel(Environment):
    """Both name a number at once, three times; the higher one earns a point."""

    def init(self) -> Spec:
        return Spec(seats=2, observation_spaces=[Discrete(4)], action_spaces=[Discrete(5, start=2)])

    def start(self, seed: int) -> Turn:
        self.round = 0
        return self._turn([0.0, 0.0])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.round += 1
        return self._turn([float(actions[0] > actions[1]), float(actions[1] > actions[0])])

    def _turn(self, rewards: list[float]) -> Turn:
        if self.round == 30:
            return Turn.end([3, 3], rewards)
        seen = dict.fromkeys((0, 1), self.round % 3)
        return Turn.simultaneous(seen, rewards=dict(enumerate(rewards)))


# -- out -----------------------------------------------------------------------------------------


def forms(name: str) -> tuple[Any, Any]:
    """Return functions that make the AEC and the parallel form of a game."""
    game: Any = Duel if name == "duel" else name
    configuration = GAMES.get(name, {})
    return (
        functools.partial(dovetail_bridges.pettingzoo.env, game, configuration),
        functools.partial(dovetail_bridges.pettingzoo.parallel_env, game, configuration),
    )


@pytest.mark.parametrize("name", ["duel", *QUICK, *SLOW])
def test_pettingzoos_own_tests_pass(name: str) -> None:
    aec, parallel = forms(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about nested observations
        api_test(aec(), num_cycles=100)
        seed_test(aec, num_cycles=50)
        parallel_api_test(parallel(), num_cycles=100)
        parallel_seed_test(parallel, num_cycles=50)


LARGE: dict[str, dict[str, Any]] = {
    "dots": {"rows": 6, "columns": 6},
    "connect_four": {},
    "amazons": {},
    "rlgame": {},
    "tetris": {},
}
"""Configurations that last more than a few cycles."""


@pytest.mark.parametrize(
    "name",
    [
        *("duel", "2048", "connect_four", "dominion"),
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("amazons", "tetris", "rlgame", "dots")),
    ],
)
def test_cycles_are_limited(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # PettingZoo's test passes no seeds, and a game that happens to end early would fail it.
    unseeded = seeding.np_random
    monkeypatch.setattr(
        seeding, "np_random", lambda seed=None: unseeded(1 if seed is None else seed)
    )
    aec, parallel = forms(name)
    more: dict[str, Any] = {}
    if name in LARGE:
        aec = functools.partial(dovetail_bridges.pettingzoo.env, name)
        parallel = functools.partial(dovetail_bridges.pettingzoo.parallel_env, name)
        more["configuration"] = LARGE[name]
    module = types.SimpleNamespace(
        env=functools.partial(aec, illegal="random", **more),
        parallel_env=functools.partial(parallel, illegal="random", **more),
    )
    max_cycles_test(module)


def test_with_a_limit_every_seat_is_asked_once_a_cycle() -> None:
    """Dominion's seats decide several times in a turn: meanwhile the other one is asked for
    nothing."""
    env = dovetail_bridges.pettingzoo.env("dominion", max_cycles=40)
    free = dovetail_bridges.pettingzoo.env("dominion")
    env.reset(seed=1)
    free.reset(seed=1)
    asked, passed = dict.fromkeys(env.possible_agents, 0), 0
    rng = np.random.default_rng(2)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            assert (terminated, truncated) == (False, True)
            env.step(None)
            continue
        asked[agent] += 1
        legal = np.flatnonzero(observation["action_mask"])
        if len(legal):
            # The seats that act see the same as without a limit.
            assert agent == free.agent_selection
            alone, earned, *_ = free.last()
            assert (observation["action_mask"] == alone["action_mask"]).all()
            assert reward == earned
            action = int(rng.choice(legal))
            free.step(action)
            env.step(action)
        else:
            passed += 1
            env.step(int(env.action_space(agent).sample()))
    assert asked == dict.fromkeys(env.possible_agents, 40)
    assert 0 < passed < 40


def test_pettingzoos_test_of_the_interface_passes_with_a_limit() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about nested observations
        api_test(dovetail_bridges.pettingzoo.env("dominion", max_cycles=30), num_cycles=100)


def test_every_game_is_registered() -> None:
    for kind in ("aec", "parallel"):
        env = pettingzoo.make(kind, "dovetail/ConnectFour-v1", configuration={"rows": 4})
        env.reset(seed=1)
        assert env.observation_space("seat_0")["observation"].shape == (2, 4, 7)
    assert set(dovetail_bridges.pettingzoo.ids().values()) <= set(pettingzoo.aec_registry)


def test_the_episodes_are_those_of_a_run() -> None:
    with InProcess([*_kinds("connect_four")], [Random]) as experiment:
        agent = experiment.create("random")
        run = experiment.run("connect_four", [agent, agent], seed=7, episodes=3)
        assert [each.seed for each in run] == [derive(7, "episode", n) for n in range(3)]
    env = dovetail_bridges.pettingzoo.raw_env("dominion")
    seeds = []
    for seed in (7, None, None):
        env.reset(seed=seed)
        seeds.append(env.table._seed)
    assert seeds == [derive(7, "episode", n) for n in range(3)]


def _kinds(name: str) -> list[type[Any]]:
    from dovetail.peer import plugins

    return [plugins.find("environment", name)]


def test_seats_that_act_at_once_are_asked_in_turn() -> None:
    env = dovetail_bridges.pettingzoo.raw_env(Duel)
    env.reset(seed=1)
    assert env.agent_selection == "seat_0"
    env.step(6)
    assert (env.agent_selection, env.rewards) == ("seat_1", {"seat_0": 0.0, "seat_1": 0.0})
    env.step(2)
    assert (env.agent_selection, env.rewards) == ("seat_0", {"seat_0": 1.0, "seat_1": 0.0})
    assert env.last()[1] == 1.0
    together = dovetail_bridges.pettingzoo.parallel_env(Duel)
    together.reset(seed=1)
    assert together.step({"seat_0": 6, "seat_1": 2})[1] == {"seat_0": 1.0, "seat_1": 0.0}


def test_illegal_actions() -> None:
    env = dovetail_bridges.pettingzoo.raw_env("connect_four")
    env.reset(seed=1)
    env.step(9)
    assert env.rewards == {"seat_0": -1.0, "seat_1": 1.0}
    assert all(env.terminations.values())
    assert env.infos["seat_1"] == {"reason": "illegal-action", "outcome": [0.0, 1.0]}
    env = dovetail_bridges.pettingzoo.raw_env("connect_four", illegal="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalAction, match="action 9 of seat 0 is not legal"):
        env.step(9)
    env.step(3)
    assert env.agent_selection == "seat_1"
    with pytest.raises(DovetailError, match="illegal 'ignore' does not exist"):
        dovetail_bridges.pettingzoo.env("connect_four", illegal="ignore")


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "many"])
def test_a_wrong_number_of_cycles_is_told_at_once(wrong: Any) -> None:
    for make in (dovetail_bridges.pettingzoo.env, dovetail_bridges.pettingzoo.parallel_env):
        with pytest.raises(DovetailError, match="max_cycles must be an integer >= 1, or None"):
            make("rlgame" if make is dovetail_bridges.pettingzoo.env else Duel, max_cycles=wrong)


def test_a_refused_action_leaves_the_episode_as_it_was() -> None:
    env = dovetail_bridges.pettingzoo.raw_env(Duel, illegal="raise", max_cycles=2)
    env.reset(seed=1)

    def state() -> Any:
        return env.agent_selection, dict(env.rewards), dict(env._cumulative_rewards)

    env.step(4)
    env.step(3)
    assert state() == ("seat_0", {"seat_0": 1.0, "seat_1": 0.0}, {"seat_0": 1.0, "seat_1": 0.0})
    for action in 3, 4:
        before = state()
        for wrong in 9, 0:
            with pytest.raises(IllegalAction, match=f"action {wrong} of {env.agent_selection[:4]}"):
                env.step(wrong)
            assert state() == before
        env.step(action)
    assert env.rewards == {"seat_0": 0.0, "seat_1": 1.0}
    assert all(env.truncations.values())  # refused actions are not cycles


def test_masks_are_zero_for_seats_that_do_not_act() -> None:
    env = dovetail_bridges.pettingzoo.raw_env("connect_four", render_mode="ansi")
    env.reset(seed=1)
    assert env.observe("seat_0")["action_mask"].tolist() == [1] * 7
    assert env.observe("seat_1")["action_mask"].tolist() == [0] * 7
    assert not env.observe("seat_1")["observation"].any()
    env.step(0)
    assert "x" in env.render()


# -- in ------------------------------------------------------------------------------------------

FOREIGN = [
    ("aec", "classic/tictactoe-v3", {}),
    ("aec", "classic/connect_four-v3", {}),
    ("aec", "classic/go-v5", {"board_size": 5}),
    ("aec", "classic/rps-v2", {"num_actions": 5}),
    ("parallel", "classic/rps-v2", {"max_cycles": 10}),
    ("aec", "butterfly/cooperative_pong-v6", {"max_cycles": 10}),
    ("parallel", "butterfly/cooperative_pong-v6", {"max_cycles": 10}),
    ("aec", "butterfly/knights_archers_zombies-v11", {"max_cycles": 150, "max_zombies": 30}),
    ("parallel", "butterfly/knights_archers_zombies-v11", {"max_cycles": 150, "max_zombies": 30}),
    ("aec", "sisl/pursuit-v5", {"max_cycles": 10}),
    ("parallel", "sisl/pursuit-v5", {"max_cycles": 10}),
]
LONG = ("butterfly", "sisl")


class Wanderer(Agent):
    """Plays at random and remembers everyone's actions."""

    capacity = 0
    actions: list[tuple[int, int, int, int]] = []  # noqa: RUF012
    ends: dict[tuple[int, int], float] = {}  # noqa: RUF012

    def step(self, decision: Decision) -> Any:
        space = decision.seat.spec.action_spaces[0]
        assert isinstance(space, Discrete)
        action = decision.rng.choice(decision.legal or range(space.n))
        self.actions.append((decision.episode, decision.turn, decision.seat.seat, action))
        return action

    def end(self, end: End) -> None:
        self.ends[end.episode, end.seat.seat] = end.total


def bare(api: str, name: str, arguments: Any, seed: int, choices: list[Any]) -> dict[str, float]:
    """Return the agents' returns in a loop of PettingZoo's own."""
    env: Any = pettingzoo.make(api, name, **arguments)
    seed %= 2**31
    total = dict.fromkeys(env.possible_agents, 0.0)
    if api == "parallel":
        env.reset(seed=seed)
        while env.agents:
            turn = choices[0][0]
            now = [each for each in choices if each[0] == turn]
            choices = choices[len(now) :]
            actions = {env.possible_agents[seat]: action for _, seat, action in now}
            assert set(actions) == set(env.agents)
            for agent, reward in env.step(actions)[1].items():
                total[agent] += float(reward)
    else:
        env.reset(seed=seed)
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            total[agent] += float(reward)
            if terminated or truncated:
                env.step(None)
                continue
            _, seat, action = choices.pop(0)
            assert env.possible_agents[seat] == agent
            env.step(action)
    assert not choices
    env.close()
    return total


@pytest.mark.parametrize(
    ("api", "name", "arguments"),
    [
        pytest.param(*each, marks=pytest.mark.slow if each[1].startswith(LONG) else ())
        for each in FOREIGN
    ],
)
def test_the_returns_are_those_of_a_bare_loop(api: str, name: str, arguments: Any) -> None:
    Wanderer.actions, Wanderer.ends = [], {}
    zombies = "zombies" in name  # its episodes depend on those before, otherwise
    configuration = {"id": name, "api": api, "arguments": arguments, "fresh": zombies}
    environment = PettingZoo(PettingZoo.Configuration(**configuration))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seats = environment.init().seats
        environment.cleanup()
        with InProcess([PettingZoo], [Wanderer]) as experiment:
            agent = experiment.create("wanderer")
            results = experiment.run(
                "pettingzoo", [agent] * seats, configuration=configuration, episodes=2, check=True
            ).wait()
        for result in results:
            assert result.reason in ("terminated", "truncated")
            choices = [each[1:] for each in Wanderer.actions if each[0] == result.episode]
            totals = bare(api, name, arguments, result.seed, choices)
            assert [seat.total for seat in result.seats] == pytest.approx(list(totals.values()))
            assert result.outcome is not None


@pytest.mark.parametrize("name", ["classic/connect_four-v3", "classic/rps-v2"])
def test_an_agent_can_look_ahead_in_what_cannot_be_copied(name: str) -> None:
    check_environment(PettingZoo, {"id": name}, episodes=1)
    if name == "classic/rps-v2":
        return
    with InProcess([PettingZoo], [MCTSAgent, Random]) as experiment:
        strong = experiment.create("mcts", parameters={"simulations": 4})
        weak = experiment.create("random", seed=2)
        (game,) = experiment.run(
            "pettingzoo", [strong, weak], configuration={"id": name}, lookahead=True
        ).wait()
    assert game.reason == "terminated"


def test_draws_wins_and_limits() -> None:
    with InProcess([PettingZoo], [Random]) as experiment:
        agent = experiment.create("random")

        def play(**configuration: Any) -> list[Any]:
            return experiment.run(
                "pettingzoo", [agent] * 2, configuration=configuration, episodes=40
            ).wait()

        results = play(id="classic/tictactoe-v3")
        assert {tuple(each.outcome) for each in results} == {(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)}
        assert {each.reason for each in results} == {"terminated"}
        results = play(id="classic/rps-v2", outcome="none")
        assert {(each.reason, each.outcome) for each in results} == {("truncated", None)}


@pytest.mark.parametrize(
    ("identity", "line"),
    [
        ("classic/chess-v6", "classic/chess-v6 cannot be made"),
        ("no/such-v0", "no/such-v0 cannot be made"),
        ("os:system", "'os:system' names a module, which only the program that serves"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(identity: str, line: str) -> None:
    with InProcess([PettingZoo], [Random]) as experiment:
        agent = experiment.create("random")
        run = experiment.run("pettingzoo", [agent], configuration={"id": identity})
        with pytest.raises(DovetailError, match=line) as caught:
            run.wait()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["render_mode", "auto_rom_install_path"])
def test_what_only_the_local_user_may_choose(name: str) -> None:
    given = {name: "human"}
    game = PettingZoo(PettingZoo.Configuration(arguments=given))
    with pytest.raises(DovetailError, match=f"only the program .* may choose '{name}'"):
        game.init()
    arguments.check(preset(PettingZoo, {"arguments": given}, "environment pettingzoo"), given)


def test_a_module_of_the_local_user() -> None:
    identity = "pettingzoo.classic.tictactoe_v3:env"
    kind = preset(PettingZoo, {"id": identity}, "environment pettingzoo")
    game = kind()
    assert game.init().seats == 2
    turn = game.start(1)
    rng = random.Random(1)
    while turn.to_act:
        (seat,) = turn.to_act
        legal = next(each.legal for each in turn.seats if each.seat == seat)
        assert isinstance(legal, list)
        turn = game.step({seat: rng.choice(legal)})
    assert turn.terminated


class Keyed(pettingzoo.AECEnv):
    """Two agents that see a Dict with a text among its keys; one has a mask by another name."""

    metadata: ClassVar[dict[str, Any]] = {"name": "keyed_v0"}

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["one", "other"]
        plain = {"map": spaces.Discrete(9), "hint": spaces.Text(20)}
        masked = {**plain, "allowed": spaces.MultiBinary(3)}
        self.observation_spaces = {"one": spaces.Dict(masked), "other": spaces.Dict(plain)}
        self.action_spaces = {each: spaces.Discrete(3) for each in self.possible_agents}

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict(self.rewards)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {each: {} for each in self.agents}
        self.agent_selection, self.at = "one", 0

    def observe(self, agent: str) -> Any:
        seen = {"map": self.at, "hint": "go"}
        return seen | ({"allowed": np.array([0, 1, 1], np.int8)} if agent == "one" else {})

    def step(self, action: Any) -> None:
        self.at += 1
        self.agent_selection = self.agents[self.at % 2]
        self.terminations = dict.fromkeys(self.agents, self.at == 4)

    def render(self) -> None:
        """Draw nothing."""


@pytest.mark.parametrize(
    ("more", "one", "other", "legal"),
    [
        ({}, ["allowed", "hint", "map"], ["hint", "map"], None),
        ({"rename": {"allowed": "action_mask"}}, ["hint", "map"], ["hint", "map"], [1, 2]),
        (
            {"rename": {"map": "observation", "allowed": "action_mask"}, "ignore": ["hint"]},
            None,  # a Dict of an observation and its mask alone
            ["observation"],
            [1, 2],
        ),
        ({"ignore": ["hint", "allowed"]}, ["map"], ["map"], None),
    ],
    ids=str,
)
def test_keys_of_a_dict_are_left_out_and_renamed(
    more: dict[str, Any], one: list[str] | None, other: list[str], legal: Any
) -> None:
    own = {"id": f"{__name__}:Keyed", **more}
    kind = preset(PettingZoo, own, "environment pettingzoo")
    check_environment(kind, episodes=2)
    game = kind()
    spec = game.init()
    first = game.start(1).seats[0]
    second = game.step({0: 1}).seats[0]
    assert (first.seat, second.seat) == (0, 1)
    for view, keys in ((first, one), (second, other)):
        assert spec.observation_space(view.seat).contains(view.observation)
        found = sorted(view.observation) if isinstance(view.observation, dict) else None
        assert found == keys
    assert (first.legal, second.legal) == (legal, None)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"ignore": ["goal"]}, "has no key 'goal'; there are allowed, hint, map"),
        ({"rename": {"map": "hint"}}, "option 'rename': two keys get one name"),
    ],
)
def test_wrong_keys_are_refused(more: dict[str, Any], line: str) -> None:
    own = {"id": f"{__name__}:Keyed", **more}
    with pytest.raises(DovetailError, match=line) as caught:
        preset(PettingZoo, own, "environment pettingzoo")().init()
    assert "\n" not in str(caught.value)


class Mixed(Environment):
    """Seat 0 ends by the rules in the step in which a limit cuts the others short."""

    def init(self) -> Spec:
        return Spec(
            seats=3,
            observation_spaces=[Discrete(4)],
            action_spaces=[Discrete(2)],
        )

    def start(self, seed: int) -> Turn:
        self.at = 0
        return Turn.simultaneous(dict.fromkeys(range(3), 0))

    def step(self, actions: Any) -> Turn:
        self.at += 1
        if self.at < 3:
            return Turn.simultaneous(dict.fromkeys(range(3), self.at))
        return Turn.end([self.at] * 3, [0.5] * 3, truncated=[1, 2])


class Listener(Random):
    """It notes how its seats ended."""

    name = "listener"
    told: ClassVar[dict[int, str]] = {}

    def end(self, end: End) -> None:
        self.told[end.seat.seat] = end.reason


def test_flags_of_each_agent_go_to_pettingzoo_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    there = dovetail_bridges.pettingzoo.parallel_env(Mixed)
    there.reset(seed=1)
    for _ in range(3):
        _, _, terminated, truncated, _ = there.step(dict.fromkeys(there.agents, 0))
    assert list(terminated.values()) == [True, False, False]
    assert list(truncated.values()) == [False, True, True]
    one_by_one = dovetail_bridges.pettingzoo.env(Mixed)
    one_by_one.reset(seed=1)
    flags = {}
    for agent in one_by_one.agent_iter():
        _, _, over, cut, _ = one_by_one.last()
        flags[agent] = over, cut
        one_by_one.step(None if over or cut else 0)
    assert list(flags.values()) == [(True, False), (False, True), (False, True)]
    forms = {
        "parallel": dovetail_bridges.pettingzoo.parallel_env,
        "aec": dovetail_bridges.pettingzoo.env,
    }
    for api, form in forms.items():
        monkeypatch.setattr(PettingZoo, "_make", lambda self, form=form: form(Mixed))
        Listener.told.clear()
        with InProcess([PettingZoo], [Listener]) as experiment:
            agents = [experiment.create("listener") for _ in range(3)]
            configuration = {"id": "mixed", "api": api}
            [episode] = experiment.run("pettingzoo", agents, configuration=configuration)
        assert episode.reason == "terminated"
        assert Listener.told == {0: "terminated", 1: "truncated", 2: "truncated"}
