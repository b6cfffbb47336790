/**
 * The program around environments: messages of the broker in, frames to the broker out.
 * @module
 */

import type { Environment, EnvironmentType, Turn } from "./environment.js";
import { DovetailError, IllegalAction, Refused } from "./errors.js";
import { BaseHost, Turnstile } from "./host.js";
import { previews } from "./lookahead.js";
import type * as m from "./messages.js";
import { readOptions } from "./options.js";
import type { Complete } from "./schema.js";
import type { Int } from "./values.js";

/** True if watchers are shown the text of a turn, and its scene. */
interface Shown {
  readonly text: boolean;
  readonly scene: boolean;
}

/** A match: its environment, and its episode in progress. */
class Match {
  readonly turnstile = new Turnstile();
  environment: Environment | null = null;
  seats = 1;
  episode: Int | null = null;
  wants: readonly (readonly m.Want[])[] = [];
  /** The parts that watchers want of every turn, and of the next one. */
  always: Shown = { text: false, scene: false };
  next = this.always;
  /** The number of the present turn; null before the first and after the last. */
  turn: number | null = null;
  toAct: readonly number[] = [];
  /** The number of the last frame that asked for a turn. */
  seq = 0;

  constructor(
    readonly number: Int,
    readonly name: string,
  ) {}

  /** Heed what a start or step asks for watchers. */
  watch({ watched, scenes, once }: Complete<m.EnvironmentStart | m.EnvironmentStep>): void {
    this.next = { text: this.always.text || watched, scene: this.always.scene || scenes };
    if (!once) this.always = this.next;
  }
}

/** Holds the environments of one program. */
export class EnvironmentHost extends BaseHost<"environment"> {
  readonly role = "environment";
  readonly #types = new Map<string, EnvironmentType>();
  readonly #matches = new Map<Int, Match>();
  readonly #episodes = new Map<Int, Match>();

  constructor(offered: readonly EnvironmentType[]) {
    super();
    for (const type of offered) this.#types.set(type.name, type);
  }

