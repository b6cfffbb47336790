/** The main thread follows a program that is confined to one core, and what it starts does not stay there. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Cores } from "../src/node/cores.js";

function coresOf(task: number): string {
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${task}/status`, "latin1"))![1]!;
}

const possible = process.platform === "linux" && !spawnSync("taskset", ["--version"]).error;
const before = possible ? coresOf(process.pid) : "";
const skip = !possible ? "this system has no taskset" : /[-,]/.test(before) ? false : "there is one core";

/** Let time pass until the next look. */
const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test("the thread keeps to the core of a program as long as that does", { skip }, async () => {
  const first = before.split(/[-,]/)[0]!;
  const broker = spawn("taskset", ["-c", first, "cat"]);
  const cores = new Cores();
  broker.stdin.write("up");
  await once(broker.stdout, "data"); // it is `cat` by now, confined
  cores.heard(0);
  assert.equal(coresOf(process.pid), before);
  await later();
  cores.heard(broker.pid!);
  assert.equal(coresOf(process.pid), first);

  const child = spawn("cat");
  child.stdin.write("up");
  await once(child.stdout, "data");
  assert.equal(coresOf(child.pid!), first);
  await later();
  cores.heard(0);
  assert.equal(coresOf(process.pid), before);
  assert.equal(coresOf(child.pid!), before);
  child.kill();
  broker.kill();
});
