"""``dovetail demo``: two learners in one game, which RL-Glue could not do."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from dovetail.protocol.seats import player
from dovetail_experiments.stages import places
from dovetail_experiments.stages.runner import ExecutionResult, execute

FILE = Path(__file__).parent / "examples" / "connect_four_two_learners.toml"
PASS = 0.9
"""Share of games against random that each learner must win in the end."""


def main() -> int:
    """Train, evaluate, show a game; return 0 if both learners have learned, otherwise 1."""
    console = Console(highlight=False)
    began = time.monotonic()
    console.print(
        "Two TD learners learn Connect Four against each other, each in its own process, with "
        f"the game in a third and this experiment in a fourth.\nexperiment: {FILE.name}",
        soft_wrap=True,
    )
    execution = execute(FILE)
    console.print("\n[bold]One game of the two, move by move[/]\n")
    show_game(execution, console)
    last = max(each.stage.trained for each in execution.played)
    passed = True
    for each in execution.played:
        if each.stage.kind != "evaluation" or each.stage.trained != last:
            continue
        for tally in each.tallies:
            if tally.agent == "random":
                continue
            learned = tally.win_rate.value >= PASS
            passed = passed and learned
            console.print(
                f"{tally.agent} as {player(tally.seat)} wins {tally.wins} of {tally.games} games "
                f"against random: {'at least' if learned else 'LESS THAN'} {PASS:.0%}"
            )
    console.print(f"{time.monotonic() - began:.0f} s in all")
    console.print("To watch and play in a browser: .venv/bin/dovetail web --games", soft_wrap=True)
    return 0 if passed else 1


def show_game(execution: ExecutionResult, console: Console) -> None:
    """Have the agents of the first phase play one game, and print each position."""
    file = execution.file
    seats = file.phases[0].seats
    with places.own_processes(file) as place:
        numbers = place.seat(file, execution.states)
        run = place.experiment.run(
            place.environment,
            [numbers[name] for name in seats],
            configuration=file.environment.configuration,
            seed=file.root,
            derivation=file.derivation,
            mode="evaluate",
            stepwise=True,
        )
        turn = run.start()
        while True:
            acted = ", ".join(f"{seats[seat]} plays {a}" for seat, a in turn.actions or [])
            console.print(f"{acted or 'the first position'}\n{turn.text}\n", markup=False)
            if not turn.to_act:
                break
            turn = run.step()
    if turn.outcome is not None:
        best = max(turn.outcome)
        winners = [name for name, score in zip(seats, turn.outcome, strict=True) if score == best]
        console.print(f"[bold]{winners[0]} wins[/]\n" if len(winners) == 1 else "a draw\n")