  offers(): m.Offer[] {
    return [...this.#types.values()].map(({ name, description, configuration, seats }) => {
      return { name, description, parameters: configuration, seats };
    });
  }

  protected take(message: m.ToEnvironment, out: Uint8Array[]): void {
    switch (message.type) {
      case "step":
        return this.#step(message, out);
      case "start":
        return this.#start(message, out);
      case "open":
        return this.#open(message, out);
      case "close":
        return this.#close(message.match);
      case "message":
      case "lookahead":
        return this.#request(message, out);
    }
  }

  protected reset(): void {
    for (const match of [...this.#matches.keys()]) this.#close(match);
  }

  #step(message: Complete<m.EnvironmentStep>, out: Uint8Array[]): void {
    const { episode, turn, actions, seq } = message;
    const match = this.#episodes.get(episode);
    if (match === undefined || match.turn !== turn) {
      return this.unknown(seq, `turn ${turn} of episode ${episode} is not in progress`, out);
    }
    match.watch(message);
    const by = new Map<number, any>(actions);
    this.#play(match, seq, "step", (environment) => environment.step(by), turn + 1, out);
  }

  #start(message: Complete<m.EnvironmentStart>, out: Uint8Array[]): void {
    const match = this.#matches.get(message.match);
    if (!match?.environment) return this.unknown(message.seq, `match ${message.match} is not open`, out);
    if (match.episode !== null) this.#episodes.delete(match.episode);
    this.#episodes.set(message.episode, match);
    match.episode = message.episode;
    match.wants = message.wants;
    match.always = { text: false, scene: false };
    match.watch(message);
    match.turn = null;
    this.#play(match, message.seq, "start", (environment) => environment.start(message.seed), 0, out);
  }

  /** Let an environment make a turn, and answer with it. */
  #play(
    match: Match,
    seq: number,
    verb: string,
    work: (environment: Environment) => Turn | PromiseLike<Turn>,
    number: number,
    out: Uint8Array[],
  ): void {
    const { name, turnstile } = match;
    const environment = match.environment!;
    this.inbox.forget(match.seq);
    match.seq = seq;
    this.call(
      {
        turnstile,
        work: () => work(environment),
        where: `${name} in ${verb}`,
        seq,
        answer: (turn) => {
          const message = this.#message(match, environment, turn, number);
          match.toAct = turn.to_act ?? [];
          match.turn = match.toAct.length ? number : null;
          return message;
        },
        gone: () => match.seq !== seq || this.#matches.get(match.number) !== match,
        settled: (error) => {
          if (error !== undefined && !(error instanceof IllegalAction)) match.turn = null;
        },
      },
      out,
    );
  }

  #message(match: Match, environment: Environment, turn: Turn, number: number): m.Turn {
    const seats = turn.seats?.map((view) => {
      const wanted = match.wants[view.seat];
      if (!wanted?.length) return view;
      const more = { ...view };
      if (wanted.includes("text")) more.text = environment.text?.(view.seat) ?? "";
      if (wanted.includes("scene")) more.scene = environment.scene?.(view.seat) ?? null;
      if (wanted.includes("afterstates") && turn.to_act?.includes(view.seat)) {
        more.afterstates = environment.afterstates?.(view.seat) ?? null;
      }
      return more;
    });
    const text = match.next.text ? (environment.text?.(null) ?? "") : undefined;
    const scene = match.next.scene ? (environment.scene?.(null) ?? null) : undefined;
    return { type: "turn", ...turn, episode: match.episode!, turn: number, seats, text, scene };
  }

  // -- matches ----------------------------------------------------------------------------------

  #open({ match: number, environment: name, configuration, seq }: Complete<m.Open>, out: Uint8Array[]): void {
    const match = new Match(number, `environment ${name}`);
    this.#matches.set(number, match);
    this.call(
      {
        turnstile: match.turnstile,
        work: () => {
          const type = this.#types.get(name);
          if (type === undefined) throw new DovetailError(`this program makes no environment '${name}'`);
          const given = readOptions(type.configuration ?? {}, configuration, match.name);
          match.environment = type.create(given);
          return match.environment.init();
        },
        where: match.name,
        seq,
        answer: (spec) => {
          match.seats = spec.seats ?? 1;
          return { type: "spec", ...spec, match: number, name: spec.name || name };
        },
        mayRefuse: true,
        gone: () => this.#matches.get(number) !== match,
        settled: (error) => error !== undefined && this.#close(number),
      },
      out,
    );
  }

  #close(number: Int): void {
    const match = this.#matches.get(number);
    if (match === undefined) return;
    this.#matches.delete(number);
    if (match.episode !== null) this.#episodes.delete(match.episode);
    if (match.environment) this.release(match.environment, match.name, match.turnstile);
  }

  // -- requests ---------------------------------------------------------------------------------

  #request(message: Complete<m.EnvironmentMessage | m.EnvironmentLookahead>, out: Uint8Array[]): void {
    const match =
      message.type === "message" ? this.#matches.get(message.match) : this.#episodes.get(message.episode);
    const work = (): unknown =>
      message.type === "message" ? said(match, message) : this.#lookahead(match, message);
    const where = `the environment in ${message.type}`;
    this.request(message, { where, turnstile: match?.turnstile ?? new Turnstile(), work }, out);
  }

  #lookahead(match: Match | undefined, message: m.EnvironmentLookahead): unknown {
    if (!match?.environment || match.turn === null) {
      throw new DovetailError(`episode ${message.episode} is not in progress`);
    }
    if (match.turn !== message.turn) throw new DovetailError(`the episode is at turn ${match.turn}`);
    if (!match.environment.fork) throw new DovetailError("this environment cannot look ahead");
    const { environment, seats, toAct } = match;
    const root = (): Environment => environment.fork!(message.seat, message.seed);
    return previews(root, toAct, seats, message.lines);
  }
}

function said(match: Match | undefined, message: m.EnvironmentMessage): unknown {
  if (!match?.environment) throw new Refused("unknown", `match ${message.match} is not open`);
  return match.environment.message?.(message.body);
}
