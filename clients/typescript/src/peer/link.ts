/**
 * A peer's link to a broker: a connection around a `Session`, for Node and for browsers.
 *
 * Frames that arrive together are read together, and answers are sent together.
 * @module
 */

import { DovetailError, Session, encode } from "../core/index.js";
import type { Heard, Identity, Role, messages } from "../core/index.js";

/** How often, in milliseconds, it is looked whether the broker is silent. */
const WATCH = 250;
/** Milliseconds for the broker to accept a `bye`. */
const LINGER = 500;

const clock = (): number => performance.now() / 1000;

/** The callbacks of a connection to its link. */
export interface Ears {
  /** There is a new connection; what is returned is sent first. */
  greet(): Uint8Array;
  /** Frames came. */
  heard(frames: Uint8Array[]): void;
  /** The broker will never let this program in; the text goes after its address. */
  refused(why: string): void;
}

/** A connection to a broker, which need not run yet; it is opened again when it breaks. */
export interface Connection {
  /** True if frames that are sent leave now. */
  readonly ready: boolean;
  /** Give up the connection, if there is one, and open another. */
  open(): void;
  /**
   * Send frames together; without a connection they are dropped.
   *
   * Frames lost with a connection are sent again after the next `hello` (SPEC.md, Delivery).
   */
  send(frames: readonly Uint8Array[]): void;
  /** Disconnect, once the broker has taken all that was sent, or after so many milliseconds. */
  close(linger: number): Promise<void>;
}

/** The way to a broker. */
export interface Transport {
  readonly address: string;
  /** Advice for the user if no broker answers there. */
  readonly remedy: string;
  /**
   * Return a connection that is not open yet.
   * @throws DovetailError: the address or the key is wrong.
   */
  connect(ears: Ears): Connection;
}

/** The callbacks of a link to its role. */
export interface Listener<R extends Role> {
  /** Messages came; what is returned is sent. */
  handle(messages: readonly Heard[R][]): Uint8Array[];
  /** The link is closed: the broker said `bye`, or refused, or something failed. */
  closed(error: Error | null): void;
}

/** The limits on a broker's silence. */
export interface Patience {
  /** Seconds to wait for the broker's first answer. */
  readonly wait: number;
  /** Seconds of silence after which the link gives up. */
  readonly giveUp: number;
  /** Takes one line for a person when the broker has fallen silent. */
  readonly warn: (line: string) => void;
}

/** A connection that renews itself when it breaks. */
export class Link<R extends Role> {
  readonly session: Session<R>;
  #connection: Connection | null = null;
  #watch: ReturnType<typeof setInterval> | undefined;
  #outbox: Uint8Array[] = [];
  #looked = 0;
  /** Seconds in which this program listened and nothing came. */
  #silence = 0;
  #warned = false;
  #closing: Promise<void> | null = null;

  /**
   * @param transport - the way to the broker
   * @param role - what this peer is
   * @param identity - who it is
   * @param patience - what to do while the broker is silent
   * @param listener - what hears
   */
  constructor(
    private readonly transport: Transport,
    role: R,
    identity: Identity,
    private readonly patience: Patience,
    private readonly listener: Listener<R>,
  ) {
    this.session = new Session(role, identity);
  }

  /**
   * Open the connection; each begins with a hello.
   *
   * @throws DovetailError: the key cannot be read, or that is not the address of a broker.
   */
  open(): void {
    const { address } = this.transport;
    this.#connection = this.transport.connect({
      greet: () => this.session.greet(clock()),
      heard: (frames) => this.#take(frames),
      refused: (why) => this.#fail(new DovetailError(`the broker at ${address} ${why}`)),
    });
    this.#connection.open();
    this.#looked = clock();
    this.#watch = setInterval(() => this.#look(), WATCH);
  }

  #take(frames: Uint8Array[]): void {
    if (this.#warned && this.session.welcome !== null) {
      const seconds = this.#silence.toFixed();
      this.patience.warn(`the broker at ${this.transport.address} is back after ${seconds} s of silence`);
    }
    this.#silence = 0;
    this.#warned = false;
    try {
      const { messages, answers } = this.session.receive(frames, clock());
      // Answers to pings and to bad frames do not wait for what the role does.
      if (answers.length) this.#connection?.send(answers);
      if (messages.length) this.send(this.listener.handle(messages));
    } catch (error) {
      return this.#fail(error);
    }
    if (this.session.departed) void this.close(false);
  }

  #look(): void {
    const now = clock();
    // A program that was busy for long has not read what is there, so that is not silence.
    const elapsed = now - this.#looked;
    this.#looked = now;
    if (elapsed > (3 * WATCH) / 1000) return;
    this.#silence += elapsed;
    const { session } = this;
    const { address } = this.transport;
    const { wait, giveUp, warn } = this.patience;
    const absent = session.welcome === null;
    const limit = absent ? wait : giveUp;
    const what = absent
      ? `no broker answers at ${address}`
      : `the broker at ${address} has been silent for ${this.#silence.toFixed()} s`;
    if (this.#silence > limit) {
      const remedy = absent ? this.transport.remedy : "see whether it still runs";
      return this.#fail(new DovetailError(`${what}; ${remedy}`));
    }
    if (!this.#warned && this.#silence > session.patience) {
      this.#warned = true;
      warn(`${what}; waiting${limit < Infinity ? ` up to ${limit} s` : ""} for it`);
    }
    if (!this.#connection?.ready || !session.silent(now)) return;
    // Before the first welcome on the same connection: another would wait for its turn again.
    if (absent) this.#connection.send([session.greet(now)]);
    else this.#connection.open();
  }

  #fail(error: unknown): void {
    void this.close(false, error instanceof Error ? error : new Error(String(error)));
  }

  /** Send frames; those that are said before they can go out go together. */
  send(frames: readonly Uint8Array[]): void {
    if (frames.length === 0) return;
    if (this.#outbox.length === 0) queueMicrotask(() => this.#flush());
    for (const each of frames) this.#outbox.push(each);
  }

  #flush(): void {
    const frames = this.#outbox;
    this.#outbox = [];
    if (frames.length) this.#connection?.send(frames);
  }

  /** Disconnect; with `bye` the broker discards the session. */
  close(goodbye = true, error: Error | null = null): Promise<void> {
    return (this.#closing ??= this.#leave(goodbye, error));
  }

  async #leave(goodbye: boolean, error: Error | null): Promise<void> {
    clearInterval(this.#watch);
    if (goodbye) this.send([encode({ type: "bye" } satisfies messages.Bye)]);
    this.#flush();
    await this.#connection?.close(goodbye ? LINGER : 0);
    this.#connection = null;
    this.listener.closed(error);
  }
}
