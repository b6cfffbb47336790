"""``python -m tests.compiled.states``: which core runs, and its state as bytes after each
message."""

from __future__ import annotations

import random
from hashlib import sha256

from tests.broker.conversation import Conversation

from dovetail._version import compiled
from dovetail.broker.durable import snapshot
from dovetail.protocol import messages as m


def main() -> None:
    chance = random.Random(7)
    table = Conversation(
        clock=m.ClockRule(decision=5.0, episode=60.0), episodes=4, on_illegal="random", retries=2
    )
    table.opens()
    print("compiled" if compiled() else "interpreted")
    while not table.experiment.heard or not isinstance(table.experiment.heard[-1], m.Done):
        table.at(table.now + chance.random())
        heard = [voice for voice in (table.environment, *table.agents) if voice.heard]
        voice = chance.choice(heard)
        message = voice.heard[0]
        voice.hears(type(message))
        if isinstance(message, m.AgentStart | m.AgentStep):
            voice.acts(chance.choice([0, 1, 2]), measures={"doubt": chance.random()})
        elif isinstance(message, m.EnvironmentStart | m.EnvironmentStep):
            earned = [chance.random(), -chance.random()]
            if chance.random() < 0.2:
                voice.turns(rewards=earned, terminated=True, outcome=[1.0, 0.0])
            else:
                to_act = chance.choice([(0,), (1,), (0, 1)])
                voice.turns(*to_act, rewards=earned)
        print(sha256(snapshot.write(table.core, {})).hexdigest())


if __name__ == "__main__":
    main()
