/**
 * The interface of a game.  It knows nothing of agents, sockets or brokers.
 * @module
 */

import { IllegalAction } from "./errors.js";
import type { Awaitable } from "./host.js";
import type * as m from "./messages.js";
import type { Options } from "./options.js";
import type { Int } from "./values.js";

/** The spec of an environment; the host adds the match. */
export type Spec = Omit<m.Spec, "type" | "match">;

/** A transition; the host adds its number, its episode and what is wanted. */
export type Turn = Omit<m.Turn, "type" | "episode" | "turn" | "text">;

/**
 * The rules of a game, made for one match, which plays one episode after another.
 *
 * Every verb may answer with a promise; calls of one environment wait for one another.
 */
export interface Environment {
  /** Return the spec of the game; called once, before any episode. */
  init(): Awaitable<Spec>;
  /** Begin an episode, dropping one in progress. */
  start(seed: Int): Awaitable<Turn>;
  /**
   * Apply the actions of all seats that had to act, by seat.
   * @throws IllegalAction: the rules refuse one; the episode is as before.
   */
  step(actions: ReadonlyMap<number, any>): Awaitable<Turn>;
  /** Return the position as text, as `seat` may see it; for null, the public position. */
  text?(seat: number | null): string;
  /** Return the position as a scene to draw (SPEC.md, Scenes), visible as for `text`. */
  scene?(seat: number | null): m.Scene | null;
  /** Return a tensor with one row per legal action, in order: the observation of `seat` after it. */
  afterstates?(seat: number): unknown;
  /**
   * Return an independent copy of the episode as `seat` knows it; hidden information and future chance are
   * drawn from `seed`.  Without it agents cannot look ahead.
   */
  fork?(seat: number, seed: Int): Environment;
  /** Answer a message of the experiment. */
  message?(body: any): unknown;
  /** Release resources; the last call. */
  cleanup?(): Awaitable<void>;
}

/** An environment type that a program offers: its description and its factory. */
export interface EnvironmentType {
  /** Its name in runs and in the catalogue. */
  readonly name: string;
  /** One sentence for a person. */
  readonly description?: string;
  /** Its options with their defaults. */
  readonly configuration?: Options;
  /** The possible numbers of seats, if there are several. */
  readonly seats?: readonly number[];
  /** Make an environment; throwing a `DovetailError` says what is wrong with the options. */
  create(configuration: Record<string, any>): Environment;
}

/**
 * Return the action of the one seat that must act.
 * @throws IllegalAction: the game is over, or other seats act.
 */
export function soleAction(actions: ReadonlyMap<number, any>, seat: number, over: boolean): any {
  if (over) throw new IllegalAction("the game is over; no action is legal", seat);
  if (actions.size !== 1 || !actions.has(seat)) {
    const seats = [...actions.keys()].join(", ");
    throw new IllegalAction(`seat ${seat} is to act, and only it; got actions of [${seats}]`, seat);
  }
  return actions.get(seat);
}
