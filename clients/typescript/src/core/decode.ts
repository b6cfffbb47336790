/**
 * MessagePack to values.
 *
 * A frame is first walked through: limits and headers are checked without building anything.
 * After that the readers below need no bounds.  They share one cursor, since nothing that reads waits.
 * @module
 */

import { LITTLE, swapped } from "./encode.js";
import { ProtocolError } from "./errors.js";
import type { Limits } from "./messages.js";
import { DTYPES, Extension, Tensor, fromHalf, int, isDtype } from "./values.js";
import type { Dtype, Int, Numbers } from "./values.js";

let bytes: Uint8Array = new Uint8Array(0);
let view: DataView = new DataView(bytes.buffer);
let at = 0;

/**
 * Read a frame with a reader of this module's kind.
 * @throws ProtocolError
 */
export function readFrame<T>(frame: Uint8Array, reader: () => T, limits: Limits): T {
  if (frame.length > limits.frame) {
    throw new ProtocolError("limit", `frame of ${frame.length} bytes; at most ${limits.frame} are read`);
  }
  bytes = frame;
  view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  walk(0, frame.length, limits);
  at = 0;
  return reader();
}

/** Levels of nesting that are read at the most, whatever the limits: each takes some of the stack. */
const DEEPEST = 500;

const left = new Float64Array(DEEPEST + 2);

/** Check that exactly one value within the limits lies between two places; the cursor is behind it then. */
function walk(start: number, end: number, limits: Limits): void {
  const depth = Math.min(limits.depth, DEEPEST);
  let elements = 0;
  let open = 0;
  left[0] = 1;
  for (at = start; ;) {
    while (left[open] === 0) {
      if (open-- > 0) continue;
      if (at === end) return;
      if (at > end) throw cut(end);
      throw new ProtocolError("malformed", `frame of ${end} bytes continues after byte ${at}`);
    }
    if (at >= end) throw cut(end);
    left[open]--;
    if (++elements > limits.elements) {
      throw new ProtocolError("limit", `more than ${limits.elements} values in a frame`);
    }
    const count = pass();
    if (count < 0) continue;
    if (count > end - at) {
      const rest = Math.max(end - at, 0);
      throw new ProtocolError("malformed", `${count} values announced with ${rest} bytes to come`);
    }
    left[++open] = count;
    if (open > depth) {
      throw new ProtocolError("limit", `nested deeper than ${depth}`);
    }
  }
}

function cut(end: number): ProtocolError {
  return new ProtocolError("malformed", `frame of ${end} bytes ends inside a value`);
}

/** Pass over a value or the header of a container; return how many values are in that, or -1 if it is none. */
function pass(): number {
  const byte = bytes[at++];
  if (byte < 0x80 || byte >= 0xe0) return -1;
  if (byte < 0x90) return (byte & 15) * 2;
  if (byte < 0xa0) return byte & 15;
  let size = 0;
  if (byte < 0xc0) size = byte & 31;
  else if (byte === 0xc1) throw new ProtocolError("malformed", `byte 0xc1 at ${at - 1} is not MessagePack`);
  else if (byte < 0xc4) return -1;
  else if (byte < 0xc7) size = length(1 << (byte - 0xc4));
  else if (byte < 0xca) size = 1 + length(1 << (byte - 0xc7));
  else if (byte < 0xcc) size = 4 << (byte - 0xca);
  else if (byte < 0xd4) size = 1 << (byte & 3);
  else if (byte < 0xd9) size = 1 + (1 << (byte - 0xd4));
  else if (byte < 0xdc) size = length(1 << (byte - 0xd9));
  else return length(2 << (byte & 1)) * (byte >= 0xde ? 2 : 1);
  at += size;
  return -1;
}

/** Take a length of 1, 2 or 4 bytes. */
function length(width: number): number {
  at += width;
  if (at > bytes.length) throw cut(bytes.length);
  if (width === 1) return bytes[at - 1];
  return width === 2 ? view.getUint16(at - 2) : view.getUint32(at - 4);
}

// -- readers --------------------------------------------------------------------------------------

function invalid(wanted: string): ProtocolError {
  return new ProtocolError("invalid", `expected ${wanted}, got ${kind()}`);
}

