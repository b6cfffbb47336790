from __future__ import annotations

import random
from typing import Any, get_args

import numpy as np
import pytest
from tests.agent_servers.memory import remembering

from dovetail import Decision, DovetailError, InProcess, Spec
from dovetail.client.run_options import RunOptions
from dovetail.peer.agents.agent import End, Seat
from dovetail.peer.registry import register
from dovetail_agents.games.dominion.bots import DominionRandom, Seen
from dovetail_agents.games.dominion.q_learning import (
    Coder,
    DominionQ,
    DominionQParameters,
    Reward,
    Version,
    play,
    reward_named,
)
from dovetail_agents.general.q_learning.table import entries
from dovetail_games.dominion import Configuration, Dominion
from dovetail_games.dominion.cards import (
    BASIC,
    CARDS,
    COPPER,
    ESTATE,
    GOLD,
    KINDS,
    NUMBER,
    PROVINCE,
    SILVER,
    SMITHY,
)
from dovetail_games.dominion.rules import BUY, PASS

TWO = {"kingdom": ["Smithy", "Chapel"], "kingdom_size": 2}
ENTRIES = {  # the study, table 2.7
    **{"0": 2_592_000, "1": 34_020, "2": 11_340, "3": 22_680, "4": 15_120, "5": 7_560},
    **{"6": 10_080, "7": 20_160, "8": 11_340, "9": 18_900, "10": 22_680, "12": 7_020},
    **{"14.0": 1_125_000, "14.5": 37_800, "23-4": 7_188_480, "23-2": 38_707_200},
}


def test_tables_are_as_large_as_the_studys() -> None:
    found = {version: Coder(version).entries for version in get_args(Version)}
    assert ENTRIES.items() <= found.items()
    # Between them each version doubles the states and has an action more.
    for players, states in (("4", 780), ("2", 4200)):
        cards = range(1, 10)
        expected = [states * 2**more * (9 + more) for more in cards]
        assert [found[f"{14 + more}-{players}"] for more in cards] == expected
    assert len(found) == len(ENTRIES) + 16


def test_other_bounds() -> None:
    """14.1 to 14.4 change one bound each; the study prints none of them."""
    assert Coder("14.0", {"turn": 19, "Copper": 8}).states == 20 * 2 * 5 * 10 * 10
    with pytest.raises(DovetailError, match="version 12 has no 'Village'; it has Gold, Silver"):
        Coder("12", {"Village": 1})
    with pytest.raises(DovetailError, match="Copper begins at 7, not 6"):
        Coder("12", {"Copper": 6})


def no_reward() -> int:
    return 1


def high_price() -> Reward:
    return Reward(tuple(float(card.cost) for card in CARDS), win=3.0)


def test_rewards() -> None:
    assert reward_named("environment") is None
    register("reward", "high price", high_price)
    register("reward", "the same", high_price())
    register("reward", "no reward", no_reward)
    assert reward_named("high price") == reward_named("the same") == high_price()
    assert Reward(win=10.0, loss=-2.0, points=1.0, margin=0.5).end(0.25, 20, 30) == 1.0 + 15.0
    with pytest.raises(DovetailError, match=r"no reward 'x'; there are .*environment, .*points, "):
        reward_named("x")
    with pytest.raises(DovetailError, match="must be a Reward with 17 kinds of cards"):
        reward_named("no reward")


def test_rewards_are_counted_from_what_is_seen() -> None:
    """The margin is that to the best of the others, whose cards an observation shows at the end."""
    game = Dominion(Configuration(players=3, first="seat-0"))
    game.start(1)
    first, second, third = game.game.players
    first.discard += [PROVINCE] * 3
    second.in_play += [PROVINCE]
    third.discard += [PROVINCE] * 2
    agent = remembering(
        DominionQ(DominionQParameters(reward="margin", learning_rate=1.0, min_visits=0))
    )
    seat = Seat(1, 0, Spec(name="dominion", seats=3))
    legal = [BUY + PROVINCE, PASS]
    rng = random.Random(1)
    agent.step(Decision(seat, 1, 0, game.observation(0), legal, 0.0, "learn", rng))
    seen = game.observation(0)
    agent.end(End(seat, 1, 0.0, seen, [1.0, 0.0, 0.0], "terminated", None, 0.0, 1, "learn"))
    assert agent.table.values[agent.table.visits > 0].tolist() == [18 + 3 - (12 + 3)]


