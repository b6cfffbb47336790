/** Values, spaces, seeds and masks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { decode as decodeElsewhere } from "@msgpack/msgpack";
import {
  DovetailError,
  Extension,
  Random,
  Tensor,
  box,
  contains,
  decode,
  derive,
  dict,
  discrete,
  encode,
  formatReading,
  mask,
  multiBinary,
  multiDiscrete,
  parseReading,
  read,
  readOptions,
  sample,
  sequence,
  spaceOf,
  textSpace,
  toHex,
  tuple,
  unmask,
} from "dovetail-client/core";
import type { Int } from "dovetail-client/core";
import { readFrame } from "../src/core/decode.js";
import { LIMITS } from "../src/core/codec.js";
import { Space } from "../src/core/messages.js";
import { fromHalf, toHalf } from "../src/core/values.js";

test("integers are exact, numbers where that is possible", () => {
  for (const value of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n, 2n ** 53n, -(2n ** 53n)]) {
    assert.equal(decode(encode(value)), value);
  }
  for (const value of [
    0,
    -1,
    -33,
    2 ** 31,
    -(2 ** 31) - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
  ]) {
    assert.equal(decode(encode(value)), value);
    assert.equal(decode(encode(BigInt(value))), value);
  }
  assert.throws(() => encode(2n ** 64n), TypeError);
});

test("lengths and integers on both sides of every width of a header", () => {
  for (const bits of [4, 5, 7, 8, 15, 16, 31, 32, 52]) {
    for (const value of [2 ** bits - 1, 2 ** bits, -(2 ** bits), -(2 ** bits) - 1]) {
      assert.equal(decode(encode(value)), value);
      assert.equal(decodeElsewhere(encode(value), { useBigInt64: false }), value);
    }
  }
  for (const length of [0, 15, 16, 31, 32, 255, 256, 65535, 65536]) {
    const bytes = new Uint8Array(length).fill(7);
    const text = "é".repeat(length >> 1) + "x".repeat(length & 1);
    const map = Object.fromEntries(Array.from({ length: length >> 1 }, (_, i) => [`key ${i}`, i]));
    for (const value of [bytes, text, Array<null>(length).fill(null), map, new Extension(5, bytes)]) {
      assert.deepEqual(decode(encode(value)), value);
      if (!(value instanceof Extension)) assert.deepEqual(decodeElsewhere(encode(value)), value);
    }
  }
});

test("numbers that are no integers stay what they are", () => {
  for (const value of [0.5, -0, 1e300, 2 ** 60, Infinity, NaN])
    assert.ok(Object.is(decode(encode(value)), value));
});

test("what cannot travel says so", () => {
  const circle: unknown[] = [];
  circle.push(circle);
  for (const value of [
    () => 0,
    Symbol("s"),
    new Date(),
    circle,
    new Map([[1, 2]]),
    new DataView(new ArrayBuffer(1)),
  ]) {
    assert.throws(() => encode(value), TypeError);
  }
  assert.deepEqual(decode(encode({ a: undefined, b: [undefined] })), { b: [null] });
});

test("the tensor of SPEC.md", () => {
  assert.equal(toHex(encode(new Int8Array([1, 2]))), "c70c0193a4696e74389102c4020102");
  assert.deepEqual(
    decode(encode(new BigInt64Array([-1n]))),
    new Tensor("int64", [1], new BigInt64Array([-1n])),
  );
});

test("tensors of every length of header", () => {
  for (const length of [0, 1, 2, 3, 25, 26, 27, 28, 29, 30, 200, 300, 70000]) {
    const tensor = new Tensor(
      "float64",
      [length],
      Float64Array.from({ length }, (_, i) => i / 2),
    );
    assert.deepEqual(decode(encode({ odd: 1, tensor })), { odd: 1, tensor });
  }
});

test("float16 is rounded to the nearest", () => {
  for (let bits = 0; bits < 0x7c00; bits += 7) assert.equal(toHalf(fromHalf(bits)), bits);
  assert.equal(toHalf(65519), 0x7bff);
  assert.equal(toHalf(65520), 0x7c00);
  assert.equal(toHalf(1 + 2 ** -11), 0x3c00);
  assert.equal(toHalf(1 + 3 * 2 ** -11), 0x3c02);
  assert.equal(toHalf(2 ** -25), 0);
  assert.equal(toHalf(-1.5), 0xbe00);
  assert.ok(Number.isNaN(fromHalf(toHalf(NaN))));
});

test("masks", () => {
  assert.deepEqual([...mask([0, 9], 10)], [1, 2]);
  assert.deepEqual(unmask(mask([3, 7, 8, 21], 25)), [3, 7, 8, 21]);
});

/** A map as its keys and values come, also if a key comes twice. */
const map = (...pairs: [string, unknown][]): Uint8Array =>
  Uint8Array.from([
    0x80 | pairs.length,
    ...pairs.flatMap((pair) => pair.flatMap((each) => [...encode(each)])),
  ]);