/** Name the kind of the next value. */
function kind(): string {
  const byte = bytes[at];
  if (isInteger()) return "an integer";
  if (isArray()) return "an array";
  if (isBinary()) return "binary";
  if (byte < 0x90 || byte >= 0xde) return "a map";
  if (byte < 0xc0 || byte >= 0xd9) return "text";
  if (byte === 0xc0) return "nil";
  if (byte < 0xc4) return "a boolean";
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
  if (!isInteger()) throw invalid("an integer");
  at++;
  if (byte < 0x80) return byte;
  if (byte >= 0xe0) return byte - 0x100;
  at += 1 << (byte & 3);
  switch (byte) {
    case 0xcc:
      return bytes[at - 1];
    case 0xcd:
      return view.getUint16(at - 2);
    case 0xce:
      return view.getUint32(at - 4);
    case 0xcf:
      return int(view.getBigUint64(at - 8));
    case 0xd0:
      return view.getInt8(at - 1);
    case 0xd1:
      return view.getInt16(at - 2);
    case 0xd2:
      return view.getInt32(at - 4);
    default:
      return int(view.getBigInt64(at - 8));
  }
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
  if (!isInteger()) throw invalid("a number");
  return Number(readInt());
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
  at++;
  return length(1 << (byte - 0xd9));
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
    throw new ProtocolError("malformed", "a text that is not UTF-8");
  }
}

const KEYS = 512;
const keys: (string | undefined)[] = new Array<string | undefined>(KEYS);

/** Read a key; those that came before are found without building them again. */
export function readKey(code: "invalid" | "malformed" = "malformed"): string {
  const size = textHeader();
  if (size < 0) throw new ProtocolError(code, `a key that is ${kind()}; keys are text`);
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

/** Read binary, as a view of the frame. */
export function readBinary(): Uint8Array {
  if (!isBinary()) throw invalid("binary");
  const size = length(1 << (bytes[at++] - 0xc4));
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
  at++;
  return length(2 << (byte - long));
}

/** Read any value. */
export function readAny(): unknown {
  if (isInteger()) return readInt();
  if (isArray()) return readArray(readAny);
  const byte = bytes[at];
  if (byte < 0x90 || byte >= 0xde) return readMap(readAny);
  if (byte < 0xc0 || byte >= 0xd9) return readText();
  switch (byte) {
    case 0xc0:
      at++;
      return null;
    case 0xc2:
    case 0xc3:
      return readBoolean();
    case 0xca:
    case 0xcb:
      return readNumber();
    default:
      return isBinary() ? readBinary() : readExtension();
  }
}

/** Read any value, or null for one that cannot be read: every seat hears its end (S6.7). */
export function readPayload(): unknown {
  const start = at;
  try {
    return readAny();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    at = start;
    skip();
    return null;
  }
}

/** Read an array whose elements a reader takes. */
export function readArray<T>(read: () => T): T[] {
  const array = new Array<T>(readArrayHeader());
  for (let i = 0; i < array.length; i++) array[i] = read();
  return array;
}

/** Read a map of text to what a reader takes. */
export function readMap<T>(read: () => T): Record<string, T> {
  const map: Record<string, T> = {};
  for (let i = readMapHeader(); i > 0; i--) {
    const key = readKey();
    const value = read();
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
  const size = byte >= 0xd4 ? 1 << (byte - 0xd4) : length(1 << (byte - 0xc7));
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
    if (readArrayHeader() !== 3) throw new TypeError("it has not three parts");
    const dtype = readText();
    if (!isDtype(dtype)) throw new TypeError("unknown dtype");
    // Lengths beyond the range of a number are refused by the tensor.
    const shape = readArray(readInt) as number[];
    return new Tensor(dtype, shape, elements(dtype, readBinary()));
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw new ProtocolError("malformed", `a tensor that is not [dtype, shape, bytes]: ${why}`);
  }
}

function elements(dtype: Dtype, raw: Uint8Array): Numbers {
  const { size, array } = DTYPES[dtype];
  if (raw.length % size) throw new TypeError(`${raw.length} bytes of ${dtype}`);
  if (dtype === "bool" && raw.some((byte) => byte > 1)) throw new TypeError("a bool other than 0 and 1");
  if (!LITTLE) raw = swapped(raw, size);
  // A typed array must begin at a multiple of its element's size.
  if (raw.byteOffset % size) raw = raw.slice();
  const half = dtype === "float16";
  const data = new (half ? Uint16Array : array)(raw.buffer, raw.byteOffset, raw.length / size);
  return half ? Float32Array.from(data as Uint16Array, fromHalf) : data;
}

/** Pass over a value that is not read. */
export function skip(): void {
  for (let values = 1; values > 0; values--) {
    const inside = pass();
    if (inside > 0) values += inside;
  }
}

/** Where the cursor is, and setting it back there, to look ahead. */
export function mark(): number {
  return at;
}

export function reset(place: number): void {
  at = place;
}
