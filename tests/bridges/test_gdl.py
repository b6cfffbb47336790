"""Descriptions mean what they should: move for move what other implementations of a game say."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.bridges import bottom_up

from dovetail import DovetailError, InProcess
from dovetail.client.client import RunHandle
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol.spaces import Discrete, Text
from dovetail.testing import check_environment
from dovetail_agents.general.search.agents import MCTSAgent
from dovetail_agents.general.td import TD
from dovetail_bridges.gdl import budget, kif
from dovetail_bridges.gdl import rules as rules_module
from dovetail_bridges.gdl.environment import GDL, board, bundled, rules_of
from dovetail_bridges.gdl.game import Game, State
from dovetail_bridges.gdl.kif import Term
from dovetail_bridges.gdl.prover import FRAMES, Proof, Prover, deep
from dovetail_bridges.gdl.rules import BadRules
from dovetail_games.connect_four.rules import ConnectFourBoard
from dovetail_games.rlgame.rules import DIRECTIONS, RLGameBoard

pytestmark = pytest.mark.learners

# -- syntax and checks
# ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(role a", "line 1: this '(' is never closed"),
        ("(role a)\n)", "line 2: this ')' closes nothing"),
        ("(" * 101, "more than 100 nested"),
        ("x" * (kif.LARGEST + 1), "at most 1,048,576 are allowed"),
    ],
)
def test_text_that_is_not_kif_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(kif.NotKIF, match=problem.replace("(", r"\(").replace(")", r"\)")):
        kif.parse(text)


def test_a_term_is_shown_as_it_was_read() -> None:
    text = "(<= (next (cell ?x 1)) (or (true (a B)) (not terminal)))"
    assert kif.show(kif.one(text)) == text.lower()


SMALL = """
(role a) (init (s 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal a go) (true (s ?n))) (<= (legal a wait) (true (s ?n)))
(<= (next (s ?m)) (does a go) (true (s ?n)) (succ ?n ?m))
(<= (next (s ?n)) (does a wait) (true (s ?n)))
(<= terminal (true (s 3))) (goal a 70)
"""


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("(<= (p ?x) (not (q ?x)))", r"\?x occurs in no positive condition"),
        ("(<= (p ?x) (distinct ?x 1))", r"\?x occurs in no positive condition"),
        ("(succ 1)", "`succ` has 1 arguments in .*, and 2 elsewhere"),
        ("(<= (legal a jump) (does a go))", "`legal` depends on `does`"),
        ("(<= (role b) (true (s 1)))", "`role` depends on `true`"),
        ("(true (s 1))", "a rule cannot define `true`"),
        ("(<= (p 1) (not (or (q 1) (q 2))))", "`not` takes one relation"),
        ("((a) b)", "is not a relation"),
    ],
)
def test_rules_without_one_meaning_are_refused(more: str, problem: str) -> None:
    with pytest.raises(BadRules, match=problem):
        Game(SMALL + more)


def test_a_description_without_an_end_is_refused() -> None:
    with pytest.raises(BadRules, match="define no `terminal`"):
        Game(SMALL.replace("terminal", "over"))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("(<= (legal a jump) (p 1)) (<= (p 1) (not (q 1))) (<= (q 1) (p 1))", "its own negation"),
        (
            "(<= (legal a (to ?x)) (n ?x)) (n 0) (<= (n (s ?x)) (n ?x))",
            "`legal`: .*more than 20,000",
        ),
        ("(<= (legal a up) (n 0)) (<= (n ?x) (n (s ?x)))", "`legal`.*too deep"),
        pytest.param(
            f"(<= (legal a up) {'(or (n 0) (n 1))' * 9})" * 200, "100,000 alternatives", id="or"
        ),
    ],
)
def test_rules_without_an_end_or_a_meaning_are_told_when_they_are_needed(
    monkeypatch: pytest.MonkeyPatch, more: str, problem: str
) -> None:
    monkeypatch.setattr(budget, "MOST_STEPS", 20_000)
    limit = sys.getrecursionlimit()
    with pytest.raises(DovetailError, match=problem) as told:
        assert Game(SMALL + more).start().legal
    assert "\n" not in str(told.value)
    assert sys.getrecursionlimit() == limit


def test_reading_a_chain_of_relations_costs_in_proportion_to_its_length() -> None:
    costs = []
    for length in (100, 200, 400):
        chain = " ".join(f"(<= (n{at + 1} ?x) (n{at} ?x))" for at in range(length))
        rules = f"{SMALL} (n0 a) {chain} (<= (legal ?x hop) (n{length} ?x) (not (n0 b)))"
        calls: list[None] = []
        sys.setprofile(lambda frame, event, about, calls=calls: calls.append(None))  # type: ignore[misc]
        try:
            assert Game(rules).moves
        finally:
            sys.setprofile(None)
        costs.append(len(calls))
    assert costs[2] - costs[1] < 2.1 * (costs[1] - costs[0])


def test_provers_of_several_threads_leave_the_limit_of_frames_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    deep.__enter__()
    deep.__enter__()
    deep.__exit__()
    assert sys.getrecursionlimit() >= FRAMES
    deep.__exit__()
    assert sys.getrecursionlimit() == limit


def test_rules_that_never_finish_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_STEPS", 50_000)
    numbers = " ".join(f"(n {number})" for number in range(40))
    five = " ".join(f"(n ?{name})" for name in "abcde")
    game = Game(f"{SMALL} {numbers} (<= (legal a (to ?a ?b ?c ?d ?e)) {five})")
    with pytest.raises(DovetailError, match="more than 50,000 conditions"):
        assert game.start().legal
    with pytest.raises(DovetailError, match="more than 50,000 conditions"):
        assert game.start().legal, "a question that failed leaves nothing behind"


@given(
    st.lists(
        st.sampled_from(
            ["(", ")", "<=", "role", "init", "next", "true", "legal", "not", "or", "and", "sees",
             "distinct", "does", "a", "?x", "?y", "terminal", "goal", "100"]
        ),
        max_size=40,
    )
)  # fmt: skip
def test_any_text_is_a_game_or_one_line(words: list[str]) -> None:
    problem = ""
    try:
        state = Game(SMALL + " ".join(words)).start()
        assert state.terminal or state.legal
    except DovetailError as error:
        problem = str(error)
    assert "\n" not in problem


def test_recursion_or_and_compound_terms() -> None:
    game = Game(
        SMALL
        + """
        (<= (less ?a ?b) (succ ?a ?b)) (<= (less ?a ?c) (less ?a ?b) (less ?b ?c))
        (<= (pair (of ?a ?a)) (or (less 0 ?a) (less ?a 0)))
        (<= (same ?x) (pair (of ?x ?x))) (<= (odd ?x) (pair (of ?x ?y)) (distinct ?x ?y))
        (<= (last ?x) (less ?y ?x) (not (more ?x))) (<= (more ?x) (less ?x ?y))
        """
    )
    assert game.facts("less") == {
        *(("0", "1"), ("0", "2"), ("0", "3"), ("1", "2"), ("1", "3"), ("2", "3")),
    }
    assert game.facts("same") == {("1",), ("2",), ("3",)}
    assert game.facts("odd") == set()
    assert game.facts("last") == {("3",)}


def test_goals_may_be_what_other_goals_are_not() -> None:
    rules = SMALL.replace("(goal a 70)", "(<= (goal a 0) (true (s 2))) ")
    game = Game(rules + "(<= (goal a 100) (not (goal a 0)))")
    state = game.start()
    goals = []
    while not state.terminal:
        state, _ = state.after({"a": "go"})
        goals.append(state.goal("a"))
    assert goals == [100, 0, 100]


def test_a_game_may_begin_with_nothing_true() -> None:
    rules = """
    (role a) (legal a go) (<= (next here) (does a go)) (<= terminal (true here)) (goal a 5)
    """
    state = Game(rules).start()
    assert not state.true
    state, _ = state.after({"a": "go"})
    assert state.terminal
    assert state.goal("a") == 5


def test_only_what_is_asked_for_is_worked_out() -> None:
    numbers = " ".join(f"(succ {n} {n + 1})" for n in range(3, 2000))
    game = Game(
        f"""{SMALL} {numbers} (<= (n ?x) (succ ?x ?y))
        (<= (all ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d))
        (<= (less ?a ?b) (succ ?a ?b)) (<= (less ?a ?c) (succ ?a ?b) (less ?b ?c))
        (<= (legal a jump) (all 1 2 3 4) (less 0 2000) (not (all 1 2 3 x)))"""
    )
    assert game.start().legal == {"a": ["go", "jump", "wait"]}


LARGE = """
(role a) (role b) (init (at a 0 0)) (init (at b 9 9)) (init (turn a)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
(<= (n ?x) (succ ?x ?y)) (n 9) (<= (other a b)) (<= (other b a))
(<= (legal ?r (from ?x ?y to ?u ?v)) (true (turn ?r)) (true (at ?r ?x ?y)) (n ?u) (n ?v))
(<= (legal ?r noop) (role ?r) (not (true (turn ?r))))
(<= (next (at ?r ?u ?v)) (does ?r (from ?x ?y to ?u ?v)))
(<= (next (at ?r ?x ?y)) (does ?r noop) (true (at ?r ?x ?y)))
(<= (next (turn ?s)) (true (turn ?r)) (other ?r ?s))
(<= (next (step ?t)) (true (step ?s)) (succ ?s ?t))
(<= terminal (true (step 4))) (<= (goal a 60) (role a)) (<= (goal b 40) (role b))
"""


def test_moves_are_numbered_as_they_appear_where_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dovetail_bridges.gdl.game.MOST_TRIED", 5_000)
    environment = GDL(GDL.Configuration(rules=LARGE))
    spec = environment.init()
    assert spec.action_spaces == [Discrete(1 << 16)] * 2
    assert spec.observation_spaces == [Text(1 << 16)], "facts, too, are too many for bits"
    first = environment.start(0)
    fork = environment.fork(0, 1)
    assert first.seats[0].legal == list(range(100))
    assert environment.scene(0).choices[3].label == "(from 0 0 to 0 3)"  # type: ignore[union-attr]
    environment.step({0: 42})
    environment.step({1: 7})
    third = environment.step({0: 100 + 5}).seats[0]
    assert third.seat == 1
    again = environment.start(0)
    assert again.seats[0].legal == first.seats[0].legal
    assert fork.step({0: 42}).seats[0].legal == list(range(100)), "a fork has numbers of its own"
    check_environment(GDL, {"rules": LARGE}, episodes=2, strict=True)
    with pytest.raises(DovetailError, match="observe=bits needs a description with `base`"):
        GDL(GDL.Configuration(rules=LARGE, observe="bits"))


WORDS = st.sampled_from(["x", "y", "z"])
ATOMS = st.tuples(st.sampled_from(["p", "q", "r"]), st.sampled_from(["?a", "?b", "?c", "x", "y"]),
                  st.sampled_from(["?a", "?b", "?c", "y", "z"]))  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(["e", "p"]), WORDS, WORDS), min_size=1, max_size=8),
    st.lists(st.tuples(ATOMS, st.lists(ATOMS, max_size=3)), max_size=6),
    st.just(1),
)
@example(
    [("e", "y", "z"), ("e", "z", "x")],
    [
        (("p", "?a", "y"), []),
        (("p", "?a", "z"), [("r", "?a", "?b")]),
        (("r", "?a", "?a"), [("p", "?b", "?a"), ("p", "?b", "z")]),
        (("p", "?a", "?a"), []),
    ],
    20,
)  # a proven call that leaves others unfinished, in the orders that several hashes give
def test_both_evaluations_find_the_same(facts: list[Any], rules: list[Any], names: int) -> None:
    """Top down, with any arguments known, is what bottom up finds: recursion included."""
    text = " ".join(kif.show(each) for each in facts)
    for head, body in rules:
        bound = [("e", each, "?f") for each in head[1:] if each.startswith("?")]
        text += f" (<= {kif.show(head)} {' '.join(map(kif.show, [*body, *bound]))})"
    for number in range(names):
        x, y, z = (f"{each}{number}" for each in "xyz")
        read = rules_module.read(re.sub("([xyz])", rf"\g<1>{number}", f"(role a) {text}"))
        bottom = bottom_up.Program(read)
        found: bottom_up.Facts = {}
        bottom.run(found, range(len(bottom.groups)))
        prover = Prover(read, {})
        for name in ("p", "q", "r"):
            whole = found[name].facts if name in found else set()
            for known in ((None, None), (x, None), (None, z), (y, y)):
                proof = Proof(prover, {}, (prover.fixed, {}, {}))
                pairs = [list(zip(known, fact, strict=True)) for fact in whole]
                fits = [pair for pair in pairs if all(k in (None, v) for k, v in pair)]
                asked = {tuple(v for k, v in pair if k is None) for pair in fits}
                assert set(prover.ask(proof, name, *known)) == asked, (name, known)


def test_moves_and_facts_are_found_where_the_description_lists_none() -> None:
    game = Game(f"{SMALL} (<= (legal a hop) {'(succ 0 1)' * 1_200})")
    assert game.moves == {"a": ["go", "hop", "wait"]}
    assert game.propositions == [("s", str(n)) for n in range(4)]


# -- against other implementations
# ---------------------------------------------------------------------------


def play(
    name: str, theirs: pyspiel.Game, number: Callable[[State, Term], int], games: int, scale: float
) -> None:
    """Play random games in both; legal moves, ends and returns must agree at every state."""
    game = Game(rules_of(name))
    for seed in range(games):
        rng = random.Random(seed)
        state, other = game.start(), theirs.new_initial_state()
        while not state.terminal:
            assert not other.is_terminal()
            player = other.current_player()
            role = game.everyone[0] if other.is_chance_node() else game.roles[player]
            moves = {number(state, move): move for move in state.legal[role]}
            assert sorted(moves) == sorted(other.legal_actions()), (seed, str(state))
            action = rng.choice(sorted(moves))
            chosen = {each: state.legal[each][0] for each in game.everyone} | {role: moves[action]}
            assert all(each == role or len(state.legal[each]) == 1 for each in game.everyone)
            state, _ = state.after(chosen)
            other.apply_action(action)
        assert other.is_terminal(), (seed, str(state))
        assert [(state.goal(r) - 50) / scale for r in game.roles] == other.returns()


def cell(width: int) -> Callable[[State, Term], int]:
    def number(state: State, move: Term) -> int:
        if move == "pass":
            return width * width
        return (int(move[1]) - 1) * width + int(move[2]) - 1  # type: ignore[arg-type]

    return number


def test_tic_tac_toe_is_openspiels() -> None:
    play("tic_tac_toe", pyspiel.load_game("tic_tac_toe"), cell(3), 200, 50)


@pytest.mark.long
def test_othello_is_openspiels() -> None:
    play("othello", pyspiel.load_game("othello"), cell(8), 2, 50)


def test_nim_is_openspiels() -> None:
    def number(state: State, move: Term) -> int:
        return (int(move[2]) - 1) * 4 + int(move[1]) - 1  # type: ignore[arg-type]

    play("nim", pyspiel.load_game("nim"), number, 200, 50)


def test_kuhn_poker_is_openspiels() -> None:
    theirs = pyspiel.load_game("kuhn_poker")
    game = Game(rules_of("kuhn_poker"))
    cards = ["jack", "queen", "king"]
    for seed in range(300):
        rng = random.Random(seed)
        state, other = game.start(), theirs.new_initial_state()
        dealt = rng.sample(range(3), 2)
        for card in dealt:
            other.apply_action(card)
        deal = ("deal", *(cards[card] for card in dealt))
        assert len(state.legal["random"]) == 6
        assert deal in state.legal["random"]
        state, seen = state.after({"random": deal, "alice": "noop", "bob": "noop"})
        assert seen == {"alice": [("card", deal[1])], "bob": [("card", deal[2])]}
        while not state.terminal:
            role = game.roles[other.current_player()]
            assert state.legal[role] == ["bet", "pass"]
            action = rng.randrange(2)
            moves = {each: state.legal[each][0] for each in game.everyone}
            moves[role] = ("pass", "bet")[action]
            state, seen = state.after(moves)
            assert seen["alice"] == seen["bob"] == [("did", role, moves[role])]
            other.apply_action(action)
        assert other.is_terminal()
        assert [(state.goal(r) - 50) / 25 for r in game.roles] == other.returns()


def test_connect_four_is_the_native_one() -> None:
    game = Game(rules_of("connect_four"))
    for seed in range(40):
        rng = random.Random(seed)
        state, native = game.start(), ConnectFourBoard()
        while not state.terminal:
            role = game.roles[native.moves % 2]
            legal = native.legal()
            assert state.legal[role] == [("drop", str(column + 1)) for column in legal]
            column = rng.choice(legal)
            moves = {each: state.legal[each][0] for each in game.roles}
            state, _ = state.after(moves | {role: ("drop", str(column + 1))})
            native.drop(column)
        assert native.over
        assert [state.goal(role) for role in game.roles] == (
            [50, 50] if native.winner is None else [100 * (native.winner == s) for s in (0, 1)]
        )


def smaller(size: int, pawns: int) -> str:
    """Return RLGame's description for bases of one square on another board."""
    text = re.sub(
        r"\((place|opposite|corner)( [\w]+)+\) *(?=[\n(])", "", rules_of("rlgame"), count=20
    )
    places = "".join(f"(place {n}) (opposite {n} {size + 1 - n}) " for n in range(1, size + 1))
    text = re.sub(r"(reserve \w+) 10", rf"\1 {pawns}", text)
    return f"{text} {places} (corner white 1) (corner black {size})"


def written(board: RLGameBoard, action: int) -> Term:
    """Return a move of RLGame as its description writes it."""
    size, (square, direction) = board.geometry.size, divmod(action, 4)
    if square >= size * size:
        square = int(board.geometry.exits[board.mover, action - 4 * size * size])
        return ("leave", *(str(each + 1) for each in divmod(square, size)))
    (x, y), (dx, dy) = divmod(square, size), DIRECTIONS[direction]
    return ("move", *(str(each + 1) for each in (x, y, x + dx, y + dy)))


@pytest.mark.parametrize(
    ("text", "options", "games"),
    [(rules_of("rlgame"), (8, 2, 10), 3), (smaller(5, 3), (5, 1, 3), 12)],
    ids=["8 x 8", "5 x 5"],
)
def test_rlgame_is_the_native_one(text: str, options: tuple[int, int, int], games: int) -> None:
    """By the rule that takes all blocked pawns at once."""
    game = Game(text)
    for seed in range(games):
        rng = random.Random(seed)
        state, native = game.start(), RLGameBoard(*options, loss="simultaneous")
        while not state.terminal:
            mover, waits = game.roles[native.mover], game.roles[1 - native.mover]
            moves = {written(native, action): action for action in native.legal()}
            assert set(state.legal[mover]) == set(moves)
            move = rng.choice(sorted(moves, key=kif.order))
            state, _ = state.after({mover: move, waits: "noop"})
            native.play(moves[move])
            if not native.over:
                size = native.geometry.size
                pawns = {
                    ("pawn", str(at // size + 1), str(at % size + 1), game.roles[owner - 1])
                    for at, owner in enumerate(native.cells.tolist())
                    if owner
                }
                inside = {
                    ("reserve", role, str(native.inside(seat)))
                    for seat, role in enumerate(game.roles)
                }
                assert state.true == pawns | inside | {("control", waits)}
        assert native.over
        assert [state.goal(role) for role in game.roles] == [
            100 * (native.winner == seat) for seat in (0, 1)
        ]


# -- as an environment
# ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("game", [each for each in bundled() if each != "othello"])
@pytest.mark.parametrize("observe", ["bits", "text"])
def test_every_description_passes_the_checks_of_our_own_games(game: str, observe: str) -> None:
    check_environment(GDL, {"game": game, "observe": observe}, episodes=3, strict=True)


def test_agents_play_descriptions_in_turns_and_at_once() -> None:
    with InProcess([GDL], [Random, MCTSAgent]) as experiment:
        strong = experiment.create("mcts", seed=1, parameters={"simulations": 50})
        weak = experiment.create("random", seed=2)
        games = experiment.run(
            "gdl", [strong, weak], configuration={"game": "tic_tac_toe"}, episodes=3, seed=4,
            check=True, lookahead=True,
        ).wait()  # fmt: skip
        assert {game.reason for game in games} == {"terminated"}
        assert sum(game.outcome[0] for game in games if game.outcome) == 3
        weaker = experiment.create("random", seed=4)
        both = experiment.run(
            "gdl",
            [weak, weaker],
            configuration={"game": "rock_paper_scissors"},
            episodes=60,
            check=True,
        ).wait()
        assert {tuple(game.outcome or ()) for game in both} == {(1, 0), (0, 1), (0.5, 0.5)}
        assert all([seat.decisions for seat in game.seats] == [1, 1] for game in both)


def test_a_last_move_without_a_choice_is_asked_but_a_noop_is_not() -> None:
    game = GDL(GDL.Configuration(game="tic_tac_toe"))
    turn = game.start(0)
    asked = []
    for place in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        asked.append(turn.to_act)
        legal = turn.seats[0].legal
        assert isinstance(legal, list)
        assert place in legal
        turn = game.step({turn.to_act[0]: place})
    assert asked == [[0], [1]] * 4 + [[0]]
    assert legal == [8]
    assert turn.outcome == [0.5, 0.5]


def test_hidden_cards_are_drawn_again_but_never_ones_own() -> None:
    game = GDL(GDL.Configuration(game="kuhn_poker"))
    game.start(5)
    game.step({0: game.moves[0].index("bet")})
    mine = game.observation(1)
    theirs = set()
    for seed in range(40):
        fork = game.fork(1, seed)
        assert fork.observation(1) == mine
        assert fork.to_act == [1]
        theirs.add(fork.observation(0))
        fork.step({1: 0})
    assert len(theirs) == 2
    assert game.to_act == [1]


def test_afterstates_are_offered_where_they_have_a_meaning() -> None:
    options = {"game": "connect_four", "afterstates": True}
    check_environment(GDL, options, episodes=2, strict=True)
    for game in ("kuhn_poker", "rock_paper_scissors"):
        with pytest.raises(DovetailError, match="afterstates"):
            afterstates(game)


def afterstates(game: str) -> object:
    made = GDL(GDL.Configuration(game=game, afterstates=True))
    made.start(0)
    return made.afterstates(0)


@pytest.mark.slow
def test_a_learner_that_knows_no_game_learns_from_a_description() -> None:
    configuration = {"game": "tic_tac_toe", "afterstates": True}
    with InProcess([GDL], [TD, Random]) as experiment:
        learner = experiment.create("td", seed=1)
        other = experiment.create("random", seed=2)
        more: dict[str, Any] = {"configuration": configuration, "rotate": True}
        before = won(
            experiment.run("gdl", [learner, other], episodes=100, seed=1, mode="evaluate", **more)
        )
        experiment.run(
            "gdl", [learner, learner], episodes=1500, seed=3, configuration=configuration
        ).wait()
        after = won(
            experiment.run("gdl", [learner, other], episodes=100, seed=1, mode="evaluate", **more)
        )
    assert after > before + 0.15


def won(run: RunHandle) -> float:
    """Return the mean score of the first of two agents of a run with rotation."""
    games = run.wait()
    return sum(each.outcome[each.index % 2] for each in games if each.outcome) / len(games)


def test_chance_comes_from_the_seed() -> None:
    game = GDL(GDL.Configuration(game="kuhn_poker"))

    def deal(seed: int) -> str:
        game.start(seed)
        return f"{game.observation(0)} {game.observation(1)}"

    assert len({deal(seed) for seed in range(100)}) == 6
    assert deal(7) == deal(7)


def test_a_long_game_is_truncated() -> None:
    game = GDL(GDL.Configuration(rules=SMALL, max_steps=5))
    turn = game.start(0)
    for _ in range(5):
        turn = game.step({0: 1})
    assert turn.truncated
    assert turn.outcome is None


def test_a_peer_cannot_name_a_file_but_the_serving_program_can(tmp_path: Path) -> None:
    file = tmp_path / "small.kif"
    file.write_text(SMALL)
    with pytest.raises(DovetailError, match="only the program that serves"):
        GDL(GDL.Configuration(file=str(file)))
    kind = preset(GDL, {"file": str(file)}, "environment gdl")
    with InProcess([kind], [Random]) as experiment:
        one = experiment.create("random")
        (game,) = experiment.run("gdl", [one]).wait()
        assert game.seats[0].total == 0.7
        assert game.outcome is None
        with pytest.raises(DovetailError, match="only the program that serves"):
            experiment.run("gdl", [one], configuration={"file": str(tmp_path / "other.kif")}).wait()
        with pytest.raises(DovetailError, match="there are connect_four"):
            experiment.run("gdl", [one], configuration={"file": "", "game": "../secret"}).wait()


def test_a_board_is_drawn_from_facts_with_two_numbers() -> None:
    possible: list[Term] = [("cell", str(r), str(c), "x") for r in (1, 2) for c in (1, 2, 3)]
    assert board(frozenset([("cell", "2", "3", "x"), ("control", "o")]), possible) == [
        "cell 1 2 3",
        "   1 . . .",
        "   2 . . x",
    ]


@pytest.mark.parametrize(
    "more",
    [
        "(<= (n (s ?x ?y)) (n ?x) (n ?y))",
        "(<= (n (s ?x ?x)) (n ?x))",
        pytest.param(f"(<= (n 1) {'(n ?x) ' * 3_000})", id="long"),
    ],
)
def test_a_short_text_does_not_occupy_its_program(
    monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    monkeypatch.setattr(budget, "SECONDS", 0.2)
    rest = "(init x) (<= (legal a ?x) (n ?x)) (<= (next z) (true z)) terminal (goal a 0)"
    state = Game(f"(role a) (n 0) {more} {rest}").start()
    begun = time.thread_time()
    with pytest.raises(budget.TooLarge, match=r"`legal`: the rules take more than 0\.2 s"):
        assert state.legal
    assert time.thread_time() - begun < 2
