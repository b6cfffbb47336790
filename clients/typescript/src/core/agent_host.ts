/**
 * The program around agents: messages of the broker in, frames to the broker out.
 *
 * Answers are kept as the frames that they were, so that what comes twice is answered alike without asking
 * an agent twice.
 * @module
 */

import { Decision } from "./agent.js";
import type { Agent, AgentType, Ask, End, Play, Seat } from "./agent.js";
import { errorFrame } from "./codec.js";
import { DovetailError } from "./errors.js";
import { BaseHost, Recent, Turnstile } from "./host.js";
import { positionsOf } from "./lookahead.js";
import * as m from "./messages.js";
import { readOptions } from "./options.js";
import type { Complete } from "./schema.js";
import type { Int } from "./values.js";

const ENDED_KEPT = 4096;

/** An agent and the order of its calls. */
class Player {
  readonly turnstile = new Turnstile();
  constructor(
    readonly agent: Agent,
    readonly name: string,
  ) {}
}

/** A seat that a player holds. */
interface Held {
  readonly player: Player;
  readonly seat: Seat;
}

/** A seat's episode in progress. */
class Playing implements Play {
  random = null;
  turn = -1;
  /** The answer to the decision of `turn`; null while it is being thought about. */
  answer: Uint8Array | null = null;
  readonly questions = new Map<number, Question>();

  constructor(
    readonly player: Player,
    readonly episode: Int,
    readonly seat: Seat,
    readonly mode: m.Mode,
    readonly seed: Int,
  ) {}
}

