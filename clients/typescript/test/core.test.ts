/** The core must run where there is no Node. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

// From dist/test; the compiler holds the core against an environment without Node's types as well.
const folder = new URL("../src/core/", import.meta.url);

test("the core imports nothing but itself", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 15);
  for (const name of files) {
    const text = readFileSync(new URL(name, folder), "utf8");
    for (const [, from] of text.matchAll(/(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g)) {
      assert.match(from, /^\.\/\w+\.js$/, `${name} imports ${from}`);
    }
    assert.doesNotMatch(text, /\b(?:process|Buffer|__dirname|globalThis\.process)\b\./, name);
  }
});

test("the agent in README.md is the one in examples", () => {
  const root = new URL("../../", import.meta.url);
  const example = readFileSync(new URL("examples/first.ts", root), "utf8");
  assert.ok(readFileSync(new URL("README.md", root), "utf8").includes(`\`\`\`ts\n${example}\`\`\``));
});
