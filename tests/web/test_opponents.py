"""The players behind easy, medium and strong; those that were trained come with the page."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dovetail import InProcess
from dovetail_web.opponents import LEVELS, SPECIAL, Player, levels, opponent, state
from dovetail_web.showcase import GAMES, OPENING, _Shown

from .conftest import Served
from .playing import begin, play_on

TRAINED = [
    (game, seat, player)
    for game, special in SPECIAL.items()
    for players in special.values()
    for player in players
    for seat in range(len(player.trained))
]


OTHER: dict[str, Any] = {
    **{"four": 0.3, "tiles": 4, "rewards": "boxes", "first": 1, "loss": "simultaneous"},
    **{"base_pawns": False, "max_moves": 150},
}


@pytest.mark.parametrize(
    ("game", "seat", "player", "changed"),
    [
        (*each, changed)
        for each in TRAINED
        for changed in (False, True)[: 1 + bool(each[2].despite)]
    ],
)
def test_a_trained_player_knows_its_game(
    game: str, seat: int, player: Player, changed: bool
) -> None:
    """Also with the options that are said to change nothing of what it knows."""
    options = {each: OTHER[each] for each in player.despite} if changed else {}
    place = InProcess([game], ["random", player.name])
    experiment = place.experiment()
    random = experiment.create("random", seed=1)
    trained = experiment.create(
        player.name, parameters=player.parameters, state=state(player.trained[seat])
    )
    seats = [trained] if game == "2048" else [random, random]
    if len(player.trained) == 1:
        seats[0] = trained
    else:
        seats[seat] = trained
    (episode,) = experiment.run(
        game,
        seats,
        configuration=options,
        episodes=1,
        seed=3,
        mode="evaluate",
        lookahead=True,
        max_turns=200,
    )
    assert episode.reason in ("terminated", "truncated")
    if game != "2048":
        assert episode.outcome is None or episode.outcome[seats.index(trained)] > 0


def test_a_trained_player_is_not_taken_for_a_board_that_it_does_not_know() -> None:
    agents: dict[str, Any] = {"td": {}, "mcts": {}}
    options: tuple[tuple[str, ...], ...] = ((), ("first", "loss"), ("size",), ("first", "size"))
    found = [opponent("rlgame", "strong", agents, each) for each in options]
    states = ("rlgame-white", "rlgame-black")
    assert [each and each.trained for each in found] == [states, states, (), ()]
    assert [each and each.name for each in found] == ["td", "td", "mcts", "mcts"]
    assert levels("rlgame", agents)["strong"] == "td, trained"
    assert list(levels("rlgame", agents)) == list(LEVELS)


def test_the_form_says_what_an_opponent_does(page: Any, served: Served) -> None:
    served.offers("connect_four", "alpha-beta")
    page.goto(f"{served.url}play/connect_four")
    told = page.locator(".place[data-seat='1'] .told")
    assert "replies some turns ahead" in told.inner_text()
    assert "Here: depth 4." in told.inner_text()
    page.select_option("select[name='seat.1']", "random")
    assert told.inner_text() == "Plays a random legal action: the weakest opponent."
    page.select_option("select[name='seat.1']", "person")
    assert told.inner_text() == ""
    page.click("aside summary")
    assert page.locator(".rules code").first.inner_text() == "column a"
    begin(page, served.url, "connect_four", "level:strong")
    page.click("#who summary")
    assert page.inner_text("#who li:visible").endswith("This one has been trained.")


def test_the_form_names_strengths(page: Any, served: Served) -> None:
    served.offers("rlgame", "Strong (td, trained)")
    begin(page, served.url, "rlgame", "level:strong")
    assert "strong" in page.inner_text("#seats li:nth-child(2)")
    assert play_on(page, 1) == 1
    page.wait_for_selector("#log [data-turn='2'][data-seat='1']")


class Played:
    """A broker's client and a run of it, in which each game has ten turns."""

    def __init__(self) -> None:
        self.to_act: list[int] = [0]
        self._turn = 0

    def create(self, name: str, **options: object) -> str:
        return name

    def run(self, game: str, agents: list[str], **options: object) -> Played:
        return self

    def start(self) -> None:
        self._turn = 0

    def step(self) -> Played:
        self._turn += 1
        self.to_act = [0] if self._turn < 10 else []
        return self


def test_only_the_opening_of_the_first_game_is_played_for_nobody() -> None:
    shown = _Shown(cast("Any", Played()), *GAMES[0], 0)
    steps = 0
    while shown.opening:
        shown.step()
        steps += 1
    assert steps == 1 + OPENING
    for _ in range(20):
        shown.step()
        assert not shown.opening
