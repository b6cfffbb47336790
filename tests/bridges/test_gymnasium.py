"""Our games pass Gymnasium's checks, and Gymnasium's environments earn the same here as there."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces as theirs
from gymnasium.utils.env_checker import check_env
from tests.bridges.places import GAMES, QUICK, broker

import dovetail_bridges.gymnasium
from dovetail import DovetailError, Experiment, IllegalAction, InProcess
from dovetail.peer import options, plugins
from dovetail.peer.agents.agent import Agent, Decision
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.sampling import sample
from dovetail.peer.presets import preset
from dovetail.protocol import codec, spaces
from dovetail.protocol.errors import NoLookahead
from dovetail.testing import check_environment
from dovetail_agents.general.scripted import Scripted
from dovetail_bridges import trials
from dovetail_bridges.gymnasium.from_gymnasium import Gymnasium
from dovetail_games.connect_four import ConnectFour

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in GAMES if name not in QUICK]


def make(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    options.setdefault("configuration", GAMES[name])
    return gymnasium.make(dovetail_bridges.gymnasium.ids()[name], **options)


class Last(Agent):
    """Plays the last legal action."""

    def step(self, decision: Decision) -> Any:
        assert decision.legal
        return decision.legal[-1]


# -- out -----------------------------------------------------------------------------------------


def test_every_game_has_an_id() -> None:
    ids = dovetail_bridges.gymnasium.ids()
    assert set(GAMES) <= set(ids)
    assert ids["2048"] == "dovetail/2048-v1"
    assert "gymnasium" not in ids
    assert all(each in gymnasium.registry for each in ids.values())


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_gymnasiums_own_check_passes(name: str) -> None:
    env = make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()
    env = make(name, seat="alternate" if env.unwrapped._sitting.spec.seats > 1 else 0)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_vector_plays_what_its_parts_play(name: str) -> None:
    def play(vector: gymnasium.vector.VectorEnv[Any, Any, Any]) -> list[Any]:
        observations, info = vector.reset(seed=3)
        rng = np.random.default_rng(1)
        seen = [observations]
        for _ in range(40):
            masks = info["action_mask"]
            actions = np.array([rng.choice(np.flatnonzero(m)) if m.any() else 0 for m in masks])
            observations, rewards, ended, cut, info = vector.step(actions)
            seen.append((observations, rewards, ended, cut))
        vector.close()
        return seen

    def vector(mode: str) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        return gymnasium.make_vec(
            dovetail_bridges.gymnasium.ids()[name],
            num_envs=3,
            vectorization_mode=mode,
            vector_kwargs={"context": "spawn"} if mode == "async" else {},
            configuration=GAMES[name],
        )

    played = play(vector("sync"))
    assert any(ended.any() for _, _, ended, _ in played[1:]) or name == "dominion"
    if name == "connect_four":  # the processes take a while to start
        assert repr(play(vector("async"))) == repr(played)
    assert repr(play(vector("sync"))) == repr(played)


@pytest.mark.parametrize("illegal", ["forfeit", "truncate"])
@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_vector_takes_a_thousand_actions_without_masks(name: str, illegal: str) -> None:
    envs = gymnasium.make_vec(
        dovetail_bridges.gymnasium.ids()[name],
        num_envs=8,
        vectorization_mode="sync",
        configuration=GAMES[name],
        illegal=illegal,
        max_turns=30,
    )
    envs.reset(seed=1)
    envs.action_space.seed(1)
    kinds: dict[str, set[Any]] = {}
    ended = 0
    for _ in range(125):
        _, _, over, cut, info = envs.step(envs.action_space.sample())
        ended += int((over | cut).sum())
        for key in set(info) & {"blame", "outcome", "reason", "return", "decisions"}:
            for value in np.asarray(info[key], object)[info[f"_{key}"]]:
                kinds.setdefault(key, set()).add(type(value))
    envs.close()
    assert ended > 4
    assert kinds.pop("outcome", {list}) == {list}
    assert kinds == {
        "blame": {int},
        "reason": {str},
        "return": {float},
        "decisions": {int},
    }


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("taken", [None, 0, 3])
def test_an_environment_can_be_copied_and_pickled(clone: Any, taken: int | None) -> None:
    env = make("connect_four", seat="alternate")
    rng = np.random.default_rng(1)

    def play(env: Any, info: Any, turns: int, choose: Any) -> list[Any]:
        seen: list[Any] = []
        for _ in range(turns):
            observation, reward, over, cut, info = env.step(choose(info["action_mask"]))
            seen.append((observation.tolist(), reward, over, cut, info["action_mask"].tolist()))
            if over or cut:
                observation, info = env.reset()
                seen.append((observation.tolist(), info["seat"]))
        return seen

    info: Any = None
    if taken is not None:
        env.reset(seed=5)
        _, info = env.reset()  # the second episode of this seed, from the other seat
        play(env, info, taken, lambda mask: rng.choice(np.flatnonzero(mask)))
    copied = clone(env)
    if taken is None:
        (first, info), (second, _) = env.reset(seed=3), copied.reset(seed=3)
        assert np.array_equal(first, second)
    else:
        info = {"action_mask": env.unwrapped.action_masks()}
        assert np.array_equal(copied.unwrapped.action_masks(), info["action_mask"])
    for each in (env, copied):
        each.seen = play(each, info, 12, lambda mask: np.flatnonzero(mask)[0])
    assert env.seen == copied.seen
    for each in (env, copied):
        each.close()


def test_one_whose_opponents_learn_says_that_it_cannot_be_copied() -> None:
    env = make("connect_four", mode="learn")
    with pytest.raises(DovetailError, match=r"cannot be copied or pickled; make another"):
        copy.deepcopy(env)
    env.close()


def test_masks_and_the_end_are_in_info() -> None:
    env: Any = make("connect_four", opponent=Last).unwrapped
    _, info = env.reset(seed=1)
    assert info["action_mask"].dtype == np.int8
    assert info["action_mask"].tolist() == env.action_masks().astype(int).tolist() == [1] * 5
    done = False
    while not done:
        assert env.action_space.sample(mask=info["action_mask"]) in np.flatnonzero(
            env.action_masks()
        )
        _, reward, done, _, info = env.step(np.int64(0))
        if not done:
            assert reward == 0.0
    assert (reward, info["outcome"], info["reason"]) == (1.0, [1.0, 0.0], "terminated")
    assert not info["action_mask"].any()
    env.close()


@pytest.mark.parametrize(
    ("illegal", "expected"),
    [("forfeit", (-1.0, True, False)), ("truncate", (0.0, False, True))],
)
def test_an_illegal_action_ends_the_episode(
    illegal: str, expected: tuple[float, bool, bool]
) -> None:
    env = make("connect_four", illegal=illegal)
    for seed in range(3):
        env.reset(seed=seed)
        observation, *end, _ = env.unwrapped.step(7)
        assert tuple(end) == expected
        assert observation in env.observation_space
    env.close()


def test_an_illegal_action_may_be_replaced_or_raise() -> None:
    env = make("connect_four", illegal="random")
    env.reset(seed=1)
    assert env.unwrapped.step(7)[2:4] == (False, False)
    env.close()
    env = make("connect_four", illegal="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalAction):
        env.unwrapped.step(7)
    assert env.step(0)[2:4] == (False, False)
    env.close()


def test_the_other_seat_and_the_text() -> None:
    env = make("connect_four", opponent=Last, seat=1, render_mode="ansi")
    observation, _ = env.reset(seed=1)
    assert observation[1].sum() == 1
    assert "x" in str(env.render())
    env.close()
    with pytest.raises(DovetailError, match="seat 2 does not exist"):
        make("connect_four", seat=2)


def test_the_same_game_at_a_broker() -> None:
    def play(env: gymnasium.Env[Any, Any]) -> list[Any]:
        seen: list[Any] = []
        for seed in (5, None, None):
            _, info = env.reset(seed=seed)
            done = False
            while not done:
                action = np.flatnonzero(info["action_mask"])[0]
                observation, reward, done, _, info = env.step(action)
                seen.append((observation.tolist(), reward))
            env.reset()
            env.step(0)  # and is abandoned
        env.close()
        return seen

    here = play(make("connect_four"))
    with broker([ConnectFour], [Random]) as address:
        assert play(make("connect_four", connect=address)) == here


# -- in ------------------------------------------------------------------------------------------

FOREIGN: list[tuple[str, dict[str, Any]]] = [
    ("CartPole-v0", {}),
    ("CartPole-v1", {}),
    ("MountainCar-v0", {}),
    ("MountainCarContinuous-v0", {}),
    ("Pendulum-v1", {"g": 9.81}),
    ("Acrobot-v1", {}),
    ("Blackjack-v1", {"sab": True}),
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}),
    ("FrozenLake8x8-v1", {}),
    ("CliffWalking-v1", {"max_episode_steps": 100}),
    ("CliffWalkingSlippery-v1", {"max_episode_steps": 100}),
    ("Taxi-v4", {}),
    ("tests/Every-v0", {}),
]


class Every(gymnasium.Env[Any, Any]):
    """Observes and takes a value of every space, in an array that it uses again."""

    def __init__(self, length: int = 6) -> None:
        self.observation_space = theirs.Dict(
            box=theirs.Box(-1, 1, (2, 2)),
            several=theirs.MultiDiscrete([[2, 3], [4, 5]]),
            bits=theirs.MultiBinary(3),
            text=theirs.Text(4),
            row=theirs.Sequence(theirs.Dict(a=theirs.Discrete(3), b=theirs.Box(0, 1)), stack=True),
        )
        self.action_space = theirs.Tuple(
            [
                theirs.Discrete(3, start=5),
                theirs.Box(-1, 1, (2,)),
                theirs.MultiDiscrete([[2, 3]]),
            ]
        )
        self.length = length
        self.reused = np.zeros((2, 2), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.time = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.time += 1
        reward = float(action[0] + action[1].sum() + action[2].sum())
        return self._observe(), reward, False, self.time == self.length, {}

    def _observe(self) -> Any:
        value = self.observation_space.sample()
        self.reused[:] = value["box"]
        return {**value, "box": self.reused}


gymnasium.register("tests/Every-v0", entry_point=Every)


def bare(name: str, arguments: dict[str, Any], seed: int, choices: list[Any]) -> list[float]:
    """Return the rewards of an episode in a loop of Gymnasium's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gymnasium.make(name, **arguments)
    env.reset(seed=seed)
    rewards = []
    for action in choices:
        _, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
    assert terminated or truncated
    env.close()
    return rewards


