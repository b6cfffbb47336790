from __future__ import annotations

from typing import Any

import pytest

from dovetail.peer import options
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_games.amazons import Amazons
from dovetail_games.dominion import Dominion
from dovetail_web.forms import few, fields, of_agent, read
from dovetail_web.tables import RULES

pytestmark = pytest.mark.fast

PARAMETERS: dict[str, Any] = options.describe(Amazons.Configuration)


def test_fields_have_kinds_limits_and_defaults() -> None:
    found = {each.name: each for each in fields(PARAMETERS)}
    rows, action = found["rows"], found["action"]
    assert (rows.kind, rows.value, rows.least, rows.most) == ("number", "10", "4", "20")
    assert (action.kind, action.options) == ("choice", ("move", "steps"))


def test_people_read_what_an_option_sets_and_few_at_once() -> None:
    amazons, dominion = (
        fields(options.describe(each.Configuration)) for each in (Amazons, Dominion)
    )
    assert [(each.title, each.note) for each in few(amazons)] == [
        ("Height of the board in squares", "From 4 to 20."),
        ("Width of the board in squares", "From 4 to 20."),
    ]
    assert [each.title for each in few(dominion)] == ["Number of players"]
    action = next(each for each in amazons if each.name == "action")
    assert (action.title, action.note) == ("Action", action.help)
    late = next(each for each in fields(RULES) if each.name == "on_timeout")
    assert (late.title, late.note) == ("If a player answers too late", late.help)


def test_only_what_was_changed_is_sent() -> None:
    given = {"rows": "6", "columns": "10", "action": "steps", "position": "", "unknown": "x"}
    assert read(PARAMETERS, given) == {"rows": 6, "action": "steps"}


def test_the_number_of_seats_is_that_of_those_who_sit_unless_it_was_set() -> None:
    dominion: dict[str, Any] = options.describe(Dominion.Configuration)
    assert [each.name for each in fields(dominion) if each.seats] == ["players"]
    assert "kingdom size" in [each.label for each in fields(dominion)]
    assert read(dominion, {"players": "2"}, 3) == read(dominion, {}, 3) == {"players": 3}
    assert read(dominion, {"players": "4"}, 3) == {"players": 4}
    assert read(dominion, {}, 2) == read(dominion, {}) == {}


def test_the_options_of_an_agent_are_those_of_whoever_was_chosen() -> None:
    given = {"a.1.": "mcts", "a.1.simulations": "50", "a.2.simulations": "x", "a.1.c": "1"}
    parameters = {"simulations": {"type": "integer", "default": 200}}
    assert of_agent(parameters, given, 1, "mcts") == {"simulations": 50}
    assert of_agent(parameters, given, 1, "td") == of_agent(parameters, given, 2, "mcts") == {}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"rows": "six"}, "Option rows: 'six' is not valid; give a whole number from 4 to 20"),
        ({"rows": "21"}, "'21' is not valid"),
        ({"action": "fly"}, "give one of move, steps"),
        ({"position": "a" * 10_001}, "at most 10000 characters"),
        ({"most": "9" * 25}, "give a whole number from 0 on"),
        ({"share": "nan"}, "'nan' is not valid; give a number$"),
        ({"names": "[1" + "0" * 30 + "]"}, "is not valid; give JSON"),
        ({"names": "[" * 5000}, "is not valid; give JSON"),
    ],
)
def test_an_impossible_answer_is_named(given: dict[str, str], what: str) -> None:
    more = {
        "most": {"type": "integer", "minimum": 0, "default": 1},
        "share": {"type": "number", "default": 0.5},
        "names": {"type": "array", "default": []},
    }
    with pytest.raises(DovetailError, match=what):
        read({**PARAMETERS, **more}, given)


def test_each_rule_of_play_is_a_field_with_its_help() -> None:
    assert set(RULES) == set(options.describe(m.GameRules)) - {"clock", "lookahead"}
    assert all(each.help for each in fields(RULES))