/** A lookahead whose answer has not come. */
interface Question {
  readonly playing: Playing;
  readonly frame: Uint8Array;
  readonly resolve: (positions: Complete<m.Position>[]) => void;
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
  readonly #ended = new Recent<string, true>(ENDED_KEPT);
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
    let playing = this.#playing.get(key);
    if (playing === undefined) {
      if (message.type !== "start" || this.#ended.has(key)) return;
      const held = this.#seats.get(`${message.match}/${message.seat}`);
      if (held === undefined) return;
      playing = new Playing(held.player, message.episode, held.seat, message.mode, message.seed);
      this.#playing.set(key, playing);
    }
    if (message.turn <= playing.turn) {
      if (message.turn < playing.turn) return;
      if (playing.answer !== null) out.push(playing.answer);
      // The question may have been lost with the connection; the broker does not ask for it.
      for (const question of playing.questions.values()) out.push(question.frame);
      return;
    }
    playing.turn = message.turn;
    playing.answer = null;
    const decision = new Decision(playing, this.#ask, message);
    const place = playing;
    const { agent, name, turnstile } = playing.player;
    const first = message.type === "start" && agent.start !== undefined;
    const { episode, seat, turn } = message;
    this.call(
      {
        turnstile,
        alone: false,
        work: () => (first ? agent.start!(decision) : agent.step(decision)),
        where: `${name} in turn ${turn}`,
        answer: (action) => ({ type: "action", episode, turn, seat, action }),
        code: "crashed",
        about: { episode, seat },
        // While it was thought about, the episode may have ended.
        gone: () => this.#playing.get(key) !== place || place.turn !== turn,
        keep: (frame) => {
          place.answer = frame;
          for (const id of place.questions.keys()) this.#forget(id);
        },
      },
      out,
    );
  }

  readonly #ask: Ask = (decision, lines, seed) => {
    const playing = this.#playing.get(`${decision.episode}/${decision.seat.seat}`);
    if (playing === undefined || playing.turn !== decision.turn || playing.answer !== null) {
      return Promise.reject(new DovetailError("lookahead is for the decision that must be made"));
    }
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      const frame = this.packed({
        type: "lookahead",
        id,
        episode: decision.episode,
        seat: decision.seat.seat,
        turn: decision.turn,
        lines: lines.map((line) => line.map((each) => (Array.isArray(each) ? each : [each]))),
        seed,
      });
      const question = { playing, frame, resolve, reject };
      this.#questions.set(id, question);
      playing.questions.set(id, question);
      // The call that asks is still under way and its answers are not sent yet.
      queueMicrotask(() => this.#questions.has(id) && this.later([frame]));
    });
  };

  #answered(message: Complete<m.Reply | m.Error>): void {
    const question = typeof message.id === "number" ? this.#forget(message.id) : undefined;
    if (question === undefined) return;
    if (message.type === "error") {
      question.reject(new DovetailError(message.message));
      return;
    }
    try {
      question.resolve(positionsOf(message.body));
    } catch {
      question.reject(new DovetailError("the environment answered lookahead with what are no positions"));
    }
  }

  #forget(id: number): Question | undefined {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.playing.questions.delete(id);
    return question;
  }

  #end(message: m.End, out: Uint8Array[]): void {
    const { episode } = message;
    const key = `${episode}/${message.seat}`;
    if (this.#ended.has(key)) return;
    this.#ended.set(key, true);
    const playing = this.#playing.get(key);
    this.#playing.delete(key);
    for (const id of playing?.questions.keys() ?? []) {
      this.#forget(id)?.reject(new DovetailError("the episode is over"));
    }
    // A seat that never had to decide is known by its match.
    const held = playing ?? this.#seats.get(`${message.match}/${message.seat}`);
    if (held === undefined || held.player.agent.end === undefined) return;
    const { agent, name, turnstile } = held.player;
    const { type: _type, match: _match, ...rest } = message;
    const end: End = { ...rest, seat: held.seat };
    this.call(
      {
        turnstile,
        work: () => agent.end!(end),
        where: `${name} at the end of an episode`,
        code: "crashed",
        about: { episode, seat: message.seat },
      },
      out,
    );
  }

  // -- seats and instances ----------------------------------------------------------------------

  #player(instance: Int): Player | undefined {
    return this.#players.get(instance) ?? this.#single?.player;
  }

  #init({ type: _type, instance, ...taken }: Complete<m.Init>, out: Uint8Array[]): void {
    const { match, seat } = taken;
    const player = this.#player(instance);
    if (player === undefined) {
      out.push(errorFrame("unknown", `there is no agent ${instance}`, { match, seat }));
      return;
    }
    const key = `${match}/${seat}`;
    if (this.#seats.get(key)?.player === player) return;
    this.#seats.set(key, { player, seat: taken });
    const { agent, name, turnstile } = player;
    this.call(
      {
        turnstile,
        work: () => agent.init?.(taken),
        where: `${name} taking a seat`,
        code: "unavailable",
        about: { match, seat },
        mayRefuse: true,
      },
      out,
    );
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
      id,
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
    if (player === undefined) throw new DovetailError(`there is no agent ${message.instance}`);
    const { agent } = player;
    switch (message.type) {
      case "save":
        return agent.save?.() ?? new Uint8Array(0);
      case "load":
        return agent.load?.(message.state);
      case "message":
        return agent.message?.(message.body);
      case "cleanup":
        this.#players.delete(message.instance);
        return agent.cleanup?.();
    }
  }

  #create(message: Complete<m.Create>, epoch: number): void | PromiseLike<void> {
    if (this.#players.has(message.instance)) return;
    const type = this.#types.get(message.agent);
    if (type === undefined) throw new DovetailError(`this program makes no agent '${message.agent}'`);
    const parameters = readOptions(type.parameters ?? {}, message.parameters, `agent ${type.name}`);
    const player = new Player(type.create(parameters, message.seed), type.name);
    const made = (): void => {
      if (epoch === this.epoch) this.#players.set(message.instance, player);
    };
    const loading = message.state === null ? undefined : player.agent.load?.(message.state);
    if (loading === undefined) made();
    else return loading.then(made);
  }

  /** Every seat hears the end. */
  protected reset(): void {
    for (const { episode, seat, mode } of [...this.#playing.values()]) {
      const where = { episode, seat: seat.seat, match: seat.match };
      this.#end(m.End.complete({ ...where, reason: "disconnected", mode }), []);
    }
    this.#seats.clear();
    this.#playing.clear();
    this.#ended.clear();
    for (const { agent, name, turnstile } of this.#players.values()) this.release(agent, name, turnstile);
    this.#players.clear();
  }
}

function offer({ name, description, parameters, wants, capacity }: AgentType): m.Offer {
  return { name, description, parameters, wants, capacity };
}
