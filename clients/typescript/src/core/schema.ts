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
  // Every message that leaves it out has the same one.
  return { read, otherwise: Object.freeze(otherwise), required: false };
}

function invalid(text: string): ProtocolError {
  return new ProtocolError("invalid", text);
}

function outOfRange(value: Int): ProtocolError {
  return invalid(`${value} is out of range`);
}

/** Any integer. */
export const integer: Reader<Int> = d.readInt;

/** An integer within bounds, of any size. */
export function atLeast(low: number, high: number = Infinity): Reader<Int> {
  return () => {
    const value = d.readInt();
    if (value < low || value > high) throw outOfRange(value);
    return value;
  };
}

/** An integer within bounds, small enough for a `number`. */
export function within(low: number, high: number = Infinity): Reader<number> {
  return () => {
    const value = d.readInt();
    if (typeof value !== "number" || value < low || value > high) throw outOfRange(value);
    return value;
  };
}

/** A small integer of any sign, such as a seat or a turn. */
export const small = within(Number.MIN_SAFE_INTEGER);
export const number: Reader<number> = d.readNumber;
export const text: Reader<string> = d.readText;
export const boolean: Reader<boolean> = d.readBoolean;
export const binary: Reader<Uint8Array> = d.readBinary;
export const any: Reader<any> = d.readAny;
export const payload: Reader<any> = d.readPayload;

/** A number within bounds. */
export function bounded(low: number, high: number = Infinity): Reader<number> {
  return () => {
    const value = d.readNumber();
    // Written so that NaN is refused too.
    if (!(value >= low && value <= high)) throw outOfRange(value);
    return value;
  };
}

/** A number beyond a bound. */
export function above(low: number, high: number = Infinity): Reader<number> {
  const read = bounded(low, high);
  return () => {
    const value = read();
    if (value === low) throw outOfRange(value);
    return value;
  };
}

export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return () => (d.readNil() ? null : read());
}

export function array<T>(read: Reader<T>): Reader<T[]> {
  return () => d.readArray(read);
}

export function map<T>(read: Reader<T>): Reader<Record<string, T>> {
  return () => d.readMap(read);
}

export function pair<A, B>(first: Reader<A>, second: Reader<B>): Reader<[A, B]> {
  return () => {
    const size = d.readArrayHeader();
    if (size !== 2) throw invalid(`expected an array of 2, got one of ${size}`);
    return [first(), second()];
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

/** Read with the first reader, or if that rejects the value, with the second. */
export function either<A, B>(first: Reader<A>, second: Reader<B>): Reader<A | B> {
  return () => {
    const start = d.mark();
    try {
      return first();
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== "invalid") throw error;
      d.reset(start);
      return second();
    }
  };
}

/** Legal actions: action numbers, a mask, or null for whatever the action space contains. */
export type Legal = readonly Int[] | Uint8Array | null;

export const legal: Reader<Legal> = () => {
  if (d.readNil()) return null;
  return d.isBinary() ? d.readBinary() : d.readArray(d.readInt);
};

/** A bound of a `Box`: one number, or nested arrays with one for each element. */
export type Bound = Int | readonly Bound[];

export const bound: Reader<Bound> = () => {
  if (d.isArray()) return bounds();
  return d.isInteger() ? d.readInt() : number();
};
const bounds = array(bound);

/**
 * A received message: every field is there, omitted ones with their defaults.  Spaces and values that are
 * not opened stay as they are.
 */
export type Complete<T> = 0 extends 1 & T
  ? T
  : T extends Bound | Uint8Array | { space: string }
    ? T
    : T extends object
      ? { [K in keyof T]-?: Complete<T[K]> }
      : T;

/** How a map with known fields is read. */
export interface Struct<T> {
  readonly name: string;
  readonly read: Reader<Complete<T>>;
  /** Return the fields that are given, and the defaults of the others. */
  complete(given: Partial<T>): Required<T>;
}

type Fields<T> = { readonly [K in keyof T]-?: Field<Complete<T[K]>> };

/**
 * A map with known fields; others are passed over.
 * @param name - what it is called, for errors
 * @param fields - its fields
 */
export function struct<T extends object>(name: string, fields: Fields<T>): Struct<T> {
  const readers = new Map<string, { read: Reader<unknown>; bit: number }>();
  /** All fields, so that objects of a kind are made alike, which is quick. */
  const template: Record<string, unknown> = {};
  const wanted: string[] = [];
  for (const [key, { read, required, otherwise }] of Object.entries<Field<unknown>>(fields)) {
    template[key] = otherwise;
    readers.set(key, { read, bit: required ? 1 << wanted.length : 0 });
    if (required) wanted.push(key);
  }
  const all = (1 << wanted.length) - 1;
  const read = (): Complete<T> => {
    const out = { ...template };
    let seen = 0;
    for (let i = d.readMapHeader(); i > 0; i--) {
      const key = d.readKey("invalid");
      const field = readers.get(key);
      if (field === undefined) {
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
    if (seen !== all) {
      throw invalid(`${name} without ${wanted.filter((_, i) => !(seen & (1 << i))).join(", ")}`);
    }
    return out as Complete<T>;
  };
  const complete = (given: Partial<T>): Required<T> => {
    const out = { ...template };
    for (const [key, value] of Object.entries(given)) if (value !== undefined) out[key] = value;
    return out as Required<T>;
  };
  return { name, read, complete };
}

/** Makes structs with one field more, the tag, whose value is the name; `union` tells them apart by it. */
export function tagged<K extends string>(tag: K) {
  return <T extends { [key in K]: string }>(name: T[K], fields: Omit<Fields<T>, K>): Struct<T> => {
    const read = (): string => {
      d.skip();
      return name;
    };
    return struct(name, { [tag]: optional(read, name), ...fields } as unknown as Fields<T>);
  };
}

/**
 * One of several kinds of maps, told apart by the text under a key.
 * @param key - `type` or `space`
 * @param code - the error for an unknown or missing kind
 * @param kinds - what it may be
 */
export function union<S extends Pick<Struct<any>, "name" | "read">>(
  key: string,
  code: "unknown-type" | "invalid",
  kinds: readonly S[],
): Reader<ReturnType<S["read"]>> {
  const readers = new Map(kinds.map((kind) => [kind.name, kind.read]));
  return () => {
    const start = d.mark();
    let name: unknown;
    // If the key comes twice the last one counts, so the whole map is looked at.
    for (let i = d.readMapHeader(); i > 0; i--) {
      if (d.readKey("invalid") === key) name = d.readAny();
      else d.skip();
    }
    const read = readers.get(name as string);
    if (read === undefined) {
      const what = typeof name === "string" ? JSON.stringify(name.slice(0, 40)) : "no text";
      throw new ProtocolError(code, `${what} as ${key}; it is one of ${[...readers.keys()].join(", ")}`);
    }
    d.reset(start);
    return read() as ReturnType<S["read"]>;
  };
}
