/** Two agents that know no game: `random-typescript`, and `greedy-typescript`, which looks at afterstates. */

import { Tensor, main, sample, serve } from "dovetail-client";
import type { AgentType, Decision } from "dovetail-client";

const step = ({ legal, random, space }: Decision): unknown =>
  legal ? random.choice(legal) : sample(space, random);

const randomAgent: AgentType = {
  name: "random-typescript",
  description: "Plays any legal action.",
  capacity: 0,
  create: () => ({ step }),
};

/** Take the action after which the first plane, by custom the own pieces, has most on it. */
function greedy(decision: Decision): unknown {
  const { legal, afterstates } = decision;
  if (!legal || !(afterstates instanceof Tensor) || afterstates.shape.length < 3) return step(decision);
  const row = afterstates.data.length / legal.length;
  const plane = row / afterstates.shape[1];
  let best: number[] = [];
  let most = -Infinity;
  for (let i = 0; i < legal.length; i++) {
    let count = 0;
    for (let k = 0; k < plane; k++) count += Number(afterstates.data[i * row + k]);
    if (count > most) [most, best] = [count, []];
    if (count === most) best.push(legal[i]);
  }
  return decision.random.choice(best);
}

const greedyAgent: AgentType = {
  name: "greedy-typescript",
  description:
    "Wants as much as possible of its own on the board at once; random in games without afterstates.",
  wants: ["afterstates"],
  capacity: 0,
  create: () => ({ step: greedy }),
};

main(() => serve({ agents: [randomAgent, greedyAgent] }));
