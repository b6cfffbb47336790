/**
 * Spaces of observations and actions.  They are plain objects, as they travel.
 * @module
 */

import * as d from "./decode.js";
import { encode } from "./encode.js";
import * as s from "./schema.js";
import type { Random } from "./random.js";
import { DTYPES, Tensor, int, isDtype } from "./values.js";
import type { Dtype, Int } from "./values.js";

/** The integers `start` … `start + n − 1`. */
export interface Discrete {
  space: "Discrete";
  /** How many integers. */
  n: Int;
  /** The lowest one. */
  start: Int;
}

/** A bound of a `Box`: one number, or nested arrays with one for each element. */
export type Bound = number | readonly Bound[];

/** Arrays of a shape and dtype, with bounds for all elements or one each. */
export interface Box {
  space: "Box";
  shape: number[];
  low: Bound;
  high: Bound;
  dtype: string;
}

/** Vectors of integers, element i in 0 … `nvec[i] − 1`. */
export interface MultiDiscrete {
  space: "MultiDiscrete";
  nvec: Int[];
}

/** Arrays of zeros and ones of a shape. */
export interface MultiBinary {
  space: "MultiBinary";
  shape: number[];
}

/** Strings by length in code points, of the characters of `charset` if it is given. */
export interface Text {
  space: "Text";
  max_length: number;
  min_length: number;
  charset: string | null;
}

/** Sequences with one value of each space. */
export interface Tuple {
  space: "Tuple";
  spaces: Space[];
}

/** Maps with one value of each space by its key. */
export interface Dict {
  space: "Dict";
  spaces: Record<string, Space>;
}

/** What an observation or action may be. */
export type Space = Discrete | Box | MultiDiscrete | MultiBinary | Text | Tuple | Dict;

export const discrete = (n: Int, start: Int = 0): Discrete => ({ space: "Discrete", n, start });

export const box = (
  shape: number[],
  low: Bound = -Infinity,
  high: Bound = Infinity,
  dtype: Dtype = "float32",
): Box => ({ space: "Box", shape, low, high, dtype });

export const multiDiscrete = (nvec: Int[]): MultiDiscrete => ({ space: "MultiDiscrete", nvec });

export const multiBinary = (shape: number[]): MultiBinary => ({ space: "MultiBinary", shape });

export const textSpace = (max_length: number, min_length = 0, charset: string | null = null): Text => ({
  space: "Text",
  max_length,
  min_length,
  charset,
});

export const tuple = (...spaces: Space[]): Tuple => ({ space: "Tuple", spaces });

export const dict = (spaces: Record<string, Space>): Dict => ({ space: "Dict", spaces });

const shape = s.array(s.count);

const bound: s.Reader<Bound> = () => (d.isArray() ? bounds() : s.number());
const bounds = s.array(bound);

const kind = s.tagged("space");

/** Reads a space of any kind. */
export const space: s.Reader<Space> = s.union<Space>(
  "space",
  [
    kind<Discrete>("Discrete", {
      n: s.required(s.atLeast(1)),
      start: s.optional(s.integer, 0),
    }),
    kind<Box>("Box", {
      shape: s.required(shape),
      low: s.optional(bound, -Infinity),
      high: s.optional(bound, Infinity),
      dtype: s.optional(s.text, "float32"),
    }),
    kind<MultiDiscrete>("MultiDiscrete", {
      nvec: s.required(s.array(s.atLeast(1))),
    }),
    kind<MultiBinary>("MultiBinary", { shape: s.required(shape) }),
    kind<Text>("Text", {
      max_length: s.required(s.count),
      min_length: s.optional(s.count, 0),
      charset: s.optional(s.nullable(s.text), null),
    }),
    kind<Tuple>("Tuple", { spaces: s.required(s.array(() => space())) }),
    kind<Dict>("Dict", { spaces: s.required(s.map(() => space())) }),
  ],
  "invalid",
);

/**
 * Return a decoded value, such as an option of a configuration, as a space with all its fields.
 * @throws ProtocolError: it is none
 */
export function spaceOf(value: unknown): Space {
  return d.readFrame(encode(value), space);
}

/** Return whether a value is in a space; whatever the value is, this does not throw. */
export function contains(space: Space, value: unknown): boolean {
  switch (space.space) {
    case "Discrete":
      return isInt(value) && value >= space.start && BigInt(value) < BigInt(space.start) + BigInt(space.n);
    case "Box":
      return inBox(space, value);
    case "MultiDiscrete": {
      const found = elements(value, [space.nvec.length]);
      return found !== null && found.every((each, i) => isInt(each) && each >= 0 && each < space.nvec[i]);
    }
    case "MultiBinary": {
      const found = elements(value, space.shape);
      return found !== null && found.every((each) => Number(each) === 0 || Number(each) === 1);
    }
    case "Text": {
      if (typeof value !== "string") return false;
      const characters = [...value];
      return (
        characters.length >= space.min_length &&
        characters.length <= space.max_length &&
        (space.charset === null || characters.every((each) => space.charset!.includes(each)))
      );
    }
    case "Tuple":
      return (
        Array.isArray(value) &&
        value.length === space.spaces.length &&
        space.spaces.every((each, i) => contains(each, value[i]))
      );
    case "Dict": {
      if (typeof value !== "object" || value === null) return false;
      const keys = Object.keys(space.spaces);
      return (
        Object.keys(value).length === keys.length &&
        keys.every(
          (key) =>
            Object.hasOwn(value, key) && contains(space.spaces[key], (value as Record<string, unknown>)[key]),
        )
      );
    }
  }
}

