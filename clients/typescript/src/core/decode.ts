/**
 * MessagePack to values.
 *
 * A frame is first walked through: limits and headers are checked without building anything.
 * After that the readers below need no bounds.  They share one cursor, since nothing that reads waits.
 * @module
 */

import { LITTLE, swapped } from "./encode.js";
import { ProtocolError } from "./errors.js";
import { DTYPES, Extension, Tensor, fromHalf, int, isDtype } from "./values.js";
import type { Int, Numbers } from "./values.js";

/** What a receiver reads; a frame beyond it gets the error `limit`. */
export interface Limits {
  /** Bytes. */
  frame: number;
  /** Nested arrays and maps. */
  depth: number;
  /** Values of any kind, keys included. */
  elements: number;
}

export const LIMITS: Limits = { frame: 16_777_216, depth: 32, elements: 100_000 };

let bytes: Uint8Array = new Uint8Array(0);
let view: DataView = new DataView(bytes.buffer);
let at = 0;

/**
 * Read a frame with a reader of this module's kind.
 * @throws ProtocolError
 */
export function readFrame<T>(frame: Uint8Array, reader: () => T, limits: Limits = LIMITS): T {
  if (frame.length > limits.frame) {
    throw new ProtocolError("limit", `frame of ${frame.length} bytes; at most ${limits.frame} are read`);
  }
  bytes = frame;
  view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  walk(0, frame.length, limits);
  at = 0;
  return reader();
}

/**
 * Return the value in a frame, whatever it is.
 * @throws ProtocolError: code `limit` or `malformed`
 */
export function decode(frame: Uint8Array, limits: Limits = LIMITS): unknown {
  return readFrame(frame, readAny, limits);
}

/** Bytes that follow the header 0xc0 + i, if it alone tells; -1 bad, -2 a length, -3 a container. */
const FOLLOW = [
  0, -1, 0, 0, -2, -2, -2, -2, -2, -2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, -2, -2, -2, -3, -3, -3,
  -3,
];
/** For those with a length: how many bytes it has, and how many come between it and the content. */
const WIDTH: Record<number, [number, number]> = {
  0xc4: [1, 0],
  0xc5: [2, 0],
  0xc6: [4, 0],
  0xc7: [1, 1],
  0xc8: [2, 1],
  0xc9: [4, 1],
  0xd9: [1, 0],
  0xda: [2, 0],
  0xdb: [4, 0],
};

const left = new Float64Array(1024);

function length(place: number, width: number, end: number): number {
  if (place + width > end) throw cut(end);
  if (width === 1) return bytes[place];
  return width === 2 ? view.getUint16(place) : view.getUint32(place);
}

function cut(end: number): ProtocolError {
  return new ProtocolError("malformed", `frame of ${end} bytes ends inside a value`);
}

/** Check that exactly one value within the limits lies between two places. */
function walk(start: number, end: number, limits: Limits): void {
  let place = start;
  let elements = 0;
  let open = 0;
  left[0] = 1;
  for (;;) {
    while (left[open] === 0) {
      if (open-- === 0) {
        if (place === end) return;
        if (place > end) throw cut(end);
        throw new ProtocolError("malformed", `frame of ${end} bytes goes on after byte ${place}`);
      }
    }
    if (place >= end) throw cut(end);
    left[open]--;
    if (++elements > limits.elements) {
      throw new ProtocolError("limit", `more than ${limits.elements} values in a frame`);
    }
    const byte = bytes[place++];
    let count: number;
    if (byte < 0x80 || byte >= 0xe0) continue;
    if (byte < 0x90) count = (byte & 15) * 2;
    else if (byte < 0xa0) count = byte & 15;
    else if (byte < 0xc0) {
      place += byte & 31;
      continue;
    } else {
      const follow = FOLLOW[byte - 0xc0];
      if (follow >= 0) {
        place += follow;
        continue;
      }
      if (follow === -1) {
        throw new ProtocolError("malformed", `byte 0xc1 at ${place - 1} is no MessagePack`);
      }
      if (follow === -2) {
        const [width, between] = WIDTH[byte];
        place += width + between + length(place, width, end);
        continue;
      }
      const width = byte & 1 ? 4 : 2;
      count = length(place, width, end) * (byte >= 0xde ? 2 : 1);
      place += width;
    }
    if (count > end - place) {
      throw new ProtocolError(
        "malformed",
        `${count} values announced with ${Math.max(end - place, 0)} bytes to come`,
      );
    }
    left[++open] = count;
    if (open > limits.depth || open >= left.length - 1) {
      throw new ProtocolError("limit", `nested deeper than ${limits.depth}`);
    }
  }
}

