/** A link to a broker that falls silent, returns, and falls silent for good. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentHost, DovetailError, decode, encode, serveHost } from "dovetail-client";
import { Router } from "./router.js";

test("a program says once that it waits for a silent broker, that it is back, and gives up after its limit", async () => {
  const broker = await Router.listen();
  const lines: string[] = [];
  const host = new AgentHost([{ name: "it", create: () => ({ step: () => 0 }) }]);
  const served = serveHost(host, {
    broker: broker.address,
    giveUp: 4,
    ready: () => {},
    problem: (line) => lines.push(line),
  });
  await broker.receive();
  const welcome = { type: "welcome", session: "s", name: "n", heartbeat: 0.1 };
  broker.send(encode(welcome));
  await broker.receive(); // it said that it waits, and connects again
  broker.send(encode({ ...welcome, resumed: true }));
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

test("a connection that breaks is replaced at once, and its hello asks for the session", async () => {
  const broker = await Router.listen();
  const host = new AgentHost([{ name: "it", create: () => ({ step: () => 0 }) }]);
  const stop = new AbortController();
  const served = serveHost(host, { broker: broker.address, ready: () => {}, signal: stop.signal });
  const first = decode(await broker.receive()) as Record<string, unknown>;
  assert.equal(first["resume"] ?? null, null);
  broker.send(encode({ type: "welcome", session: "s", name: "n", heartbeat: 60 }));
  broker.send(encode({ type: "ping", number: 7 }));
  assert.deepEqual(decode(await broker.receive()), { type: "pong", number: 7, seen: 0 });
  broker.cut();
  const again = decode(await broker.receive()) as Record<string, unknown>;
  assert.equal(again["type"], "hello");
  assert.equal(again["resume"], "s");
  broker.send(encode({ type: "welcome", session: "s", name: "n", heartbeat: 60, resumed: true }));
  broker.send(encode({ type: "ping", number: 8 }));
  await broker.receive();
  stop.abort();
  assert.deepEqual(decode(await broker.receive()), { type: "bye" });
  broker.close(); // without it the program waits a moment for the broker to take its goodbye
  await served;
});

test("a bye that comes together with an ERROR is heard", async () => {
  const broker = await Router.listen();
  const host = new AgentHost([{ name: "it", create: () => ({ step: () => 0 }) }]);
  const served = serveHost(host, { broker: broker.address, ready: () => {} });
  await broker.receive();
  broker.send(encode({ type: "welcome", session: "s", name: "n", heartbeat: 60 }));
  broker.send(encode({ type: "ping", number: 7 }));
  await broker.receive();
  broker.sendLast(encode({ type: "bye" }), "no!");
  await served; // without the bye it connects again
  broker.close();
});
