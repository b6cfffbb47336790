// The state of a game's page, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clocks,
  bar,
  course,
  end,
  initial,
  last,
  moves,
  players,
  seats,
  shown,
  tedious,
  update,
  where,
  why,
} from "../dovetail_web/static/state.js";

/** @param {number} turn @param {Partial<Position>} more @returns {Position} */
const position = (turn, more = {}) => ({
  turn,
  to_act: [turn % 2],
  actions: turn ? [[(turn - 1) % 2, turn]] : [],
  at: 100,
  ...more,
});
/** @param {Partial<Game>} more @returns {Game} */
const game = (more = {}) => ({
  episode: 1,
  run: 1,
  environment: "g",
  agents: ["Ann", "mcts"],
  first: 0,
  count: 1,
  over: false,
  whole: true,
  result: null,
  ...more,
});
/** @param {Partial<News>} more @returns {News} */
const news = (more) => ({
  game: game(),
  broker: "",
  names: ["Ann", "mcts (depth 2)"],
  problem: "",
  done: false,
  time: 90,
  position: null,
  mine: null,
  waiting: false,
  ...more,
});
/** @param {State} state @param {Partial<News>} more @param {number} [now] */
const hear = (state, more, now = 0) => update(state, { news: news(more), now });

const table = () => initial("table:x", "chair", NaN);

test("a position is kept at its place, and the newest is shown", () => {
  let state = table();
  for (let turn = 0; turn < 3; turn += 1) {
    state = hear(state, { game: game({ count: turn + 1 }), position: position(turn) });
  }
  assert.deepEqual([...state.turns.keys()], [0, 1, 2]);
  assert.equal(where(state), 2);
  assert.equal(shown(state, 0).position?.turn, 2);
  state = update(state, { go: 0 });
  assert.equal(shown(state, 0).position?.turn, 0);
  assert.equal(update(state, { go: 99 }).at, null);
});

test("another game of the same table begins from nothing", () => {
  let state = hear(table(), { position: position(0) });
  state = hear(update(state, { go: 0 }), { game: game({ episode: 2 }), position: position(0) });
  assert.equal(state.turns.size, 1);
  assert.equal(state.at, null);
});

test("a person's decision leads back to the newest position", () => {
  let state = hear(table(), { game: game({ count: 3 }), position: position(2) });
  state = update(state, { go: 0 });
  const mine = { number: 4, turn: 3, seat: 0, scene: null, text: "", problem: "", at: 0 };
  state = hear(state, { game: game({ count: 3 }), mine, waiting: true, seat: 0 });
  assert.equal(state.at, null);
  assert.equal(bar(state, 0).headline, "Your turn");
  assert.equal(update(state, { chose: 5 }).waiting, false);
  assert.equal(update(update(state, { chose: 5 }), { refused: true }).waiting, true);
});

test("the bar names who thinks, and for how long", () => {
  const state = hear(
    table(),
    {
      position: position(1, {
        to_act: [1],
        running: [1],
        clocks: [
          [null, null],
          [60, null],
        ],
      }),
    },
    0,
  );
  assert.equal(bar(state, 0).headline, "mcts is thinking");
  assert.equal(clocks(state, 22_000).text, "for 12 s of at most 60 s");
});

test("who gave no name is called You, and one's own time is not counted without a clock", () => {
  const mine = { number: 1, turn: 0, seat: 0, scene: null, text: "", problem: "", at: 0 };
  const names = ["Person 1", "Person 2"];
  const state = hear(table(), { names, position: position(0), mine, waiting: true, seat: 0 });
  assert.deepEqual(
    seats(state, 0).map(({ name }) => name),
    ["You", "Person 2"],
  );
  assert.equal(clocks(state, 30_000).text, "");
  const sent = update(state, { chose: 5 });
  assert.equal(bar(sent, 5).headline, "Your move is sent");
  assert.equal(clocks(sent, 30_000).text, "");
  const resigned = { outcome: [-1, 1], reason: "terminated", blame: 0, message: "" };
  const ended = hear(state, { names, game: game({ over: true, result: resigned }), seat: 0 });
  assert.equal(end(ended, null)?.reason, "You resigned.");
});

