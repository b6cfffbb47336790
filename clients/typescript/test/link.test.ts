/** A link to a broker that answers once and then falls silent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Router } from "zeromq";
import { AgentHost, DovetailError, encode, serveHost } from "dovetail-client";

test("a program says once that it waits for a silent broker, and gives up after its limit", async () => {
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
  await assert.rejects(
    served,
    (error) => error instanceof DovetailError && /has been silent for 4 s; see whether/.test(error.message),
  );
  assert.equal(lines.length, 1);
  assert.match(
    lines[0],
    /^the broker at tcp:\/\/127\.0\.0\.1:\d+ has been silent for 2 s; waiting up to 4 s for it$/,
  );
  broker.close();
});
