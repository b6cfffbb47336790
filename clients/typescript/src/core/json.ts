/**
 * The JSON reading of SPEC.md: values as JSON can hold them, integers of 64 bits included.
 * @module
 */

import { DTYPES, Extension, Tensor, int, isDtype } from "./values.js";
import type { Dtype } from "./values.js";

/** Return the values that a JSON reading stands for. */
export function parseReading(text: string): unknown {
  // JSON.parse would round integers beyond 2⁵³; they are put aside as text first.
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
  const exact = text.replace(token, (match) => (/^-?\d{16,}$/.test(match) ? `{"$int":"${match}"}` : match));
  return unread(JSON.parse(exact));
}

function unread(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unread);
  if (typeof value !== "object" || value === null) return value;
  const map = value as Record<string, any>;
  const keys = Object.keys(map);
  if (keys.length === 1) {
    const inside: any = map[keys[0]];
    switch (keys[0]) {
      case "$int":
        return int(BigInt(inside));
      case "$bytes":
        return fromHex(inside);
      case "$float":
        return Number(String(inside).replace("inf", "Infinity"));
      case "$extension":
        return new Extension(inside.code, fromHex(inside.data));
      case "$tensor":
        return tensor(inside.dtype, inside.shape, inside.data);
    }
  }
  return Object.fromEntries(keys.map((key) => [key, unread(map[key])]));
}

function tensor(dtype: Dtype, shape: number[], data: unknown[]): Tensor {
  if (!isDtype(dtype)) throw new TypeError(`no tensor has the dtype ${String(dtype)}`);
  const array = new DTYPES[dtype].array(data.length);
  const wide = array instanceof BigInt64Array || array instanceof BigUint64Array;
  data.forEach((each, i) => {
    const element = unread(each);
    (array as any)[i] = wide ? BigInt(element as number) : Number(element);
  });
  return new Tensor(dtype, shape, array);
}

/** Return the JSON reading of a value. */
export function formatReading(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return "null";
    case "bigint":
      return value.toString();
    case "number":
      if (Number.isFinite(value)) return Object.is(value, -0) ? "-0.0" : JSON.stringify(value);
      return `{"$float":"${value > 0 ? "inf" : value < 0 ? "-inf" : "nan"}"}`;
    case "object":
      return value === null ? "null" : object(value);
    default:
      return JSON.stringify(value);
  }
}

function object(value: object): string {
  if (Array.isArray(value)) return `[${value.map(formatReading).join(",")}]`;
  if (value instanceof Uint8Array) return `{"$bytes":"${toHex(value)}"}`;
  if (value instanceof Extension) {
    return `{"$extension":{"code":${value.code},"data":"${toHex(value.data)}"}}`;
  }
  if (value instanceof Tensor) {
    const elements: unknown[] = Array.from(value.data as ArrayLike<unknown>);
    const data = value.dtype === "bool" ? elements.map(Boolean) : elements;
    const shape = JSON.stringify(value.shape);
    return `{"$tensor":{"dtype":"${value.dtype}","shape":${shape},"data":${formatReading(data)}}}`;
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const shown = entries.filter(([, each]) => each !== undefined);
  return `{${shown.map(([key, each]) => `${JSON.stringify(key)}:${formatReading(each)}`).join(",")}}`;
}

/** Return the bytes of a text in hexadecimal. */
export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Return bytes in hexadecimal. */
export function toHex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
