/**
 * CurveZMQ (https://rfc.zeromq.org/spec/26/), the client's side: what encrypts a connection to a broker with keys.
 * @module
 */

import nacl from "tweetnacl";
import type { Key } from "./key.js";
import { WireError, joined, named } from "./zmtp.js";

const utf8 = new TextEncoder();
const Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/** Bytes of a broker's cookie, which the client returns unread. */
const COOKIE = 96;

/** Read a key of 40 characters (https://rfc.zeromq.org/spec/32/) as its 32 bytes. */
export function unarmored(key: string): Uint8Array {
  const out = new Uint8Array(32);
  const view = new DataView(out.buffer);
  for (let group = 0; group < 8; group++) {
    let value = 0;
    for (const each of key.slice(5 * group, 5 * group + 5)) value = 85 * value + Z85.indexOf(each);
    view.setUint32(4 * group, value); // modulo 2^32, should the characters say more
  }
  return out;
}

/** The encryption of one connection. */
export class Curve {
  readonly #short = nacl.box.keyPair();
  readonly #public: Uint8Array;
  readonly #secret: Uint8Array;
  readonly #server: Uint8Array;
  /** The broker's short-term key, which it chose for this connection. */
  #theirs: Uint8Array = new Uint8Array();
  /** The secret shared by both short-term keys. */
  #shared: Uint8Array = new Uint8Array();
  #nonce = 0n;
  /** The highest number that the broker has used; a lower one is a message played again. */
  #heard = -1n;

  constructor(key: Key) {
    this.#public = unarmored(key.public);
    this.#secret = unarmored(key.secret);
    this.#server = unarmored(key.server);
  }

  /** Return the number of our next box, and the nonce made of it. */
  #next(prefix: string): { short: Uint8Array; nonce: Uint8Array } {
    const short = new Uint8Array(8);
    new DataView(short.buffer).setBigUint64(0, ++this.#nonce);
    return { short, nonce: joined(utf8.encode(prefix), short) };
  }

  /** Return what opens a connection. */
  hello(): Uint8Array {
    const { short, nonce } = this.#next("CurveZMQHELLO---");
    const box = nacl.box(new Uint8Array(64), nonce, this.#server, this.#short.secretKey);
    // Version 1.0, and so many zeros that the answer is not longer than the question.
    return named("HELLO", new Uint8Array([1, 0]), new Uint8Array(72), this.#short.publicKey, short, box);
  }

  /**
   * Take the broker's WELCOME; return the INITIATE that shows who we are.
   * @throws WireError: it was not made for this connection by the broker of this key.
   */
  initiate(welcome: Uint8Array, metadata: Uint8Array): Uint8Array {
    const nonce = joined(utf8.encode("WELCOME-"), welcome.subarray(0, 16));
    const opened = nacl.box.open(welcome.subarray(16), nonce, this.#server, this.#short.secretKey);
    if (opened?.length !== 32 + COOKIE) throw new WireError("the broker's WELCOME cannot be opened");
    this.#theirs = opened.slice(0, 32);
    this.#shared = nacl.box.before(this.#theirs, this.#short.secretKey);
    const random = nacl.randomBytes(16);
    const vouch = nacl.box(
      joined(this.#short.publicKey, this.#server),
      joined(utf8.encode("VOUCH---"), random),
      this.#theirs,
      this.#secret,
    );
    const own = this.#next("CurveZMQINITIATE");
    const box = nacl.box.after(joined(this.#public, random, vouch, metadata), own.nonce, this.#shared);
    return named("INITIATE", opened.subarray(32), own.short, box);
  }

  /** Return the broker's metadata from its READY. */
  ready(data: Uint8Array): Uint8Array {
    return this.#opened("CurveZMQREADY---", data);
  }

  /** Return a frame that goes out: flags 1 for more to come, 2 for a command. */
  seal(flags: number, frame: Uint8Array): Uint8Array {
    const { short, nonce } = this.#next("CurveZMQMESSAGEC");
    return named(
      "MESSAGE",
      short,
      nacl.box.after(joined(new Uint8Array([flags]), frame), nonce, this.#shared),
    );
  }

  /**
   * Return a frame that came in.
   * @throws WireError: the broker of this connection did not send it.
   */
  open(body: Uint8Array): { command: boolean; data: Uint8Array } {
    if (new TextDecoder("latin1").decode(body.subarray(0, 8)) !== "\x07MESSAGE") {
      throw new WireError("a message that is not encrypted");
    }
    const opened = this.#opened("CurveZMQMESSAGES", body.subarray(8));
    return { command: (opened[0]! & 2) !== 0, data: opened.subarray(1) };
  }

  #opened(prefix: string, data: Uint8Array): Uint8Array {
    if (data.length < 8 || this.#shared.length === 0)
      throw new WireError("an encrypted frame cannot be opened");
    const short = data.subarray(0, 8);
    const number = new DataView(data.buffer, data.byteOffset).getBigUint64(0);
    const opened = nacl.box.open.after(data.subarray(8), joined(utf8.encode(prefix), short), this.#shared);
    if (!opened || number <= this.#heard) throw new WireError("an encrypted frame cannot be opened");
    this.#heard = number;
    return opened;
  }
}
