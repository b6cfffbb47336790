/**
 * Values to MessagePack.
 *
 * Own code instead of a library: see DECISION.md.
 * @module
 */

import { DTYPES, Extension, Tensor, toHalf } from "./values.js";
import type { Dtype, Numbers } from "./values.js";

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
 * @throws TypeError: it holds something that cannot travel.
 */
export function encode(value: unknown): Uint8Array {
  at = 0;
  write(value, 0);
  const frame = bytes.slice(0, at);
  if (bytes.length > 1 << 20) grow(SMALL, false);
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
  } else if (value >= 0) {
    if (value < 0x80) bytes[at++] = value;
    else if (value < 0x100) {
      bytes[at++] = 0xcc;
      bytes[at++] = value;
    } else if (value < 0x10000) {
      bytes[at] = 0xcd;
      view.setUint16(at + 1, value);
      at += 3;
    } else if (value < 0x100000000) {
      bytes[at] = 0xce;
      view.setUint32(at + 1, value);
      at += 5;
    } else {
      bytes[at] = 0xcf;
      view.setUint32(at + 1, Math.floor(value / 0x100000000));
      view.setUint32(at + 5, value >>> 0);
      at += 9;
    }
  } else if (value >= -32) bytes[at++] = value;
  else if (value >= -0x80) {
    bytes[at++] = 0xd0;
    bytes[at++] = value;
  } else if (value >= -0x8000) {
    bytes[at] = 0xd1;
    view.setInt16(at + 1, value);
    at += 3;
  } else if (value >= -0x80000000) {
    bytes[at] = 0xd2;
    view.setInt32(at + 1, value);
    at += 5;
  } else writeBig(BigInt(value));
}

function writeBig(value: bigint): void {
  if (value >= 0n ? value >> 64n !== 0n : value >> 63n !== -1n) {
    throw new TypeError(`${value} cannot travel; integers have 64 bits`);
  }
  bytes[at] = value >= 0n ? 0xcf : 0xd3;
  view.setBigUint64(at + 1, BigInt.asUintN(64, value));
  at += 9;
}

/** Write a header whose length is in the byte itself, or in 1, 2 or 4 bytes after it. */
function header(length: number, fix: number, fixed: number, one: number, two: number): void {
  if (length < fixed) bytes[at++] = fix | length;
  else if (one && length < 0x100) {
    bytes[at++] = one;
    bytes[at++] = length;
  } else if (length < 0x10000) {
    bytes[at] = two;
    view.setUint16(at + 1, length);
    at += 3;
  } else {
    bytes[at] = two + 1;
    view.setUint32(at + 1, length);
    at += 5;
  }
}

function writeText(text: string): void {
  const length = text.length;
  if (length < 64) {
    room(length + 2);
    const start = at;
    header(length, 0xa0, 32, 0xd9, 0xda);
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
  header(coded.length, 0xa0, 32, 0xd9, 0xda);
  bytes.set(coded, at);
  at += coded.length;
}

function writeBinary(data: Uint8Array): void {
  room(data.length + 5);
  header(data.length, 0, 0, 0xc4, 0xc5);
  bytes.set(data, at);
  at += data.length;
}

function writeExtension(code: number, data: Uint8Array): void {
  const length = data.length;
  room(length + 6);
  const fixed = [1, 2, 4, 8, 16].indexOf(length);
  if (fixed >= 0) bytes[at++] = 0xd4 + fixed;
  else header(length, 0, 0, 0xc7, 0xc8);
  bytes[at++] = code;
  bytes.set(data, at);
  at += length;
}

function writeObject(value: object, depth: number): void {
  if (depth > DEEPEST) {
    throw new TypeError("what is nested so deeply, or in itself, cannot travel");
  }
  if (Array.isArray(value)) {
    header(value.length, 0x90, 16, 0, 0xdc);
    for (let i = 0; i < value.length; i++) write(value[i], depth);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    writeMap(value as Record<string, unknown>, depth);
  } else if (value instanceof Tensor) writeTensor(value);
  else if (value instanceof Uint8Array) writeBinary(value);
  else if (value instanceof Map) {
    header(value.size, 0x80, 16, 0, 0xde);
    for (const [key, each] of value) {
      if (typeof key !== "string") throw new TypeError("keys of maps are text");
      room(9);
      writeText(key);
      write(each, depth);
    }
  } else if (value instanceof Extension) writeExtension(value.code, value.data);
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
  header(size, 0x80, 16, 0, 0xde);
  for (let i = 0; i < keys.length; i++) {
    const each = value[keys[i]];
    if (each === undefined) continue;
    room(9);
    writeText(keys[i]);
    write(each, depth);
  }
}

/** A typed array by itself is a tensor of one dimension. */
function flat(data: ArrayBufferView): Tensor {
  const name = data.constructor.name.replace("Array", "").toLowerCase();
  const dtype = name.replace("big", "").replace("clamped", "") as Dtype;
  if (!Object.hasOwn(DTYPES, dtype)) {
    throw new TypeError(`a ${data.constructor.name} cannot travel`);
  }
  return new Tensor(dtype, [(data as Numbers).length], data as Numbers);
}

function writeTensor(tensor: Tensor): void {
  const { dtype, shape } = tensor;
  const data = elements(tensor);
  // [dtype, shape, bytes]: the header's length must be known before the payload is written.
  let length = 1 + 1 + dtype.length + (shape.length < 16 ? 1 : 3) + data.length;
  for (const side of shape) {
    length += side < 0x80 ? 1 : side < 0x100 ? 2 : side < 0x10000 ? 3 : side < 0x100000000 ? 5 : 9;
  }
  length += data.length < 0x100 ? 2 : data.length < 0x10000 ? 3 : 5;
  room(length + 6);
  const fixed = length === 8 || length === 16 ? (length === 8 ? 0xd7 : 0xd8) : 0;
  if (fixed) bytes[at++] = fixed;
  else header(length, 0, 0, 0xc7, 0xc8);
  bytes[at++] = 1;
  bytes[at++] = 0x93;
  writeText(dtype);
  header(shape.length, 0x90, 16, 0, 0xdc);
  for (const side of shape) writeNumber(side);
  writeBinary(data);
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