test("the end names the winner and the game's reason", () => {
  const scene = { reason: "four in a row, a1 to a4" };
  const over = {
    game: game({ over: true, result: { reason: "terminated", outcome: [1, 0] } }),
    position: position(5, { to_act: [], scene }),
    done: true,
  };
  const won = hear(table(), { ...over, seat: 0 });
  assert.deepEqual(
    [bar(won, 0).tone, bar(won, 0).headline, bar(won, 0).hint],
    ["won", "You won", "Four in a row, a1 to a4."],
  );
  const watched = hear(table(), over);
  assert.equal(bar(watched, 0).headline, "Ann won");
  assert.deepEqual(
    seats(watched, 0).map(({ won }) => won),
    [true, false],
  );
  const drawn = hear(table(), {
    ...over,
    game: game({ over: true, result: { reason: "terminated", outcome: [0.5, 0.5] } }),
  });
  assert.equal(end(drawn, drawn.newest)?.headline, "Draw");
  const unseen = hear(table(), { ...over, position: position(9) });
  assert.equal(bar(unseen, 0).hint, "Last seen at turn 9.");
});

test("who ends a game is named, and no word of the protocol", () => {
  const result = {
    reason: "cancelled",
    outcome: null,
    message: "the experiment cancelled the run",
  };
  const state = hear(table(), {
    game: game({ over: true, result }),
    position: position(3),
    ended: "Bea",
  });
  assert.equal(bar(state, 0).headline, "The game was ended");
  assert.equal(bar(state, 0).hint, "Bea ended it.");
});

test("a replay says so and how it ended, and names no one to act", () => {
  let state = update(initial("replay:3", undefined, NaN), {
    replay: {
      game: game({ outcome: [1, 0] }),
      positions: [0, 1, 2].map((turn) => position(turn, turn < 2 ? {} : { reason: "terminated" })),
      problem: "",
    },
  });
  assert.equal(bar(state, 0).headline, "Ann won");
  state = update(state, { go: 0 });
  assert.equal(bar(state, 0).headline, "Replay");
  assert.equal(bar(state, 0).hint, "Ann won.");
  assert.equal(bar(state, 0).turn, "turn 0 of 2");
  assert.doesNotMatch(bar(state, 0).told, /to act/);
});

test("a game for one ends with its score", () => {
  const scene = { seats: [{ name: "Player", score: 1444 }], reason: "No tile can move" };
  const result = { reason: "terminated", outcome: null };
  const state = hear(table(), {
    names: ["Ann"],
    game: game({ agents: ["Ann"], over: true, result }),
    position: position(9, { to_act: [], scene }),
  });
  assert.equal(bar(state, 0).headline, "Score 1,444");
});

test("turns stand in rows, a column for each seat", () => {
  let state = table();
  const who = [0, 1, 0, 0, 1];
  state = hear(state, { game: game({ count: 1 }), position: position(0) });
  who.forEach((seat, n) => {
    state = hear(state, {
      game: game({ count: n + 2 }),
      position: position(n + 1, { actions: [[seat, n]] }),
    });
  });
  assert.deepEqual(
    moves(state).map((row) => row.moves.map(({ seat }) => seat)),
    [[0, 1], [0], [0, 1]],
  );
  assert.equal(last(state), 5);
});

test("thoughts that were kept back are asked for again after the end", () => {
  let state = hear(table(), { game: game({ count: 2 }), position: position(1) });
  assert.equal(state.early.size, 0);
  state = hear(state, { game: game({ count: 3, over: true }), position: position(2) });
  assert.ok(state.early.has(1));
  state = update(state, { fetched: [[1, position(1)]] });
  assert.ok(!state.early.has(1));
});

test("a lost server is said, and a click says why it does nothing", () => {
  const state = update(hear(table(), { position: position(1) }), { lost: true });
  assert.equal(bar(state, 0).tone, "trouble");
  assert.match(why(state), /mcts .* is to act/);
  assert.match(why({ ...state, chair: "" }), /watching/);
});