// -- readers --------------------------------------------------------------------------------------

function invalid(wanted: string): ProtocolError {
  return new ProtocolError("invalid", `expected ${wanted}, got ${kind(bytes[at])}`);
}

function kind(byte: number): string {
  if (byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3)) return "an integer";
  if (byte < 0x90 || byte === 0xde || byte === 0xdf) return "a map";
  if (byte < 0xa0 || byte === 0xdc || byte === 0xdd) return "an array";
  if (byte < 0xc0 || (byte >= 0xd9 && byte <= 0xdb)) return "text";
  if (byte === 0xc0) return "nil";
  if (byte === 0xc2 || byte === 0xc3) return "a boolean";
  if (byte >= 0xc4 && byte <= 0xc6) return "binary";
  return byte === 0xca || byte === 0xcb ? "a float" : "an extension";
}

/** Read nil if that is what comes. */
export function readNil(): boolean {
  if (bytes[at] !== 0xc0) return false;
  at++;
  return true;
}

export function readInt(): Int {
  const byte = bytes[at];
  if (byte < 0x80) {
    at++;
    return byte;
  }
  if (byte >= 0xe0) {
    at++;
    return byte - 0x100;
  }
  const here = at + 1;
  switch (byte) {
    case 0xcc:
      at += 2;
      return bytes[here];
    case 0xcd:
      at += 3;
      return view.getUint16(here);
    case 0xce:
      at += 5;
      return view.getUint32(here);
    case 0xcf:
      at += 9;
      return wide(view.getUint32(here), view.getUint32(here + 4), false);
    case 0xd0:
      at += 2;
      return view.getInt8(here);
    case 0xd1:
      at += 3;
      return view.getInt16(here);
    case 0xd2:
      at += 5;
      return view.getInt32(here);
    case 0xd3:
      at += 9;
      return wide(view.getInt32(here), view.getUint32(here + 4), true);
    default:
      throw invalid("an integer");
  }
}

function wide(high: number, low: number, signed: boolean): Int {
  if (high < 0x200000 && high >= -0x200000) {
    const value = high * 0x100000000 + low;
    if (Number.isSafeInteger(value)) return value;
  }
  const place = at - 8;
  return int(signed ? view.getBigInt64(place) : view.getBigUint64(place));
}

/** Read an integer or a float, as the number that it is or is nearest to. */
export function readNumber(): number {
  const byte = bytes[at];
  if (byte === 0xcb) {
    at += 9;
    return view.getFloat64(at - 8);
  }
  if (byte === 0xca) {
    at += 5;
    return view.getFloat32(at - 4);
  }
  if (byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3)) return Number(readInt());
  throw invalid("a number");
}

