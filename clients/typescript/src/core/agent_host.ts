/**
 * The program around agents: messages of the broker in, frames to the broker out.
 * @module
 */

import { Decision, RESIGN } from "./agent.js";
import type { Agent, AgentType, Ask, End, Play, Seat } from "./agent.js";
import { DovetailError, Refused, failure } from "./errors.js";
import { BaseHost, Told, Turnstile } from "./host.js";
import { previewsOf } from "./lookahead.js";
import * as m from "./messages.js";
import { readOptions } from "./options.js";
import type { Complete } from "./schema.js";
import type { Int } from "./values.js";

/** An agent and the order of its calls. */
class Player {
  readonly turnstile = new Turnstile();
  /** How it failed at an end, until its next decision or request is answered with that. */
  failure: Told | null = null;
  constructor(
    readonly agent: Agent,
    readonly name: string,
  ) {}

  /** Return how it failed at an end, once. */
  failed(): Told | null {
    const { failure } = this;
    this.failure = null;
    return failure;
  }
}

/** A seat that a player holds. */
interface Held {
  readonly player: Player;
  readonly seat: Seat;
}

/** A seat's episode in progress. */
class Playing implements Play {
  random = null;
  /** The number of the frame with its last decision. */
  seq = 0;
  /** The turn of the decision that it owes; null if it owes none. */
  turn: number | null = null;
  readonly player: Player;
  readonly seat: Seat;

  constructor(
    held: Held,
    readonly episode: Int,
    readonly mode: m.Mode,
    readonly seed: Int,
  ) {
    this.player = held.player;
    this.seat = held.seat;
  }
}

/** A lookahead whose answer has not come. */
interface Question {
  readonly playing: Playing;
  readonly frame: Uint8Array;
  readonly resolve: (previews: Complete<m.Preview>[]) => void;
  readonly reject: (error: Error) => void;
}

type Request = Complete<m.Create | m.Save | m.Load | m.AgentMessage | m.Cleanup>;

/** Holds the agents of one program. */
export class AgentHost extends BaseHost<"agent"> {
  readonly role = "agent";
  readonly #types = new Map<string, AgentType>();
  readonly #single: { type: AgentType; player: Player } | null = null;
  readonly #players = new Map<Int, Player>();
  readonly #seats = new Map<string, Held>();
  readonly #playing = new Map<string, Playing>();
  readonly #questions = new Map<number, Question>();
  #asked = 0;

  /**
   * @param offered - the types it can make; or one type of which the program is the only agent, made at
   *   once and seated by its name
   * @param given - the parameters and the seed of that one
   */
  constructor(
    offered: readonly AgentType[] | AgentType,
    given: { parameters?: Record<string, unknown>; seed?: Int } = {},
  ) {
    super();
    if (Array.isArray(offered)) {
      for (const type of offered as readonly AgentType[]) this.#types.set(type.name, type);
    } else {
      const type = offered as AgentType;
      const owner = `agent ${type.name}`;
      const parameters = readOptions(type.parameters ?? {}, given.parameters ?? {}, owner);
      const agent = type.create(parameters, given.seed ?? 0);
      this.#single = { type, player: new Player(agent, type.name) };
    }
  }

