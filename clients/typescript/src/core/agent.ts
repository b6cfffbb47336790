/**
 * The interface of a player or learner.  It knows nothing of games, sockets or brokers.
 * @module
 */

import type { Awaitable } from "./host.js";
import type * as m from "./messages.js";
import type { Mode, Space, Want } from "./messages.js";
import type { Options } from "./options.js";
import type { Complete } from "./schema.js";
import { Random } from "./seeds.js";
import { unmask } from "./spaces.js";
import type { Int } from "./values.js";

/** A seat of a match, as its agent sees it: the fields of `init`. */
export type Seat = Readonly<Omit<Complete<m.Init>, "type" | "instance" | "seq">>;

/** The episode of one seat. */
export interface Play {
  readonly episode: Int;
  readonly seat: Seat;
  readonly mode: Mode;
  readonly seed: Int;
  random: Random | null;
}

/** Asks the environment; made by the host. */
export type Ask = (
  decision: Decision,
  lines: readonly (readonly unknown[])[],
  seed: Int,
) => Promise<Complete<m.Preview>[]>;

/** The fields of a decision that are as they came. */
type Seen = Readonly<Omit<Complete<m.AgentStep>, "type" | "seat" | "legal" | "seq">>;

/** An action that gives up the episode: the seat loses. */
export const RESIGN: unique symbol = Symbol("resign");

/** One decision of one seat: what the broker says of it, and what an agent needs to make it. */
export interface Decision extends Seen {}

export class Decision {
  readonly #play: Play;
  readonly #ask: Ask;
  readonly seat: Seat;
  /** In `evaluate` an agent must not change. */
  readonly mode: Mode;
  /** The seed of this seat in this episode. */
  readonly seed: Int;
  /** Action numbers in rising order; null if every action of the space is legal. */
  readonly legal: number[] | null;
  /** The agent's thoughts for watchers, if it sets them; sent only if `think`. */
  thoughts: m.Thoughts | null = null;
  /**
   * Measurements since the last answer, such as a loss, if the agent sets them; their means are in the result
   * of the episode.
   */
  measures: Record<string, number> | null = null;

  /** @internal */
  constructor(play: Play, ask: Ask, message: Complete<m.AgentStart | m.AgentStep>) {
    const { legal } = message;
    Object.assign(this, message);
    this.#play = play;
    this.#ask = ask;
    this.seat = play.seat;
    this.mode = play.mode;
    this.seed = play.seed;
    this.legal = legal instanceof Uint8Array ? unmask(legal) : (legal as number[] | null);
  }

  /** The space of this seat's actions. */
  get space(): Space {
    const { seat, spec } = this.seat;
    return spec.action_spaces[spec.action_spaces.length > 1 ? seat : 0];
  }

  /** The generator for this seat's random choices in this episode, which makes them repeatable. */
  get random(): Random {
    return (this.#play.random ??= new Random(this.seed));
  }

  /**
   * Ask the environment what would follow from lines of actions; needs a run that allows it.
   *
   * @param lines - sequences of actions; where several seats act at once, an array of theirs
   * @param seed - the seed of hidden information and chance; all lines share one sample
   */
  lookahead(lines: readonly (readonly unknown[])[], seed: Int = 0): Promise<Complete<m.Preview>[]> {
    return this.#ask(this, lines, seed);
  }
}

/** The end of an episode for one seat; it comes exactly once, whatever happened. */
export interface End extends Readonly<Omit<Complete<m.End>, "type" | "match" | "seat" | "seq">> {
  readonly seat: Seat;
}

/**
 * A player.  Only `step` is required.
 *
 * One instance may hold several seats at once, of one episode or of `capacity` many.  Every verb may answer
 * with a promise: decisions of different seats may then overlap, all other verbs wait for one another.
 */
export interface Agent {
  /** Take a seat of a match; throwing a `DovetailError` says in one line why it cannot play. */
  init?(seat: Seat): Awaitable<void>;
  /** Answer the first decision of an episode with an action; `step` if absent. */
  start?(decision: Decision): unknown;
  /** Answer a decision with an action, or with `RESIGN`. */
  step(decision: Decision): unknown;
  /** Handle the end of an episode.  A seat that never had to decide gets one, too. */
  end?(end: End): Awaitable<void>;
  /** Answer a message of the experiment. */
  message?(body: any): unknown;
  /** Return the complete state, from which `load` continues exactly. */
  save?(): Awaitable<Uint8Array>;
  /** Continue from the state that `save` returned. */
  load?(state: Uint8Array): Awaitable<void>;
  /** Release resources; the last call. */
  cleanup?(): Awaitable<void>;
}

/** An agent type that a program offers: its description and its factory. */
export interface AgentType {
  /** Its name in runs and in the catalogue. */
  readonly name: string;
  /** One sentence for a person. */
  readonly description?: string;
  /** Its options with their defaults. */
  readonly parameters?: Options;
  /** Additions that the agent wants in each decision. */
  readonly wants?: readonly Want[];
  /** Episodes that one instance plays at once, 1 if absent; 0 means any number. */
  readonly capacity?: number;
  /** Make an agent; `seed` is for the random choices that belong to no episode. */
  create(parameters: Record<string, any>, seed: Int): Agent;
}