class Wanderer(Agent):
    """Plays at random and remembers its actions and rewards."""

    actions: list[list[Any]] = []  # noqa: RUF012
    rewards: list[list[float]] = []  # noqa: RUF012

    def start(self, decision: Decision) -> Any:
        self.actions.append([])
        self.rewards.append([])
        return self._choose(decision)

    def step(self, decision: Decision) -> Any:
        self.rewards[-1].append(decision.reward)
        return self._choose(decision)

    def _choose(self, decision: Decision) -> Any:
        space = decision.seat.spec.action_spaces[0]
        legal = decision.legal
        action = sample(space, decision.rng) if legal is None else decision.rng.choice(legal)
        self.actions[-1].append(action)
        return action

    def end(self, end: Any) -> None:
        self.rewards[-1].append(end.reward)


@pytest.mark.parametrize(("name", "arguments"), FOREIGN, ids=lambda each: str(each))
def test_the_rewards_are_those_of_a_bare_loop(name: str, arguments: dict[str, Any]) -> None:
    from dovetail_bridges.conversion import to_action

    Wanderer.actions, Wanderer.rewards = [], []
    with InProcess([Gymnasium], [Wanderer]) as experiment:
        agent = experiment.create("wanderer")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = experiment.run(
                "gymnasium",
                [agent],
                configuration={"id": name, "arguments": arguments},
                episodes=3,
                seed=1,
                check=name != "Pendulum-v1",  # its observations leave their own bounds by rounding
            ).wait()
    assert len(results) == len(Wanderer.actions) == 3
    env = Gymnasium(Gymnasium.Configuration(id=name, arguments=arguments))
    spec = env.init()
    for result, actions, rewards in zip(results, Wanderer.actions, Wanderer.rewards, strict=True):
        choices = [to_action(env.env.action_space, spec.action_spaces[0], a) for a in actions]
        assert bare(name, arguments, result.seed, choices) == rewards
        assert result.outcome is None
    assert {each.reason for each in results} <= {"terminated", "truncated"}
    env.cleanup()


