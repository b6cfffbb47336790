/** A broker's socket for tests: a ZMTP ROUTER without encryption, for one connection after the other. */

import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

const GREETING = Buffer.concat([
  Buffer.from("ff00000000000000017f0301", "hex"),
  Buffer.from("NULL".padEnd(52, "\0"), "latin1"),
]);
const READY = Buffer.from("\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06ROUTER", "latin1");

/** Return the bytes of a message of one frame. */
export function packed(frame: Uint8Array): Buffer {
  const long = frame.length > 255;
  const head = Buffer.alloc(long ? 9 : 2);
  if (long) head.writeBigUInt64BE(BigInt(frame.length), 1);
  head[0] = long ? 2 : 0;
  if (!long) head[1] = frame.length;
  return Buffer.concat([head, frame]);
}

/** The bytes that a broker's socket sends before its first message. */
export const OPENING = Buffer.concat([GREETING, READY]);

export class Router {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly #frames: Buffer[] = [];
  #came: () => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => this.#connected(socket));
  }

  static async listen(): Promise<Router> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Router(server);
  }

  get address(): string {
    return `tcp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #connected(socket: Socket): void {
    this.#sockets.push(socket);
    socket.write(OPENING);
    let held = Buffer.alloc(0);
    let greeted = false;
    socket.on("error", () => {});
    socket.on("data", (data) => {
      held = Buffer.concat([held, data]);
      if (!greeted && held.length >= 64) {
        greeted = true;
        held = held.subarray(64);
      }
      while (greeted && held.length >= 2) {
        const long = (held[0]! & 2) !== 0;
        if (held.length < (long ? 9 : 2)) return;
        const start = long ? 9 : 2;
        const end = start + (long ? Number(held.readBigUInt64BE(1)) : held[1]!);
        if (held.length < end) return;
        if (!(held[0]! & 4)) this.#frames.push(held.subarray(start, end));
        held = held.subarray(end);
      }
      this.#came();
    });
  }

  /** The next frame of any connection. */
  async receive(): Promise<Buffer> {
    while (this.#frames.length === 0) await new Promise<void>((resolve) => (this.#came = resolve));
    return this.#frames.shift()!;
  }

  /** Send a frame on the newest connection. */
  send(frame: Uint8Array): void {
    this.#sockets.at(-1)!.write(packed(frame));
  }

  /** Send a frame and the command ERROR at once, as a broker does that ends a connection for a reason. */
  sendLast(frame: Uint8Array, reason: string): void {
    const body = Buffer.from(`\x05ERROR${String.fromCharCode(reason.length)}${reason}`, "latin1");
    const command = Buffer.concat([Buffer.from([4, body.length]), body]);
    this.#sockets.at(-1)!.write(Buffer.concat([packed(frame), command]));
  }

  /** Cut the newest connection. */
  cut(): void {
    this.#sockets.at(-1)!.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
