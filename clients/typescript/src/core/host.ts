/**
 * What the hosts of agents and of environments have in common: calling what a user wrote, which may answer
 * at once or with a promise.
 * @module
 */

import { encode } from "./encode.js";
import { DovetailError, describe, failure } from "./errors.js";
import type { Heard, Offer, Role } from "./messages.js";
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

/** What both hosts do alike. */
export abstract class Answering {
  later: (frames: Uint8Array[]) => void = () => {};
  surprised: (line: string, thrown: unknown) => void = () => {};
  /** Rises when the broker has forgotten everything; what was begun before then is not answered. */
  protected epoch = 0;
  /** How many bytes of a frame the broker reads. */
  protected most = Infinity;
  readonly #working = new Set<Int>();
  readonly #answers = new Recent<Int, Uint8Array>(ANSWERS_KEPT);

  /**
   * Do a request and answer it.  One that comes again is answered alike and not done again.
   *
   * @param where - whose call of what it is
   * @param answer - makes the message out of what was returned
   */
  protected request<T>(
    id: Int,
    where: string,
    turnstile: Turnstile,
    work: () => Awaitable<T>,
    out: Uint8Array[],
    answer: (body: T) => object = (body) => ({ type: "reply", id, body }),
  ): void {
    const known = this.#answers.get(id);
    if (known !== undefined) out.push(known);
    if (known !== undefined || this.#working.has(id)) return;
    this.#working.add(id);
    const { epoch } = this;
    const finish = (frame: Uint8Array, out: Uint8Array[]): void => {
      if (epoch !== this.epoch) return;
      this.#working.delete(id);
      this.#answers.set(id, frame);
      out.push(frame);
    };
    turnstile.call(
      true,
      work,
      (body, out) => finish(this.packed("answer", answer(body)), out),
      (error, out) => finish(errorFrame("crashed", this.describe(error, where), { id }), out),
      out,
      this.later,
    );
  }

  /** Let go of an agent or environment, after what it is still asked. */
  protected release(user: { cleanup?(): Awaitable<void> }, name: string, turnstile: Turnstile): void {
    const failed = (error: unknown): void => void this.failure(error, `${name} in cleanup`);
    turnstile.call(
      true,
      () => user.cleanup?.(),
      () => {},
      failed,
      [],
      this.later,
    );
  }

  protected forget(): void {
    this.epoch++;
    this.#working.clear();
    this.#answers.clear();
  }

  /** Return the frame of a message that holds what a user made. */
  protected packed(what: string, message: object): Uint8Array {
    try {
      return encode(message, this.most);
    } catch (error) {
      throw new DovetailError(`the ${what} cannot travel: ${(error as Error).message}`);
    }
  }

  protected describe(error: unknown, where: string): string {
    const line = describe(error, where);
    if (!(error instanceof DovetailError)) this.surprised(line, error);
    return line;
  }

  /** The same where even a `DovetailError` is a mistake. */
  protected failure(error: unknown, where: string): string {
    const line = failure(error, where);
    this.surprised(line, error);
    return line;
  }
}

/** Return the frame of an `error`. */
export function errorFrame(code: string, message: string, about: Record<string, unknown>): Uint8Array {
  return encode({ type: "error", code, message, ...about });
}
