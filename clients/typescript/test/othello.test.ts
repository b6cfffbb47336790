/** The rules of Othello, and what its environment says. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { EnvironmentHost, IllegalAction, Random, decode, encode, read, spaceOf } from "dovetail-client/core";
import type { Tensor, Turn } from "dovetail-client/core";
import { Board, perft } from "../othello/board.js";
import { Othello, othello, symmetries } from "../othello/environment.js";

test("perft gives the published numbers", () => {
  const published = [1, 4, 12, 56, 244, 1396, 8200, 55092];
  published.forEach((ways, depth) => assert.equal(perft(new Board(), depth), ways, `depth ${depth}`));
});

/** Play a game at random; what is checked is given each turn. */
function play(seed: number, size: number, check: (game: Othello, turn: Turn) => void): Turn {
  const game = othello.create({ size }) as Othello;
  const random = new Random(seed);
  game.init();
  let turn = game.start();
  for (check(game, turn); turn.to_act?.length; check(game, turn)) {
    const [view] = turn.seats!;
    turn = game.step(new Map([[view.seat, random.choice(view.legal as number[])]]));
  }
  return turn;
}

test("games end, and observations, afterstates and outcomes fit", () => {
  let passes = 0;
  for (const size of [4, 6, 8]) {
    const spec = new Othello(size).init();
    for (let seed = 0; seed < 20; seed++) {
      let turns = 0;
      const last = play(seed, size, (game, turn) => {
        turns++;
        for (const { observation } of turn.seats!) {
          const { dtype, shape, data } = observation as Tensor<Int8Array>;
          assert.deepEqual([dtype, shape], ["int8", [2, size, size]]);
          assert.ok(data.every((each) => each === 0 || each === 1));
        }
        if (!turn.to_act?.length) return;
        const seat = turn.to_act[0];
        const legal = turn.seats![0].legal as number[];
        if (legal.includes(size * size)) {
          assert.deepEqual(legal, [size * size]);
          passes++;
        }
        const rows = game.afterstates(seat);
        legal.forEach((action, i) => {
          const after = game.fork();
          after.step(new Map([[seat, action]]));
          const length = 2 * size * size;
          assert.deepEqual(rows.data.slice(i * length, (i + 1) * length), after.observation(seat).data);
        });
      });
      assert.ok(turns - 1 <= spec.max_turns!);
      const [first, second] = last.outcome!;
      assert.equal(first + second, 1);
      assert.equal(last.seats![0].reward, 2 * first - 1);
      assert.equal(last.seats![1].reward, 2 * second - 1);
    }
  }
  assert.ok(passes > 0);
});

test("an illegal action changes nothing", () => {
  const game = new Othello(8);
  game.start();
  const before = game.text();
  for (const action of [0, 64, 65, -1, 1.5, "d3", null]) {
    assert.throws(() => game.step(new Map([[0, action]])), IllegalAction);
  }
  assert.throws(() => game.step(new Map([[1, 19]])), IllegalAction);
  assert.equal(game.text(), before);
  assert.match(before, / 4 \. \. \. O X \. \. \.\n 5 \. \. \. X O \. \. \./);
});

test("symmetries change nothing about the game", () => {
  const size = 6;
  for (const { observation, actions } of symmetries(size)) {
    assert.deepEqual(
      [...actions].sort((a, b) => a - b),
      [...Array(size * size + 1).keys()],
    );
    play(3, size, (game, turn) => {
      if (!turn.to_act?.length) return;
      const [view] = turn.seats!;
      const seen = (view.observation as Tensor).data as Int8Array;
      const turned = observation.map((place) => seen[place]);
      const board = new Board(size);
      for (let i = 0; i < size * size; i++) {
        board.squares[i] = turned[i] ? view.seat : turned[i + size * size] ? 1 - view.seat : -1;
      }
      // Every legal action has a counterpart that leads to the turned position.
      const legal = (view.legal as number[]).map((action) => actions[action]);
      legal.forEach((action, i) => {
        board.mover = view.seat as 0 | 1;
        const twin = board.copy();
        twin.play(action);
        const row = game.afterstates(view.seat).data.slice(i * 2 * size * size, (i + 1) * 2 * size * size);
        const own = observation.map((place) => row[place]).slice(0, size * size);
        assert.deepEqual(
          [...twin.squares].map((owner) => Number(owner === view.seat)),
          own,
        );
      });
    });
  }
});

test("spec travels, and lookahead leaves the episode alone", async () => {
  const host = new EnvironmentHost([othello]);
  const answered = new Promise<any>((resolve) => {
    host.later = ([frame]) => resolve(decode(frame));
  });
  const say = (message: object): any[] =>
    host.handle([read("environment", encode(message))]).map((frame) => decode(frame));
  const [spec] = say({ type: "open", match: 1, environment: "othello", configuration: { size: 4 } });
  assert.deepEqual(spaceOf(spec.action_spaces[0]), { space: "Discrete", n: 17, start: 0 });
  assert.equal(spec.symmetries.length, 7);
  const [turn] = say({ type: "start", match: 1, episode: 2, seed: 0, wants: [["scene", "text"], []] });
  assert.equal(turn.seats![0].scene.choices.length, 4);
  assert.deepEqual(turn.seats![0].scene.choices[0], { action: 1, label: "b1", cells: [1] });
  const lines = [[[1]], [[1], [0]], [[5]]];
  say({ type: "lookahead", id: 3, episode: 2, seat: 0, turn: 0, lines });
  const { body } = await answered;
  assert.deepEqual(
    body.map((each: any) => [each.applied, each.to_act, Boolean(each.error)]),
    [
      [1, [1], false],
      [2, [0], false],
      [0, [0], true],
    ],
  );
  assert.equal(say({ type: "step", episode: 2, turn: 0, actions: [[0, 1]] })[0].turn, 1);
});

test("watchers are shown the turns that they asked for", () => {
  const host = new EnvironmentHost([othello]);
  const say = (message: object): any[] =>
    host.handle([read("environment", encode(message))]).map((frame) => decode(frame));
  const shown = (message: object): boolean[] => {
    const [turn] = say(message);
    return [typeof turn.text === "string", turn.scene?.pieces.length >= 4];
  };
  const step = (turn: number, action: number): object => {
    return { type: "step", episode: 1, turn, actions: [[turn % 2, action]] };
  };
  say({ type: "open", match: 1, environment: "othello", configuration: { size: 4 } });
  const start = { type: "start", match: 1, episode: 1, seed: 0, watched: true, scenes: true };
  assert.deepEqual(shown({ ...start, once: true }), [true, true]);
  assert.deepEqual(shown(step(0, 1)), [false, false]);
  assert.deepEqual(shown({ ...step(1, 0), watched: true, once: true }), [true, false]);
  assert.deepEqual(shown({ ...step(2, 4), watched: true, scenes: true }), [true, true]);
  assert.deepEqual(shown({ ...start, scenes: false }), [true, false]);
  assert.deepEqual(shown({ ...step(0, 1), scenes: true }), [true, true]);
  assert.deepEqual(shown({ ...step(1, 0), once: true }), [true, true]);
});
