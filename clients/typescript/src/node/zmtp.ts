/**
 * One side of a ZMTP 3.1 connection (https://rfc.zeromq.org/spec/37/) without the socket: bytes in, frames and bytes out.
 * @module
 */

import type { Curve } from "./curve.js";

const MORE = 1;
const LONG = 2;
const COMMAND = 4;

/** Bytes in a greeting. */
const GREETING = 64;
/**
 * Bytes of a greeting up to the version.  The rest follows once the other side's has come: libzmq closes a connection
 * that asks for the wrong mechanism before it has sent its own.
 */
const VERSION = 12;
/** Bytes that a frame from the broker may have. */
const MOST = 2 ** 31;
/** Bytes that a command may have. */
const COMMANDS = 1 << 16;

const utf8 = new TextEncoder();
const text = new TextDecoder("latin1");

/** The other side broke the protocol, or ended the connection; the connection is of no more use. */
export class WireError extends Error {}

/** The broker and this program do not agree on keys. */
export class Mismatch extends WireError {}

/** The broker refuses this program's key. */
export class Denied extends WireError {}

/** The broker's status for an unknown key (ZAP, https://rfc.zeromq.org/spec/27/). */
const DENIED = "400";

/** Return arrays of bytes as one. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, each) => sum + each.length, 0));
  let at = 0;
  for (const each of parts) {
    out.set(each, at);
    at += each.length;
  }
  return out;
}

/** Return a command's body: its name and its data. */
export function named(name: string, ...data: Uint8Array[]): Uint8Array {
  return joined(new Uint8Array([name.length]), utf8.encode(name), ...data);
}

/** Write a frame's header at a place; return the place after it. */
function header(out: Uint8Array, at: number, flags: number, length: number): number {
  if (length < 256) {
    out[at] = flags;
    out[at + 1] = length;
    return at + 2;
  }
  out[at] = flags | LONG;
  new DataView(out.buffer, out.byteOffset).setBigUint64(at + 1, BigInt(length));
  return at + 9;
}

/** Return the bytes of frames, all but the last with the flag MORE if they are one message. */
function framed(flags: number, more: boolean, frames: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(
    frames.reduce((sum, each) => sum + each.length + (each.length < 256 ? 2 : 9), 0),
  );
  let at = 0;
  frames.forEach((frame, index) => {
    at = header(out, at, flags | (more && index < frames.length - 1 ? MORE : 0), frame.length);
    out.set(frame, at);
    at += frame.length;
  });
  return out;
}

function property(name: string, value: string): Uint8Array {
  const length = new Uint8Array([0, 0, 0, value.length]);
  return joined(new Uint8Array([name.length]), utf8.encode(name), length, utf8.encode(value));
}

/** A DEALER's metadata; without an identity, since a broker tells programs apart by their sessions. */
const METADATA = joined(property("Socket-Type", "DEALER"), property("Identity", ""));

/** The DEALER's side of one connection. */
export class Wire {
  /** True if messages may be sent. */
  ready = false;
  /** Bytes to send before anything else; the caller takes them. */
  out: Uint8Array[];
  readonly #greeting = new Uint8Array(GREETING);
  readonly #mechanism: string;
  #greeted = false;
  /** The beginning of what has not come in full. */
  #held: Uint8Array[] = [];
  #size = 0;
  /** How many bytes are needed before there is anything to read. */
  #need = 0;

