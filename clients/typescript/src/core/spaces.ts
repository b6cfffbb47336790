/**
 * Spaces of observations and actions: making them, and drawing from them; and masks of legal actions.
 * @module
 */

import { LIMITS } from "./codec.js";
import { readFrame } from "./decode.js";
import { encode } from "./encode.js";
import { DovetailError } from "./errors.js";
import * as m from "./messages.js";
import type { Space } from "./messages.js";
import type { Bound } from "./schema.js";
import type { Random } from "./seeds.js";
import { DTYPES, Tensor, fromHalf, int, isDtype, toHalf } from "./values.js";
import type { Dtype, Int } from "./values.js";

/** The integers `start` … `start + n − 1`. */
export const discrete = (n: Int, start: Int = 0): m.Discrete => m.Discrete.complete({ n, start });

/** Arrays of a shape and dtype, with bounds for all elements or one each. */
export const box = (
  shape: readonly number[],
  low: Bound = -Infinity,
  high: Bound = Infinity,
  dtype: Dtype = "float32",
): m.Box => m.Box.complete({ shape, low, high, dtype });

/** Vectors of integers, element i in 0 … `nvec[i] − 1`. */
export const multiDiscrete = (nvec: readonly Int[]): m.MultiDiscrete => m.MultiDiscrete.complete({ nvec });

/** Arrays of zeros and ones of a shape. */
export const multiBinary = (shape: readonly number[]): m.MultiBinary => m.MultiBinary.complete({ shape });

/** Strings by length in code points, of the characters of `charset` if it is given. */
export const textSpace = (max_length: number, min_length = 0, charset: string | null = null): m.Text =>
  m.Text.complete({ max_length, min_length, charset });

/** Sequences with one value of each space. */
export const tuple = (...spaces: Space[]): m.Tuple => m.Tuple.complete({ spaces });

/** Sequences with values of one space, by length. */
export const sequence = (element: Space, max_length: number, min_length = 0): m.Sequence =>
  m.Sequence.complete({ element, max_length, min_length });

/** Maps with one value of each space by its key. */
export const dict = (spaces: Record<string, Space>): m.Dict => m.Dict.complete({ spaces });

/**
 * Return a decoded value, such as an option of a configuration, as a space with all its fields.
 * @throws ProtocolError: it is none
 */
export function spaceOf(value: unknown): Space {
  return readFrame(encode(value), m.Space, LIMITS);
}

/** Elements of the largest value that is drawn; more do not fit into a message. */
const LARGEST = 2 ** 20;

/** How much longer than necessary a text or sequence is at most. */
const SPREAD = 99;

/**
 * Return a random value of a space; floats of a `Box` without a bound are within 1000 of the other, or of 0.
 * @throws DovetailError: its values are too large, or a `Box` has none
 */
export function sample(space: Space, random: Random): unknown {
  if (size(space) > LARGEST) throw new DovetailError(`values of over ${LARGEST} elements cannot be drawn`);
  return draw(space, random);
}

/** Return how many elements a value that is drawn has at most. */
function size(space: Space): number {
  const sum = (spaces: readonly Space[]) => spaces.reduce((all, each) => all + size(each), 1);
  switch (space.space) {
    case "Discrete":
      return 1;
    case "Box":
    case "MultiBinary":
      return space.shape.reduce((product, side) => product * Math.max(side, 1), 1);
    case "MultiDiscrete":
      return space.nvec.length;
    case "Text":
      return 1 + longest(space);
    case "Tuple":
      return sum(space.spaces);
    case "Sequence":
      return 1 + longest(space) * size(space.element);
    case "Dict":
      return sum(Object.values(space.spaces));
  }
}

function longest({ min_length, max_length }: m.Text | m.Sequence): number {
  return Math.min(max_length, min_length + SPREAD);
}

function draw(space: Space, random: Random): unknown {
  switch (space.space) {
    case "Discrete":
      return int(BigInt(space.start) + BigInt(random.below(Number(space.n))));
    case "Box":
      return sampleBox(space, random);
    case "MultiDiscrete":
      return space.nvec.map((n) => random.below(Number(n)));
    case "MultiBinary": {
      const length = space.shape.reduce((product, side) => product * side, 1);
      return new Tensor(
        "int8",
        space.shape,
        new Int8Array(length).map(() => random.below(2)),
      );
    }
    case "Text": {
      const characters = [...(space.charset ?? "abcdefghijklmnopqrstuvwxyz")];
      const length = characters.length ? lengthOf(space, random) : 0;
      return Array.from({ length }, () => random.choice(characters)).join("");
    }
    case "Tuple":
      return space.spaces.map((each) => draw(each, random));
    case "Sequence":
      return Array.from({ length: lengthOf(space, random) }, () => draw(space.element, random));
    case "Dict":
      return Object.fromEntries(Object.entries(space.spaces).map(([key, each]) => [key, draw(each, random)]));
  }
}

