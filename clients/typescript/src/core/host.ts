/**
 * What the hosts of agents and of environments have in common: calling what a user wrote, which may answer
 * at once or with a promise.
 * @module
 */

import { encode } from "./encode.js";
import type { Heard, Offer, Role } from "./messages.js";

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
   * @param failed - takes what it threw, likewise
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
      } catch (error) {
        failed(error, out);
        return;
      }
      if (!isPromise(result)) {
        through(result, out);
        return;
      }
    } else result = this.#last.then(work);
    const settle = (take: (out: Uint8Array[]) => void): void => {
      if (this.#last === mine) this.#last = null;
      const frames: Uint8Array[] = [];
      take(frames);
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

/** Return the frame of an `error`. */
export function errorFrame(code: string, message: string, about: Record<string, unknown>): Uint8Array {
  return encode({ type: "error", code, message, ...about });
}
