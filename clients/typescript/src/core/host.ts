/**
 * The base of the hosts of agents and of environments: it calls the user's code, which may answer
 * at once or with a promise.
 * @module
 */

import { errorFrame } from "./codec.js";
import { encode } from "./encode.js";
import { DovetailError, IllegalAction, Refused, describe, failure } from "./errors.js";
import { Inbox } from "./inbox.js";
import type { FromAgent, FromEnvironment, Heard, Offer, Reply, Role, Welcome } from "./messages.js";
import type { Int } from "./values.js";

/** An answer, at once or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Messages in, frames out; what takes longer comes out later. */
export interface Host<R extends Role = Role> {
  readonly role: R;
  /** The types on offer. */
  offers(): Offer[];
  /** Take messages in order; return the frames that answer them. */
  handle(messages: readonly Heard[R][]): Uint8Array[];
  /** Sends answers that come later; set by the code that serves the host. */
  later: (frames: Uint8Array[]) => void;
  /** Called when the code of the agent or environment fails: the line that the broker gets, and what was thrown. */
  surprised: (line: string, thrown: unknown) => void;
}

/** Keeps the calls of one agent or environment in order, as far as they need it. */
export class Turnstile {
  #last: PromiseLike<void> | null = null;

  /**
   * Call something.  It waits for calls before it that were `alone` and are not through.
   *
   * @param alone - whether later calls wait for it
   * @param work - what to call
   * @param through - takes what it returned, and frames to send are added to the array
   * @param failed - takes what it or `through` threw, in the same way
   * @param out - where frames go if it is through at once
   * @param later - where they go else
   */
  call<T>(
    alone: boolean,
    work: () => Awaitable<T>,
    through: (result: T, out: Uint8Array[]) => void,
    failed: (error: unknown, out: Uint8Array[]) => void,
    out: Uint8Array[],
    later: (frames: Uint8Array[]) => void,
  ): void {
    let result: Awaitable<T>;
    if (this.#last === null) {
      try {
        result = work();
        if (!isPromise(result)) {
          through(result, out);
          return;
        }
      } catch (error) {
        failed(error, out);
        return;
      }
    } else result = this.#last.then(work);
    const settle = (take: (out: Uint8Array[]) => void): void => {
      if (this.#last === mine) this.#last = null;
      const frames: Uint8Array[] = [];
      try {
        take(frames);
      } catch (error) {
        failed(error, frames);
      }
      if (frames.length) later(frames);
    };
    const mine = result.then(
      (value) => settle((frames) => through(value, frames)),
      (error: unknown) => settle((frames) => failed(error, frames)),
    );
    if (alone) this.#last = mine;
  }
}

function isPromise<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && typeof (value as PromiseLike<T>).then === "function";
}

/** Fails a call with a line that was told when it happened. */
export class Told extends Refused {
  constructor(line: string) {
    super("crashed", line);
  }
}

/** A call of a verb of an agent or environment, and how it is answered. */
interface Call<T> {
  readonly turnstile: Turnstile;
  /** True if later calls wait for this one; true if absent. */
  readonly alone?: boolean;
  readonly work: () => Awaitable<T>;
  /** The name of the call in errors. */
  readonly where: string;
  /** The number of the frame that asks; absent if a failure is not reported to the broker. */
  readonly seq?: number;
  /** The `id` of that frame, if it is a request. */
  readonly id?: Int;
  /** The answer; absent if there is none. */
  readonly answer?: (result: T) => FromAgent | FromEnvironment;
  /** True if a `DovetailError` says that it cannot be done, and is not a failure of the code. */
  readonly mayRefuse?: boolean;
  /** True if an answer would come too late. */
  readonly gone?: () => boolean;
  /** Called before the answer is sent, with what was thrown if it failed. */
  readonly settled?: (error?: unknown) => void;
}

/** The base of the hosts of agents and of environments. */
export abstract class BaseHost<R extends "agent" | "environment"> implements Host<R> {
  abstract readonly role: R;
  later: (frames: Uint8Array[]) => void = () => {};
  surprised: (line: string, thrown: unknown) => void = () => {};
  /** Rises when the broker has forgotten everything; what was begun before then is not answered. */
  protected epoch = 0;
  protected readonly inbox = new Inbox();
  /** How many bytes of a frame the broker reads. */
  #most = Infinity;