function lengthOf(space: m.Text | m.Sequence, random: Random): number {
  return space.min_length + random.below(longest(space) - space.min_length + 1);
}

function sampleBox({ shape, dtype, low, high }: m.Box, random: Random): Tensor {
  const name = dtype as Dtype;
  const data = new DTYPES[name].array(shape.reduce((product, side) => product * side, 1));
  const [least, most] = [limits(low, shape), limits(high, shape)];
  if (!least || !most)
    throw new DovetailError("a Box whose bounds fit no array of its shape contains nothing");
  const wide = data instanceof BigInt64Array || data instanceof BigUint64Array;
  for (let i = 0; i < data.length; i++) {
    const value = name.startsWith("float")
      ? sampleReal(Number(least(i)), Number(most(i)), random)
      : sampleWhole(least(i), most(i), name, random);
    (data as { [i: number]: number | bigint })[i] = wide ? value : Number(value);
  }
  return new Tensor(name, shape, data);
}

function sampleReal(low: number, high: number, random: Random): number {
  const from = low > -Infinity ? low : (high < Infinity ? high : 0) - 1000;
  const to = high < Infinity ? high : (low > -Infinity ? low : 0) + 1000;
  const share = random.next();
  // A difference of floats could be beyond them.
  return low === high ? low : Math.min(Math.max(from * (1 - share) + to * share, from), to);
}

function sampleWhole(low: Int, high: Int, dtype: Dtype, random: Random): bigint {
  const [bottom, top] = exactRange(dtype);
  // Of a number and a bigint JavaScript compares the exact values.
  const possible = low <= top && high >= bottom;
  const first = possible && low > bottom ? BigInt(typeof low === "number" ? Math.ceil(low) : low) : bottom;
  const last = possible && high < top ? BigInt(typeof high === "number" ? Math.floor(high) : high) : top;
  if (!possible || first > last)
    throw new DovetailError("a Box without a number between its bounds contains nothing");
  const bits = (BigInt(random.bits()) << 32n) | BigInt(random.bits());
  return first + ((bits * (last - first + 1n)) >> 64n);
}

/** Return whether a space has a value, as it travels (SPEC.md, S8.1); a whole float passes for an integer. */
export function contains(space: Space, value: unknown): boolean {
  return has(space, value, new Map());
}

/** The characters of each text space, which may stand for each element of a sequence. */
type Charsets = Map<m.Text, Set<string>>;

function has(space: Space, value: unknown, charsets: Charsets): boolean {
  switch (space.space) {
    case "Discrete": {
      const n = integer(value);
      return n !== null && n >= BigInt(space.start) && n - BigInt(space.start) < BigInt(space.n);
    }
    case "Box":
      return boxContains(space, value);
    case "MultiDiscrete": {
      const kind = value instanceof Tensor ? value.dtype : "int64";
      if (kind === "bool" || kind.startsWith("float")) return false;
      const all = elements(value, [space.nvec.length])?.map(integer);
      return all !== undefined && all.every((n, i) => n !== null && n >= 0n && n < BigInt(space.nvec[i]));
    }
    case "MultiBinary":
      return (
        elements(value, space.shape)?.every(
          (each) => each === 0 || each === 1 || each === 0n || each === 1n,
        ) ?? false
      );
    case "Text": {
      if (typeof value !== "string") return false;
      const characters = [...value];
      if (!within(characters.length, space)) return false;
      if (space.charset === null) return true;
      const known = charsets.get(space) ?? new Set(space.charset);
      charsets.set(space, known);
      return characters.every((each) => known.has(each));
    }
    case "Tuple":
      return (
        Array.isArray(value) &&
        value.length === space.spaces.length &&
        space.spaces.every((each, i) => has(each, value[i], charsets))
      );
    case "Sequence":
      return (
        Array.isArray(value) &&
        within(value.length, space) &&
        value.every((each) => has(space.element, each, charsets))
      );
    case "Dict": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
      if (value instanceof Tensor || ArrayBuffer.isView(value)) return false;
      const entries = value instanceof Map ? [...value] : Object.entries(value);
      return (
        entries.length === Object.keys(space.spaces).length &&
        entries.every(
          ([key, each]) =>
            Object.hasOwn(space.spaces, key) && has(space.spaces[key as string], each, charsets),
        )
      );
    }
  }
}

