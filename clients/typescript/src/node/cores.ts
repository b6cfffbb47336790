/**
 * Keeps this program's main thread to the core that the broker keeps to, as long as that is so.
 *
 * Where one program at a time has work, as in a single match, most of a turn goes into waking programs on other cores
 * (docs/decisions/0037-one-core-in-lock-step.md).  Node has no call that sets a thread's cores, so `taskset` of
 * util-linux does, once each time that the broker's core changes.  Without it, or on another system than Linux,
 * nothing is done.
 * @module
 */

import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

/** Milliseconds between two looks at where the broker is. */
const LOOK = 10;
/** Milliseconds between two looks for threads and programs that were started meanwhile. */
const PAUSE = 100;

/** Return the cores that a thread may use, such as `0-3`; empty if that cannot be told. */
function coresOf(task: string): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${task}/status`, "latin1"))?.[1] ?? "";
  } catch {
    return "";
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whether a list of cores such as `0-1,4` has several, of which one is this. */
function among(core: string, cores: string): boolean {
  return (
    cores !== core &&
    cores.split(",").some((each) => {
      const [first, last = first] = each.split("-").map(Number);
      return first! <= Number(core) && Number(core) <= last!;
    })
  );
}

/** Where the main thread is. */
export class Cores {
  readonly #thread = String(process.pid);
  #possible = process.platform === "linux";
  /** The core that the thread is confined to; empty if it is not. */
  #core = "";
  /** The cores that it may use otherwise. */
  #before = "";
  /** The threads that were there when it was confined. */
  #others = new Set<string>();
  #looked = 0;
  #thawed = 0;

  /** See where the broker is that has just sent something; 0 stands for one on another machine. */
  heard(broker: number): void {
    const now = performance.now();
    if (!this.#possible || now - this.#looked < LOOK) return;
    this.#looked = now;
    const cores = broker ? coresOf(String(broker)) : "";
    const core = /^\d+$/.test(cores) ? cores : "";
    if (core !== this.#core) {
      this.leave();
      if (core) this.#take(core);
      this.#thawed = now;
    } else if (core && now - this.#thawed >= PAUSE) {
      this.#thawed = now;
      this.#thaw();
    }
  }

  #take(core: string): void {
    const before = coresOf(this.#thread);
    if (!among(core, before)) return;
    this.#before = before;
    this.#others = new Set(listed("/proc/self/task"));
    this.#core = core;
    this.#confine(this.#thread, core);
  }

  /** Let the thread, and what it has started, use the cores of before, unless they were given others meanwhile. */
  leave(): void {
    if (!this.#core) return;
    this.#thaw();
    this.#free(this.#thread);
    this.#core = "";
  }

  /** Let threads and programs that this thread has started meanwhile use the cores of before. */
  #thaw(): void {
    for (const each of listed("/proc/self/task")) if (!this.#others.has(each)) this.#free(each);
    let programs = "";
    try {
      programs = readFileSync(`/proc/self/task/${this.#thread}/children`, "latin1").trim();
    } catch {
      // this system does not list them
    }
    for (const program of programs ? programs.split(" ") : []) {
      for (const each of listed(`/proc/${program}/task`)) this.#free(each);
    }
  }

  #free(task: string): void {
    if (coresOf(task) === this.#core) this.#confine(task, this.#before);
  }

  #confine(task: string, cores: string): void {
    const { error } = spawnSync("taskset", ["-cp", cores, task], { stdio: "ignore" });
    if (error) this.#possible = false; // there is no such command
  }
}