def test_a_time_limit_truncates_and_masks_are_legal_actions() -> None:
    with InProcess([Gymnasium], [Scripted, Random]) as experiment:
        agent = experiment.create("random")
        run = experiment.run("gymnasium", [agent], configuration={"id": "Taxi-v4"}, seed=1)
        (result,) = run.wait()
    assert (result.reason, result.turns) == ("truncated", 200)
    taxi = Gymnasium(Gymnasium.Configuration(id="Taxi-v4"))
    assert taxi.init().max_turns == 200
    legal = taxi.start(3).seats[0].legal
    assert isinstance(legal, list)
    assert 0 < len(legal) < 6


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_it_is_an_environment_like_ours(name: str) -> None:
    check_environment(Gymnasium, {"id": name}, episodes=3)


@pytest.mark.parametrize(
    ("identity", "line"),
    [
        ("NoSuch-v0", "NoSuch-v0 cannot be made: .*NameNotFound"),
        ("os:CartPole-v1", "'os:CartPole-v1' names a module, which only the program that serves"),
        ("Hopper-v3", "Hopper-v3 cannot be made: ImportError"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(identity: str, line: str) -> None:
    with InProcess([Gymnasium], [Random]) as experiment, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = experiment.create("random")
        run = experiment.run("gymnasium", [agent], configuration={"id": identity})
        with pytest.raises(DovetailError, match=line) as caught:
            run.wait()
    assert "\n" not in str(caught.value)


def test_an_id_of_the_local_user_may_name_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brought.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "gymnasium.register('Brought-v0', CartPoleEnv, max_episode_steps=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    kind = preset(Gymnasium, {"id": "brought:Brought-v0"}, "environment gymnasium")
    environment = kind()
    assert environment.init().max_turns == 7
    environment.cleanup()


class Words(gymnasium.Space):
    """A space of text that no class of Gymnasium describes, such as MiniGrid's missions."""

    def __init__(self) -> None:
        super().__init__(dtype=str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "go"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class Unsampled(Words):
    """One that no sample can be had of."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        raise NotImplementedError


class Library(gymnasium.Env):
    """Shows long texts under keys that are numbers."""

    observation_space = gymnasium.spaces.Dict({1: Words(), 2: Unsampled()})
    action_space = Unsampled()

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return {1: "word " * 20_000, 2: "a"}, {}

    def step(self, action: Any) -> Any:
        return {1: action, 2: "b"}, 0.0, True, False, {}


gymnasium.register("tests/Library-v0", entry_point=Library)


@pytest.mark.parametrize("more", [{}, {"ignore": ["2"]}, {"rename": {"1": "book"}}], ids=str)
def test_texts_of_unknown_spaces_may_be_long(more: dict[str, Any]) -> None:
    game = Gymnasium(
        options.read(Gymnasium.Configuration, {"id": "tests/Library-v0", **more}, "it")
    )
    spec = game.init()
    for turn in (game.start(1), game.step({0: "read on"})):
        assert spec.observation_space(0).contains(turn.seats[0].observation)


class Grid(gymnasium.Env):
    """A stand-in for MiniGrid: an image, a direction and a mission; it cannot be copied."""

    observation_space = gymnasium.spaces.Dict(
        image=gymnasium.spaces.Box(0, 255, (2, 2), np.uint8),
        direction=gymnasium.spaces.Discrete(4),
        mission=Words(),
    )
    action_space = gymnasium.spaces.Discrete(3)

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("holds a window")

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.walked = int(self.np_random.integers(100))
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.walked += int(action) + int(self.np_random.integers(2))
        return self._seen(), 0.0, self.walked > 110, False, {}

    def _seen(self) -> Any:
        image = np.full((2, 2), self.walked, np.uint8)
        return {"image": image, "direction": self.walked % 4, "mission": f"walk to {self.walked}"}


class Only(gymnasium.ObservationWrapper):
    """Shows the image alone, as MiniGrid's ImgObsWrapper does."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space["image"]

    def observation(self, observation: Any) -> Any:
        return observation["image"]


gymnasium.register("tests/Grid-v0", entry_point=Grid, max_episode_steps=30)


@pytest.mark.parametrize(
    "more",
    [{}, {"ignore": ["mission"]}, {"rename": {"mission": "task"}, "ignore": ["direction"]}],
    ids=str,
)
def test_a_grid_world_with_missions_is_an_environment(more: dict[str, Any]) -> None:
    check_environment(Gymnasium, {"id": "tests/Grid-v0", **more}, episodes=3)
    game = Gymnasium(options.read(Gymnasium.Configuration, {"id": "tests/Grid-v0", **more}, "it"))
    spec = game.init()
    seen = game.start(3).seats[0].observation
    assert spec.observation_spaces[0].contains(seen)
    names = {"mission": "task"} if "rename" in more else {}
    left = {"image", "direction", "mission"} - set(more.get("ignore", ()))
    assert set(seen) == {names.get(each, each) for each in left}
    if names:
        assert seen["task"].startswith("walk to ")


@pytest.mark.parametrize(
    "name",
    [
        *("MiniGrid-DoorKey-5x5-v0", "MiniGrid-Empty-5x5-v0", "MiniGrid-Fetch-5x5-N2-v0"),
        *("MiniGrid-FourRooms-v0", "MiniGrid-GoToDoor-5x5-v0", "MiniGrid-KeyCorridorS3R1-v0"),
        *("MiniGrid-LavaGapS5-v0", "MiniGrid-MemoryS7-v0", "BabyAI-GoToLocal-v0"),
        *("BabyAI-GoToObj-v0", "BabyAI-PickupLoc-v0", "BabyAI-SynthLoc-v0"),
    ],
)
def test_minigrids_worlds_play(name: str) -> None:
    trials.play("gymnasium", {"id": f"minigrid:{name}"})


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"ignore": ["goal"]}, "has no key 'goal'; there are image, direction, mission"),
        ({"rename": {"image": "mission"}}, "two keys get one name"),
        ({"wrappers": ["os:remove"]}, "wrapper 'os:remove' is imported, which only the program"),
    ],
)
def test_wrong_keys_and_wrappers_of_others_are_refused(more: dict[str, Any], line: str) -> None:
    game = Gymnasium(options.read(Gymnasium.Configuration, {"id": "tests/Grid-v0", **more}, "it"))
    with pytest.raises(DovetailError, match=line) as caught:
        game.init()
    assert "\n" not in str(caught.value)


