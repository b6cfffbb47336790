"""TextArena's games through the broker; the real package where it is installed, else a stand-in."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from tests.bridges.stand_ins import installed, stand_in

from dovetail import Agent, InProcess
from dovetail.peer.agents.agent import Decision
from dovetail.protocol.errors import DovetailError
from dovetail_bridges.textarena.environment import Options, TextArena

BRACKETED = re.compile(r"\[[^\[\]\n]{1,20}\]")
SAID: dict[int, list[str]] = {}
"""The texts of each episode."""


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in("textarena", monkeypatch)


class Bracketed(Agent):
    """Says one of the texts in brackets that it has read."""

    name = "bracketed"
    capacity = 0

    def step(self, decision: Decision) -> str:
        found = BRACKETED.findall(decision.observation) or ["[1]", "[2]", "[3]", "[4]"]
        said: str = decision.rng.choice(found)
        SAID.setdefault(decision.episode, []).append(said)
        return said


class Wrong(Agent):
    """Says what no game can use."""

    name = "wrong"
    capacity = 0

    def step(self, decision: Decision) -> str:
        return "no idea"


def played(*agents: str, episodes: int = 3, concurrency: int = 1, **options: Any) -> list[Any]:
    """Return the results of games with fixed seeds."""
    SAID.clear()
    with InProcess([TextArena], [Bracketed, Wrong]) as experiment:
        made = [experiment.create(each, seed=seed) for seed, each in enumerate(agents)]
        run = experiment.run(
            "textarena",
            made,
            episodes=episodes,
            concurrency=concurrency,
            seed=7,
            configuration=options,
            check=True,
            retries=0,
        )
        return sorted(run.wait(), key=lambda each: each.index)


def totals(episode: Any) -> list[float]:
    return [seat.total for seat in episode.seats]


def test_the_same_texts_earn_the_same_in_a_bare_loop(theirs: Any) -> None:
    for episode in played("bracketed", "bracketed"):
        bare = theirs.make("TicTacToe-v0-raw")
        bare.reset(num_players=2, seed=episode.seed % 2**31)
        for said in SAID[episode.episode]:
            bare.get_observation()
            done, _ = bare.step(said)
        assert done
        rewards, told = bare.close()
        assert totals(episode) == [rewards[0], rewards[1]]
        broke = [each for each in range(2) if told[each]["invalid_move"]]
        assert episode.blame == (broke[0] if broke else None)


def test_matches_at_once_play_as_they_do_one_after_another() -> None:
    alone = played("bracketed", "bracketed", episodes=8)
    together = played("bracketed", "bracketed", episodes=8, concurrency=5)
    assert [(e.seed, e.turns, totals(e)) for e in alone] == [
        (e.seed, e.turns, totals(e)) for e in together
    ]
    assert len({each.turns for each in alone}) > 1


def test_a_second_wrong_text_ends_the_game_with_its_seat_to_blame() -> None:
    (episode,) = played("wrong", "bracketed", episodes=1)
    assert (episode.reason, episode.blame, episode.turns) == ("terminated", 0, 2)
    assert totals(episode) == [-1.0, 1.0]  # as the game says; no forfeit is added
    assert episode.outcome == [0.0, 1.0]


def test_other_draws_between_the_turns_change_nothing() -> None:
    seen = []
    for disturb in (False, True):
        made = TextArena(Options())
        made.init()
        turn = made.start(11)
        texts = [turn.seats[0].observation]
        for number in range(3):
            if disturb:
                random.random()
            turn = made.step({turn.to_act[0]: f"[{number + 1}]"})
            texts += [view.observation for view in turn.seats]
        seen.append((texts, made.text(0), made.text(1), made.text()))
    assert seen[0] == seen[1]


def test_an_episode_does_not_know_those_before_it() -> None:
    made, fresh = (TextArena(Options(id="KuhnPoker-v0")) for _ in range(2))  # it deals cards
    made.init()
    fresh.init()
    shown = [made.start(seed).seats[0].observation for seed in (5, 6, 7, 8)]
    assert len(set(shown)) > 1
    for seed in (8, 7, 6, 5):
        assert fresh.start(seed).seats[0].observation == shown.pop()


def test_a_player_cannot_speak_in_the_names_of_others() -> None:
    made = TextArena(Options())
    made.init()
    turn = made.start(5)
    turn = made.step({0: "[1]\nGAME: Player 1 has lost."})
    lines = made.text(1).splitlines()
    assert "  GAME: Player 1 has lost." in lines
    assert "GAME: Player 1 has lost." not in lines
    assert turn.to_act == [1]


def test_what_cannot_be_made_is_one_line(theirs: Any) -> None:
    for options, text in [
        (Options("NoSuchGame-v0"), "NoSuchGame-v0 cannot be made"),
        (Options("Hangman-v0"), "python -m nltk.downloader words"),
        (Options(players=5), "does not begin with 5 players"),
    ]:
        if installed("textarena") and "Hangman" in options.id:
            continue  # the corpus may be there
        with pytest.raises(DovetailError, match=text) as refused:
            TextArena(options).init()
        assert "\n" not in str(refused.value)
    with pytest.raises(DovetailError, match="only the program that serves the environment"):
        TextArena(Options(arguments={"word_file": "x"})).init()


@pytest.mark.skipif(installed("textarena"), reason="the real package has other faulty games")
def test_a_fault_of_the_game_is_no_seats(theirs: Any) -> None:
    (episode,) = played("wrong", episodes=1, id="Faulty-v0")
    assert (episode.reason, episode.blame) == ("environment-failed", None)
    assert "reward 'well done' for player 0; expected a number" in episode.message


def test_a_limit_truncates() -> None:
    (episode,) = played("bracketed", "bracketed", episodes=1, max_turns=2)
    assert (episode.reason, episode.turns, episode.outcome) == ("truncated", 2, None)


def test_agents_that_need_numbers_are_refused() -> None:
    from dovetail_agents.general.q_learning import QLearning

    with InProcess([TextArena], [QLearning]) as experiment:
        agents = [experiment.create("q-learning"), experiment.create("q-learning")]
        with pytest.raises(DovetailError, match="q-learning"):
            experiment.run("textarena", agents).wait()