def observed(turns: int, **owned: int) -> Any:
    game = Dominion(Configuration(first="seat-0"))
    game.start(1)
    me = game.game.players[0]
    me.turns = turns
    kinds = {"silver": SILVER, "gold": GOLD, "smithy": SMITHY, "copper": COPPER}
    for name, count in owned.items():
        me.discard += [kinds[name]] * count
    return game.observation(0)


def test_the_index_of_version_0_is_the_studys_formula() -> None:
    """index = a + 9 g + 108 s + 1080 b + 6480 e + 64800 t, the largest 2,591,999."""
    coder = Coder("0")
    seen = Seen(observed(3, gold=2, silver=4, smithy=1))
    e = 6  # 12 Provinces for two players
    assert coder.state(seen, 2) * 9 == 9 * 2 + 108 * 4 + 1080 * 1 + 6480 * e + 64800 * 3
    seen = Seen(observed(99, gold=99, silver=99, smithy=99))
    seen.supply[PROVINCE] = 99
    assert coder.state(seen, 2) * 9 + 8 == 2_591_999


def test_counts_are_clamped_from_both_sides() -> None:
    coder = Coder("12")
    seen = Seen(observed(0))
    start = coder.state(seen, 2)
    seen.owned[COPPER] = 3
    assert coder.state(seen, 2) == start == 0
    seen.owned[COPPER] = 30
    assert coder.state(seen, 2) == 30  # (8 - 7) after Gold 3, Silver 5, Smithy 2 values


def decision(agent: DominionQ, observation: Any, legal: list[int], episode: int = 1) -> Decision:
    seat = Seat(1, 0, Spec(name="dominion", seats=2))
    rng = random.Random(1)
    return Decision(seat, episode, 0, observation, legal, 0.0, "learn", rng)


def test_updates_by_hand() -> None:
    """Only what can be bought counts; a turn later with gamma; at the end without a future."""
    agent = remembering(DominionQ(DominionQParameters(version="12", min_visits=0, epsilon=0.0)))
    values = agent.table.values.reshape(-1)
    values[:] = 0.0
    values[:9] = [0, 0, 0, 5, 9, 9, 0, 0, 0]  # Estate is best of what is affordable
    legal = [BUY + COPPER, BUY + ESTATE, PASS]
    assert agent.step(decision(agent, observed(0), legal)) == BUY + ESTATE
    later = Coder("12").state(Seen(observed(1)), 2) * 9
    values[later : later + 9] = [1, 100, 0, 2, 100, 0, 0, 0, 0]
    assert agent.step(decision(agent, observed(1), legal)) == BUY + ESTATE
    assert values[3] == pytest.approx(5 + 0.2 * (1 + 0.95 * 2 - 5))
    seat = Seat(1, 0, Spec(name="dominion", seats=2))
    agent.end(End(seat, 1, 0.0, None, [1.0, 0.0], "terminated", None, 0.0, 2, "learn"))
    assert values[later + 3] == pytest.approx(2 + 0.2 * (1 - 2))


def test_forced_exploration_tries_what_is_rare_first() -> None:
    agent = remembering(DominionQ(DominionQParameters(version="12", min_visits=3, epsilon=0.0)))
    agent.table.values[0] = [0, 0, 0, 9, 0, 0, 0, 0, 0]
    legal = [BUY + COPPER, BUY + ESTATE, PASS]
    chosen = [agent.step(decision(agent, observed(0), legal, n)) for n in range(12)]
    assert sorted(chosen[:9]) == sorted(legal * 3)
    assert chosen[9:] == [BUY + ESTATE] * 3


