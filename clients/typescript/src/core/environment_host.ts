/**
 * The program around environments: messages of the broker in, frames to the broker out.
 *
 * A step that comes twice is answered with the same frame, without stepping again.
 * @module
 */

import { encode } from "./encode.js";
import type { Environment, EnvironmentType } from "./environment.js";
import { DovetailError, IllegalAction } from "./errors.js";
import { Answering, Recent, Turnstile, errorFrame } from "./host.js";
import type { Host } from "./host.js";
import { positions } from "./lookahead.js";
import type {
  EnvironmentLookahead,
  EnvironmentMessage,
  EnvironmentStart,
  EnvironmentStep,
  Offer,
  Open,
  SpecFields,
  ToEnvironment,
  Turn,
  Want,
} from "./messages.js";
import { readOptions } from "./options.js";
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
  wants: Want[][] = [];
  watched = false;
  /** The number of the present turn; null before the first and after the last. */
  turn: number | null = null;
  toAct: number[] = [];
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
export class EnvironmentHost extends Answering implements Host<"environment"> {
  readonly role = "environment";
  readonly #types = new Map<string, EnvironmentType>();
  readonly #matches = new Map<Int, Match>();
  readonly #episodes = new Map<Int, Match>();
  /** Errors in answer to `open`; such a match is never closed. */
  readonly #refused = new Recent<Int, Uint8Array>(REFUSALS_KEPT);

  constructor(offered: readonly EnvironmentType[]) {
    super();
    for (const type of offered) this.#types.set(type.name, type);
  }

  offers(): Offer[] {
    return [...this.#types.values()].map((type) => ({
      name: type.name,
      description: type.description ?? "",
      parameters: { ...type.configuration },
      seats: type.seats,
    }));
  }

  handle(messages: readonly ToEnvironment[]): Uint8Array[] {
    const out: Uint8Array[] = [];
    for (const message of messages) {
      switch (message.type) {
        case "step":
          this.#step(message, out);
          break;
        case "start":
          this.#start(message, out);
          break;
        case "open":
          this.#open(message, out);
          break;
        case "close":
          this.#close(message.match);
          break;
        case "message":
        case "lookahead":
          this.#request(message, out);
          break;
        case "welcome":
          this.most = message.limits.frame;
          if (!message.resumed) {
            for (const match of [...this.#matches.keys()]) this.#close(match);
            this.forget();
            this.#refused.clear();
          }
          break;
      }
    }
    return out;
  }

  #step(message: EnvironmentStep, out: Uint8Array[]): void {
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

  #start(message: EnvironmentStart, out: Uint8Array[]): void {
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
    const { episode, asked } = match;
    const environment = match.environment!;
    match.answer = null;
    const finish = (frame: Uint8Array, out: Uint8Array[]): void => {
      match.answer = frame;
      out.push(frame);
    };
    /** Whether nobody waits for it any more. */
    const gone = (): boolean =>
      match.episode !== episode || match.asked !== asked || this.#matches.get(match.number) !== match;
    match.turnstile.call(
      true,
      () => work(environment),
      (turn, out) => {
        if (gone()) return;
        const frame = this.packed("turn", this.#message(match, environment, turn, number));
        match.toAct = turn.to_act ?? [];
        match.turn = match.toAct.length ? number : null;
        finish(frame, out);
      },
      (error, out) => {
        if (gone()) return;
        if (error instanceof IllegalAction) {
          finish(errorFrame("illegal", error.message, { episode, seat: error.seat }), out);
          return;
        }
        match.turn = null;
        finish(errorFrame("crashed", this.failure(error, `${match.name} in ${verb}`), { episode }), out);
      },
      out,
      this.later,
    );
  }

  #message(match: Match, environment: Environment, turn: Turn, number: number): object {
    const seats = turn.seats.map((view) => {
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
    return { type: "turn", ...turn, episode: match.episode, turn: number, seats, text };
  }

  // -- matches ----------------------------------------------------------------------------------

  #open(message: Open, out: Uint8Array[]): void {
    const number = message.match;
    const known = this.#matches.get(number);
    const answer = known === undefined ? this.#refused.get(number) : known.opened;
    if (answer) out.push(answer);
    if (known !== undefined || answer !== undefined) return;
    const name = message.environment;
    const match = new Match(number, `environment ${name}`);
    this.#matches.set(number, match);
    const refuse = (error: unknown, out: Uint8Array[]): void => {
      if (this.#matches.get(number) !== match) return;
      const frame = errorFrame("unavailable", this.describe(error, `environment ${name}`), {
        match: number,
      });
      this.#matches.delete(number);
      this.#refused.set(number, frame);
      out.push(frame);
    };
    match.turnstile.call<SpecFields>(
      true,
      () => {
        const type = this.#types.get(name);
        if (type === undefined) throw new DovetailError(`this program makes no environment '${name}'`);
        const given = readOptions(type.configuration ?? {}, message.configuration, `environment ${name}`);
        match.environment = type.create(given);
        return match.environment.init();
      },
      (spec, out) => {
        if (this.#matches.get(number) !== match) return;
        match.opened = encode({ type: "spec", ...spec, match: number, name: spec.name || name }, this.most);
        match.seats = spec.seats ?? 1;
        out.push(match.opened);
      },
      refuse,
      out,
      this.later,
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

  #request(message: EnvironmentMessage | EnvironmentLookahead, out: Uint8Array[]): void {
    const match =
      message.type === "message" ? this.#matches.get(message.match) : this.#episodes.get(message.episode);
    const work = (): unknown =>
      message.type === "message" ? said(match, message) : this.#lookahead(match, message);
    const where = `the environment in ${message.type}`;
    this.request(message.id, where, match?.turnstile ?? new Turnstile(), work, out);
  }

  #lookahead(match: Match | undefined, message: EnvironmentLookahead): unknown {
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

function said(match: Match | undefined, message: EnvironmentMessage): unknown {
  if (!match?.environment) throw new DovetailError(`match ${message.match} is not open`);
  return match.environment.message?.(message.body);
}
