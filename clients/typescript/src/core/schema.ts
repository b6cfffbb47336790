/**
 * Readers of typed fields, put together once and then run over the bytes of each message.
 * @module
 */

import * as d from "./decode.js";
import { ProtocolError } from "./errors.js";
import type { Int } from "./values.js";

/** Reads a value at the cursor of `decode`. */
export type Reader<T> = () => T;

/** A field of a map: how it is read, and what it is if it is left out. */
export interface Field<T> {
  readonly read: Reader<T>;
  /** Absent for a field that must be there. */
  readonly otherwise?: T;
  readonly required: boolean;
}

/** A field that must be there. */
export function required<T>(read: Reader<T>): Field<T> {
  return { read, required: true };
}

/** A field that may be left out. */
export function optional<T>(read: Reader<T>, otherwise: NoInfer<T>): Field<T> {
  return { read, otherwise, required: false };
}

function invalid(text: string): ProtocolError {
  return new ProtocolError("invalid", text);
}

/** Any integer. */
export const integer: Reader<Int> = d.readInt;

/** An integer within bounds, small enough for a `number`. */
export function within(low: number, high: number = Number.MAX_SAFE_INTEGER): Reader<number> {
  return () => {
    const value = d.readInt();
    if (typeof value !== "number" || value < low || value > high) {
      throw invalid(`${value} is out of range`);
    }
    return value;
  };
}

/** An integer from 0, of any size. */
export const natural: Reader<Int> = () => {
  const value = d.readInt();
  if (value < 0) throw invalid(`${value} is out of range`);
  return value;
};

/** A small integer of any sign, such as a seat or a turn. */
export const small = within(Number.MIN_SAFE_INTEGER);
export const count = within(0);
export const positive = within(1);
export const number: Reader<number> = d.readNumber;
export const text: Reader<string> = d.readText;
export const boolean: Reader<boolean> = d.readBoolean;
export const binary: Reader<Uint8Array> = d.readBinary;
export const any: Reader<any> = d.readAny;

export function bounded(low: number, high: number = Infinity): Reader<number> {
  return () => {
    const value = d.readNumber();
    // Written so that NaN is refused too.
    if (!(value >= low && value <= high)) throw invalid(`${value} is out of range`);
    return value;
  };
}

export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return () => (d.readNil() ? null : read());
}

export function array<T>(read: Reader<T>): Reader<T[]> {
  return () => {
    const items = new Array<T>(d.readArrayHeader());
    for (let i = 0; i < items.length; i++) items[i] = read();
    return items;
  };
}

export function pair<A, B>(first: Reader<A>, second: Reader<B>): Reader<[A, B]> {
  return () => {
    const size = d.readArrayHeader();
    if (size !== 2) throw invalid(`expected an array of 2, got one of ${size}`);
    return [first(), second()];
  };
}

