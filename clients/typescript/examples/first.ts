import { main, serve } from "dovetail-client";
import type { AgentType } from "dovetail-client";

const agent: AgentType = {
  name: "first",
  create: () => ({
    step: ({ legal, random }) => random.choice(legal!),
  }),
};
main(() => serve({ agents: [agent] }));
