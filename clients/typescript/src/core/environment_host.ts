/**
 * The program around environments: messages of the broker in, frames to the broker out.
 *
 * A step that comes twice is answered with the same frame, without stepping again.
 * @module
 */

import { errorFrame } from "./codec.js";
import type { Environment, EnvironmentType, Turn } from "./environment.js";
import { DovetailError, IllegalAction } from "./errors.js";
import { BaseHost, Recent, Turnstile } from "./host.js";
import { positions } from "./lookahead.js";
import type * as m from "./messages.js";
import { readOptions } from "./options.js";
import type { Complete } from "./schema.js";
import type { Int } from "./values.js";

const REFUSALS_KEPT = 64;
/** What `start` asked for, where a step has its turn. */
const START = -1;

/** A match: its environment, and its episode in progress. */
class Match {
  readonly turnstile = new Turnstile();
  environment: Environment | null = null;
  /** The answer to `open`; null while it is being made. */
  opened: Uint8Array | null = null;
  seats = 1;
  episode: Int | null = null;
  wants: readonly (readonly m.Want[])[] = [];
  watched = false;
  /** The number of the present turn; null before the first and after the last. */
  turn: number | null = null;
  toAct: readonly number[] = [];
  /** The turn of the last step that was asked for, or START. */
  asked = START;
  /** The answer to it; null while it is being worked on. */
  answer: Uint8Array | null = null;

  constructor(
    readonly number: Int,
    readonly name: string,
  ) {}
}

/** Holds the environments of one program. */
export class EnvironmentHost extends BaseHost<"environment"> {
  readonly role = "environment";
  readonly #types = new Map<string, EnvironmentType>();
  readonly #matches = new Map<Int, Match>();
  readonly #episodes = new Map<Int, Match>();
  /** Those whose `open` was answered with an error; they are never closed. */
  readonly #refused = new Recent<Int, Match>(REFUSALS_KEPT);

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
    this.#refused.clear();
  }

  #step(message: m.EnvironmentStep, out: Uint8Array[]): void {
    const match = this.#episodes.get(message.episode);
    if (match === undefined) return;
    if (message.turn === match.asked) {
      if (match.answer !== null) out.push(match.answer);
      return;
    }
    if (message.turn !== match.turn) return;
    match.asked = message.turn;
    const actions = new Map<number, any>(message.actions);
    this.#play(match, "step", (environment) => environment.step(actions), message.turn + 1, out);
  }

  #start(message: m.EnvironmentStart, out: Uint8Array[]): void {
    const { episode } = message;
    const match = this.#matches.get(message.match);
    if (match === undefined || match.environment === null) {
      out.push(errorFrame("unknown", `match ${message.match} is not open`, { episode }));
      return;
    }
    if (match.episode === episode) {
      if (match.asked === START && match.answer !== null) out.push(match.answer);
      return;
    }
    if (match.episode !== null) this.#episodes.delete(match.episode);
    this.#episodes.set(episode, match);
    match.episode = episode;
    match.wants = message.wants;
    match.watched = message.watched;
    match.turn = null;
    match.asked = START;
    this.#play(match, "start", (environment) => environment.start(message.seed), 0, out);
  }

  /** Let an environment make a turn, and answer with it. */
  #play(
    match: Match,
    verb: string,
    work: (environment: Environment) => Turn | PromiseLike<Turn>,
    number: number,
    out: Uint8Array[],
  ): void {
    const { episode, asked, name, turnstile } = match;
    const environment = match.environment!;
    match.answer = null;
    const refusal = (error: unknown): Uint8Array | null =>
      error instanceof IllegalAction
        ? errorFrame("illegal", error.message, { episode, seat: error.seat })
        : null;
    this.call(
      {
        turnstile,
        work: () => work(environment),
        where: `${name} in ${verb}`,
        answer: (turn) => this.#message(match, environment, turn, number),
        code: "crashed",
        about: { episode },
        refusal,
        gone: () =>
          match.episode !== episode || match.asked !== asked || this.#matches.get(match.number) !== match,
        keep: (frame, turn, error) => {
          match.answer = frame;
          if (error instanceof IllegalAction) return;
          match.toAct = turn?.to_act ?? [];
          match.turn = match.toAct.length ? number : null;
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
    const text = match.watched ? (environment.text?.(null) ?? "") : undefined;
    return { type: "turn", ...turn, episode: match.episode!, turn: number, seats, text };
  }

  // -- matches ----------------------------------------------------------------------------------

  #open({ match: number, environment: name, configuration }: m.Open, out: Uint8Array[]): void {
    const known = this.#matches.get(number) ?? this.#refused.get(number);
    if (known) {
      if (known.opened) out.push(known.opened);
      return;
    }
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
        answer: (spec) => ({ type: "spec", ...spec, match: number, name: spec.name || name }),
        code: "unavailable",
        about: { match: number },
        mayRefuse: true,
        gone: () => this.#matches.get(number) !== match,
        keep: (frame, spec) => {
          match.opened = frame;
          match.seats = spec?.seats ?? 1;
          if (spec) return;
          this.#matches.delete(number);
          this.#refused.set(number, match);
        },
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
    this.request(message.id, { where, turnstile: match?.turnstile ?? new Turnstile(), work }, out);
  }

  #lookahead(match: Match | undefined, message: m.EnvironmentLookahead): unknown {
    if (!match?.environment || match.turn === null) {
      throw new DovetailError(`episode ${message.episode} is not in progress`);
    }
    if (match.turn !== message.turn) throw new DovetailError(`the episode is at turn ${match.turn}`);
    if (!match.environment.fork) throw new DovetailError("this environment cannot look ahead");
    const { environment, seats, toAct } = match;
    const root = (): Environment => environment.fork!(message.seat, message.seed);
    return positions(root, toAct, seats, message.lines);
  }
}

function said(match: Match | undefined, message: m.EnvironmentMessage): unknown {
  if (!match?.environment) throw new DovetailError(`match ${message.match} is not open`);
  return match.environment.message?.(message.body);
}