test("of a key that comes twice the last counts, also if it says what the map is", () => {
  assert.deepEqual(decode(map(["a", 1], ["a", 2])), { a: 2 });
  const twice = map(["space", "Discrete"], ["n", 3], ["shape", [2]], ["space", "MultiBinary"]);
  assert.deepEqual(readFrame(twice, Space, LIMITS), { space: "MultiBinary", shape: [2] });
  const more = map(["number", 7], ["type", "bye"], ["type", 5], ["type", "ping"]);
  assert.deepEqual(read("agent", more), { type: "ping", number: 7, settled: 0 });
});

test("no key reaches the prototype", () => {
  for (const each of [decode(map(["__proto__", { bad: 1 }])), parseReading('{"__proto__": {"bad": 1}}')]) {
    assert.deepEqual(Object.keys(each as object), ["__proto__"]);
    assert.equal((each as { bad?: unknown }).bad, undefined);
    assert.equal(toHex(encode(each)), toHex(map(["__proto__", { bad: 1 }])));
  }
  const open = map(["type", "open"], ["match", 1], ["environment", "e"], ["__proto__", { bad: 1 }]);
  assert.equal((read("environment", open) as { bad?: unknown }).bad, undefined);
});

test("seeds are derived as SPEC.md says", () => {
  assert.equal(derive(1, "episode", 0), 4384949654484100906n);
  assert.equal(derive(7, "seat", 1), 2741667346559110548n);
});

test("values that fit into no message are not drawn", () => {
  const bits = sequence(discrete(2), 10_000, 10_000);
  const spaces: Space[] = [
    box([2 ** 40], 0, 1),
    multiBinary([2 ** 40, 0]),
    textSpace(2 ** 50, 2 ** 50),
    sequence(bits, 10_000, 10_000),
    tuple(...new Array<Space>(1000).fill(bits)),
  ];
  for (const space of spaces) assert.throws(() => sample(space, new Random(1)), DovetailError);
  assert.ok((sample(textSpace(2 ** 50, 3), new Random(1)) as string).length <= 102);
});

test("the time to check a text does not grow with its charset", () => {
  const letters = Array.from({ length: 1 << 17 }, (_, i) => String.fromCodePoint(0x20000 + i));
  const element = textSpace(2 ** 50, 0, letters.join(""));
  const begun = performance.now();
  assert.ok(contains(element, letters.join("")));
  assert.ok(contains(sequence(element, 2 ** 50), letters));
  assert.ok(performance.now() - begun < 10_000);
});

