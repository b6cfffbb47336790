/**
 * A peer's connection to a broker over ZeroMQ: a DEALER socket around a `Session`.
 *
 * What waits is read together and what is to say is sent together.
 * @module
 */

import { Dealer } from "zeromq";
import { DovetailError, Session, encode } from "../core/index.js";
import type { Heard, Identity, Role, messages } from "../core/index.js";
import { Handshakes, readKey } from "./key.js";
import type { Key } from "./key.js";

/** Where a broker is, unless told otherwise. */
export const ADDRESS = "tcp://127.0.0.1:5757";

/** Frames that are read together at the most, so that answers go out in between. */
const BATCH = 4096;
/** How often, in milliseconds, it is looked whether the broker is silent. */
const WATCH = 250;

const clock = (): number => performance.now() / 1000;

/** What a link tells its role. */
export interface Listener<R extends Role> {
  /** Messages came; what is returned is sent. */
  handle(messages: readonly Heard[R][]): Uint8Array[];
  /** The link is closed: the broker said `bye`, or refused, or something failed. */
  closed(error: Error | null): void;
}

/** What a link does while the broker is silent. */
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
  #socket: Dealer | null = null;
  #watch: NodeJS.Timeout | null = null;
  #outbox: Uint8Array[] = [];
  /** Until all that waits is sent; null if nothing waits. */
  #sending: Promise<void> | null = null;
  #looked = 0;
  /** Seconds in which this program listened and nothing came. */
  #silence = 0;
  #warned = false;
  #closing: Promise<void> | null = null;
  #key: Key | null = null;
  readonly #handshakes: Handshakes;

  /**
   * @param address - a ZeroMQ endpoint of the broker
   * @param keyFile - the file with this program's key; empty for none
   * @param role - what this peer is
   * @param identity - who it is
   * @param patience - what to do while the broker is silent
   * @param listener - what hears
   */
  constructor(
    readonly address: string,
    private readonly keyFile: string,
    role: R,
    identity: Identity,
    private readonly patience: Patience,
    private readonly listener: Listener<R>,
  ) {
    this.session = new Session(role, identity);
    this.#handshakes = new Handshakes(keyFile !== "", (why) =>
      this.#fail(new DovetailError(`the broker at ${address} ${why}`)),
    );
  }

  /**
   * Open the socket and say hello.
   *
   * @throws DovetailError: the key cannot be read, or that is not the address of a broker.
   */
  open(): void {
    if (this.keyFile !== "") this.#key = readKey(this.keyFile);
    this.#connect();
    this.#looked = clock();
    this.#watch = setInterval(() => this.#look(), WATCH);
  }

  #connect(): void {
    this.#drop(0);
    const socket = new Dealer({
      reconnectInterval: 100,
      reconnectMaxInterval: 1000,
      heartbeatInterval: 5000,
      sendHighWaterMark: 0,
      receiveHighWaterMark: 0,
      linger: 0,
      ...this.#key,
    });
    this.#handshakes.watch(socket);
    try {
      socket.connect(this.address);
    } catch (error) {
      socket.close();
      const why = error instanceof Error ? error.message : String(error);
      throw new DovetailError(
        `'${this.address}' is not the address of a broker (${why}); write it like ${ADDRESS}`,
      );
    }
    this.#socket = socket;
    this.#outbox = [this.session.greet(clock())];
    this.#sending = this.#flush(socket);
    this.#listen(socket).catch((error: unknown) => this.#fail(error));
  }

  #drop(linger: number): void {
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null || socket.closed) return;
    socket.linger = linger;
    socket.close();
  }

  async #listen(socket: Dealer): Promise<void> {
    while (socket === this.#socket) {
      let frames: Uint8Array[];
      try {
        frames = await socket.receive();
        // Nothing waits for the socket here, so it may be asked.
        while (frames.length < BATCH && socket.readable) frames.push(...(await socket.receive()));
      } catch (error) {
        // A socket that was closed to make a new one ends what it waited for.
        if (socket !== this.#socket || socket.closed) return;
        throw error;
      }
      if (socket !== this.#socket) return;
      this.#take(frames);
    }
  }

  #take(frames: Uint8Array[]): void {
    if (this.#warned && this.session.welcome !== null) {
      const seconds = this.#silence.toFixed();
      this.patience.warn(`the broker at ${this.address} is back after ${seconds} s of silence`);
    }
    this.#silence = 0;
    this.#warned = false;
    const { messages, answers } = this.session.receive(frames, clock());
    // Answers to pings and to bad frames do not wait for what the role does.
    if (answers.length) this.send(answers);
    if (messages.length) this.send(this.listener.handle(messages));
    if (this.session.departed) void this.close(false);
  }

  #look(): void {
    const now = clock();
    // A program that was busy for long has not read what is there, so that is not silence.  To ask the socket
    // instead would take the wake-up from the `receive` that waits, whose file descriptor tells once.
    const elapsed = now - this.#looked;
    this.#looked = now;
    if (elapsed > (3 * WATCH) / 1000) return;
    this.#silence += elapsed;
    const { address, session } = this;
    const { wait, giveUp, warn } = this.patience;
    const absent = session.welcome === null;
    const limit = absent ? wait : giveUp;
    const what = absent
      ? `no broker answers at ${address}`
      : `the broker at ${address} has been silent for ${this.#silence.toFixed()} s`;
    if (this.#silence > limit) {
      const remedy = absent ? "start one with `dovetail broker`" : "see whether it still runs";
      return this.#fail(new DovetailError(`${what}; ${remedy}`));
    }
    if (!this.#warned && this.#silence > session.patience) {
      this.#warned = true;
      warn(`${what}; waiting${limit < Infinity ? ` up to ${limit} s` : ""} for it`);
    }
    if (!session.silent(now)) return;
    try {
      this.#connect();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    void this.close(false, error instanceof Error ? error : new Error(String(error)));
  }

  /** Send frames; those that are said before they can go out go together. */
  send(frames: Uint8Array[]): void {
    if (frames.length === 0 || this.#socket === null) return;
    for (const each of frames) this.#outbox.push(each);
    this.#sending ??= this.#flush(this.#socket);
  }

  async #flush(socket: Dealer): Promise<void> {
    while (socket === this.#socket && this.#outbox.length) {
      const frames = this.#outbox;
      this.#outbox = [];
      try {
        await socket.send(frames);
      } catch (error) {
        if (socket === this.#socket && !socket.closed) this.#fail(error);
        return;
      }
    }
    if (socket === this.#socket) this.#sending = null;
  }

  /** Leave; with a goodbye the broker keeps nothing for a return. */
  close(goodbye = true, error: Error | null = null): Promise<void> {
    return (this.#closing ??= this.#leave(goodbye, error));
  }

  async #leave(goodbye: boolean, error: Error | null): Promise<void> {
    if (this.#watch) clearInterval(this.#watch);
    if (goodbye && this.#socket) {
      this.send([encode({ type: "bye" } satisfies messages.Bye)]);
      // It has no high water mark, so this does not wait for a broker that is gone.
      await this.#sending;
    }
    this.#drop(goodbye ? 500 : 0);
    this.listener.closed(error);
  }
}
