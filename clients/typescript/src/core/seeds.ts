/**
 * Seeds: every random choice in the system comes from one of these.  SPEC.md, section 8, has the rule.
 * Random numbers that the same seed gives again.
 * @module
 */

import { int } from "./values.js";
import type { Int } from "./values.js";

/**
 * Return the seed at a path below a master seed, in 0 … 2⁶³−1.
 *
 * `derive(1, "episode", 0)` is 4384949654484100906.
 */
export function derive(master: Int, ...path: (string | Int)[]): Int {
  const [high, low] = sha256(new TextEncoder().encode([master, ...path].join("/")));
  return int(((BigInt(high) << 32n) | BigInt(low)) >> 1n);
}

/** The first 32 bits of the fractional parts of roots of the first primes, as FIPS 180-4 has them. */
function fractions(root: number, n: number): Uint32Array {
  const out = new Uint32Array(n);
  for (let candidate = 2, found = 0; found < n; candidate++) {
    let prime = true;
    for (let i = 2; i * i <= candidate; i++) if (candidate % i === 0) prime = false;
    // Doubles have 52 bits after the comma and a root below 8 needs 3 before it: 32 are exact.
    if (prime) out[found++] = (candidate ** (1 / root) % 1) * 0x100000000;
  }
  return out;
}

const K = fractions(3, 64);
const H = fractions(2, 8);

// The browser has SHA-256 too, but only as a promise.
function sha256(text: Uint8Array): Uint32Array {
  const padded = new Uint8Array(((text.length + 8) >> 6) * 64 + 64);
  padded.set(text);
  padded[text.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, text.length * 8);
  const hash = H.slice();
  const w = new Uint32Array(64);
  const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      w[i] =
        w[i - 16] +
        w[i - 7] +
        (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) +
        (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((each, i) => (hash[i] += each));
  }
  return hash;
}

/** A small generator (sfc32) for play; not for secrets. */
export class Random {
  #a: number;
  #b: number;
  #c = 0x9e3779b9 | 0;
  #counter = 1;

  constructor(seed: Int) {
    const bits = BigInt.asUintN(64, BigInt(seed));
    this.#a = Number(bits & 0xffffffffn) | 0;
    this.#b = Number(bits >> 32n) | 0;
    for (let i = 0; i < 15; i++) this.bits();
  }

  /** 32 random bits, as an integer from 0. */
  bits(): number {
    const out = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + out) | 0;
    return out >>> 0;
  }

  /** A number from 0 to below 1. */
  next(): number {
    return this.bits() / 0x100000000;
  }

  /** An integer from 0 to below `n`. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** One of several things. */
  choice<T>(items: ArrayLike<T>): T {
    return items[this.below(items.length)];
  }
}
