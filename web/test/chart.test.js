import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "../dovetail_web/static/chart.js";

test("axes have round numbers that hold all values", () => {
  for (const [low, high] of [
    [-0.37, 0.92],
    [0, 0],
    [0, 1444],
    [-3, -1],
    [0, 0.001],
  ]) {
    const found = ticks(low, high);
    assert.ok(found.length >= 2 && found.length <= 5, String(found));
    assert.ok(found[0] <= low && found[found.length - 1] >= high, `${low} ${high}: ${found}`);
    assert.ok(found.every((each) => String(each).length < 8));
  }
});
