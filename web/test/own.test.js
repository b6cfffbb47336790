// The games that a browser keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { forget, keep, kept } from "../dovetail_web/static/own.js";

test("the newest games are kept until they are over", () => {
  assert.deepEqual(kept(), [], "without a store");
  keep("a", "/table/a", "A");
  const store = new Map();
  Object.assign(globalThis, {
    localStorage: {
      getItem: (/** @type {string} */ key) => store.get(key) ?? null,
      setItem: (/** @type {string} */ key, /** @type {string} */ text) => store.set(key, text),
    },
  });
  for (const key of "abcad") keep(key, `/table/${key}?chair=1`, key.toUpperCase());
  assert.deepEqual(
    kept().map(([key]) => key),
    ["c", "a", "d"],
  );
  forget("a");
  forget("nothing");
  assert.deepEqual(kept()[1], ["d", { href: "/table/d?chair=1", title: "D" }]);
  store.set("games", "nonsense");
  assert.deepEqual(kept(), []);
});