def test_wrappers_of_the_local_user() -> None:
    own = {"id": "tests/Grid-v0", "wrappers": [f"{__name__}:Only"]}
    game = preset(Gymnasium, own, "gymnasium")()
    assert game.init().observation_spaces == [spaces.Box([2, 2], 0, 255, "uint8")]
    assert game.start(1).seats[0].observation.shape == (2, 2)
    with pytest.raises(DovetailError, match="cannot wrap tests/Grid-v0: "):
        preset(Gymnasium, {**own, "wrappers": ["math:floor"]}, "gymnasium")().init()


@pytest.mark.parametrize(
    ("name", "steps"), [("tests/Grid-v0", 2), ("FrozenLake-v1", 2), ("Blackjack-v1", 0)]
)
def test_a_fork_is_played_again_where_it_cannot_be_copied(name: str, steps: int) -> None:
    game = Gymnasium(Gymnasium.Configuration(name))
    game.init()
    game.start(5)
    for _ in range(steps):
        assert game.step({0: 0}).to_act
    before = game.text()
    ends = set()
    for seed in range(8):
        fork = game.fork(0, seed)
        again = copy.deepcopy(fork)
        one, other = (each.step({0: 1}) for each in (fork, again))
        assert codec.encode(one) == codec.encode(other), "a copy has the fork's chance"
        ends.add(codec.encode(one))
    assert game._copies is (name != "tests/Grid-v0")
    assert len(ends) > 1, "chance follows the seed of the fork"
    assert game.text() == before


