/** Sessions and hosts without a socket: repeats, resumption, and user code that is slow or fails. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { beforeEach, test } from "node:test";
import {
  AgentHost,
  DovetailError,
  EnvironmentHost,
  Experiment,
  Refused,
  Session,
  SessionLost,
  decode,
  discrete,
  encode,
  read,
  toHex,
} from "dovetail-client/core";
import type {
  Agent,
  Decision,
  End,
  Environment,
  ToAgent,
  ToEnvironment,
  ToExperiment,
} from "dovetail-client/core";

const NUMBERED = "open start step close lookahead message create init end save load leave cleanup".split(" ");
const numbers = new Map<string, number>();
beforeEach(() => numbers.clear());

/** Number a frame as the broker does: one that comes again has the same number. */
function numbered(each: any): any {
  if (!NUMBERED.includes(each.type)) return each;
  const key = toHex(encode(each));
  if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
  return { seq: numbers.get(key), ...each };
}

const said = (frames: Uint8Array[]): any[] => frames.map((frame) => decode(frame));
const toAgent = (...all: object[]): ToAgent[] => all.map((each) => read("agent", encode(numbered(each))));
const toGame = (...all: object[]): ToEnvironment[] =>
  all.map((each) => read("environment", encode(numbered(each))));
const toExperiment = (...all: object[]): ToExperiment[] =>
  all.map((each) => read("experiment", encode(each)));
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const spec = { type: "spec", seats: 2, action_spaces: [discrete(3)] };
const welcome = (resumed: boolean): object => ({ type: "welcome", session: "s", name: "n", resumed });

/** An agent that writes down what it hears. */
function agents(
  step: (decision: Decision) => unknown,
  slow = false,
): { host: AgentHost; heard: string[]; later: any[] } {
  const heard: string[] = [];
  const later: any[] = [];
  const agent: Agent = {
    init: ({ seat }) => void heard.push(`init ${seat}`),
    step: (decision) => {
      heard.push(`step ${decision.episode}/${decision.turn}`);
      return step(decision);
    },
    end: ({ episode, reason }: End) => void heard.push(`end ${episode} ${reason}`),
    message: (body) => {
      heard.push(`message ${body}`);
      return slow ? soon() : null;
    },
    cleanup: () => void heard.push("cleanup"),
  };
  const host = new AgentHost([{ name: "it", create: () => agent }]);
  host.later = (frames) => later.push(...said(frames));
  host.handle(toAgent({ type: "create", id: 1, instance: 9, agent: "it" }));
  host.handle(toAgent({ type: "init", match: 2, seat: 0, instance: 9, spec }));
  return { host, heard, later };
}

const small = { ...welcome(true), limits: { frame: 500 } };
const start = { type: "start", episode: 5, match: 2, seat: 0, turn: 0, seed: 2n ** 62n, legal: [1, 2] };
const end = { type: "end", episode: 5, seat: 0, match: 2 };

test("a decision that comes again is answered alike and not made again", () => {
  const { host, heard } = agents(({ random, legal }) => random.choice(legal!));
  const [first] = said(host.handle(toAgent(start)));
  assert.deepEqual(said(host.handle(toAgent(start, start))), [first, first]);
  const [second] = said(host.handle(toAgent({ ...start, type: "step", turn: 3 })));
  assert.equal(second.turn, 3);
  assert.deepEqual(host.handle(toAgent(start)), []);
  assert.deepEqual(host.handle(toAgent(end, end, start)), []);
  assert.deepEqual(heard, ["init 0", "step 5/0", "step 5/3", "end 5 terminated"]);
});

test("an answer is kept until the broker has settled it", () => {
  const { host } = agents(() => 1);
  const [answer] = said(host.handle(toAgent(start)));
  const { seq } = numbered(start);
  const ping = { type: "ping", settled: seq - 1 };
  assert.deepEqual(said(host.handle(toAgent(ping, start))), [answer]);
  assert.deepEqual(host.handle(toAgent({ ...ping, settled: seq }, start)), []);
});

