// Sentences, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { task } from "../dovetail_web/static/words.js";

test("a prompt has a task for each part of a choice, or is told whole", () => {
  const prompt = "Choose a queen; then choose where it moves; then shoot its arrow";
  assert.deepEqual(
    [0, 1, 2].map((picked) => task(prompt, picked, 3)),
    ["Choose a queen", "Choose where it moves", "Shoot its arrow"],
  );
  assert.equal(task(prompt, 0, 1), prompt);
  assert.equal(
    task("Draw a line; the fourth side takes it", 0, 2),
    "Draw a line; the fourth side takes it",
  );
});