class Fickle(Grid):
    """Does not follow its seed, and cannot be copied."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        type(self).resets = getattr(type(self), "resets", 0) + 1
        super().reset(seed=seed)
        self.walked = self.resets
        return self._seen(), {}


gymnasium.register("tests/Fickle-v0", entry_point=Fickle)


def test_what_cannot_be_copied_nor_played_again_has_no_lookahead() -> None:
    game = Gymnasium(Gymnasium.Configuration("tests/Fickle-v0"))
    game.init()
    game.start(1)
    with pytest.raises(NoLookahead, match="differed when it was replayed"):
        game.fork(0, 1)


class Opens(Every):
    """Takes the name of a file, as MuJoCo's environments do."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "human"], "render_fps": 1}

    def __init__(
        self, xml_file: str = "", parts: Any = None, render_mode: str | None = None
    ) -> None:
        super().__init__()
        self.given = xml_file, parts, render_mode
        self.render_mode = render_mode


gymnasium.register("tests/Opens-v0", entry_point=Opens)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"xml_file": "/etc/passwd"}, "xml_file"),
        ({"parts": [{"Save_Dir": "tmp"}]}, "Save_Dir"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_what_only_the_local_user_may_choose(arguments: dict[str, Any], name: str) -> None:
    def made(kind: Any, given: dict[str, Any]) -> Any:
        game = kind(options.read(kind.Configuration, given, "gymnasium"))
        game.init()
        return game.env.unwrapped.given

    both = {"id": "tests/Opens-v0", "arguments": arguments}
    with pytest.raises(DovetailError, match=f"only the program .* may choose '{name}'") as caught:
        made(Gymnasium, both)
    assert "\n" not in str(caught.value)
    here = preset(Gymnasium, both, "gymnasium")
    assert made(here, {}) == made(here, both)
    with pytest.raises(DovetailError, match=f"may choose '{name}'"):
        made(here, both | {"arguments": {**arguments, name: "other"}})
    assert made(here, {"arguments": {"render_mode": "ansi"}}) == ("", None, "ansi")


@pytest.mark.parametrize(
    "value",
    [
        "a.module:id-v0",
        "_hidden:id-v0",
        "with-hyphen:id-v0",
        "\\\\host\\share",
        "/etc/passwd",
        "../secret",
        "http://[::1]/",
    ],
)
def test_a_value_that_names_a_module_file_or_address_is_the_local_users(value: str) -> None:
    given = {"id": "tests/Opens-v0", "arguments": {"parts": ["fine: this", {"name": [value]}]}}
    with pytest.raises(DovetailError, match=r"only the program .* may choose 'name'"):
        Gymnasium(options.read(Gymnasium.Configuration, given, "gymnasium")).init()
    here = preset(Gymnasium, given, "gymnasium")
    here(options.read(here.Configuration, given, "gymnasium")).init()


class Fails(gymnasium.Env[Any, Any]):
    """Fails in its third step."""

    observation_space = theirs.Discrete(2)
    action_space = theirs.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.time = 0
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        if self.time == 3:
            raise RuntimeError("the simulator is gone")
        return 1, 0.0, False, False, {}


gymnasium.register("tests/Fails-v0", entry_point=Fails)


def test_an_environment_that_fails_is_at_fault() -> None:
    with InProcess([Gymnasium], [Random]) as experiment:
        agent = experiment.create("random")
        run = experiment.run(
            "gymnasium", [agent], configuration={"id": "tests/Fails-v0"}, retries=0
        )
        (result,) = run.wait()
    assert (result.reason, result.blame, result.scored) == ("environment-failed", None, False)
    assert "RuntimeError in step: the simulator is gone" in result.message


@pytest.mark.parametrize("name", ["gymnasium", "pettingzoo", "openspiel"])
def test_an_absent_package_costs_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = plugins.find("environment", name)
    package = {"openspiel": "pyspiel"}.get(name, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DovetailError, match=rf"pip install 'dovetail\[{name}\]'") as caught:
        kind().init()
    assert "\n" not in str(caught.value)


def test_a_program_serves_what_the_local_user_chose() -> None:
    with broker([ConnectFour], [Random]) as address:
        command = ["env", "openspiel", "--set", "game=kuhn_poker", "--connect", address]
        program = subprocess.Popen(
            [sys.executable, "-m", "dovetail", *command], stdout=subprocess.PIPE, text=True
        )
        try:
            assert program.stdout is not None
            assert "environment openspiel ready" in program.stdout.readline()
            with Experiment.connect(address) as experiment:
                agent = experiment.create("random")
                results = experiment.run("openspiel", [agent] * 2, episodes=5, check=True).wait()
                assert {each.reason for each in results} == {"terminated"}
                assert all(each.turns in (2, 3) for each in results)
                run = experiment.run("openspiel", [agent] * 2, episodes=10_000_000)
                assert run.poll(10.0) is not None
                program.kill()
                with pytest.raises(DovetailError, match="the run failed: environment"):
                    run.wait()
        finally:
            program.kill()
            program.wait()


def test_the_command_line_gives_an_environment_its_options() -> None:
    def words(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dovetail", "env", *arguments]
        wide = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=wide
        )

    shown = words("gymnasium", "--set", "id=Pendulum-v1", "--options")
    assert '"Pendulum-v1"' in shown.stdout
    refused = words("gymnasium", "--set", "id=3")
    assert refused.returncode == 2
    assert "option 'id': it must be text, not 3" in refused.stderr
    assert refused.stderr.count("\n") == 1