function isInt(value: unknown): value is Int {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

type Element = number | bigint | boolean;

/** Return the elements of a tensor or of nested arrays of a shape, or null if it has another. */
function elements(value: unknown, shape: readonly number[]): Element[] | null {
  if (value instanceof Tensor) {
    const same = value.shape.length === shape.length && shape.every((side, i) => side === value.shape[i]);
    return same ? Array.from(value.data as ArrayLike<Element>) : null;
  }
  if (shape.length === 0) {
    return ["number", "bigint", "boolean"].includes(typeof value) ? [value as Element] : null;
  }
  const [length, ...rest] = shape;
  if (!Array.isArray(value) || value.length !== length) return null;
  const found: Element[][] = [];
  for (const each of value as unknown[]) {
    const inner = elements(each, rest);
    if (inner === null) return null;
    found.push(inner);
  }
  return found.flat();
}

function inBox(box: Box, value: unknown): boolean {
  const found = elements(value, box.shape);
  if (found === null || !isDtype(box.dtype)) return false;
  if (value instanceof Tensor ? value.dtype !== box.dtype : !found.every((each) => holds(box.dtype, each))) {
    return false;
  }
  const low = spread(box.low, box.shape);
  const high = spread(box.high, box.shape);
  if (low === null || high === null) return false;
  return found.every((each, i) => Number(each) >= low(i) && Number(each) <= high(i));
}

function spread(bound: Bound, shape: readonly number[]): ((i: number) => number) | null {
  if (typeof bound === "number") return () => bound;
  const each = elements(bound, shape);
  return each === null ? null : (i) => Number(each[i]);
}

function holds(dtype: string, value: Element): boolean {
  if (dtype.startsWith("float")) return typeof value !== "boolean";
  if (dtype === "bool") return typeof value === "boolean";
  if (!isInt(value)) return false;
  const room = new DTYPES[dtype as Dtype].array(1);
  const wide = room instanceof BigInt64Array || room instanceof BigUint64Array;
  (room as { [i: number]: Element })[0] = wide ? BigInt(value) : Number(value);
  return BigInt(room[0]) === BigInt(value);
}

/** Return a random value of a space; floats of a `Box` without a bound are within 1000 of the other, or of 0. */
export function sample(space: Space, random: Random): unknown {
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
      const length = space.min_length + random.below(space.max_length - space.min_length + 1);
      return Array.from({ length: characters.length ? length : 0 }, () => random.choice(characters)).join("");
    }
    case "Tuple":
      return space.spaces.map((each) => sample(each, random));
    case "Dict":
      return Object.fromEntries(
        Object.entries(space.spaces).map(([key, each]) => [key, sample(each, random)]),
      );
  }
}

function sampleBox({ shape, dtype, low, high }: Box, random: Random): Tensor {
  const name = dtype as Dtype;
  const data = new DTYPES[name].array(shape.reduce((product, side) => product * side, 1));
  const [least, greatest] = [spread(low, shape), spread(high, shape)];
  const whole = !name.startsWith("float");
  const wide = data instanceof BigInt64Array || data instanceof BigUint64Array;
  const [bottom, top] = range(name);
  for (let i = 0; i < data.length; i++) {
    const lower = Math.max(least?.(i) ?? -Infinity, bottom);
    const upper = Math.min(greatest?.(i) ?? Infinity, top);
    const from = lower > -Infinity ? lower : (upper < Infinity ? upper : 0) - 1000;
    const to = upper < Infinity ? upper : (lower > -Infinity ? lower : 0) + 1000;
    const share = random.next();
    // Of whole numbers each is as likely; a difference of floats could be beyond them.
    const value = whole
      ? Math.ceil(from) + Math.floor(share * (Math.floor(to) - Math.ceil(from) + 1))
      : from * (1 - share) + to * share;
    (data as { [i: number]: number | bigint })[i] = wide ? BigInt(value) : value;
  }
  return new Tensor(name, shape, data);
}

/** Return the least and the greatest element of a dtype. */
function range(dtype: Dtype): [number, number] {
  if (dtype === "bool") return [0, 1];
  if (dtype.startsWith("float")) return [-Infinity, Infinity];
  const values = 2 ** (8 * DTYPES[dtype].size);
  return dtype.startsWith("u") ? [0, values - 1] : [-values / 2, values / 2 - 1];
}
