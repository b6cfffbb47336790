/**
 * Random numbers that the same seed gives again.
 * @module
 */

import type { Int } from "./values.js";

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
