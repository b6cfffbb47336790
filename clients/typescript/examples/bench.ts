/** The pair with which turns per second are measured: `bench agent` and `bench environment`. */

import { DovetailError, discrete, main, serve } from "dovetail-client";
import type { AgentType, Environment, EnvironmentType, Spec, Turn } from "dovetail-client";

const first: AgentType = {
  name: "bench",
  description: "Answers the first legal action.",
  capacity: 0,
  create: () => ({ step: ({ legal }) => (legal ? legal[0] : 0) }),
};

const TURNS: readonly Turn[] = [0, 1].map((seat) => ({
  to_act: [seat],
  seats: [{ seat, observation: 0, legal: [0, 1] }],
}));
const LAST: Turn = {
  seats: [
    { seat: 0, observation: 0 },
    { seat: 1, observation: 0 },
  ],
  terminated: true,
  outcome: [0.5, 0.5],
};

class Bench implements Environment {
  private turn = 0;

  constructor(private readonly turns: number) {}

  init(): Spec {
    const space = [discrete(2)];
    return { seats: 2, observation_spaces: space, action_spaces: space, max_turns: this.turns };
  }

  start(): Turn {
    this.turn = 0;
    return TURNS[0];
  }

  step(): Turn {
    return ++this.turn < this.turns ? TURNS[this.turn % 2] : LAST;
  }
}

const game: EnvironmentType = {
  name: "bench",
  description: "Two seats act in turn and nothing comes of it.",
  configuration: { turns: { type: "integer", minimum: 1, default: 1000 } },
  create: ({ turns }) => new Bench(turns as number),
};

const roles: Record<string, () => Promise<void>> = {
  agent: () => serve({ agents: [first] }),
  environment: () => serve({ environments: [game] }),
};
main(
  roles[process.argv[2]] ??
    (() => Promise.reject(new DovetailError("say: bench agent, or: bench environment"))),
);
