/**
 * Values to MessagePack.
 *
 * Own code instead of a library: see clients/typescript/DECISION.md.
 * @module
 */

import { DovetailError } from "./errors.js";
import { DTYPES, Extension, Tensor, isDtype, toHalf } from "./values.js";
import type { Numbers } from "./values.js";

const SMALL = 1 << 16;
const DEEPEST = 64;
export const LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

const utf8 = new TextEncoder();
let bytes = new Uint8Array(SMALL);
let view = new DataView(bytes.buffer);
let at = 0;

/**
 * Return a value as MessagePack.
 *
 * A whole number within the safe range travels as an integer, any other number as a float of 64 bits, a
 * `bigint` as an integer; fields that are `undefined` are left out.
 *
 * @param most - how many bytes the broker reads; it hangs up on a frame of more, whenever it is sent
 * @throws TypeError: it holds something that cannot travel.
 * @throws DovetailError: it is larger than that.
 */
export function encode(value: unknown, most = Infinity): Uint8Array {
  at = 0;
  write(value, 0);
  const frame = bytes.slice(0, at);
  if (bytes.length > 1 << 20) grow(SMALL, false);
  if (frame.length > most) {
    const [size, limit] = [frame.length, most].map((each) => each.toLocaleString("en"));
    throw new DovetailError(`${size} bytes in a message; the broker reads ${limit}`);
  }
  return frame;
}

function grow(size: number, keep: boolean): void {
  const bigger = new Uint8Array(size);
  if (keep) bigger.set(bytes.subarray(0, at));
  bytes = bigger;
  view = new DataView(bytes.buffer);
}

function room(length: number): void {
  const needed = at + length;
  if (needed > bytes.length) grow(Math.max(needed, bytes.length * 2), true);
}

function write(value: unknown, depth: number): void {
  room(9);
  switch (typeof value) {
    case "number":
      writeNumber(value);
      return;
    case "string":
      writeText(value);
      return;
    case "boolean":
      bytes[at++] = value ? 0xc3 : 0xc2;
      return;
    case "undefined":
      bytes[at++] = 0xc0;
      return;
    case "bigint":
      writeBig(value);
      return;
    case "object":
      if (value === null) bytes[at++] = 0xc0;
      else writeObject(value, depth + 1);
      return;
    default:
      throw new TypeError(`a ${typeof value} cannot travel`);
  }
}

function writeNumber(value: number): void {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    bytes[at] = 0xcb;
    view.setFloat64(at + 1, value);
    at += 9;
  } else if (value >= 0x100000000 || value < -0x80000000) writeBig(BigInt(value));
  else if (value >= -32 && value < 0x80) bytes[at++] = value;
  else if (value >= 0) sized(0xcc, value);
  else sized(0xd0, value, value >= -0x80 ? 1 : value >= -0x8000 ? 2 : 4);
}

function writeBig(value: bigint): void {
  if (value >= 0n ? value >> 64n !== 0n : value >> 63n !== -1n) {
    throw new TypeError(`${value} cannot travel; integers have 64 bits`);
  }
  bytes[at] = value >= 0n ? 0xcf : 0xd3;
  view.setBigUint64(at + 1, BigInt.asUintN(64, value));
  at += 9;
}

/** Write a number in 1, 2 or 4 bytes after a byte that says so: `first` or one of the two that follow it. */
function sized(first: number, value: number, width = value < 0x100 ? 1 : value < 0x10000 ? 2 : 4): void {
  bytes[at++] = first + (width >> 1);
  if (width === 1) bytes[at] = value;
  else if (width === 2) view.setUint16(at, value);
  else view.setUint32(at, value);
  at += width;
}

/** Write the header of an array or a map; `first` is the byte before those of the long forms. */
function container(length: number, short: number, first: number): void {
  if (length < 16) bytes[at++] = short | length;
  else sized(first, length, length < 0x10000 ? 2 : 4);
}

function textHeader(length: number): void {
  if (length < 32) bytes[at++] = 0xa0 | length;
  else sized(0xd9, length);
}