def test_rules_for_playing_action_cards() -> None:
    """The dearest is Adventurer, then, of the fours, Smithy; Moneylender and Chapel need what they
    trash."""
    game = Dominion(Configuration(first="seat-0"))
    game.start(1)
    me = game.game.players[0]

    def played(rule: Any, *names: str, before: int = 0) -> int:
        me.hand = [0] * KINDS
        for name in names:
            me.hand[NUMBER[name]] += 1
        game.game.played = before
        legal = [kind for kind in range(BASIC, KINDS) if me.hand[kind]]
        return play(Seen(game.observation(0)), [*legal, PASS], rule)

    hand = ("Village", "Smithy", "Adventurer", "Moneylender", "Chapel")
    assert played("actions-first", *hand) == NUMBER["Village"]
    assert played("dearest", *hand) == played("one", *hand) == NUMBER["Adventurer"]
    assert played("dearest", "Workers village", "Smithy") == SMITHY
    assert played("one", *hand, before=1) == PASS
    assert played("dearest", *hand, before=1) == NUMBER["Adventurer"]
    assert played("dearest", "Moneylender", "Chapel") == PASS
    assert played("dearest", "Moneylender", "Chapel", "Copper") == NUMBER["Moneylender"]
    assert played("dearest", "Moneylender", "Chapel", "Estate") == NUMBER["Chapel"]


def rate(experiment: Any, agent: int, other: int, games: int) -> float:
    run = experiment.run(
        "dominion", [agent, other], configuration=TWO, episodes=games, seed=9, mode="evaluate"
    )
    return float(sum(each.outcome[0] for each in run) / games)


def test_it_learns_and_evaluation_changes_nothing() -> None:
    with InProcess([Dominion], [DominionQ, DominionRandom]) as experiment:
        fast = {"learning_rate": 1.0, "rate_power": 0.5, "min_visits": 2}
        agent = experiment.create("dominion-q", parameters=fast, seed=1)
        other = experiment.create("dominion-random")
        before = rate(experiment, agent, other, 60)
        run = experiment.run("dominion", [agent, other], configuration=TWO, episodes=200, seed=1)
        run.wait()
        state = experiment.save(agent)
        after = rate(experiment, agent, other, 60)
        assert after > before + 0.5
        assert experiment.save(agent) == state


def test_saved_loaded_and_going_on_is_the_same_as_never_stopping() -> None:
    with InProcess([Dominion], [DominionQ, DominionRandom]) as experiment:
        other = experiment.create("dominion-random")

        def learn(agent: int, first: int, count: int) -> None:
            options: RunOptions = {
                "configuration": TWO,
                "first_index": first,
                "episodes": count,
                "seed": 1,
            }
            experiment.run("dominion", [agent, other], **options).wait()

        whole = experiment.create("dominion-q", seed=3)
        learn(whole, 0, 20)
        half = experiment.create("dominion-q", seed=3)
        learn(half, 0, 10)
        again = experiment.create("dominion-q", seed=9, state=experiment.save(half))
        learn(again, 10, 10)
        assert experiment.save(again) == experiment.save(whole)


def test_what_it_refuses() -> None:
    with pytest.raises(DovetailError, match="2,150,400 states need 296 MiB, but the limit is 10"):
        DominionQ(DominionQParameters(version="23-2", table_mib=10))
    with pytest.raises(DovetailError, match="not a saved dominion-q"):
        DominionQ().load(b"x")
    with pytest.raises(DovetailError, match="plays dominion only"):
        DominionQ.needs.check("dominion-q", Spec(name="chess"))


def test_first_values_follow_from_the_seed() -> None:
    first, second = DominionQ(seed=1), DominionQ(seed=1)
    np.testing.assert_array_equal(first.table.values, second.table.values)
    assert 0 <= first.table.values.min() < first.table.values.max() <= 1


def test_the_environments_reward_reaches_the_purchase_that_earned_it() -> None:
    """If the environment pays the points of purchases, that is the reward "points", bit for bit."""
    tables = []
    for reward in ("points", "environment"):
        with InProcess([Dominion], [DominionQ, DominionRandom]) as experiment:
            parameters = {"version": "23-2", "table": "sparse", "reward": reward, "min_visits": 1}
            agent = experiment.create("dominion-q", parameters=parameters, seed=1)
            other = experiment.create("dominion-random")
            options = {"rewards": "purchase"}
            experiment.run(
                "dominion", [agent, other], configuration=options, episodes=10, seed=2
            ).wait()
            found = DominionQ()
            found.load(experiment.save(agent))
            tables.append(found.table)
    assert entries(tables[0]) == entries(tables[1])
    assert tables[0].tried() > 100
