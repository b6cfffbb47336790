/** The conformer of docs/reference/conformer.md. */

import { createInterface } from "node:readline";
import {
  DovetailError,
  IllegalAction,
  RESIGN,
  Refused,
  SessionLost,
  connect,
  formatReading,
  main,
  mask,
  parseReading,
  serve,
  spaceOf,
} from "dovetail-client";
import type {
  Agent,
  AgentType,
  Complete,
  Decision,
  Discrete,
  End,
  Environment,
  EnvironmentType,
  ExperimentEvent,
  Request,
  Scene,
  Space,
  Spec,
  Turn,
  View,
} from "dovetail-client";

class Conformer implements Agent {
  decisions = 0;
  ends = 0;
  reward = 0;
  spec: Complete<Spec> | null = null;
  last: object = {};

  constructor(readonly refuse: boolean) {}

  init({ spec }: { spec: Complete<Spec> }): void {
    if (this.refuse) throw new DovetailError("the conformer was asked to refuse");
    this.spec = spec;
  }

  async look(decision: Decision, lines: unknown[][]): Promise<unknown> {
    const previews = await decision.lookahead(lines).catch(() => null);
    return previews?.map(({ rewards }) => rewards) ?? "refused";
  }

  step(decision: Decision): unknown {
    const { clock, text, mode, seed, afterstates, scene, observation, legal } = decision;
    if (observation === "crash") throw new Error("asked to crash");
    if (mode === "learn") {
      this.decisions++;
      this.reward += decision.reward;
    }
    this.last = { clock, text, mode, seed, afterstates, scene };
    if (observation === "resign") {
      decision.measures = { regret: 0.5 };
      return RESIGN;
    }
    // Sent only if they are asked for.
    decision.thoughts = { values: legal ?? [], text: `turn ${decision.turn}` };
    if (legal !== null) return legal[legal.length - 1];
    return observation?.look ? this.look(decision, observation.look) : observation;
  }

  end(end: End): void {
    if (end.mode !== "learn") return;
    this.ends++;
    this.reward += end.reward;
  }

  message(body: unknown): unknown {
    const { decisions, ends, reward, spec, last } = this;
    if (body === "crash") throw new Error("asked to crash");
    if (body === "counters") return { decisions, ends, reward };
    if (body === "last") return last;
    if (body === "spec") {
      return { observation_spaces: spec?.observation_spaces, action_spaces: spec?.action_spaces };
    }
    return body;
  }

  save(): Uint8Array {
    const reward = Number.isInteger(this.reward) ? this.reward.toFixed(1) : String(this.reward);
    return new TextEncoder().encode(`${this.decisions} ${this.ends} ${reward}`);
  }

  load(state: Uint8Array): void {
    const match = /^(\d+) (\d+) (\S+)$/.exec(new TextDecoder().decode(state));
    if (!match || Number.isNaN(Number(match[3]))) {
      throw new DovetailError("these bytes are not a saved conformer");
    }
    [this.decisions, this.ends, this.reward] = match.slice(1).map(Number);
  }
}

const agent: AgentType = {
  name: "conformer",
  description: "Counts what it hears.",
  parameters: { refuse: { type: "boolean", default: false } },
  wants: ["afterstates", "text", "scene"],
  capacity: 0,
  create: ({ refuse }) => new Conformer(refuse),
};

interface Options {
  seats: number;
  turns: number;
  simultaneous: boolean;
  mask: boolean;
  space: Space;
  observation: unknown;
  truncate: boolean;
  fail: string;
}

class ConformerGame implements Environment {
  turn = 0;

  constructor(readonly given: Options) {
    given.space = spaceOf(given.space);
  }

  fail(where: string): void {
    if (this.given.fail === where) throw new Error(`asked to fail in ${where}`);
  }

  init(): Spec {
    this.fail("open");
    const { seats, space, turns } = this.given;
    return {
      seats,
      observation_spaces: [space],
      action_spaces: [space],
      reward_range: [0, 1],
      max_turns: turns,
      afterstates: true,
    };
  }

  start(seed: unknown): Turn {
    this.fail("start");
    this.turn = 0;
    const { observation } = this.given;
    const seen = observation === "seed" ? seed : observation;
    return { to_act: this.toAct(), seats: this.toAct().map((seat) => this.view(seat, seen, 0, true)) };
  }

