/**
 * What the hosts of agents and of environments have in common: calling what a user wrote, which may answer
 * at once or with a promise.
 * @module
 */

import { errorFrame } from "./codec.js";
import type { About } from "./codec.js";
import { encode } from "./encode.js";
import { DovetailError, describe, failure } from "./errors.js";
import type { Code, FromAgent, FromEnvironment, Heard, Offer, Reply, Role, Welcome } from "./messages.js";
import type { Int } from "./values.js";

const ANSWERS_KEPT = 64;

/** An answer, at once or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Messages in, frames out; what takes longer comes out later. */
export interface Host<R extends Role = Role> {
  readonly role: R;
  /** What others can ask for. */
  offers(): Offer[];
  /** Take messages in order; return the frames that answer them. */
  handle(messages: readonly Heard[R][]): Uint8Array[];
  /** Where answers go that come later; set by who serves the host. */
  later: (frames: Uint8Array[]) => void;
  /** Told of a mistake of who wrote the agent or environment: the line that the broker gets, and what was thrown. */
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
   * @param failed - takes what it or `through` threw, likewise
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

/** A map that forgets its oldest entries. */
export class Recent<K, V> {
  readonly #entries = new Map<K, V>();

  constructor(readonly size: number) {}

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value);
    if (this.#entries.size > this.size) {
      this.#entries.delete(this.#entries.keys().next().value as K);
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** A call of a verb of an agent or environment, and how it is answered. */
interface Call<T> {
  readonly turnstile: Turnstile;
  /** Whether later calls wait for this one; true if absent. */
  readonly alone?: boolean;
  readonly work: () => Awaitable<T>;
  /** Whose call of what it is, for a person. */
  readonly where: string;
  /** The answer; absent if there is none. */
  readonly answer?: (result: T) => FromAgent | FromEnvironment;
  /** The `error` that answers it if it fails; absent if nothing does. */
  readonly code?: Code;
  readonly about?: About;
  /** Whether a `DovetailError` is a refusal, and no mistake of who wrote the verb. */
  readonly mayRefuse?: boolean;
  /** The `error` for what was thrown, if it is a particular one. */
  readonly refusal?: (error: unknown) => Uint8Array | null;
  /** Whether nobody waits for the answer any more. */
  readonly gone?: () => boolean;
  /** Takes the answer, with what made it: what the verb returned, or what it threw. */
  readonly keep?: (frame: Uint8Array, result: T | undefined, error: unknown) => void;
}

/** What hosts of agents and of environments do alike. */
export abstract class BaseHost<R extends "agent" | "environment"> implements Host<R> {
  abstract readonly role: R;
  later: (frames: Uint8Array[]) => void = () => {};
  surprised: (line: string, thrown: unknown) => void = () => {};
  /** Rises when the broker has forgotten everything; what was begun before then is not answered. */
  protected epoch = 0;
  /** How many bytes of a frame the broker reads. */
  #most = Infinity;
  readonly #working = new Set<Int>();
  readonly #answers = new Recent<Int, Uint8Array>(ANSWERS_KEPT);

  abstract offers(): Offer[];
  /** Take a message that is not of the session; add the frames that answer it at once. */
  protected abstract take(message: Heard[R], out: Uint8Array[]): void;
  /** Begin anew with a broker that does not know this session. */
  protected abstract reset(): void;

  handle(messages: readonly Heard[R][]): Uint8Array[] {
    const out: Uint8Array[] = [];
    for (const message of messages) {
      if (message.type === "welcome") this.#welcomed(message);
      else this.take(message, out);
    }
    return out;
  }

  #welcomed({ limits, resumed }: Welcome): void {
    this.#most = limits.frame;
    if (resumed) return;
    this.reset();
    this.epoch++;
    this.#working.clear();
    this.#answers.clear();
  }

  /** Call a verb; its answer is added to `out` if it comes at once. */
  protected call<T>(call: Call<T>, out: Uint8Array[]): void {
    const { epoch } = this;
    const gone = (): boolean => epoch !== this.epoch || (call.gone?.() ?? false);
    call.turnstile.call(
      call.alone ?? true,
      call.work,
      (result, out) => {
        if (gone() || !call.answer) return;
        const frame = this.packed(call.answer(result));
        call.keep?.(frame, result, undefined);
        out.push(frame);
      },
      (error, out) => {
        // What the end of the episode or of the session broke off is nobody's mistake.
        if (gone() && error instanceof DovetailError) return;
        const frame = call.refusal?.(error) ?? this.#refusal(call, error);
        if (gone() || frame === null) return;
        call.keep?.(frame, undefined, error);
        out.push(frame);
      },
      out,
      this.later,
    );
  }

  #refusal<T>({ where, code, about, mayRefuse }: Call<T>, error: unknown): Uint8Array | null {
    const line = mayRefuse ? describe(error, where) : failure(error, where);
    if (!mayRefuse || !(error instanceof DovetailError)) this.surprised(line, error);
    return code ? errorFrame(code, line, about) : null;
  }

  /** Do a request and answer it.  One that comes again is answered alike and not done again. */
  protected request<T>(
    id: Int,
    call: Pick<Call<T>, "where" | "turnstile" | "work" | "answer">,
    out: Uint8Array[],
  ): void {
    const known = this.#answers.get(id);
    if (known !== undefined) out.push(known);
    if (known !== undefined || this.#working.has(id)) return;
    this.#working.add(id);
    const keep = (frame: Uint8Array): void => {
      this.#working.delete(id);
      this.#answers.set(id, frame);
    };
    const answer = (body: T): Reply => ({ type: "reply", id, body });
    this.call({ answer, ...call, code: "crashed", about: { id }, mayRefuse: true, keep }, out);
  }

  /** Let go of an agent or environment, after what it is still asked. */
  protected release(user: { cleanup?(): Awaitable<void> }, name: string, turnstile: Turnstile): void {
    this.call({ turnstile, work: () => user.cleanup?.(), where: `${name} in cleanup` }, []);
  }

  /** Return the frame of a message that holds what a user made. */
  protected packed(message: FromAgent | FromEnvironment): Uint8Array {
    try {
      return encode(message, this.#most);
    } catch (error) {
      const what = message.type === "reply" || message.type === "saved" ? "answer" : message.type;
      throw new DovetailError(`the ${what} cannot travel: ${(error as Error).message}`);
    }
  }
}