  offers(): m.Offer[] {
    if (this.#single) return [{ ...offer(this.#single.type), instance: true }];
    return [...this.#types.values()].map(offer);
  }

  protected take(message: m.ToAgent, out: Uint8Array[]): void {
    switch (message.type) {
      case "step":
      case "start":
        return this.#decision(message, out);
      case "end":
        return this.#end(message, out);
      case "init":
        return this.#init(message, out);
      case "create":
      case "save":
      case "load":
      case "message":
      case "cleanup":
        return this.#request(message, out);
      case "leave":
        return this.#leave(message.match);
      case "reply":
      case "error":
        return this.#answered(message);
    }
  }

  // -- decisions --------------------------------------------------------------------------------

  #decision(message: Complete<m.AgentStart | m.AgentStep>, out: Uint8Array[]): void {
    const key = `${message.episode}/${message.seat}`;
    if (message.type === "start") {
      const held = this.#seats.get(`${message.match}/${message.seat}`);
      if (held) this.#playing.set(key, new Playing(held, message.episode, message.mode, message.seed));
    }
    const { episode, seat, turn, seq } = message;
    const playing = this.#playing.get(key);
    if (playing === undefined) {
      return this.unknown(seq, `no agent here holds seat ${seat} of episode ${episode}`, out);
    }
    this.inbox.forget(playing.seq);
    playing.seq = seq;
    playing.turn = turn;
    const decision = new Decision(playing, this.#ask, message);
    const { player } = playing;
    const { agent, name, turnstile } = player;
    // The episode may have ended in the meantime.
    const gone = (): boolean => this.#playing.get(key) !== playing || playing.seq !== seq;
    const first = message.type === "start" && agent.start !== undefined;
    this.call(
      {
        turnstile,
        alone: false,
        work: () => {
          const failed = gone() ? null : player.failed();
          if (failed) throw failed;
          return first ? agent.start!(decision) : agent.step(decision);
        },
        where: `${name} in turn ${turn}`,
        seq,
        answer: (action) => {
          const { think, thoughts, measures } = decision;
          return {
            type: "action",
            episode,
            turn,
            seat,
            ...(action === RESIGN ? { resign: true } : { action }),
            ...(measures && { measures }),
            ...(think && thoughts && { thoughts }),
          };
        },
        gone,
        settled: () => {
          playing.turn = null;
          this.#forget(playing);
        },
      },
      out,
    );
  }

  readonly #ask: Ask = (decision, lines, seed) => {
    const playing = this.#playing.get(`${decision.episode}/${decision.seat.seat}`);
    if (playing?.turn !== decision.turn) {
      return Promise.reject(new DovetailError("lookahead is only for the decision that the agent owes"));
    }
    const id = ++this.#asked;
    const asked = new Promise<Complete<m.Preview>[]>((resolve, reject) => {
      const frame = this.packed({
        type: "lookahead",
        id,
        episode: decision.episode,
        seat: decision.seat.seat,
        turn: decision.turn,
        lines: lines.map((line) => line.map((each) => (Array.isArray(each) ? each : [each]))),
        seed,
      });
      this.#questions.set(id, { playing, frame, resolve, reject });
      // The call that asks is still under way and its answers are not sent yet.
      queueMicrotask(() => this.#questions.has(id) && this.later([frame]));
    });
    // An agent that does not wait for it need not catch its failure.
    asked.catch(() => {});
    return asked;
  };

  /** The questions, or their answers, may have been lost. */
  protected override resume(out: Uint8Array[]): void {
    for (const { frame } of this.#questions.values()) out.push(frame);
  }

  #answered(message: Complete<m.Reply | m.Error>): void {
    const question = this.#questions.get(message.id as number);
    if (question === undefined) return;
    this.#questions.delete(message.id as number);
    if (message.type === "error") {
      question.reject(new DovetailError(message.message));
      return;
    }
    try {
      question.resolve(previewsOf(message.body));
    } catch {
      question.reject(new DovetailError("the environment's answer to lookahead is not a list of previews"));
    }
  }

  /** Drop the questions of a decision that is over. */
  #forget(playing: Playing): void {
    for (const [id, question] of this.#questions) {
      if (question.playing !== playing) continue;
      this.#questions.delete(id);
      question.reject(new DovetailError("the decision is over"));
    }
  }

  #end({ type: _type, match, seat, seq: _seq, ...rest }: Complete<m.End>, out: Uint8Array[]): void {
    const key = `${rest.episode}/${seat}`;
    const playing = this.#playing.get(key);
    if (playing) {
      this.#playing.delete(key);
      this.inbox.forget(playing.seq);
      this.#forget(playing);
    }
    // A seat that never had to decide is known by its match.
    const held = playing ?? this.#seats.get(`${match}/${seat}`);
    if (held === undefined) return;
    const { player } = held;
    const { agent, name, turnstile } = player;
    const end: End = { ...rest, seat: held.seat };
    const where = `${name} at the end of an episode`;
    const settled = (error: unknown): void => void (player.failure ??= new Told(failure(error, where)));
    this.call({ turnstile, work: () => agent.end?.(end), where, settled }, out);
  }

