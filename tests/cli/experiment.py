"""An experiment as a program of its own: its options are JSON, and it prints what it hears."""

import json
import sys

from dovetail import DovetailError, Experiment


def main(address: str, given: str) -> int:
    options = json.loads(given)
    with Experiment.connect(address, give_up=options.pop("give_up", 60.0)) as experiment:
        agents = options.pop("agents")
        environment = options.pop("environment", "count_up")
        experiment.expect([environment], agents)
        made = [experiment.create(each, seed=number) for number, each in enumerate(agents)]
        run = experiment.run(environment, made, **options)
        print(f"run {run.number}", flush=True)
        try:
            for episode in run:
                print(
                    f"episode {episode.index} {episode.reason} outcome {episode.outcome} "
                    f"blame {episode.blame} again {episode.will_retry}",
                    flush=True,
                )
            print(f"done {run.done.reason if run.done else None}", flush=True)
        except DovetailError as error:
            print(f"error {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
