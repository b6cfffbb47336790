/**
 * A program's end of ZeroMQ: a DEALER over one connection, which it opens again when it breaks.
 * @module
 */

import { connect } from "node:net";
import type { Socket, TcpNetConnectOpts, IpcNetConnectOpts } from "node:net";
import { DovetailError } from "../core/index.js";
import type { Connection, Ears } from "../peer/link.js";
import { Curve } from "./curve.js";
import type { Key } from "./key.js";
import { Denied, Mismatch, Wire, WireError } from "./zmtp.js";

/** Milliseconds before the second attempt to connect; they double with each that fails. */
const FIRST_DELAY = 50;
const LONGEST_DELAY = 1000;
/** Milliseconds that connecting and greeting may take. */
const HANDSHAKE = 10_000;
/** Handshakes that a broker may break off in a row, before its key is taken for another. */
const ATTEMPTS = 3;

/** Bytes that are read at once. */
const READ = 1 << 16;
/** Bytes that may wait for the broker to read them: more end the connection (S11.4). */
const UNREAD = 1 << 28;

/**
 * Read an address such as `tcp://127.0.0.1:5757` or `ipc:///run/broker`.
 *
 * @throws DovetailError: it is not one.
 */
function endpoint(address: string): TcpNetConnectOpts | IpcNetConnectOpts {
  const [, transport, rest] = /^(tcp|ipc):\/\/([^\0]+)$/.exec(address) ?? [];
  if (transport === "ipc") return { path: rest!.replace(/^@/, "\0") };
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(rest ?? "") ?? [];
  if (host === undefined || host === "*" || Number(port) > 65535) {
    throw new DovetailError(
      `'${address}' is not the address of a broker; expected tcp://HOST:PORT or ipc://PATH, such as tcp://127.0.0.1:5757`,
    );
  }
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port), noDelay: true, keepAlive: true };
}

/** A connection to a broker, which need not run yet. */
export class Dealer implements Connection {
  readonly #endpoint: TcpNetConnectOpts | IpcNetConnectOpts;
  #socket: Socket | null = null;
  #wire: Wire;
  readonly #buffer = new Uint8Array(READ);
  #delay = FIRST_DELAY;
  /** Until the next attempt, or the end of this one. */
  #timer: NodeJS.Timeout | undefined;
  /** Handshakes that the broker broke off, until one succeeds. */
  #failed = 0;
  #met = false;

  /**
   * @param address - the broker's
   * @param key - this program's; null for none
   * @throws DovetailError: it is not an address.
   */
  constructor(
    address: string,
    private readonly key: Key | null,
    private readonly ears: Ears,
  ) {
    this.#endpoint = endpoint(address);
    this.#wire = this.#blank();
  }

  #blank(): Wire {
    return new Wire(this.key && new Curve(this.key));
  }

  get ready(): boolean {
    return this.#wire.ready;
  }

  open(): void {
    this.#discard();
    const wire = this.#wire;
    // Read into a buffer of our own, past the stream, which costs more than a small message.
    const callback = (size: number, buffer: Uint8Array): boolean => {
      this.#take(socket, buffer.slice(0, size)); // what is decoded refers to it
      return true;
    };
    const socket = connect({ ...this.#endpoint, onread: { buffer: this.#buffer, callback } });
    this.#socket = socket;
    let reached = false;
    socket.on("connect", () => {
      reached = true;
      this.#write(wire.out.splice(0));
    });
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => {
      if (socket !== this.#socket) return;
      if (reached && !wire.ready) this.#broken();
      this.#later();
    });
    this.#timer = setTimeout(() => socket.destroy(), HANDSHAKE);
  }

  #later(): void {
    this.#discard();
    this.#timer = setTimeout(() => this.open(), this.#delay);
    this.#delay = Math.min(2 * this.#delay, LONGEST_DELAY);
  }

  #discard(): void {
    clearTimeout(this.#timer);
    this.#socket?.destroy();
    this.#socket = null;
    this.#wire = this.#blank();
  }

  #take(socket: Socket, data: Uint8Array): void {
    if (socket !== this.#socket) return;
    const wire = this.#wire;
    const before = wire.ready;
    const frames: Uint8Array[] = [];
    let failure: WireError | null = null;
    try {
      wire.feed(data, frames);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      failure = error;
    }
    // A PONG is left out if much waits before it.
    const out = wire.out.splice(0);
    if (!before || socket.writableLength < READ) this.#write(out);
    if (wire.ready && !before) {
      clearTimeout(this.#timer);
      this.#delay = FIRST_DELAY;
      this.#failed = 0;
      this.#met = true;
      this.send([this.ears.greet()]);
    }
    // Deliver the frames before the error: they often say why the broker closes the connection.
    if (frames.length) this.ears.heard(frames);
    if (failure && socket === this.#socket) this.#fail(socket, failure);
  }

  /** End a connection on which the broker broke the protocol or said ERROR. */
  #fail(socket: Socket, failure: WireError): void {
    if (failure instanceof Mismatch) this.#refused(MISMATCH[this.key ? "keyed" : "keyless"]);
    else if (failure instanceof Denied)
      this.#refused("does not accept this program's key; ask the person who runs it");
    else socket.destroy();
  }

  /** Take note that the broker broke a handshake off. */
  #broken(): void {
    this.#failed += 1;
    if (!this.key || this.#met || this.#failed < ATTEMPTS) return;
    this.#refused(
      "breaks off each handshake; check the broker's public key: `server` in the key file, or DOVETAIL_SERVER_KEY",
    );
  }

  #refused(why: string): void {
    this.#discard();
    this.ears.refused(why);
  }

  send(frames: readonly Uint8Array[]): void {
    if (this.#wire.ready) this.#write([this.#wire.pack(frames)]);
  }

  #write(parts: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (socket && socket.writableLength > UNREAD)
      socket.destroy(); // `close` follows
    else for (const each of parts) socket?.write(each);
  }

  async close(linger: number): Promise<void> {
    const socket = this.#socket;
    if (socket && this.#wire.ready && linger > 0) {
      this.#socket = null; // nothing more is heard
      clearTimeout(this.#timer);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => socket.destroy(), linger);
        socket.on("close", () => {
          clearTimeout(timer);
          resolve();
        });
        socket.end();
        socket.resume();
      });
    }
    this.#discard();
  }
}

const MISMATCH = {
  keyed: "uses no keys; connect without the option key and DOVETAIL_KEY",
  keyless: "lets in only programs with a key; give the option key, or set DOVETAIL_KEY",
};