  // -- seats and instances ----------------------------------------------------------------------

  #player(instance: Int): Player | undefined {
    return this.#players.get(instance) ?? this.#single?.player;
  }

  #init({ type: _type, instance, seq, ...taken }: Complete<m.Init>, out: Uint8Array[]): void {
    const player = this.#player(instance);
    if (player === undefined) return this.unknown(seq, `there is no agent ${instance}`, out);
    const key = `${taken.match}/${taken.seat}`;
    const held = { player, seat: taken };
    this.#seats.set(key, held);
    const { agent, name, turnstile } = player;
    const where = `${name} taking a seat`;
    const settled = (): void => {
      if (this.#seats.get(key) === held) this.#seats.delete(key);
    };
    this.call({ turnstile, work: () => agent.init?.(taken), where, seq, mayRefuse: true, settled }, out);
  }

  #leave(match: Int): void {
    for (const [key, held] of this.#seats) if (held.seat.match === match) this.#seats.delete(key);
  }

  #request(message: Request, out: Uint8Array[]): void {
    const { id, type } = message;
    const player = type === "create" ? undefined : this.#player(message.instance);
    const where = `${type === "create" ? message.agent : player?.name} in ${type}`;
    const { epoch } = this;
    this.request(
      message,
      {
        where,
        turnstile: player?.turnstile ?? new Turnstile(),
        work: () => this.#do(message, epoch),
        ...(type === "save" && { answer: (state) => ({ type: "saved", id, state: state as Uint8Array }) }),
      },
      out,
    );
  }

  #do(message: Request, epoch: number): unknown {
    if (message.type === "create") return this.#create(message, epoch);
    const player = this.#player(message.instance);
    if (player === undefined) throw new Refused("unknown", `there is no agent ${message.instance}`);
    const { agent } = player;
    const failed = player.failed();
    if (failed && message.type !== "cleanup") throw failed;
    switch (message.type) {
      case "save":
        return agent.save?.() ?? new Uint8Array(0);
      case "load":
        return agent.load?.(message.state);
      case "message":
        return agent.message?.(message.body);
      case "cleanup":
        this.#players.delete(message.instance);
        if (!failed) return agent.cleanup?.();
        return Promise.resolve(agent.cleanup?.()).then(() => Promise.reject(failed));
    }
  }

  #create(message: Complete<m.Create>, epoch: number): void | PromiseLike<void> {
    const type = this.#types.get(message.agent);
    if (type === undefined) throw new DovetailError(`this program makes no agent '${message.agent}'`);
    const parameters = readOptions(type.parameters ?? {}, message.parameters, `agent ${type.name}`);
    const player = new Player(type.create(parameters, message.seed), type.name);
    const release = (): void => this.release(player.agent, player.name, player.turnstile);
    const made = (): void => {
      if (epoch === this.epoch) this.#players.set(message.instance, player);
      else release();
    };
    const failed = (error: unknown): never => {
      release();
      throw error;
    };
    let loading: void | PromiseLike<void> = undefined;
    try {
      if (message.state !== null) loading = player.agent.load?.(message.state);
    } catch (error) {
      failed(error);
    }
    if (loading === undefined) made();
    else return loading.then(made, failed);
  }

  /** Every seat hears the end. */
  protected reset(): void {
    for (const { episode, seat, mode } of [...this.#playing.values()]) {
      const where = { episode, seat: seat.seat, match: seat.match };
      this.#end(m.End.complete({ ...where, reason: "disconnected", mode }), []);
    }
    this.#seats.clear();
    this.#playing.clear();
    for (const { agent, name, turnstile } of this.#players.values()) this.release(agent, name, turnstile);
    this.#players.clear();
    this.#single?.player.failed();
  }
}

function offer({ name, description, parameters, wants, capacity }: AgentType): m.Offer {
  return { name, description, parameters, wants, capacity };
}
