/**
 * Options of agents and environments: declared once as JSON Schema, checked and described from that.
 * @module
 */

import { DovetailError } from "./errors.js";

/** One option: the part of JSON Schema that says what is allowed, and its default. */
export interface Option {
  type?: "boolean" | "integer" | "number" | "string" | "array" | "object";
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
}

/** The options of an agent or environment by name. */
export type Options = Readonly<Record<string, Option>>;

/**
 * Return the options that were given, checked, with the defaults of the others.
 * @throws DovetailError: one is unknown, of the wrong type or out of range; the text says which.
 */
export function readOptions(
  options: Options,
  given: Readonly<Record<string, unknown>>,
  owner: string,
): Record<string, any> {
  const names = Object.keys(options).sort();
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) {
      const allowed = names.length ? `it has ${names.join(", ")}` : "it has none";
      throw new DovetailError(`${owner} has no option '${name}'; ${allowed}`);
    }
  }
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    if (!Object.hasOwn(given, name)) {
      // A default that one agent or environment changes must stay what it was for the next.
      values[name] = structuredClone(option.default);
      continue;
    }
    const problem = wrong(option, given[name]);
    if (problem) throw new DovetailError(`${owner}, option '${name}': ${problem}`);
    values[name] = given[name];
  }
  return values;
}

function wrong(option: Option, value: unknown): string {
  if (option.type !== undefined && !is(option.type, value)) return `expected ${option.type}`;
  if (option.enum && !option.enum.includes(value)) {
    return `expected one of ${option.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  }
  const number = value as number;
  if (option.minimum !== undefined && !(number >= option.minimum)) return `at least ${option.minimum}`;
  if (option.maximum !== undefined && !(number <= option.maximum)) return `at most ${option.maximum}`;
  return "";
}

function is(type: NonNullable<Option["type"]>, value: unknown): boolean {
  switch (type) {
    case "integer":
      return typeof value === "bigint" || Number.isSafeInteger(value);
    case "number":
      return typeof value === "bigint" || typeof value === "number";
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    default:
      return typeof value === type;
  }
}