test("who waits long for an agent is told how long, and offered help", () => {
  const can = { hurry: true };
  const state = hear(table(), { position: position(1, { at: 90 }), seat: 0, can, patience: 60 });
  assert.equal(clocks(state, 3000).text, "for 3 s of at most 60 s");
  assert.equal(tedious(state, 3000), false);
  assert.equal(tedious(state, 5000), true);
  assert.equal(tedious({ ...state, can: {} }, 5000), false);
});

test("players of a table are those of its plan, of another game those of its run", () => {
  assert.deepEqual(players(hear(table(), {})), ["Ann", "mcts (depth 2)"]);
  assert.deepEqual(players(hear(table(), { names: [] })), ["Ann", "mcts"]);
});

test("one's own hand is shown while others act, as soon as it is known", () => {
  /** @param {string} caption @returns {Scene} */
  const scene = (caption) => ({ caption, cards: [{ zone: "hand", name: caption }] });
  const mine = {
    number: 1,
    turn: null,
    seat: 0,
    scene: scene("old"),
    text: "",
    problem: "",
    at: 1,
  };
  const open = { position: position(1, { scene: scene("public") }), seat: 0 };
  const state = hear(table(), { ...open, mine: { ...mine, own: scene("new") } });
  assert.equal(shown(state, 0).scene?.caption, "new");
  const unknown = hear(table(), { ...open, mine: { ...mine, own: null } });
  assert.equal(shown(unknown, 5000).scene?.caption, "public");
});

test("an agent's view is that of its policy, not of a choice that it tried once", () => {
  /** @param {[number | null, number | null][]} given @returns {[number, Thought]} */
  const thought = (given) => [
    0,
    {
      text: "",
      line: [],
      count: given.length,
      choices: given.map(([chance, value]) => ({ label: "", chance, value })),
    },
  ];
  const tried = position(1, {
    thoughts: [
      thought([
        [0.75, -1],
        [0.25, 1],
      ]),
    ],
  });
  const state = hear(table(), { game: game({ count: 2 }), position: tried });
  assert.deepEqual(course(state).get(0), [[0, -0.5]]);
  const searched = position(1, {
    thoughts: [
      thought([
        [null, -1],
        [null, 0.5],
      ]),
    ],
  });
  const other = hear(table(), { game: game({ count: 2 }), position: searched });
  assert.deepEqual(course(other).get(0), [[0, 0.5]]);
});

test("turns seen in part are numbered as the bar numbers them", () => {
  let state = hear(table(), { game: game({ count: 1 }), position: position(0) });
  state = hear(state, { game: game({ count: 2 }), position: position(8) });
  state = hear(state, { game: game({ count: 3 }), position: position(11) });
  assert.deepEqual(
    moves(state).map(({ number }) => number),
    [8, 11],
  );
  const alone = { names: ["Ann"], game: game({ agents: ["Ann"] }) };
  const only = hear(table(), {
    ...alone,
    position: position(44, { actions: [[0, 1]] }),
  });
  assert.equal(moves(only)[0].number, 44);
});

test("places of cards have the names of the seats", () => {
  const scene = {
    cards: [{ zone: "deck", name: "", owner: 1 }],
    zones: [
      { name: "deck", title: "Player 1's deck", owner: 0 },
      { name: "deck", title: "Player 2's deck", owner: 1 },
      { name: "trash", title: "Trash" },
    ],
  };
  const names = ["Person 1", "random (easy)"];
  const state = hear(table(), { names, position: position(1, { scene }), seat: 0 });
  assert.deepEqual(
    shown(state, 0).scene?.zones?.map(({ title }) => title),
    ["Your deck", "random's deck", "Trash"],
  );
});

test("a replay tells how strong its players were", () => {
  const agents = ["Ann", "mcts (easy)"];
  const found = { game: game({ agents, outcome: [1, 0] }), positions: [position(0)], problem: "" };
  const state = update(initial("replay:3", undefined, NaN), { replay: found });
  assert.deepEqual(
    seats(state, 0).map(({ note }) => note),
    ["", "easy"],
  );
});

test("who played is still called You when the server has forgotten the game", () => {
  const names = ["Person 1", "mcts"];
  let state = hear(table(), { names, position: position(0), seat: 0 });
  state = hear(state, { names, problem: "The page does not have this game any more." });
  assert.equal(seats(state, 0)[0].name, "You");
});