  abstract offers(): Offer[];
  /** Take a message that is not of the session; add the frames that answer it at once. */
  protected abstract take(message: Heard[R], out: Uint8Array[]): void;
  /** Forget a session that the broker does not know any more. */
  protected abstract reset(): void;
  /** Add the frames that this side sends again when a session continues. */
  protected resume(_out: Uint8Array[]): void {}

  handle(messages: readonly Heard[R][]): Uint8Array[] {
    const out: Uint8Array[] = [];
    for (const message of messages) {
      if (!this.inbox.take(message, out)) continue;
      if (message.type === "welcome") this.#welcomed(message, out);
      else this.take(message, out);
    }
    return out;
  }

  #welcomed({ limits, resumed }: Welcome, out: Uint8Array[]): void {
    this.#most = limits.frame;
    if (resumed) return this.resume(out);
    this.reset();
    this.epoch++;
  }

  /** Call a verb; its answer is added to `out` if it comes at once. */
  protected call<T>(call: Call<T>, out: Uint8Array[]): void {
    const { epoch } = this;
    const gone = (): boolean => epoch !== this.epoch || (call.gone?.() ?? false);
    const say = (frame: Uint8Array, out: Uint8Array[]): void => {
      this.inbox.keep(call.seq ?? 0, frame);
      out.push(frame);
    };
    call.turnstile.call(
      call.alone ?? true,
      call.work,
      (result, out) => {
        if (gone() || !call.answer) return;
        const frame = this.packed(call.answer(result));
        call.settled?.();
        say(frame, out);
      },
      (error, out) => {
        // A call that the end of the episode or of the session cut short is not a mistake.
        if (gone() && error instanceof DovetailError) return;
        const frame = this.#refusal(call, error);
        if (gone()) return;
        call.settled?.(error);
        if (frame) say(frame, out);
      },
      out,
      this.later,
    );
  }

  /** Return the `error` for what was thrown; null if nothing awaits one. */
  #refusal<T>({ where, seq, id, mayRefuse }: Call<T>, error: unknown): Uint8Array | null {
    const illegal = error instanceof IllegalAction && this.role === "environment";
    let code = illegal ? "illegal" : "crashed";
    if (error instanceof Refused) code = error.code;
    else if (mayRefuse && !illegal && error instanceof DovetailError) code = "unavailable";
    const surprise = code === "crashed" && !(error instanceof Told);
    const line = surprise ? failure(error, where) : describe(error, where);
    if (surprise) this.surprised(line, error);
    if (seq === undefined) return null;
    const seat = illegal ? error.seat : null;
    return errorFrame(code, line, id === undefined ? { answers: seq, seat } : { id, seat });
  }

  /** Do a request and answer it. */
  protected request<T>(
    { id, seq }: { readonly id: Int; readonly seq: number },
    call: Pick<Call<T>, "where" | "turnstile" | "work" | "answer">,
    out: Uint8Array[],
  ): void {
    const answer = (body: T): Reply => ({ type: "reply", id, body });
    this.call({ answer, ...call, id, seq, mayRefuse: true }, out);
  }

  /** Answer a frame that names what does not exist. */
  protected unknown(seq: number, text: string, out: Uint8Array[]): void {
    const frame = errorFrame("unknown", text, { answers: seq });
    this.inbox.keep(seq, frame);
    out.push(frame);
  }

  /** Release an agent or environment, after the calls that it is still asked for. */
  protected release(user: { cleanup?(): Awaitable<void> }, name: string, turnstile: Turnstile): void {
    this.call({ turnstile, work: () => user.cleanup?.(), where: `${name} in cleanup` }, []);
  }

  /** Return the frame of a message that holds what a user made. */
  protected packed(message: FromAgent | FromEnvironment): Uint8Array {
    try {
      return encode(message, this.#most);
    } catch (error) {
      const what = message.type === "reply" || message.type === "saved" ? "answer" : message.type;
      throw new Refused("crashed", `the ${what} cannot travel: ${(error as Error).message}`);
    }
  }
}
