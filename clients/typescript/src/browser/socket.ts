/**
 * A page's connection to a broker: a WebSocket, which it opens again when it breaks.
 * @module
 */

import { DovetailError } from "../core/index.js";
import type { Connection, Ears } from "../peer/link.js";

/** The broker's WebSocket subprotocol (SPEC.md, S3.10). */
const SUBPROTOCOL = "dovetail.1";
/** Milliseconds before the second attempt to connect; they double with each that fails. */
const FIRST_DELAY = 50;
const LONGEST_DELAY = 1000;
/** Milliseconds that connecting may take. */
const HANDSHAKE = 10_000;
/** Bytes that may wait for the broker to read them: more end the connection (S11.4). */
const UNREAD = 1 << 28;

/** A connection to a broker, which need not run yet. */
export class Socket implements Connection {
  #socket: WebSocket | null = null;
  #delay = FIRST_DELAY;
  /** Until the next attempt, or the end of this one. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param address - the broker's, such as `ws://127.0.0.1:5758`
   * @throws DovetailError: it is not one, or there are no WebSockets here.
   */
  constructor(
    private readonly address: string,
    private readonly ears: Ears,
  ) {
    if (typeof WebSocket === "undefined") {
      throw new DovetailError("this program has no WebSocket; use Node 22 or later, or a tcp:// address");
    }
    if (!/^wss?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(address)) {
      throw new DovetailError(
        `'${address}' is not an address for pages; expected ws://HOST:PORT or wss://HOST, such as ws://127.0.0.1:5758`,
      );
    }
  }

  get ready(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  open(): void {
    this.#discard();
    const socket = new WebSocket(this.address, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      if (socket !== this.#socket) return;
      clearTimeout(this.#timer);
      this.#delay = FIRST_DELAY;
      this.send([this.ears.greet()]);
    };
    socket.onmessage = ({ data }: MessageEvent) => {
      if (socket === this.#socket && data instanceof ArrayBuffer) this.ears.heard([new Uint8Array(data)]);
    };
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      this.#discard();
      this.#timer = setTimeout(() => this.open(), this.#delay);
      this.#delay = Math.min(2 * this.#delay, LONGEST_DELAY);
    };
    this.#timer = setTimeout(() => socket.close(), HANDSHAKE);
  }

  #discard(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  send(frames: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (socket.bufferedAmount > UNREAD) this.open();
    else for (const each of frames) socket.send(each as Uint8Array<ArrayBuffer>);
  }

  async close(linger: number): Promise<void> {
    const socket = this.#socket;
    if (socket?.readyState === WebSocket.OPEN && linger > 0) {
      this.#socket = null; // nothing more is heard
      clearTimeout(this.#timer);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, linger);
        socket.onclose = () => {
          clearTimeout(timer);
          resolve();
        };
        socket.close(); // sends what is queued first
      });
    }
    this.#discard();
  }
}