function within(length: number, { min_length, max_length }: m.Text | m.Sequence): boolean {
  return length >= min_length && length <= max_length;
}

function integer(value: unknown): bigint | null {
  if (typeof value === "bigint") return value;
  return Number.isInteger(value) ? BigInt(value as number) : null;
}

/** Return the elements of a tensor or of nested arrays; undefined if they do not have the shape. */
function elements(value: unknown, shape: readonly number[]): unknown[] | undefined {
  if (value instanceof Tensor) {
    const same = value.shape.length === shape.length && value.shape.every((side, i) => side === shape[i]);
    return same ? Array.from(value.data as ArrayLike<number | bigint>) : undefined;
  }
  return flatten(value, shape);
}

function flatten(value: unknown, shape: readonly number[]): unknown[] | undefined {
  if (shape.length === 0) return [value];
  if (!Array.isArray(value) || value.length !== shape[0]) return undefined;
  const all: unknown[] = [];
  for (const each of value) {
    const inner = flatten(each, shape.slice(1));
    if (inner === undefined) return undefined;
    all.push(...inner);
  }
  return all;
}

function boxContains({ shape, dtype, low, high }: m.Box, value: unknown): boolean {
  if (!isDtype(dtype) || (value instanceof Tensor && value.dtype !== dtype)) return false;
  const all = elements(value, shape);
  if (all === undefined) return false;
  const [least, most] = [limits(low, shape), limits(high, shape)];
  if (least === undefined || most === undefined) return false;
  const real = dtype.startsWith("float");
  const [bottom, top] = real ? [0, 0] : exactRange(dtype);
  return all.every((each, i) => {
    if (typeof each !== "number" && typeof each !== "bigint") {
      if (typeof each !== "boolean" || dtype !== "bool") return false;
      each = each ? 1 : 0;
    } else if (dtype === "bool" && !(value instanceof Tensor)) {
      return false;
    }
    const [from, number, to] = [least(i), each as Int, most(i)];
    if (real)
      return nearest(from, dtype) <= nearest(number, dtype) && nearest(number, dtype) <= nearest(to, dtype);
    // Of a number and a bigint JavaScript compares the exact values.
    return integer(number) !== null && number >= bottom && number <= top && from <= number && number <= to;
  });
}

/** Return a bound by the number of the element; undefined if it fits no array of the shape. */
function limits(bound: unknown, shape: readonly number[]): ((i: number) => Int) | undefined {
  const numeric = (each: unknown) => typeof each === "number" || typeof each === "bigint";
  if (numeric(bound)) return () => bound as Int;
  const all = bound instanceof Tensor ? undefined : elements(bound, shape);
  return all?.every(numeric) ? (i) => all[i] as Int : undefined;
}

function exactRange(dtype: Dtype): [bigint, bigint] {
  if (dtype === "bool") return [0n, 1n];
  const values = 1n << BigInt(8 * DTYPES[dtype].size);
  return dtype.startsWith("u") ? [0n, values - 1n] : [-values / 2n, values / 2n - 1n];
}

/** Return a number rounded to a dtype of floats: ties to even, infinite beyond the largest. */
function nearest(value: Int, dtype: Dtype): number {
  const number = Number(value);
  if (dtype === "float16") return fromHalf(toHalf(number));
  return dtype === "float32" ? Math.fround(number) : number;
}

/** Return the mask of some of the actions 0 … n − 1: action `a` is bit `a mod 8`, from the lowest, of byte `a div 8`. */
export function mask(actions: Iterable<number>, n: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(n / 8));
  for (const action of actions) bits[action >> 3] |= 1 << (action & 7);
  return bits;
}

/** Return the actions of a mask in rising order. */
export function unmask(bits: Uint8Array): number[] {
  const actions: number[] = [];
  for (let i = 0; i < bits.length; i++) {
    for (let byte = bits[i], bit = 0; byte; byte >>= 1, bit++) {
      if (byte & 1) actions.push(8 * i + bit);
    }
  }
  return actions;
}
