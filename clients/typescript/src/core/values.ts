/**
 * Values that can travel: what JavaScript has, plus tensors and extensions.
 * @module
 */

/**
 * An integer of the contract, −2⁶³ … 2⁶⁴−1: a `number` within the safe range of doubles, a `bigint`
 * beyond it.  It is never a `bigint` within, so `===` and keys of a `Map` work as they should.
 */
export type Int = number | bigint;

/** Any value of the contract. */
export type Value =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Numbers
  | Tensor
  | Extension
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | { readonly [key: string]: Value };

/** The arrays in which a tensor may keep its elements. */
export type Numbers =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

interface Kind {
  /** Bytes of an element on the wire. */
  readonly size: number;
  readonly array: {
    new (length: number): Numbers;
    new (buffer: ArrayBufferLike, start: number, length: number): Numbers;
  };
}

const KINDS = {
  bool: { size: 1, array: Uint8Array },
  int8: { size: 1, array: Int8Array },
  int16: { size: 2, array: Int16Array },
  int32: { size: 4, array: Int32Array },
  int64: { size: 8, array: BigInt64Array },
  uint8: { size: 1, array: Uint8Array },
  uint16: { size: 2, array: Uint16Array },
  uint32: { size: 4, array: Uint32Array },
  uint64: { size: 8, array: BigUint64Array },
  float16: { size: 2, array: Float32Array },
  float32: { size: 4, array: Float32Array },
  float64: { size: 8, array: Float64Array },
} as const satisfies Record<string, Kind>;

/** The name of an element type. */
export type Dtype = keyof typeof KINDS;

/**
 * The element types of tensors.  A `bool` is kept as 0 or 1 in a `Uint8Array`, a `float16` in a
 * `Float32Array`; the others in the array of their name.
 */
export const DTYPES: Readonly<Record<Dtype, Kind>> = KINDS;

/** Return whether a text names an element type. */
export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DTYPES, name);
}

/** An array of a shape, its elements in row-major order in one typed array. */
export class Tensor<A extends Numbers = Numbers> {
  /**
   * @param dtype - the element type on the wire
   * @param shape - the length of each dimension; empty for one number
   * @param data - the elements, the last index moving fastest
   */
  constructor(
    readonly dtype: Dtype,
    readonly shape: readonly number[],
    readonly data: A,
  ) {
    if (!isDtype(dtype)) throw new TypeError(`no tensor has the dtype ${dtype}`);
    if (!(data instanceof DTYPES[dtype].array)) {
      throw new TypeError(`elements of ${dtype} are kept in a ${DTYPES[dtype].array.name}`);
    }
    const length = shape.reduce((product, side) => product * side, 1);
    const sides = shape.length <= 32 && shape.every((side) => Number.isSafeInteger(side) && side >= 0);
    if (!sides || length !== data.length) {
      throw new TypeError(`a tensor of shape [${shape.join(", ")}] does not have ${data.length} elements`);
    }
  }

  /** The element at an index, for example `board.at(0, 3, 4)`. */
  at(...index: number[]): A[number] {
    let place = 0;
    for (let i = 0; i < this.shape.length; i++) {
      place = place * this.shape[i] + index[i];
    }
    return this.data[place];
  }
}

/** A MessagePack extension that is not a tensor, kept unchanged. */
export class Extension {
  constructor(
    readonly code: number,
    readonly data: Uint8Array,
  ) {}
}

/** Return an integer in its one form: a number if that is exact. */
export function int(value: bigint): Int {
  return value >= MIN_SAFE && value <= MAX_SAFE ? Number(value) : value;
}

const MIN_SAFE = BigInt(Number.MIN_SAFE_INTEGER);
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Return the number of the 16 bits of a `float16`. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Return the 16 bits of the `float16` nearest to a number, ties to even. */
export function toHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65520) return sign | 0x7c00;
  // The distance between neighbours is 2 ** (exponent - 10); the smallest is that of subnormals.
  const exponent = Math.max(Math.floor(Math.log2(size || 2 ** -24)), -14);
  const steps = roundEven(size / 2 ** (exponent - 10));
  if (exponent === -14 && steps < 1024) return sign | steps;
  return sign | (((exponent + 15) << 10) + steps - 1024);
}

function roundEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  if (rest !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}