test("what is sampled is in the space", () => {
  const random = new Random(5);
  const tensor = (dtype: string, shape: number[], low: number | number[], high: number | number[]) => {
    const bound = (each: number | number[], i: number): number => (typeof each === "number" ? each : each[i]);
    return (value: unknown): boolean =>
      value instanceof Tensor &&
      value.dtype === dtype &&
      String(value.shape) === String(shape) &&
      [...value.data].every((each, i) => each >= bound(low, i) && each <= bound(high, i));
  };
  const within = (value: any, low: Int, high: Int): boolean => value >= low && value <= high;
  const spaces: [Space, (value: any) => boolean][] = [
    [
      sequence(discrete(3), 4, 2),
      (value) => within(value.length, 2, 4) && value.every((each: Int) => within(each, 0, 2)),
    ],
    [discrete(5, -2), (value) => within(value, -2, 2)],
    [discrete(2n ** 63n, -(2n ** 62n)), (value) => within(value, -(2n ** 62n), 2n ** 62n - 1n)],
    [box([2, 3], -1, 1), tensor("float32", [2, 3], -1, 1)],
    [box([], 0, 255, "uint8"), tensor("uint8", [], 0, 255)],
    [box([2], [0, -3], [1, 3], "int64"), tensor("int64", [2], [0, -3], [1, 3])],
    [
      box(
        [2, 2],
        [
          [0, 1],
          [2, 3],
        ],
        5,
      ),
      tensor("float32", [2, 2], [0, 1, 2, 3], 5),
    ],
    [box([9], 200, Infinity, "uint8"), tensor("uint8", [9], 200, 255)],
    [box([9], -Infinity, -100, "int8"), tensor("int8", [9], -128, -100)],
    [box([9], 0.5, 2.5, "int32"), tensor("int32", [9], 1, 2)],
    [box([9], -Infinity, Infinity, "uint64"), tensor("uint64", [9], 0, 2 ** 64)],
    [
      box([9], -Number.MAX_VALUE, Number.MAX_VALUE, "float64"),
      tensor("float64", [9], -Number.MAX_VALUE, Number.MAX_VALUE),
    ],
    [box([9], -Infinity, -5000, "float32"), tensor("float32", [9], -6000, -5000)],
    [box([2], 0, 1, "bool"), tensor("bool", [2], 0, 1)],
    [multiDiscrete([2, 9]), ([a, b]) => within(a, 0, 1) && within(b, 0, 8)],
    [multiBinary([4]), tensor("int8", [4], 0, 1)],
    [textSpace(5, 2, "abc"), (value) => /^[abc]{2,5}$/.test(value)],
    [
      tuple(discrete(2), dict({ a: discrete(3), b: box([1]) })),
      ([first, { a, b }]) => within(first, 0, 1) && within(a, 0, 2) && tensor("float32", [1], -1e9, 1e9)(b),
    ],
  ];
  for (const [space, fits] of spaces) {
    const seen = new Set<string>();
    for (let i = 0; i < 50; i++) {
      const value = sample(space, random);
      assert.ok(fits(value), `${space.space}: ${formatReading(value)}`);
      seen.add(formatReading(value));
    }
    assert.ok(seen.size > 1, space.space);
  }
});

test("spaces travel, and what is none is refused", () => {
  for (const space of [
    discrete(5, -2),
    box([2], [0, -3], [1, 3], "int64"),
    tuple(dict({ a: textSpace(3) })),
  ]) {
    assert.deepEqual(spaceOf(decode(encode(space))), space);
  }
  assert.deepEqual(spaceOf({ space: "Discrete", n: 3 }), discrete(3));
  assert.throws(() => spaceOf({ space: "Square" }));
  assert.throws(() => spaceOf({ space: "Discrete", n: 0 }));
});

test("options are checked", () => {
  const options = { size: { type: "integer", enum: [4, 8], default: 8 } } as const;
  assert.deepEqual(readOptions(options, {}, "it"), { size: 8 });
  assert.deepEqual(readOptions(options, { size: 4 }, "it"), { size: 4 });
  const list = { list: { type: "array", default: [1] } } as const;
  readOptions(list, {}, "it")["list"].push(2);
  assert.deepEqual(readOptions(list, {}, "it"), { list: [1] });
  assert.throws(() => readOptions(options, { size: 5 }, "it"), /'size': expected one of 4, 8/);
  assert.throws(() => readOptions(options, { side: 5 }, "it"), /no option 'side'; it has size/);
});

test("the same seed gives the same numbers", () => {
  const [one, two, three] = [new Random(2n ** 60n), new Random(2n ** 60n), new Random(1)];
  const first = Array.from({ length: 5 }, () => one.bits());
  assert.deepEqual(
    Array.from({ length: 5 }, () => two.bits()),
    first,
  );
  assert.notDeepEqual(
    Array.from({ length: 5 }, () => three.bits()),
    first,
  );
});
