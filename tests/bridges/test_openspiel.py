"""OpenSpiel's games pay here what they pay there, its solvers reach known values, and our agents
serve as its bots; our games have the form of its ``rl_environment``, for its own learners."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import rl_environment
from open_spiel.python.algorithms.tabular_qlearner import QLearner
from open_spiel.python.rl_tools import ConstantSchedule

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.agent import Agent, Decision, Lookahead
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.environment import Environment, IllegalAction
from dovetail.peer.presets import preset
from dovetail.testing import check_environment
from dovetail_agents.general.q_learning import QLearning
from dovetail_agents.general.search.agents import MCTSAgent
from dovetail_agents.general.td import TD
from dovetail_bridges.openspiel import players
from dovetail_bridges.openspiel.environment import OpenSpiel, Options
from dovetail_bridges.openspiel.players import OpenSpielMCTS, OpenSpielPolicy
from dovetail_bridges.openspiel.rl_environment import Environment as RLEnvironment
from dovetail_bridges.openspiel.to_openspiel import bot, policy

pytestmark = pytest.mark.learners

EVERY = [each.short_name for each in pyspiel.registered_games() if each.default_loadable]
REFUSED = {
    "crossword": "cannot be played by numbered actions",
    **dict.fromkeys(
        ("mfg_crowd_modelling", "mfg_crowd_modelling_2d", "mfg_dynamic_routing", "mfg_garnet"),
        "is a mean-field game, which has a population and no players",
    ),
}
SAMPLE = [
    *("kuhn_poker", "leduc_poker", "tic_tac_toe", "connect_four", "goofspiel", "matrix_rps"),
    *("liars_dice", "backgammon", "oshi_zumo", "hanabi", "catch", "phantom_ttt", "pig", "hex"),
    *("crossword", "mfg_garnet"),
]


class Witness(OpenSpiel):
    """Remembers the returns of its last episode."""

    last: list[float] = []  # noqa: RUF012

    def _turn(self) -> Any:
        turn = super()._turn()
        if not turn.to_act:
            Witness.last = [float(each) for each in self.state.returns()]
        return turn


@pytest.mark.parametrize(
    "name",
    [*SAMPLE, *(pytest.param(n, marks=pytest.mark.slow) for n in EVERY if n not in SAMPLE)],
)
def test_the_rewards_of_every_game_add_up_to_its_returns(name: str) -> None:
    game = pyspiel.load_game(name)
    with InProcess([Witness], [Random]) as experiment:
        agents = [experiment.create("random", seed=n) for n in range(max(1, game.num_players()))]
        run = experiment.run("openspiel", agents, configuration={"game": name}, seed=3, check=True)
        if name in REFUSED:
            with pytest.raises(DovetailError, match=REFUSED[name]) as caught:
                run.wait()
            assert "\n" not in str(caught.value)
            return
        (result,) = run.wait()
    assert result.reason == "terminated", result.message
    assert [seat.total for seat in result.seats] == Witness.last
    assert (result.outcome is None) == (game.num_players() == 1)


def test_most_games_are_playable() -> None:
    assert len(EVERY) - len(REFUSED) >= 108


def made(game: str, **options: Any) -> OpenSpiel:
    environment = OpenSpiel(Options(game, **options))
    environment.init()
    return environment


@pytest.mark.parametrize(
    ("game", "observe"),
    [
        ("kuhn_poker", "information"),
        ("leduc_poker", "string"),
        ("backgammon", "observation"),
        ("tic_tac_toe", "history"),
        ("goofspiel(num_cards=4)", "auto"),
        ("go(board_size=5)", "auto"),
    ],
)
def test_it_is_an_environment_like_ours(game: str, observe: str) -> None:
    checks = ["spec_is_whole", "turns_are_what_the_spec_says", "seeds_decide_everything"]
    checks += ["turns_do_not_change", "illegal_actions_change_nothing", "it_can_be_served"]
    if game != "goofspiel(num_cards=4)":  # these two know games in turns only
        checks += ["scenes_show_every_legal_action", "forks_stand_alone"]
    for check in checks:
        check_environment(OpenSpiel, {"game": game, "observe": observe}, episodes=4, only=check)


def test_actions_and_observations_are_openspiels() -> None:
    theirs = pyspiel.load_game("breakthrough(rows=5,columns=5)")
    for episode in range(5):
        ours = made("breakthrough(rows=5,columns=5)")
        rng, state, turn = random.Random(episode), theirs.new_initial_state(), ours.start(1)
        while turn.to_act:
            (seat,) = turn.to_act
            view = turn.seats[0]
            assert seat == state.current_player()
            assert view.legal == state.legal_actions()
            assert view.observation.ravel().tolist() == state.observation_tensor(seat)
            assert ours.text() == ours.text(seat) == str(state)
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            turn = ours.step({seat: action})
        assert [view.reward for view in turn.seats] == state.returns()


def test_the_seed_decides_chance_and_the_other_games_own_draws() -> None:
    def cards(game: str, seed: int, **options: Any) -> Any:
        turn = made(game, **options).start(seed)
        return [str(view.observation) for view in turn.seats]

    for game in ("leduc_poker", "backgammon", "negotiation", "tarok"):
        found = {seed: cards(game, seed) for seed in range(12)}
        assert len({str(each) for each in found.values()}) > 1, game
        assert all(cards(game, seed) == each for seed, each in found.items()), game


def test_what_is_hidden_is_drawn_again_in_a_fork() -> None:
    game = made("leduc_poker", observe="string")
    turn = game.start(3)
    (seat,) = turn.to_act
    others = set()
    for seed in range(20):
        fork = game.fork(seat, seed)
        assert fork.text(seat) == game.text(seat)
        others.add(fork.text(1 - seat))
    assert len(others) > 2
    hidden = made("dark_hex(board_size=3)", observe="string")
    seat = hidden.start(1).to_act[0]
    with pytest.raises(DovetailError, match="there is no lookahead"):
        hidden.fork(seat, 1)


@pytest.mark.parametrize(
    ("game", "options", "line"),
    [
        ("no_such_game", {}, "there is no game 'no_such_game' in OpenSpiel"),
        ("go(board_size=x", {}, "is not a game string"),
        ("go(boardsize=9)", {}, "cannot be loaded"),
        ("kuhn_poker", {"observe": "history"}, "cannot be observed by 'history'; it provides"),
        (
            "efg_game(filename=/etc/passwd)",
            {},
            "names a file by 'filename', which only the program",
        ),
        (
            "turn_based_simultaneous_game(game=efg_game(filename=/etc/passwd))",
            {},
            "names a file by 'filename', which only the program",
        ),
        ("mfg_garnet", {}, "is a mean-field game"),
    ],
)
def test_mistakes_cost_one_line(game: str, options: dict[str, Any], line: str) -> None:
    with pytest.raises(DovetailError, match=line) as caught:
        made(game, **options)
    assert "\n" not in str(caught.value)


def test_a_file_of_the_local_user(tmp_path: Any) -> None:
    path = tmp_path / "small.nfg"
    path.write_text(
        'NFG 1 R "pennies"\n{ "one" "two" } { 2 2 }\n\n1 -1 -1 1 -1 1 1 -1\n', encoding="utf-8"
    )
    kind: type[Environment] = preset(
        OpenSpiel, {"game": f"nfg_game(filename={path})"}, "environment openspiel"
    )
    game = kind()
    assert game.init().seats == 2
    turn = game.start(1)
    assert turn.to_act == [0, 1]
    assert [view.reward for view in game.step({0: 0, 1: 0}).seats] == [1.0, -1.0]


def test_an_action_that_is_not_legal_changes_nothing() -> None:
    game = made("tic_tac_toe")
    game.start(1)
    for wrong in (9, -1, "a", None, 1.0):
        with pytest.raises(IllegalAction, match="is not legal"):
            game.step({0: wrong})
    with pytest.raises(IllegalAction, match=r"the seats \[0\] must act"):
        game.step({1: 0})
    assert game.step({0: 4}).to_act == [1]


# -- players ---------------------------------------------------------------------------------------


def value_of_kuhn(games: int) -> tuple[float, float]:
    """Return the mean return of seat 0 and its standard error, with an equilibrium in both
    seats."""
    configuration = {"game": "kuhn_poker", "observe": "string"}
    with InProcess([OpenSpiel], [OpenSpielPolicy]) as experiment:
        player = experiment.create("openspiel-policy", parameters={"iterations": 2000})
        run = experiment.run(
            "openspiel",
            [player, player],
            configuration=configuration,
            episodes=games,
            seed=11,
            mode="evaluate",
            concurrency=16,
        )
        totals = [each.seats[0].total for each in run]
    mean = sum(totals) / games
    deviation = math.sqrt(sum((each - mean) ** 2 for each in totals) / games)
    return mean, deviation / math.sqrt(games)


def test_two_equilibrium_seats_meet_the_value_of_kuhn_poker() -> None:
    mean, error = value_of_kuhn(4000)
    assert abs(mean + 1 / 18) < 3 * error


@pytest.mark.slow
def test_two_equilibrium_seats_meet_it_closely() -> None:
    mean, error = value_of_kuhn(100_000)
    assert error < 0.005
    assert abs(mean + 1 / 18) < 3 * error
    assert mean + 3 * error < 0  # and are not at the 0 of a fair game


def test_a_policy_is_saved_and_refuses_what_it_cannot_solve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(players, "NODES", 5000)
    with InProcess([OpenSpiel], [OpenSpielPolicy]) as experiment:
        player = experiment.create("openspiel-policy", parameters={"iterations": 50})
        options: dict[str, Any] = {"configuration": {"game": "kuhn_poker", "observe": "string"}}
        first = experiment.run("openspiel", [player, player], episodes=20, **options).wait()
        twin = experiment.create("openspiel-policy", state=experiment.save(player))
        again = experiment.run("openspiel", [twin, twin], episodes=20, **options).wait()
        assert [each.digest for each in again] == [each.digest for each in first]
        for game, observe, line in (
            (
                "kuhn_poker",
                "information",
                "needs OpenSpiel's games with the option observe='string'",
            ),
            ("leduc_poker(players=3)", "string", "solves small games only"),
            ("goofspiel", "string", "solves games in turns only"),
        ):
            run = experiment.run(
                "openspiel",
                [player] * pyspiel.load_game(game).num_players(),
                configuration={"game": game, "observe": observe},
            )
            with pytest.raises(DovetailError, match=line):
                run.wait()


def test_their_search_beats_random_play() -> None:
    configuration = {"game": "connect_four", "observe": "history"}
    with InProcess([OpenSpiel], [OpenSpielMCTS, Random]) as experiment:
        seats = [
            experiment.create("openspiel-mcts", parameters={"simulations": 100}),
            experiment.create("random"),
        ]
        run = experiment.run(
            "openspiel", seats, configuration=configuration, episodes=10, rotate=True
        )
        wins = [(each.outcome or [0.0, 0.0])[each.index % 2] for each in run]
    assert sum(wins) >= 9


@pytest.mark.long
def test_learners_of_afterstates_learn() -> None:
    check_environment(
        OpenSpiel, {"game": "breakthrough(rows=5,columns=5)"}, only="afterstates_are_what_is_seen"
    )
    assert not made("leduc_poker").init().afterstates
    configuration = {"game": "tic_tac_toe"}
    with InProcess([OpenSpiel], [TD, Random]) as experiment:
        learner = experiment.create("td", seed=1, parameters={"hidden": 24})
        other = experiment.create("random")

        def rate() -> float:
            run = experiment.run(
                "openspiel",
                [learner, other],
                configuration=configuration,
                episodes=150,
                mode="evaluate",
            )
            return sum((each.outcome or [0.5])[0] for each in run) / 150

        before = rate()
        experiment.run(
            "openspiel", [learner, learner], configuration=configuration, episodes=800
        ).wait()
        assert rate() > before + 0.1


@pytest.mark.parametrize(
    ("game", "names"),
    [
        ("chess", ["td", "q-learning"]),  # a search plays chess to its end, which takes long
        ("go(board_size=9)", ["td", "q-learning"]),
        ("go(board_size=3)", ["td", "q-learning", "mcts"]),
        ("kuhn_poker", ["q-learning", "mcts"]),
        ("leduc_poker", ["q-learning", "mcts"]),
    ],
)
def test_general_learners_play(game: str, names: list[str]) -> None:
    small = {"td": {"hidden": 4}, "mcts": {"simulations": 3}}
    with InProcess([OpenSpiel], [TD, MCTSAgent, QLearning]) as experiment:
        agents = [experiment.create(each, parameters=small.get(each)) for each in names]
        for seats in itertools.permutations(agents, 2):
            run = experiment.run(
                "openspiel",
                list(seats),
                configuration={"game": game},
                max_turns=6,
                lookahead=True,
            )
            (result,) = run.wait()
            assert result.reason in ("terminated", "truncated"), result.message


@pytest.mark.long
def test_our_search_looks_ahead_in_hidden_games_and_learners_learn() -> None:
    with InProcess([OpenSpiel], [MCTSAgent, QLearning, Random]) as experiment:
        search = experiment.create("mcts", parameters={"simulations": 20})
        other = experiment.create("random")
        for game in ("leduc_poker", "tic_tac_toe"):
            results = experiment.run(
                "openspiel",
                [search, other],
                configuration={"game": game},
                episodes=3,
                lookahead=True,
            ).wait()
            assert {each.reason for each in results} == {"terminated"}, results[0].message
        learner = experiment.create("q-learning", seed=1)
        options: dict[str, Any] = {
            "configuration": {"game": "kuhn_poker", "observe": "information"}
        }
        experiment.run("openspiel", [learner, other], episodes=1500, **options).wait()
        results = experiment.run(
            "openspiel", [learner, other], episodes=400, mode="evaluate", **options
        ).wait()
    assert sum(each.seats[0].total for each in results) / 400 > 0.1


class Last(Agent):
    """Plays the last legal action and remembers what it earned."""

    def __init__(self) -> None:
        super().__init__()
        self.totals: list[float] = []

    def step(self, decision: Decision) -> Any:
        assert decision.legal
        return decision.legal[-1]

    def end(self, end: Any) -> None:
        self.totals.append(end.total)


class Asks(Agent):
    """Needs what no bot is given."""

    def step(self, decision: Decision) -> Any:
        yield Lookahead([[0]])
        return 0


def test_our_agents_are_their_bots() -> None:
    game = pyspiel.load_game("kuhn_poker")
    last = Last()
    bots = [bot(last, game, 0), bot(Random(), game, 1)]
    returns = []
    for seed in range(200):
        state = game.new_initial_state()
        returns.append(pyspiel.evaluate_bots(state, bots, seed)[0])
        bots[0].finish(state)
    assert last.totals == returns
    assert len(set(returns)) > 2
    with pytest.raises(DovetailError, match="which is not legal"):
        bot(Asks(), game, 0).step(game.new_initial_state().child(0).child(1))


def test_a_bot_that_raises_loses_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaks:
        def __init__(self, *_: Any) -> None:
            pass

        def step(self, state: Any) -> int:
            raise MemoryError("no room for\nthe tree")

    monkeypatch.setattr(pyspiel, "MCTSBot", Breaks)
    with InProcess([OpenSpiel], [OpenSpielMCTS, Random]) as experiment:
        agents = [experiment.create("openspiel-mcts"), experiment.create("random")]
        configuration = {"game": "tic_tac_toe", "observe": "history"}
        [episode] = experiment.run("openspiel", agents, configuration=configuration)
    assert (episode.reason, episode.blame, episode.scored) == ("stalled", 0, True)
    assert "openspiel-mcts raised MemoryError: no room for the tree" in episode.message


def test_players_of_bots_and_policies_exist() -> None:
    game = pyspiel.load_game("kuhn_poker(players=3)")
    for player in (-1, 3):
        with pytest.raises(DovetailError, match=f"player {player} does not exist; .* has 3"):
            bot(Random(), game, player)
        with pytest.raises(DovetailError, match=f"player {player} does not exist; .* has 3"):
            policy(Random(), game, [player])


def test_an_agent_is_a_policy_whose_exploitability_openspiel_computes() -> None:
    from open_spiel.python.algorithms import exploitability

    game = pyspiel.load_game("kuhn_poker")
    uniform = OpenSpielPolicy(players.PolicyParameters(solver="uniform"))
    solved = OpenSpielPolicy(players.PolicyParameters(solver="cfr+", iterations=200))
    for agent, exact in ((uniform, 11 / 24), (solved, 0.0)):
        its = policy(agent, game, observe="string")
        assert exploitability.exploitability(game, its) == pytest.approx(exact, abs=0.005)
    drawn = exploitability.exploitability(game, policy(Random(), game, draws=400))
    assert drawn == pytest.approx(11 / 24, abs=0.1)
    its = policy(Random(), game, draws=50)
    state = game.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    shares = its.action_probabilities(state)
    assert set(shares) == {0, 1}
    assert sum(shares.values()) == pytest.approx(1)
    assert its(state, 0) is shares


def test_our_game_is_an_rl_environment_as_theirs_is() -> None:

    ours, theirs = RLEnvironment("connect_four", seed=3), rl_environment.Environment("connect_four")
    assert (ours.num_players, ours.action_spec()) == (theirs.num_players, theirs.action_spec())
    rng = random.Random(5)
    for _ in range(20):
        mine, other = ours.reset(), theirs.reset()
        assert mine.first()
        assert mine.rewards is None
        while not other.last():
            for name in ("current_player", "legal_actions"):
                assert mine.observations[name] == other.observations[name]
            player = mine.observations["current_player"]
            action = rng.choice(mine.observations["legal_actions"][player])
            mine, other = ours.step([action]), theirs.step([action])
            assert (mine.rewards, mine.discounts, mine.step_type) == (
                other.rewards, other.discounts, other.step_type,
            )  # fmt: skip
        assert mine.observations["current_player"] == other.observations["current_player"]
        assert len(mine.observations["info_state"][0]) == ours.observation_spec()["info_state"][0]
    with pytest.raises(IllegalAction, match="action 9 of seat 0"):
        ours.step([0]) and ours.step([9])
    with pytest.raises(DovetailError, match="expected 1"):
        ours.step([0, 1])


def test_their_learner_learns_in_our_game() -> None:

    np.random.seed(1)
    small = {"rows": 3, "columns": 3, "connect": 3}
    env = RLEnvironment("connect_four", small, seed=1)
    learner = QLearner(0, 3, step_size=0.3, epsilon_schedule=ConstantSchedule(0.2))
    rng = random.Random(2)

    def play(evaluate: bool) -> float:
        step = env.reset()
        while not step.last():
            if step.observations["current_player"] == 0:
                action = learner.step(step, is_evaluation=evaluate).action
            else:
                action = rng.choice(step.observations["legal_actions"][1])
            step = env.step([action])
        learner.step(step, is_evaluation=evaluate)
        return float(step.rewards[0])

    before = sum(play(True) for _ in range(150)) / 150
    for _ in range(1500):
        play(False)
    after = sum(play(True) for _ in range(150)) / 150
    assert after > before + 0.25, (before, after)


def test_seats_that_act_at_once_are_asked_together() -> None:
    env = RLEnvironment("gdl", {"game": "rock_paper_scissors"})
    step = env.reset()
    assert step.is_simultaneous_move()
    assert (env.is_turn_based, env.num_actions_per_step) == (False, 2)
    assert [len(each) for each in step.observations["legal_actions"]] == [3, 3]
    while not step.last():
        step = env.step([legal[0] for legal in step.observations["legal_actions"]])
    assert step.rewards[0] == step.rewards[1]


def test_a_game_without_numbers_is_refused_in_one_line() -> None:
    with pytest.raises(DovetailError, match="acts in a Box; OpenSpiel takes action numbers only"):
        RLEnvironment("gymnasium", {"id": "Pendulum-v1"})
