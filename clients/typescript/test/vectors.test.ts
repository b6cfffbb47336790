/** The byte vectors of the contract. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { decode as decodeElsewhere } from "@msgpack/msgpack";
import {
  ProtocolError,
  Random,
  contains,
  decode,
  encode,
  formatReading,
  fromHex,
  parseReading,
  read,
  sample,
  spaceOf,
} from "dovetail-client/core";
import type { Limits, Role } from "dovetail-client/core";

// From dist/test up to the repository.
const folder = new URL("../../../../protocol/vectors/", import.meta.url);
const skip = existsSync(folder) ? false : "the vectors of the repository are not there";

interface Valid {
  name: string;
  hex: string;
  json: unknown;
  receiver?: string;
}
interface Malformed {
  name: string;
  receiver: string;
  hex: string;
  code: string;
  limits?: Limits;
}

function load<T>(name: string): T {
  return parseReading(readFileSync(new URL(name, folder), "utf8")) as T;
}

/** True if a value has everything that another has; defaults may come on top in maps. */
function covers(found: any, wanted: any, where: string): void {
  if (Array.isArray(wanted)) {
    assert.equal(found.length, wanted.length, where);
    wanted.forEach((each, i) => covers(found[i], each, `${where}.${i}`));
  } else if (
    wanted !== null &&
    typeof wanted === "object" &&
    Object.getPrototypeOf(wanted) === Object.prototype
  ) {
    for (const key of Object.keys(wanted)) covers(found[key], wanted[key], `${where}.${key}`);
  } else assert.deepEqual(found, wanted, where);
}

test("valid vectors", { skip }, async (t) => {
  const { messages, values } = load<{ messages: Valid[]; values: Valid[] }>("valid.json");
  for (const vector of [...messages, ...values]) {
    await t.test(vector.name, () => {
      const frame = fromHex(vector.hex);
      const value = decode(frame);
      assert.deepEqual(value, vector.json);
      const again = encode(value);
      assert.deepEqual(decode(again), vector.json);
      assert.deepEqual(parseReading(formatReading(value)), vector.json);
      // Another reader of MessagePack must not stumble.
      decodeElsewhere(again);
    });
  }
});

test("valid vectors for each receiver have all their fields", { skip }, () => {
  const { messages } = load<{ messages: Valid[] }>("valid.json");
  let read_ = 0;
  for (const vector of messages) {
    if (vector.receiver === "broker") continue;
    const message = read(vector.receiver as Role, fromHex(vector.hex));
    covers(message, vector.json, vector.name);
    read_++;
  }
  assert.ok(read_ > 60, `${read_} messages`);
});

test("malformed vectors", { skip }, async (t) => {
  const file = load<Record<string, unknown>>("malformed.json");
  const vectors = Object.values(file).find(Array.isArray) as Malformed[];
  for (const vector of vectors.filter((each) => each.receiver !== "broker")) {
    await t.test(vector.name, () => {
      assert.throws(
        () => read(vector.receiver as Role, fromHex(vector.hex), vector.limits),
        (error) => error instanceof ProtocolError && error.code === vector.code,
      );
    });
  }
  await t.test("those of any value at the broker", () => {
    for (const vector of vectors.filter((each) => /tensor|announced|over the limit|too/.test(each.name))) {
      if (vector.receiver !== "broker") continue;
      assert.throws(
        () => decode(fromHex(vector.hex), vector.limits),
        (error) => error instanceof ProtocolError && error.code === vector.code,
        vector.name,
      );
    }
  });
});

test("frames with wrong bytes are read or refused, and nothing worse", { skip }, () => {
  const { messages } = load<{ messages: Valid[] }>("valid.json");
  const random = new Random(1);
  const codes: Record<string, number> = {};
  for (const vector of messages.filter((each) => each.receiver !== "broker")) {
    for (let i = 0; i < 200; i++) {
      const frame = fromHex(vector.hex);
      for (let n = 1 + random.below(3); n > 0; n--) frame[random.below(frame.length)] = random.below(256);
      const cut = random.below(10) ? frame : frame.subarray(0, random.below(frame.length));
      for (const reader of [() => read(vector.receiver as Role, cut), () => decode(cut)]) {
        let code = "none";
        try {
          reader();
        } catch (error) {
          assert.ok(error instanceof ProtocolError, `${vector.name}: ${String(error)}`);
          code = error.code;
        }
        codes[code] = (codes[code] ?? 0) + 1;
      }
    }
  }
  assert.deepEqual(Object.keys(codes).sort(), ["invalid", "malformed", "none", "unknown-type"]);
});

test("what a space contains", { skip }, () => {
  const lines = readFileSync(new URL("members.json", folder), "utf8").split("\n");
  const members = lines.filter((line) => line.includes("space_hex"));
  assert.ok(members.length > 200);
  const random = new Random(1);
  for (const line of members) {
    const vector = JSON.parse(line.replace(/,$/, "")) as {
      space_hex: string;
      value_hex: string;
      member: boolean;
    };
    const space = spaceOf(decode(fromHex(vector.space_hex)));
    const found = contains(space, decode(fromHex(vector.value_hex)));
    // JavaScript cannot tell a whole float from an integer.
    const whole = found && /"value": [^"]*\d\.0\b/.test(line);
    assert.ok(found === vector.member || whole, line);
    if (vector.member) assert.ok(contains(space, sample(space, random)), line);
  }
});