function copy(data: Uint8Array): void {
  bytes.set(data, at);
  at += data.length;
}

function writeText(text: string): void {
  const length = text.length;
  if (length < 64) {
    room(length + 2);
    const start = at;
    textHeader(length);
    let i = 0;
    for (; i < length; i++) {
      const char = text.charCodeAt(i);
      if (char >= 0x80) break;
      bytes[at++] = char;
    }
    if (i === length) return;
    at = start;
  }
  const coded = utf8.encode(text);
  room(coded.length + 5);
  textHeader(coded.length);
  copy(coded);
}

function writeBinary(data: Uint8Array): void {
  room(data.length + 5);
  sized(0xc4, data.length);
  copy(data);
}

function writeExtension({ code, data }: Extension): void {
  room(data.length + 6);
  sized(0xc7, data.length);
  bytes[at++] = code;
  copy(data);
}

function writeObject(value: object, depth: number): void {
  if (depth > DEEPEST) {
    throw new TypeError("what is nested so deeply, or in itself, cannot travel");
  }
  if (Array.isArray(value)) {
    container(value.length, 0x90, 0xdb);
    for (let i = 0; i < value.length; i++) write(value[i], depth);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    writeMap(value as Record<string, unknown>, depth);
  } else if (value instanceof Tensor) writeTensor(value);
  else if (value instanceof Uint8Array) writeBinary(value);
  else if (value instanceof Map) {
    for (const key of value.keys()) {
      if (typeof key !== "string") throw new TypeError("keys of maps are text");
    }
    writeMap(Object.fromEntries(value) as Record<string, unknown>, depth);
  } else if (value instanceof Extension) writeExtension(value);
  else if (ArrayBuffer.isView(value)) writeTensor(flat(value));
  else {
    throw new TypeError(
      `a ${value.constructor?.name ?? "nameless object"} cannot travel; use numbers, text, lists or tensors`,
    );
  }
}

function writeMap(value: Record<string, unknown>, depth: number): void {
  const keys = Object.keys(value);
  let size = keys.length;
  for (let i = 0; i < keys.length; i++) if (value[keys[i]] === undefined) size--;
  container(size, 0x80, 0xdd);
  for (let i = 0; i < keys.length; i++) {
    const each = value[keys[i]];
    if (each === undefined) continue;
    writeText(keys[i]);
    write(each, depth);
  }
}

/** A typed array by itself is a tensor of one dimension. */
function flat(data: ArrayBufferView): Tensor {
  const { name } = data.constructor;
  const dtype = name.toLowerCase().replace(/^big|array$/g, "");
  if (!isDtype(dtype)) throw new TypeError(`a ${name} cannot travel`);
  return new Tensor(dtype, [(data as Numbers).length], data as Numbers);
}

function writeTensor(tensor: Tensor): void {
  const { dtype, shape } = tensor;
  const data = elements(tensor);
  // The extension's length is written when it is known; in one byte if it is sure to fit.
  const most = 20 + dtype.length + 9 * shape.length + data.length;
  const width = most < 0x100 ? 1 : 4;
  room(most);
  const start = at;
  at += 1 + width;
  bytes[at++] = 1;
  bytes[at++] = 0x93;
  writeText(dtype);
  container(shape.length, 0x90, 0xdb);
  for (const side of shape) writeNumber(side);
  writeBinary(data);
  const end = at;
  at = start;
  sized(0xc7, end - start - width - 2, width);
  at = end;
}

function elements(tensor: Tensor): Uint8Array {
  let data: Numbers = tensor.data;
  if (tensor.dtype === "float16") data = Uint16Array.from(data as Float32Array, toHalf);
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return LITTLE ? raw : swapped(raw, DTYPES[tensor.dtype].size);
}

/** Return a copy with the bytes of each element the other way round. */
export function swapped(raw: Uint8Array, size: number): Uint8Array {
  const copy = raw.slice();
  for (let start = 0; start < copy.length; start += size) {
    copy.subarray(start, start + size).reverse();
  }
  return copy;
}
