/** A link to a broker that falls silent, returns, and falls silent for good. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Router } from "zeromq";
import { AgentHost, DovetailError, encode, serveHost } from "dovetail-client";

test("a program says once that it waits for a silent broker, that it is back, and gives up after its limit", async () => {
  const broker = new Router({ linger: 0 });
  await broker.bind("tcp://127.0.0.1:*");
  const address = broker.lastEndpoint!;
  const lines: string[] = [];
  const host = new AgentHost([{ name: "it", create: () => ({ step: () => 0 }) }]);
  const served = serveHost(host, {
    broker: address,
    giveUp: 4,
    ready: () => {},
    problem: (line) => lines.push(line),
  });
  const [peer] = await broker.receive();
  const welcome = { type: "welcome", session: "s", name: "n", heartbeat: 0.1 };
  await broker.send([peer, encode(welcome)]);
  const [again] = await broker.receive(); // it said that it waits, and connects again
  await broker.send([again, encode({ ...welcome, resumed: true })]);
  await assert.rejects(
    served,
    (error) => error instanceof DovetailError && /has been silent for 4 s; see whether/.test(error.message),
  );
  const silent = /^the broker at tcp:\/\/127\.0\.0\.1:\d+ has been silent for 2 s; waiting up to 4 s for it$/;
  assert.equal(lines.length, 3);
  assert.match(lines[0], silent);
  assert.match(lines[1], /^the broker at tcp:\/\/127\.0\.0\.1:\d+ is back after \d s of silence$/);
  assert.match(lines[2], silent);
  broker.close();
});