  toAct(): number[] {
    const { simultaneous, seats } = this.given;
    return simultaneous ? [...Array(seats).keys()] : [this.turn % seats];
  }

  view(seat: number, observation: unknown, reward: number, acts: boolean): View {
    const { space } = this.given;
    if (!acts || space.space !== "Discrete") return { seat, observation, reward };
    const [n, start] = [Number(space.n), Number(space.start)];
    const legal = Array.from({ length: n }, (_, i) => start + i);
    return { seat, observation, reward, legal: this.given.mask ? mask(legal, n) : legal };
  }

  step(actions: ReadonlyMap<number, unknown>): Turn {
    this.fail("step");
    for (const [seat, action] of actions) {
      if (action === -1) throw new IllegalAction("-1 is never legal", seat);
    }
    const { seats, turns, truncate } = this.given;
    const acted = this.toAct();
    const over = ++this.turn >= turns;
    const next = over ? [] : this.toAct();
    const all = [...Array(seats).keys()];
    const seen = [...actions];
    return {
      to_act: next,
      seats: all.map((seat) => this.view(seat, seen, Number(acted.includes(seat)), next.includes(seat))),
      terminated: over && !truncate,
      truncated: over && truncate,
      outcome: over && !truncate ? all.map((seat) => (acted.includes(seat) ? 1 / acted.length : 0)) : null,
    };
  }

  text(): string {
    return `turn ${this.turn}`;
  }

  afterstates(seat: number): unknown {
    const { legal } = this.view(seat, null, 0, true);
    if (!legal) return null;
    const { n, start } = this.given.space as Discrete;
    return Array.from({ length: Number(n) }, (_, i) => [this.turn + 1, Number(start) + i]);
  }

  scene(): Scene {
    return { width: 1, height: 1, caption: this.text() };
  }

  fork(): Environment {
    return Object.assign(new ConformerGame(this.given), { turn: this.turn });
  }

  message(body: unknown): unknown {
    if (body === "crash") throw new Error("asked to crash");
    return body;
  }
}

const environment: EnvironmentType = {
  name: "conformer",
  description: "Counts turns.",
  configuration: {
    seats: { type: "integer", minimum: 1, default: 2 },
    turns: { type: "integer", minimum: 1, default: 3 },
    simultaneous: { type: "boolean", default: false },
    mask: { type: "boolean", default: false },
    space: { type: "object", default: { space: "Discrete", n: 3 } },
    observation: { default: 0 },
    truncate: { type: "boolean", default: false },
    fail: { type: "string", enum: ["", "open", "start", "step"], default: "" },
  },
  create: (given) => new ConformerGame(given as Options),
};

function write(key: string, value: unknown): void {
  process.stdout.write(`${formatReading({ [key]: value })}\n`);
}

async function experiment(): Promise<void> {
  const told = await connect();
  const events: ExperimentEvent[] = [];
  let wake = (): void => {};
  let lost: Error | null = null;
  told.onEvent = (event) => {
    events.push(event);
    wake();
  };
  told.onLost = (error) => {
    lost = error;
    wake();
  };
  write("welcome", told.name);
  for await (const line of createInterface({ input: process.stdin })) {
    const command = parseReading(line) as Request | { type: "wait"; for: string };
    try {
      if (command.type === "wait") {
        for (let type; type !== command.for;) {
          while (events.length === 0) {
            if (lost) throw lost;
            await new Promise<void>((resolve) => (wake = resolve));
          }
          const event = events.shift()!;
          const { type: kind, ...fields } = event;
          write((type = kind), fields);
        }
      } else {
        const answer = await told.exchange(command);
        if (answer.type === "saved") write("saved", answer.state);
        else write("reply", answer.body);
      }
    } catch (error) {
      if (error instanceof Refused) write("error", { code: error.code, message: error.message });
      else if (error instanceof SessionLost) {
        write("lost", error.message);
        await told.close();
        throw error;
      } else throw error;
    }
  }
  await told.close();
}

/** The kit reads what is printed. */
const ready = (): void => {};

const roles: Record<string, () => Promise<void>> = {
  agent: () => serve({ agents: [agent] }, { ready }),
  environment: () => serve({ environments: [environment] }, { ready }),
  experiment,
};
main(roles[process.argv[2]] ?? (() => Promise.reject(new DovetailError("which role?"))));
