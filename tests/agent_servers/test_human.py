import io
import random
from typing import Any

import msgspec
import pytest

from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock, Reason, Spec
from dovetail.protocol.scenes import Choice, Scene
from dovetail.protocol.spaces import Box, Discrete, MultiDiscrete, Space, Text
from dovetail_agents.general.human import Human, PersonLeft

pytestmark = pytest.mark.fast


def human(typed: str) -> tuple[Human, io.StringIO]:
    agent = Human()
    agent.input, agent.output = io.StringIO(typed), io.StringIO()
    return agent, agent.output


def turn(
    legal: list[int] | None = None,
    space: Space | None = None,
    *,
    text: str | None = "X.O",
    reward: float = 0.0,
    clock: Clock | None = None,
    scene: Any = None,
) -> Decision:
    spec = Spec(seats=2, action_spaces=[] if space is None else [space])
    return Decision(
        Seat(1, 1, spec),
        1,
        0,
        "seen",
        legal,
        reward,
        "learn",
        random.Random(1),
        None,
        text,
        scene,
        clock,
    )


def end(
    outcome: list[float] | None,
    reason: Reason = "terminated",
    blame: int | None = None,
    text: str | None = "XXX",
) -> End:
    return End(
        Seat(1, 1, Spec(seats=2)), 1, 0.0, None, outcome, reason, blame, 2.5, 3, "learn", text
    )


def test_it_shows_the_position_and_takes_the_action() -> None:
    agent, out = human("4\n")
    assert agent.step(turn([0, 1, 2, 4, 6, 7], Discrete(8))) == 4
    assert out.getvalue() == (
        "\nX.O\nYou are player 2. Legal actions: 0-2, 4, 6, 7.\nAction (q leaves): "
    )


def test_a_position_has_colours_and_nothing_else_that_a_terminal_obeys() -> None:
    agent, out = human("0\n")
    agent.step(turn([0], text="\x1b]0;owned\x07X\x1b[31mO\x1b[2J"))
    assert out.getvalue().startswith("\nX\x1b[31mO\x1b[0m\n")


def test_it_shows_the_observation_where_there_is_no_text_and_what_was_earned_and_the_clock() -> (
    None
):
    agent, out = human("0\n")
    agent.step(turn([0], text=None, reward=-1.5, clock=Clock(30.0, 12.4)))
    assert "seen" in out.getvalue()
    assert "Reward since your last action: -1.5" in out.getvalue()
    assert "You have 12 s." in out.getvalue()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("7", "7 is not legal. Legal actions: 0, 2."),
        ("north", "'north' is not a number. Legal actions: 0, 2."),
        ("", "'' is not a number. Legal actions: 0, 2."),
        ("1.5", "'1.5' is not a number. Legal actions: 0, 2."),
    ],
)
def test_it_says_what_is_wrong_in_one_line_and_asks_again(wrong: str, said: str) -> None:
    agent, out = human(f"{wrong}\n 2 \n")
    assert agent.step(turn([0, 2])) == 2
    assert out.getvalue().count(f"{said}\n") == 1
    assert out.getvalue().count("Action (q leaves): ") == 2


@pytest.mark.parametrize("typed", ["q\n", "", "9\nq\n", "9\n"])
def test_q_and_the_end_of_input_leave(typed: str) -> None:
    agent, _ = human(typed)
    with pytest.raises(PersonLeft, match="the person left the game"):
        agent.step(turn([0, 1]))
    assert issubclass(PersonLeft, DovetailError)


@pytest.mark.parametrize(
    ("space", "typed", "action", "said"),
    [
        (Discrete(3, 1), "0\n3\n", 3, "0 is not legal. Legal actions: 1-3."),
        (Text(3, 1), "long one\nyes\n", "yes", "'long one' is not in the action space"),
        (MultiDiscrete([2, 2]), "[2,0]\n[1,0]\n", [1, 0], "'[2,0]' is not in the action space"),
        (Box([2], 0, 1), "up\n[0.5,1]\n", [0.5, 1], "'up' is not JSON"),
        (None, '{"a":1}\n', {"a": 1}, "Type an action as JSON."),
    ],
)
def test_it_reads_any_action_space(space: Space | None, typed: str, action: Any, said: str) -> None:
    agent, out = human(typed)
    assert agent.step(turn(None, space)) == action
    assert said in out.getvalue()


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (end([0.0, 1.0]), "XXX\nYou won.\n"),
        (end([1.0, 0.0]), "XXX\nYou lost.\n"),
        (end([0.5, 0.5]), "XXX\nDrawn.\n"),
        (end([0.5, 0.5], text=None), "Drawn.\n"),
        (end(None, "truncated"), "The game is over. Your return is 2.5. Reason: truncated.\n"),
        (end([1.0, 0.0], "timeout", 1), "You lost. Reason: timeout, by you.\n"),
        (end([0.0, 1.0], "crashed", 0), "You won. Reason: crashed, by player 1.\n"),
    ],
)
def test_it_tells_the_result(last: End, said: str) -> None:
    agent, out = human("")
    agent.end(last)
    assert out.getvalue().endswith(said)


@pytest.mark.parametrize("packed", [False, True])
def test_actions_may_be_typed_as_the_scene_labels_them(packed: bool) -> None:
    scene: Any = Scene(choices=[Choice(n, f"{n // 10},{n % 10}") for n in range(100)])
    if packed:
        scene = msgspec.to_builtins(scene)
    agent, out = human("9;9\n4,2\n")
    assert agent.step(turn(list(range(100)), Discrete(100), scene=scene)) == 42
    assert "100 actions are legal, written like '0,0'." in out.getvalue()
    assert "'9;9' is not a number" in out.getvalue()


def test_labels_are_offered_and_capitals_do_not_matter() -> None:
    scene = Scene(
        choices=[Choice(0, "up"), Choice(1, "buy Silver"), Choice(2, "a"), Choice(3, "A")]
    )
    for typed, action in (("UP", 0), ("buy silver", 1), ("a", 2), ("A", 3), ("1", 1)):
        agent, out = human(f"{typed}\n")
        assert agent.step(turn([0, 1, 2, 3], Discrete(4), scene=scene)) == action
        assert "Legal actions: 0-3, or by name, such as 'up'." in out.getvalue()