export function readBoolean(): boolean {
  const byte = bytes[at];
  if (byte !== 0xc2 && byte !== 0xc3) throw invalid("a boolean");
  at++;
  return byte === 0xc3;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Take the header of a text and return its length, or -1 if it is none. */
function textHeader(): number {
  const byte = bytes[at];
  if (byte >= 0xa0 && byte < 0xc0) {
    at++;
    return byte & 31;
  }
  if (byte < 0xd9 || byte > 0xdb) return -1;
  const width = 1 << (byte - 0xd9);
  at += 1 + width;
  return length(at - width, width, bytes.length);
}

export function readText(): string {
  const size = textHeader();
  if (size < 0) throw invalid("text");
  return textOf(size);
}

function textOf(size: number): string {
  const start = at;
  at += size;
  if (size < 48) {
    let text = "";
    for (let i = start; i < at; i++) {
      const byte = bytes[i];
      if (byte >= 0x80) return decoded(start);
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return decoded(start);
}

function decoded(start: number): string {
  try {
    return utf8.decode(bytes.subarray(start, at));
  } catch {
    throw new ProtocolError("malformed", "a text that is no UTF-8");
  }
}

const KEYS = 512;
const keys: (string | undefined)[] = new Array<string | undefined>(KEYS);

/** Read a key; those that came before are found without building them again. */
export function readKey(code: "invalid" | "malformed" = "malformed"): string {
  const size = textHeader();
  if (size < 0) throw new ProtocolError(code, `a key that is ${kind(bytes[at])}; keys are text`);
  if (size === 0 || size > 31) return textOf(size);
  const slot = (bytes[at] * 31 + bytes[at + size - 1] * 7 + bytes[at + (size >> 1)] + size * 97) % KEYS;
  const known = keys[slot];
  if (known !== undefined && known.length === size) {
    let i = 0;
    while (i < size && known.charCodeAt(i) === bytes[at + i]) i++;
    // Beyond ASCII a byte is not a character; such keys are not kept.
    if (i === size) {
      at += size;
      return known;
    }
  }
  const key = textOf(size);
  if (key.length === size) keys[slot] = key;
  return key;
}

function binaryLength(): number {
  const byte = bytes[at];
  if (byte < 0xc4 || byte > 0xc6) return -1;
  const width = 1 << (byte - 0xc4);
  at += 1 + width;
  return length(at - width, width, bytes.length);
}

/** Read binary, as a view of the frame. */
export function readBinary(): Uint8Array {
  const size = binaryLength();
  if (size < 0) throw invalid("binary");
  at += size;
  return plain(at - size, at);
}

/** A frame may be a `Buffer`; what is read from it is not. */
function plain(start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
}

export function isBinary(): boolean {
  return bytes[at] >= 0xc4 && bytes[at] <= 0xc6;
}

export function isArray(): boolean {
  const byte = bytes[at];
  return (byte >= 0x90 && byte < 0xa0) || byte === 0xdc || byte === 0xdd;
}

export function isInteger(): boolean {
  const byte = bytes[at];
  return byte < 0x80 || byte >= 0xe0 || (byte >= 0xcc && byte <= 0xd3);
}

export function readArrayHeader(): number {
  return containerHeader(0x90, 0xdc, "an array");
}

export function readMapHeader(): number {
  return containerHeader(0x80, 0xde, "a map");
}

function containerHeader(fix: number, long: number, what: string): number {
  const byte = bytes[at];
  if (byte >= fix && byte < fix + 16) {
    at++;
    return byte & 15;
  }
  if (byte !== long && byte !== long + 1) throw invalid(what);
  const width = byte === long ? 2 : 4;
  at += 1 + width;
  return length(at - width, width, bytes.length);
}

/** Read any value. */
export function readAny(): unknown {
  const byte = bytes[at];
  if (byte < 0x80) {
    at++;
    return byte;
  }
  if (byte >= 0xe0) {
    at++;
    return byte - 0x100;
  }
  if (byte < 0x90) return readMap();
  if (byte < 0xa0) return readArray();
  if (byte < 0xc0) return readText();
  switch (byte) {
    case 0xc0:
      at++;
      return null;
    case 0xc2:
    case 0xc3:
      return readBoolean();
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return readBinary();
    case 0xca:
    case 0xcb:
      return readNumber();
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readText();
    case 0xdc:
    case 0xdd:
      return readArray();
    case 0xde:
    case 0xdf:
      return readMap();
    default:
      return byte >= 0xcc && byte <= 0xd3 ? readInt() : readExtension();
  }
}

function readArray(): unknown[] {
  const size = readArrayHeader();
  const array = new Array<unknown>(size);
  for (let i = 0; i < size; i++) array[i] = readAny();
  return array;
}

function readMap(): Record<string, unknown> {
  const size = readMapHeader();
  const map: Record<string, unknown> = {};
  for (let i = 0; i < size; i++) {
    const key = readKey();
    const value = readAny();
    if (key === "__proto__") {
      // An assignment would not make a key of this name.
      const own = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(map, key, own);
    } else map[key] = value;
  }
  return map;
}

function readExtension(): Tensor | Extension {
  const byte = bytes[at++];
  let size: number;
  if (byte >= 0xd4) size = 1 << (byte - 0xd4);
  else {
    const width = 1 << (byte - 0xc7);
    size = length(at, width, bytes.length);
    at += width;
  }
  const code = view.getInt8(at++);
  const end = at + size;
  if (code === 1) return readTensor(end);
  at = end;
  return new Extension(code, plain(end - size, end));
}

const PAYLOAD: Limits = { frame: Infinity, depth: 2, elements: 64 };

function readTensor(end: number): Tensor {
  const start = at;
  try {
    walk(start, end, PAYLOAD);
    at = start;
    if (readArrayHeader() !== 3) throw new ProtocolError("malformed", "it has not three parts");
    const dtype = readText();
    const shape = new Array<number>(readArrayHeader());
    for (let i = 0; i < shape.length; i++) shape[i] = readInt() as number;
    const raw = readBinary();
    return tensorOf(dtype, shape, raw);
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw new ProtocolError("malformed", `a tensor that is no [dtype, shape, bytes]: ${why}`);
  }
}

function tensorOf(dtype: string, shape: number[], raw: Uint8Array): Tensor {
  if (!isDtype(dtype)) throw new TypeError("unknown dtype");
  let product = 1;
  let reach = 1;
  for (const side of shape) {
    if (typeof side !== "number" || side < 0) throw new TypeError("a length out of range");
    product *= side;
    reach *= side || 1;
  }
  const { size, array } = DTYPES[dtype];
  if (shape.length > 32 || !Number.isSafeInteger(reach * size) || product * size !== raw.length) {
    throw new TypeError(`shape [${shape.slice(0, 33).join(", ")}] with ${raw.length} bytes`);
  }
  if (dtype === "float16") {
    const data = new Float32Array(product);
    for (let i = 0; i < product; i++) data[i] = fromHalf(raw[2 * i] | (raw[2 * i + 1] << 8));
    return new Tensor(dtype, shape, data);
  }
  if (!LITTLE) raw = swapped(raw, size);
  // A typed array must begin at a multiple of its element's size.
  if (raw.byteOffset % size) raw = raw.slice();
  const View = array as unknown as new (buffer: ArrayBufferLike, at: number, n: number) => Numbers;
  return new Tensor(dtype, shape, new View(raw.buffer, raw.byteOffset, product));
}

/** Pass over a value that nobody reads. */
export function skip(): void {
  let values = 1;
  while (values > 0) {
    values--;
    const byte = bytes[at];
    if (byte < 0x80 || byte >= 0xe0) at++;
    else if (byte < 0x90) {
      values += (byte & 15) * 2;
      at++;
    } else if (byte < 0xa0) {
      values += byte & 15;
      at++;
    } else if (byte < 0xc0) at += 1 + (byte & 31);
    else {
      const follow = FOLLOW[byte - 0xc0];
      at++;
      if (follow >= 0) at += follow;
      else if (follow === -2) {
        const [width, between] = WIDTH[byte];
        at += width + between + length(at, width, bytes.length);
      } else {
        const width = byte & 1 ? 4 : 2;
        values += length(at, width, bytes.length) * (byte >= 0xde ? 2 : 1);
        at += width;
      }
    }
  }
}

/** Where the cursor is, and setting it back there, to look ahead. */
export function mark(): number {
  return at;
}

export function reset(place: number): void {
  at = place;
}
