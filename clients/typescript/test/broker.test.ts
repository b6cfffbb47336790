/** Everything together: the broker, and this package's programs and agents around it. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve as absolute } from "node:path";
import { test } from "node:test";
import { DovetailError, Refused, Tensor, connect, decode, encode, serve } from "dovetail-client";
import type { AgentType } from "dovetail-client";
import { othello } from "../othello/environment.js";

const given = process.env["DOVETAIL"] ?? "dovetail";
// A path is of this folder, and the broker is started in another.
const command = given.includes("/") ? absolute(given) : given;
const there = spawnSync(command, ["--help"], { stdio: "ignore" }).status === 0;
const skip = there ? false : `there is no broker: ${command} cannot be started; set DOVETAIL to its path`;
const token = "secret";

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function stopped(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

/** Remembers how often it was told that it won. */
const learner: AgentType = {
  name: "counter",
  capacity: 0,
  create: () => {
    let ends = 0;
    return {
      step: ({ legal, random, observation }) => {
        assert.ok(observation instanceof Tensor && observation.dtype === "int8");
        return random.choice(legal!);
      },
      end: () => void ends++,
      message: (body) => ({ ends, body }),
      save: () => encode(ends),
      load: (state) => void (ends = decode(state) as number),
    };
  },
};

/** Takes the action that leads to the best reward at once; asks the environment. */
const asker: AgentType = {
  name: "asker",
  create: () => ({
    step: async (decision) => {
      const { legal, seat } = decision;
      if (!seat.lookahead) return legal![0];
      const positions = await decision.lookahead(legal!.map((action) => [action]));
      const gains = positions.map((each) => each.rewards[seat.seat]);
      assert.ok(positions.every((each) => each.applied === 1));
      return legal![gains.indexOf(Math.max(...gains))];
    },
  }),
};

test("games through a broker", { skip, timeout: 180_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "dovetail-"));
  const address = `tcp://127.0.0.1:${await freePort()}`;
  const options = { broker: address, token };
  const start = (): ChildProcess =>
    spawn(command, ["broker", "--bind", address, "--journal", "none", "--heartbeat", "0.3"], {
      cwd: folder,
      env: { ...process.env, DOVETAIL_TOKEN: token },
      stdio: "ignore",
    });
  let broker = start();
  t.after(async () => {
    broker.kill("SIGKILL");
    await stopped(broker);
    rmSync(folder, { recursive: true });
  });
  const stop = new AbortController();
  const served = [
    serve({ environments: [othello] }, { ...options, signal: stop.signal, wait: 60 }),
    serve({ agents: [learner, asker] }, { ...options, signal: stop.signal, wait: 60 }),
  ];
  const program = spawn(process.execPath, [new URL("../examples/random.js", import.meta.url).pathname], {
    env: { ...process.env, DOVETAIL_BROKER: address, DOVETAIL_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  program.stdout!.on("data", (text) => (printed += String(text)));
  t.after(() => program.kill("SIGKILL"));
  const experiment = await connect({ ...options, wait: 60 });
  // Otherwise a test that fails would keep this process waiting.
  t.after(async () => {
    stop.abort();
    await experiment.close();
  });
  await experiment.expect(["othello"], ["counter", "asker", "random-typescript", "greedy-typescript"], 60);

  await t.test("a program says once that it is connected", async () => {
    while (printed === "") await new Promise((resolve) => setTimeout(resolve, 10));
    const names = "random-typescript, greedy-typescript";
    assert.match(printed, new RegExp(`^agent ${names} ready at ${address} as agent-\\d+\n$`));
  });

  await t.test("a wrong token is refused", async () => {
    await assert.rejects(connect({ broker: address, token: "wrong" }), Refused);
  });

  await t.test("episodes are played, and the same seed gives the same", async () => {
    const counter = await experiment.create("counter");
    const random = await experiment.create("random-typescript");
    const play = async (): Promise<unknown[]> => {
      const run = await experiment.run("othello", [counter, random], {
        episodes: 6,
        concurrency: 3,
        rotate: true,
        check: true,
        seed: 2n ** 60n + 1n,
        configuration: { size: 6 },
      });
      const results = await run.results();
      assert.ok(results.every((each) => each.reason === "terminated"));
      return results
        .sort((a, b) => a.index - b.index)
        .map(({ seed, turns, outcome }) => [seed, turns, outcome]);
    };
    assert.deepEqual(await play(), await play());
    assert.deepEqual(await experiment.message(counter, 2n ** 63n), { ends: 12, body: 2n ** 63n });
    const twin = await experiment.create("counter", { state: await experiment.save(counter) });
    assert.deepEqual(await experiment.message(twin, null), { ends: 12, body: null });
    await experiment.cleanup(counter);
    await assert.rejects(experiment.message(counter, 1), Refused);
  });

  await t.test("lookahead, afterstates and a stepwise run that is watched", async () => {
    const one = await experiment.create("asker");
    const two = await experiment.create("greedy-typescript");
    const configuration = { size: 4 };
    const run = await experiment.run("othello", [one, two], { lookahead: true, configuration });
    assert.equal((await run.results())[0].reason, "terminated");
    const stepwise = await experiment.run("othello", [one, two], { stepwise: true, configuration });
    await experiment.watch(stepwise.number);
    let turn = await stepwise.start();
    assert.deepEqual(turn.to_act, [0]);
    while (turn.to_act.length) turn = await stepwise.step();
    assert.match(turn.text!, /game over/);
    assert.equal((await stepwise.results()).length, 1);
    let seen = 0;
    for await (const watched of experiment.turns()) {
      seen++;
      if (watched.reason) break;
    }
    assert.equal(seen, turn.turn + 1);
  });

  await t.test("a run may be cancelled, and one that makes no sense is refused", async () => {
    const random = await experiment.create("random-typescript");
    const run = await experiment.run("othello", [random, random], { episodes: 10_000 });
    await run.pause();
    await run.resume();
    await run.cancel();
    const results = await run.results();
    assert.ok(results.length < 10_000);
    await assert.rejects(experiment.run("chess", [random]), Refused);
    const small = await experiment.run("othello", [random, random], { configuration: { size: 5 } });
    await assert.rejects(
      small.results(),
      (error) => error instanceof DovetailError && /'size'/.test(error.message),
    );
  });

  await t.test("a loop that is left ends its run", async () => {
    const random = await experiment.create("random-typescript");
    const run = await experiment.run("othello", [random, random], { episodes: 1_000_000 });
    for await (const episode of run) {
      assert.ok(episode.index >= 0);
      break;
    }
    await assert.rejects(run.cancel(), Refused);
  });

  await t.test("programs find a broker that was restarted", async () => {
    broker.kill("SIGKILL");
    await stopped(broker);
    broker = start();
    const again = await connect({ ...options, wait: 60 });
    await again.expect(["othello"], ["counter", "random-typescript"], 60);
    const counter = await again.create("counter");
    const run = await again.run("othello", [counter, counter], { configuration: { size: 4 } });
    assert.equal((await run.results()).length, 1);
    await again.close();
    await assert.rejects(experiment.catalogue(), DovetailError);
  });

  await t.test("a program that is told to stop ends in order", async () => {
    program.kill("SIGTERM");
    assert.equal(await stopped(program), 0);
    await experiment.close();
    stop.abort();
    await Promise.all(served);
  });
});