export function map<T>(read: Reader<T>): Reader<Record<string, T>> {
  return () => {
    const size = d.readMapHeader();
    const entries: Record<string, T> = {};
    for (let i = 0; i < size; i++) {
      const key = d.readKey();
      const value = read();
      Object.defineProperty(entries, key, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return entries;
  };
}

export function oneOf<T extends string>(...names: readonly T[]): Reader<T> {
  return () => {
    const name = d.readText();
    if (!(names as readonly string[]).includes(name)) {
      throw invalid(`${JSON.stringify(name.slice(0, 40))} is none of ${names.join(", ")}`);
    }
    return name as T;
  };
}

/** Legal actions: a list, a mask, or nil. */
export const legal: Reader<Int[] | Uint8Array | null> = () => {
  if (d.readNil()) return null;
  if (d.isBinary()) return d.readBinary();
  if (!d.isArray()) throw invalid("legal actions are a list, binary or nil");
  const items = new Array<Int>(d.readArrayHeader());
  for (let i = 0; i < items.length; i++) items[i] = d.readInt();
  return items;
};

/** How a map with known fields is read. */
export interface Struct<T> {
  readonly read: Reader<T>;
  /** The fields that have defaults, as they are when left out. */
  readonly defaults: Partial<T>;
}

/** The tag came twice; which one counts is only known after looking at the whole map. */
const TWICE = new ProtocolError("invalid", "a tag that comes twice");
/** Whether the map was looked at whole before. */
let scanned = false;

/**
 * A map with known fields; others are passed over.
 * @param name - what it is called, for errors
 * @param fields - its fields
 * @param tag - a key and its value that every such map has, and that was looked at before
 */
export function struct<T extends object>(
  name: string,
  fields: { readonly [K in keyof T]-?: Field<T[K]> },
  tag?: readonly [string, string],
): Struct<T> {
  const template: Record<string, unknown> = tag ? { [tag[0]]: tag[1] } : {};
  const defaults: Record<string, unknown> = {};
  const readers = new Map<string, { read: Reader<unknown>; bit: number }>();
  let wanted = 0;
  let bit = 1;
  const names: string[] = [];
  for (const [key, field] of Object.entries<Field<unknown>>(fields)) {
    template[key] = field.otherwise;
    if (!field.required) defaults[key] = field.otherwise;
    readers.set(key, { read: field.read, bit: field.required ? bit : 0 });
    if (field.required) {
      names.push(key);
      wanted |= bit;
      bit <<= 1;
    }
  }
  const read = (): T => {
    const size = d.readMapHeader();
    const out = { ...template };
    let seen = 0;
    let tags = 0;
    for (let i = 0; i < size; i++) {
      const key = d.readKey("invalid");
      const field = readers.get(key);
      if (field === undefined) {
        if (tag !== undefined && key === tag[0] && ++tags > 1 && !scanned) throw TWICE;
        d.skip();
        continue;
      }
      try {
        out[key] = field.read();
      } catch (error) {
        if (error instanceof ProtocolError && !error.message.includes(" - at ")) {
          throw new ProtocolError(error.code, `${error.message} - at ${name}.${key}`);
        }
        throw error;
      }
      seen |= field.bit;
    }
    if (seen !== wanted) {
      const missing = names.filter((_, i) => !(seen & (1 << i)));
      throw invalid(`${name} without ${missing.join(", ")}`);
    }
    return out as T;
  };
  return { read, defaults: defaults as Partial<T> };
}

/**
 * One of several kinds of maps, told apart by the text under a key.
 * @param key - `type` or `space`
 * @param kinds - how each is read
 * @param code - the error for an unknown or missing kind
 */
export function union<T>(
  key: string,
  kinds: Readonly<Record<string, Reader<T>>>,
  code: "unknown-type" | "invalid",
): Reader<T> {
  const readers = new Map(Object.entries(kinds));
  const scan = (start: number): T => {
    d.reset(start);
    const size = d.readMapHeader();
    let found: string | undefined;
    let strange = "nothing";
    for (let i = 0; i < size; i++) {
      if (d.readKey("invalid") === key) {
        try {
          found = d.readText();
        } catch (error) {
          if (error instanceof ProtocolError && error.code === "malformed") throw error;
          strange = "no text";
          found = undefined;
          d.skip();
        }
      } else d.skip();
    }
    d.reset(start);
    const read = found === undefined ? undefined : readers.get(found);
    if (read === undefined) {
      const what = found === undefined ? strange : JSON.stringify(found.slice(0, 40));
      throw new ProtocolError(code, `${what} as ${key}; it is one of ${[...readers.keys()].join(", ")}`);
    }
    scanned = true;
    try {
      return read();
    } finally {
      scanned = false;
    }
  };
  return () => {
    const start = d.mark();
    try {
      // Almost always the tag is the first key and comes once.
      if (d.readMapHeader() > 0 && d.readKey("invalid") === key) {
        const read = readers.get(d.readText());
        if (read !== undefined) {
          d.reset(start);
          return read();
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
    return scan(start);
  };
}