test("a decision for a seat that no agent holds is answered with an error", () => {
  const { host } = agents(() => 1);
  const [answer] = said(host.handle(toAgent({ ...start, match: 3 })));
  assert.deepEqual([answer.code, answer.answers], ["unknown", numbered({ ...start, match: 3 }).seq]);
});

test("a run that waits is told once", async () => {
  const told: string[] = [];
  const experiment = new Experiment();
  experiment.warn = (line) => told.push(line);
  experiment.attach({ send: () => {}, close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const asked = experiment.run("nim", [1], { episodes: 1 });
  experiment.handle(toExperiment({ type: "reply", id: 1, body: { run: 5 }, seq: 1 }));
  const run = await asked;
  const progress = { type: "progress", run: 5, finished: 0, running: 0, total: 1 };
  ["", "agent 3 is busy", "agent 3 is busy", ""].forEach((waiting, n) => {
    experiment.handle(toExperiment({ ...progress, waiting, seq: n + 2 }));
  });
  assert.deepEqual(told, ["run 5 waits: agent 3 is busy"]);
  assert.equal(run.progress.waiting, "");
});

test("a request that is given up is cancelled at the broker", async () => {
  const sent: any[] = [];
  const experiment = new Experiment();
  experiment.attach({ send: (frames) => sent.push(...said(frames)), close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const stop = new AbortController();
  const asked = experiment.message(1, "hi", { timeout: 5, signal: stop.signal });
  stop.abort();
  assert.deepEqual(sent, [
    { type: "message", instance: 1, body: "hi", timeout: 5, id: 1 },
    { type: "cancel", request: 1, id: 2 },
  ]);
  experiment.handle(toExperiment({ type: "error", code: "cancelled", message: "given up", id: 1, seq: 1 }));
  await assert.rejects(asked, (error) => error instanceof Refused && error.code === "cancelled");
});

test("a signal that outlives its requests keeps nothing of them", async () => {
  const { signal } = new AbortController();
  const experiment = new Experiment();
  experiment.attach({ send: () => {}, close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const asked = [1, 2, 3].map((instance) => experiment.message(instance, "hi", { signal }));
  assert.equal(getEventListeners(signal, "abort").length, 3);
  experiment.handle(toExperiment({ type: "reply", id: 1, body: "there", seq: 1 }));
  experiment.handle(toExperiment({ type: "error", code: "unknown", message: "who?", id: 2, seq: 2 }));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  experiment.lose(new SessionLost("gone"));
  assert.equal(getEventListeners(signal, "abort").length, 0);
  const settled = await Promise.allSettled(asked);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected"],
  );
});

test("a session says what has arrived, and which frame it could not read", () => {
  const session = new Session("agent", {});
  session.greet(0);
  const frames = [welcome(false), { type: "leave", match: 1, seq: 4 }, { type: "ping", number: 1 }];
  const { answers } = session.receive(
    frames.map((each) => encode(each)),
    1,
  );
  assert.deepEqual(said(answers), [{ type: "pong", number: 1, seen: 4 }]);
  const bad = [
    { type: "init", seq: 5 },
    { type: "save", id: 7, seq: 6 },
  ].map((each) => encode(each));
  const refusals = said(session.receive(bad, 1).answers);
  assert.deepEqual(
    refusals.map(({ code, id, answers }) => [code, id, answers]),
    [
      ["invalid", undefined, 5],
      ["invalid", 7, undefined],
    ],
  );
  const [hello] = said([session.greet(2)]);
  assert.deepEqual([hello.resume, hello.seen], ["s", 4]);
});

test("a request that comes again is answered alike and not done again", () => {
  const { host, heard } = agents(() => 1);
  const ask = { type: "message", id: 7, instance: 9, body: "hi" };
  const [first] = said(host.handle(toAgent(ask)));
  assert.deepEqual(said(host.handle(toAgent(ask))), [first]);
  assert.deepEqual(heard, ["init 0", "message hi"]);
});

test("a slow agent is not asked twice, and answers when it knows", async () => {
  let decide = (_: number): void => {};
  const { host, heard, later } = agents(() => new Promise<number>((resolve) => (decide = resolve)));
  assert.deepEqual(host.handle(toAgent(start)), []);
  assert.deepEqual(host.handle(toAgent(start, welcome(true), start)), []);
  decide(2);
  await soon();
  assert.deepEqual(later, [{ type: "action", episode: 5, turn: 0, seat: 0, action: 2 }]);
  assert.deepEqual(said(host.handle(toAgent(start))), later);
  assert.deepEqual(heard, ["init 0", "step 5/0"]);
});

test("a slow agent whose episode ended says nothing", async () => {
  let decide = (_: number): void => {};
  const { host, later } = agents(() => new Promise<number>((resolve) => (decide = resolve)));
  host.handle(toAgent(start, end));
  decide(2);
  await soon();
  assert.deepEqual(later, []);
});

test("an agent that fails, or answers what cannot travel, is crashed and lives on", () => {
  const { host } = agents(({ turn }) => {
    if (turn === 0) throw new Error("no idea");
    return () => turn;
  });
  const [first] = said(host.handle(toAgent(start)));
  assert.deepEqual([first.type, first.code, first.answers], ["error", "crashed", numbered(start).seq]);
  assert.match(first.message, /it in turn 0 threw Error: no idea/);
  assert.deepEqual(said(host.handle(toAgent(start))), [first]);
  const [second] = said(host.handle(toAgent({ ...start, type: "step", turn: 1 })));
  assert.match(second.message, /the action cannot travel/);
});

for (const slow of [false, true])
  test(`the next decision or request tells of an end that failed${slow ? " later" : ""}`, async () => {
    const heard: string[] = [];
    const agent: Agent = {
      step: () => 1,
      end: () => {
        const error = new Error("no such key");
        if (slow) return soon().then(() => Promise.reject(error));
        throw error;
      },
      cleanup: () => void heard.push("cleanup"),
    };
    const host = new AgentHost([{ name: "it", create: () => agent }]);
    let answers: any[] = [];
    const lines: string[] = [];
    host.later = (frames) => answers.push(...said(frames));
    host.surprised = (line) => lines.push(line);
    const ask = async (...all: object[]): Promise<any[]> => {
      answers = [];
      answers.push(...said(host.handle(toAgent(...all))));
      for (let i = 0; i < 3; i++) await soon();
      return answers;
    };
    await ask({ type: "create", id: 1, instance: 9, agent: "it" });
    await ask({ type: "init", match: 2, seat: 0, instance: 9, spec });
    const text = "it at the end of an episode threw Error: no such key";
    const request = { id: 7, instance: 9 };
    const asked = [
      start,
      { ...request, type: "save" },
      { ...request, type: "load", state: Uint8Array.of() },
      { ...request, type: "message", body: 1 },
      { ...request, type: "cleanup" },
    ];
    for (const [episode, each] of asked.entries()) {
      const frame = each.type === "start" ? each : { ...each, id: 10 + episode };
      const [told, ...others] = await ask({ ...end, episode: 20 + episode }, frame);
      assert.deepEqual([told.type, told.code, told.message, others], ["error", "crashed", text, []]);
      assert.deepEqual(await ask(frame), [told]);
      if (each.type !== "cleanup") {
        const [next] = await ask(
          each.type === "start" ? { ...start, turn: 1 } : { ...each, id: 30 + episode },
        );
        assert.notEqual(next.type, "error");
      }
    }
    assert.deepEqual(heard, ["cleanup"]);
    assert.deepEqual(lines, Array(5).fill(text));
  });

test("what is larger than the broker reads is not sent, but told, also if it is asked for again", async () => {
  const large = "x".repeat(1000);
  const { host } = agents(({ turn }) => (turn === 0 ? large : 2));
  const agent = { step: () => 0, save: () => new Uint8Array(1000) };
  const saver = new AgentHost({ name: "saver", create: () => agent });
  const save = { type: "save", id: 3, instance: 9 };
  assert.equal(said(saver.handle(toAgent(save)))[0].type, "saved");
  const again = { ...save, id: 4 };
  const [refused, repeated] = said(saver.handle(toAgent(small, again, again)));
  assert.deepEqual([refused.type, refused.code, refused.id], ["error", "crashed", 4]);
  assert.match(
    refused.message,
    /^saver in save failed: the answer cannot travel: 1,0\d\d bytes in a message; the broker reads 500$/,
  );
  assert.deepEqual(repeated, refused);

  const [action, same] = said(host.handle(toAgent(small, start, start)));
  assert.deepEqual([action.code, action.answers], ["crashed", numbered(start).seq]);
  assert.match(action.message, /the broker reads 500/);
  assert.deepEqual(same, action);
  assert.equal(said(host.handle(toAgent({ ...start, type: "step", turn: 1 })))[0].action, 2);

  const game: Environment = {
    init: () => ({ action_spaces: [discrete(3)] }),
    start: () => ({ to_act: [0], seats: [{ seat: 0, observation: large }] }),
    step: () => ({ seats: [] }),
    message: () => large,
  };
  const wordy = { ...game, init: () => ({ name: large, action_spaces: [discrete(3)] }) };
  const rules = new EnvironmentHost([
    { name: "it", create: () => game },
    { name: "wordy", create: () => wordy },
  ]);
  const open = { type: "open", match: 4, environment: "it" };
  const begin = { type: "start", match: 4, episode: 8, seed: 1 };
  const refusals = [
    { ...open, match: 6, environment: "wordy" },
    begin,
    { type: "message", id: 7, match: 4, body: 1 },
  ];
  rules.handle(toGame(small, open));
  for (const each of refusals) {
    const [first, second] = said(rules.handle(toGame(each, each)));
    assert.match(first.message, /the broker reads 500/);
    assert.deepEqual(second, first);
  }
});

test("a request larger than the broker reads is not sent", async () => {
  const sent: any[] = [];
  const experiment = new Experiment();
  experiment.attach({ send: (frames) => sent.push(...said(frames)), close: async () => {} });
  experiment.handle(toExperiment(small));
  await assert.rejects(experiment.message(1, "x".repeat(1000)), DovetailError);
  assert.deepEqual([sent, experiment.handle(toExperiment(small))], [[], []]);
});

test("a lost session ends every seat and lets all go", () => {
  const { host, heard } = agents(() => 1);
  host.handle(toAgent(start));
  assert.deepEqual(host.handle(toAgent(welcome(false))), []);
  assert.deepEqual(heard.slice(2), ["end 5 disconnected", "cleanup"]);
  assert.equal(said(host.handle(toAgent(start)))[0].code, "unknown");
  const [answer] = said(host.handle(toAgent({ type: "save", id: 3, instance: 9 })));
  assert.equal(answer.type, "error");
});

test("an agent that looks ahead asks, waits and acts; a continued session asks again", async () => {
  const { host, later } = agents(async (decision) => {
    const previews = await decision.lookahead([[1], [2]]);
    return previews[1].rewards[0] > previews[0].rewards[0] ? 2 : 1;
  });
  assert.deepEqual(host.handle(toAgent(start)), []);
  await soon();
  const [question] = later;
  assert.deepEqual([question.type, question.turn, question.lines], ["lookahead", 0, [[[1]], [[2]]]]);
  assert.deepEqual(said(host.handle(toAgent(start, welcome(true)))), [question]);
  host.handle(toAgent({ type: "reply", id: question.id, body: [{ rewards: [0, 0] }, { rewards: [1, -1] }] }));
  await soon();
  assert.equal(later[1].action, 2);
});

test("an agent whose lookahead gets no previews is crashed and lives on", async () => {
  const { host, later } = agents((decision) => decision.lookahead([[1]]));
  for (const [turn, body] of [null, 3, [null]].entries()) {
    host.handle(toAgent(turn ? { ...start, type: "step", turn } : start));
    await soon();
    host.handle(toAgent({ type: "reply", id: later.at(-1).id, body }));
    await soon();
    assert.match(later.at(-1).message, /not a list of previews/);
  }
});

test("an agent whose state cannot be loaded is cleaned up", async () => {
  const create = { type: "create", id: 1, instance: 9, agent: "it", state: Uint8Array.of(1) };
  for (const load of [
    () => {
      throw new DovetailError("not mine");
    },
    async () => {
      await soon();
      throw new DovetailError("not mine");
    },
  ]) {
    const heard: string[] = [];
    const host = new AgentHost([
      { name: "it", create: () => ({ step: () => 1, load, cleanup: () => void heard.push("cleanup") }) },
    ]);
    let frames: Uint8Array[] = [];
    host.later = (more) => (frames = frames.concat(more));
    frames = frames.concat(host.handle(toAgent(create)));
    for (let i = 0; i < 3; i++) await soon();
    assert.deepEqual(
      said(frames).map(({ code, message }) => [code, message]),
      [["unavailable", "not mine"]],
    );
    assert.deepEqual(heard, ["cleanup"]);
  }
});

test("an agent whose session is lost while it loads is cleaned up", async () => {
  const heard: string[] = [];
  const agent: Agent = { step: () => 1, load: soon, cleanup: () => void heard.push("cleanup") };
  const host = new AgentHost([{ name: "it", create: () => agent }]);
  host.handle(toAgent({ type: "create", id: 1, instance: 9, agent: "it", state: Uint8Array.of(1) }));
  host.handle(toAgent(welcome(false)));
  assert.deepEqual(heard, []);
  for (let i = 0; i < 3; i++) await soon();
  assert.deepEqual(heard, ["cleanup"]);
});

test("however many requests are in progress, each is done and answered once", async () => {
  const { host, heard, later } = agents(() => 1, true);
  const asked = Array.from({ length: 500 }, (_, i) => ({ type: "message", id: i + 2, instance: 9, body: i }));
  assert.deepEqual(host.handle(toAgent(...asked, ...asked)), []);
  for (let i = 0; i < 5000 && later.length < asked.length; i++) await soon();
  assert.deepEqual(
    later.map(({ id }) => id),
    asked.map(({ id }) => id),
  );
  assert.equal(heard.filter((each) => each.startsWith("message")).length, asked.length);
  // A request that the broker has forgotten is not answered, even if its number comes again.
  host.handle(toAgent(...asked.map((each) => ({ ...each, id: each.id + 1000 })), welcome(false)));
  host.handle(toAgent({ ...asked[0], id: 1002 }));
  for (let i = 0; i < 10; i++) await soon();
  assert.deepEqual(
    later.slice(asked.length).map(({ type, id }) => [type, id]),
    [],
  );
});

/** A game of three turns that writes down what is asked of it. */
function games(delay = false): { host: EnvironmentHost; heard: string[]; later: any[] } {
  const heard: string[] = [];
  const later: any[] = [];
  let turn = 0;
  const make = (): Environment => ({
    init: () => ({ seats: 2, action_spaces: [discrete(3)] }),
    start: (seed) => {
      heard.push(`start ${seed}`);
      turn = 0;
      return { to_act: [0], seats: [{ seat: 0, observation: seed }] };
    },
    step: (actions) => {
      heard.push(`step ${[...actions]}`);
      turn++;
      const made = { to_act: turn < 3 ? [0] : [], seats: [{ seat: 0, reward: 1 }], terminated: turn === 3 };
      return delay ? soon().then(() => made) : made;
    },
    text: (seat) => `${seat}`,
  });
  const host = new EnvironmentHost([{ name: "it", create: make }]);
  host.later = (frames) => later.push(...said(frames));
  host.handle(toGame({ type: "open", match: 4, environment: "it" }));
  return { host, heard, later };
}

const begin = {
  type: "start",
  match: 4,
  episode: 8,
  seed: 2n ** 63n - 1n,
  wants: [["text"], []],
  watched: true,
};
const act = (turn: number): object => ({ type: "step", episode: 8, turn, actions: [[0, turn]] });

test("a step that comes again is answered alike and not taken again", () => {
  const { host, heard } = games();
  const [zero] = said(host.handle(toGame(begin)));
  assert.equal(zero.seats[0].observation, 2n ** 63n - 1n);
  assert.deepEqual([zero.text, zero.seats[0].text], ["null", "0"]);
  assert.deepEqual(said(host.handle(toGame(begin))), [zero]);
  const [one] = said(host.handle(toGame(act(0))));
  assert.equal(one.turn, 1);
  assert.deepEqual(said(host.handle(toGame(act(0), begin))), [one]);
  const [, three] = said(host.handle(toGame(act(1), act(2))));
  assert.equal(three.terminated, true);
  assert.deepEqual(said(host.handle(toGame(act(2)))), [three]);
  const [unknown] = said(host.handle(toGame(act(3))));
  assert.deepEqual([unknown.code, unknown.answers], ["unknown", numbered(act(3)).seq]);
  assert.deepEqual(heard, ["start 9223372036854775807", "step 0,0", "step 0,1", "step 0,2"]);
});

test("a slow environment is not stepped twice; what it says of an abandoned episode is dropped", async () => {
  const { host, heard, later } = games(true);
  host.handle(toGame(begin, act(0)));
  assert.deepEqual(host.handle(toGame(act(0))), []);
  await soon();
  await soon();
  assert.deepEqual(
    later.map((each) => each.turn),
    [1],
  );
  host.handle(toGame(act(1), { ...begin, episode: 9 }));
  for (let i = 0; i < 4; i++) await soon();
  assert.deepEqual(
    later.slice(1).map((each) => [each.episode, each.turn]),
    [[9, 0]],
  );
  assert.equal(heard.length, 4);
});

test("an open that is refused is refused alike, and closed matches are gone", () => {
  const { host } = games();
  const bad = { type: "open", match: 6, environment: "it", configuration: { size: 1 } };
  const [first] = said(host.handle(toGame(bad)));
  assert.deepEqual([first.code, first.answers], ["unavailable", numbered(bad).seq]);
  assert.deepEqual(said(host.handle(toGame(bad))), [first]);
  host.handle(toGame({ type: "close", match: 4 }, { type: "close", match: 4 }));
  const [unknown] = said(host.handle(toGame(begin)));
  assert.equal(unknown.code, "unknown");
});

test("a session greets, answers pings, refuses bad frames and greets again", () => {
  const session = new Session("agent", { token: "t" });
  const hello: any = decode(session.greet(0));
  assert.deepEqual([hello.type, hello.version, hello.role, hello.token], ["hello", 1, "agent", "t"]);
  const frames = [encode(welcome(false)), encode({ type: "ping", number: 2n ** 60n }), Uint8Array.of(0xc1)];
  const { messages, answers } = session.receive(frames, 1);
  assert.deepEqual(
    messages.map((each) => each.type),
    ["welcome", "ping"],
  );
  assert.deepEqual(
    said(answers).map((each) => each.number ?? each.code),
    [2n ** 60n, "malformed"],
  );
  assert.ok(!session.silent(4.9));
  assert.ok(session.silent(5.1));
  const first = encode({ type: "error", code: "hello-first", message: "who?" });
  const again = said(session.receive([first, first], 2).answers);
  assert.deepEqual(
    again.map((each) => [each.type, each.resume]),
    [["hello", "s"]],
  );
  const refusal = encode({ type: "error", code: "access", message: "no" });
  assert.throws(() => session.receive([refusal], 3), Refused);
  let now = 10;
  for (const wait of [4, 8, 16, 16]) {
    session.greet(now);
    assert.ok(!session.silent(now + wait));
    now += wait + 1;
    assert.ok(session.silent(now));
  }
});

test("a peer whose key is revoked hears why", () => {
  const session = new Session("agent", {});
  session.greet(0);
  session.receive([encode(welcome(false))], 0);
  const error = { type: "error", code: "access", message: "the key was revoked" };
  assert.equal(session.receive([encode({ ...error, id: 3 })], 1).messages.length, 1);
  const away = [encode(error), encode({ type: "bye" })];
  assert.throws(() => session.receive(away, 2), { message: "the broker refuses: the key was revoked" });
});

test("an experiment asks again after resumption, and counts each result once", async () => {
  const sent: any[] = [];
  const experiment = new Experiment();
  experiment.attach({ send: (frames) => sent.push(...said(frames)), close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const asked = experiment.run("game", [1, 2], { episodes: 2 });
  assert.deepEqual(
    sent.map((each) => each.type),
    ["run"],
  );
  assert.deepEqual(said(experiment.handle(toExperiment(welcome(true)))), sent);
  const first = { type: "episode", run: 3, index: 0, episode: 7, seed: 1, reason: "terminated", seats: [] };
  const result = { ...first, seq: 1 };
  // The first result overtakes the reply.
  experiment.handle(
    toExperiment(result, { type: "reply", id: sent[0].id, body: { run: 3 }, seq: 2 }, result),
  );
  const run = await asked;
  experiment.handle(
    toExperiment(
      result,
      { ...result, episode: 8, index: 1, seq: 3 },
      { type: "done", run: 3, finished: 2, seq: 4 },
    ),
  );
  assert.deepEqual(
    (await run.results()).map((each) => each.episode),
    [7, 8],
  );
});

test("turns that are not read are kept up to a limit", async () => {
  const experiment = new Experiment();
  const [first] = toExperiment({ type: "turn", run: 1, match: 1, index: 0, episode: 1, turn: 0 });
  const turns = Array.from({ length: 250_001 }, (_, turn) => ({ ...first, turn }) as ToExperiment);
  experiment.handle(turns);
  const { value } = await experiment.turns().next();
  assert.equal(value?.turn, 150_001);
});

test("an experiment whose session is lost says so", async () => {
  const experiment = new Experiment();
  experiment.attach({ send: () => {}, close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const asked = experiment.catalogue();
  experiment.handle(toExperiment(welcome(false)));
  await assert.rejects(asked, SessionLost);
  await assert.rejects(experiment.catalogue(), SessionLost);
});

test("an experiment that is closed is not told that it is lost", async () => {
  const experiment = new Experiment();
  experiment.onLost = () => assert.fail();
  const asked = experiment.catalogue();
  await Promise.all([assert.rejects(asked, SessionLost), experiment.close()]);
});

test("an agent that is the program itself has its parameters and is seated without a create", () => {
  const type = {
    name: "one",
    parameters: { first: { type: "integer", default: 0 } },
    create: ({ first }: Record<string, any>) => ({ step: () => first as number }),
  } as const;
  const host = new AgentHost(type, { parameters: { first: 2 } });
  assert.equal(host.offers()[0].instance, true);
  host.handle(toAgent({ type: "init", match: 2, seat: 0, instance: 30, spec }));
  assert.equal(said(host.handle(toAgent(start)))[0].action, 2);
  assert.throws(() => new AgentHost(type, { parameters: { last: 2 } }), /no option 'last'/);
});

test("what an agent throws by mistake is told to who serves it", () => {
  const told: unknown[] = [];
  const { host } = agents(({ turn }) => {
    throw turn === 0 ? new RangeError("oh\nno") : new DovetailError("not me");
  });
  host.surprised = (line, thrown) => told.push(line, thrown);
  const [first] = said(host.handle(toAgent(start)));
  assert.equal(first.message, "it in turn 0 threw RangeError: oh no");
  assert.equal(told[0], first.message);
  assert.ok(told[1] instanceof RangeError);
  const [second] = said(host.handle(toAgent({ ...start, type: "step", turn: 1 })));
  assert.equal(second.message, "it in turn 1 failed: not me");
  assert.equal(told[2], second.message);
});

test("frames that come together with the reply that names a run belong to it", async () => {
  const experiment = new Experiment();
  experiment.attach({ send: () => {}, close: async () => {} });
  experiment.handle(toExperiment(welcome(false)));
  const asked = experiment.run("game", ["x"]);
  const result = { type: "episode", run: 3, index: 0, episode: 7, seed: 1, reason: "terminated", seats: [] };
  const done = { type: "done", run: 3, finished: 1 };
  experiment.handle(toExperiment({ type: "reply", id: 1, body: { run: 3 } }, result, done));
  assert.equal((await (await asked).results()).length, 1);
});