  /** @param curve - the encryption of the connection; null for none */
  constructor(private readonly curve: Curve | null) {
    this.#mechanism = curve ? "CURVE" : "NULL";
    this.#greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1]);
    this.#greeting.set(utf8.encode(this.#mechanism), VERSION);
    this.out = [this.#greeting.subarray(0, VERSION)];
  }

  /** Return the bytes of one message of one or more frames. */
  pack(frames: readonly Uint8Array[]): Uint8Array {
    const { curve } = this;
    if (!curve) return framed(0, true, frames);
    // The flags of an encrypted frame are inside.
    const last = frames.length - 1;
    return framed(
      0,
      false,
      frames.map((frame, index) => curve.seal(index < last ? 1 : 0, frame)),
    );
  }

  /**
   * Take bytes of the broker; return the frames that they complete.
   * @param frames - where they are added, so that those before an error are not lost
   * @throws WireError: the connection is of no more use.
   */
  feed(data: Uint8Array, frames: Uint8Array[] = []): Uint8Array[] {
    if (this.#held.length) {
      this.#held.push(data);
      this.#size += data.length;
      if (this.#size < this.#need) return frames;
      data = joined(...this.#held);
      this.#held = [];
    }
    let at = 0;
    if (!this.#greeted) {
      if (!this.#greet(data)) {
        this.#hold(data, GREETING);
        return frames;
      }
      at = GREETING;
    }
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    let need = 0;
    while (data.length - at >= 2) {
      const flags = data[at]!;
      if (flags > 7 || (flags & COMMAND && flags & MORE)) {
        throw new WireError(`a frame begins with the flags ${flags}; expected 0 to 4 or 6`);
      }
      const start = at + (flags & LONG ? 9 : 2);
      if (start > data.length) {
        need = start - at;
        break;
      }
      const length = flags & LONG ? Number(view.getBigUint64(at + 1)) : data[at + 1]!;
      const most = flags & COMMAND ? COMMANDS : MOST;
      if (length > most) throw new WireError(`a frame of ${length} bytes; at most ${most} are read`);
      const end = start + length;
      if (end > data.length) {
        need = end - at;
        break;
      }
      this.#frame(flags, data.subarray(start, end), frames);
      at = end;
    }
    if (at < data.length) this.#hold(data.subarray(at), need);
    return frames;
  }

  #hold(data: Uint8Array, need: number): void {
    this.#held = [data];
    this.#size = data.length;
    this.#need = need;
  }

  /** Read the broker's greeting; return whether it is complete. */
  #greet(data: Uint8Array): boolean {
    if (data[0] !== 0xff || (data.length > 9 && !(data[9]! & 1))) throw new WireError("not a ZeroMQ socket");
    if (data.length > 10 && data[10]! < 3)
      throw new WireError(`version ${data[10]} of ZMTP; expected 3 or later`);
    if (data.length < GREETING) return false;
    const theirs = text.decode(data.subarray(VERSION, 32)).replace(/\0+$/, "");
    if (theirs !== this.#mechanism) throw new Mismatch(`it asks for ${theirs}; expected ${this.#mechanism}`);
    this.#greeted = true;
    this.out.push(this.#greeting.subarray(VERSION));
    this.#command(this.curve ? this.curve.hello() : named("READY", METADATA));
    return true;
  }

  #command(body: Uint8Array): void {
    this.out.push(framed(COMMAND, false, [body]));
  }

  #frame(flags: number, body: Uint8Array, frames: Uint8Array[]): void {
    if (flags & COMMAND) {
      if (this.curve && this.ready) throw new WireError("a command that is not encrypted");
      return this.#obey(body);
    }
    if (!this.ready) throw new WireError("a message came before READY");
    if (!this.curve) return void frames.push(body);
    const { command, data } = this.curve.open(body);
    if (command) this.#obey(data);
    else frames.push(data);
  }

  /** Take a command. */
  #obey(body: Uint8Array): void {
    const length = body[0] ?? 0;
    const name = text.decode(body.subarray(1, 1 + length));
    const data = body.subarray(1 + length);
    if (name === "ERROR") {
      const why = text.decode(data.subarray(1, 1 + (data[0] ?? 0)));
      throw why === DENIED ? new Denied(why) : new WireError(`the broker says: ${why}`);
    }
    if (name === "PING") {
      // Two bytes of time to live, then up to 16 of context, which the answer repeats.
      const pong = named("PONG", data.subarray(2, 18));
      if (this.curve && this.ready) this.out.push(framed(0, false, [this.curve.seal(2, pong)]));
      else this.#command(pong);
    } else if (this.ready) {
      return; // Others, such as PONG, mean nothing to us.
    } else if (this.curve && name === "WELCOME") {
      this.#command(this.curve.initiate(data, METADATA));
    } else if (name === "READY") {
      this.#meet(this.curve ? this.curve.ready(data) : data);
    } else {
      throw new WireError(`the command ${name} came before READY`);
    }
  }

  /** Read the properties of a broker that is ready. */
  #meet(data: Uint8Array): void {
    for (let at = 0; at < data.length;) {
      const start = at + 1 + data[at]!;
      if (start + 4 > data.length) throw new WireError("a property of READY is longer than READY itself");
      const end = start + 4 + new DataView(data.buffer, data.byteOffset + start).getUint32(0);
      const value = text.decode(data.subarray(start + 4, end));
      const name = text.decode(data.subarray(at + 1, start)).toLowerCase();
      if (name === "socket-type" && value !== "ROUTER") {
        throw new WireError(`a socket of type ${value} is not a broker's`);
      }
      at = end;
    }
    this.ready = true;
  }
}
