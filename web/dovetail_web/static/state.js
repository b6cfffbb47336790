// The state of a game's page and its changes, `update(state, change)`, without the DOM.
import { above, arrows, moved, parts, turned } from "./board.js";
import { ending, lastSeen } from "./words.js";

/** Milliseconds after one's own choice before others are said to be at work. */
export const PATIENCE = 800;

/** @param {string} about @param {string | undefined} chair @param {number} linked the turn that a link names, NaN for none @returns {State} */
export const initial = (about, chair, linked) => {
  const [kind, key = ""] = about.split(/:(.*)/s);
  return {
    kind,
    key,
    chair: chair || "",
    linked,
    game: null,
    names: [],
    turns: new Map(),
    early: new Set(),
    newest: null,
    at: null,
    mine: null,
    advice: null,
    can: {},
    patience: null,
    own: null,
    time: NaN,
    ahead: NaN,
    lost: false,
    waiting: false,
    done: false,
    problem: "",
    broker: "",
    away: [],
    ended: "",
    again: "",
    facing: { of: "", turned: false },
    decided: -Infinity,
    arrows: false,
  };
};

/** The state after a change. @param {State} state @param {Change} change @returns {State} */
export function update(state, change) {
  if ("lost" in change) return { ...state, lost: change.lost };
  if ("refused" in change) return { ...state, waiting: state.mine?.turn !== null };
  if ("chose" in change) return { ...state, waiting: false, decided: change.chose };
  if ("go" in change) return gone(state, change.go);
  if ("fetched" in change) return fetched(state, change.fetched);
  if ("replay" in change) return replayed(state, change.replay);
  return heard(state, change.news, change.now);
}

/** @param {State} state @param {News} news @param {number} now milliseconds @returns {State} */
function heard(state, news, now) {
  const next = { ...state, broker: news.broker, problem: news.problem, done: news.done };
  next.away = news.away ?? [];
  next.ended = news.ended ?? "";
  if (news.time && news.time !== state.time)
    Object.assign(next, { time: news.time, ahead: news.time - now / 1000 });
  if (news.game && state.game && news.game.episode !== state.game.episode) {
    Object.assign(next, { turns: new Map(), early: new Set(), at: null });
  }
  // Thoughts at a table are kept back until the end, so that what came before is not whole.
  if (state.kind === "table" && news.game?.over && state.game && !state.game.over) {
    next.early = new Set([...next.early, ...next.turns.keys()]);
  }
  next.game = news.game ?? state.game;
  if (news.names?.length) next.names = news.names;
  next.arrows ||= arrows(news.mine?.scene);
  Object.assign(next, {
    mine: news.mine,
    waiting: news.waiting,
    own: news.seat ?? (state.chair ? state.own : null),
    advice: news.hint ?? null,
    can: news.can ?? {},
    patience: news.patience ?? null,
    again: news.again ?? "",
  });
  if (news.mine && news.mine.number !== state.mine?.number && news.waiting) next.at = null;
  if (news.position && next.game) {
    const place = last(next);
    next.newest = news.position;
    next.turns = new Map(next.turns).set(place, news.position);
    next.early = without(next.early, place);
  }
  return faced(next);
}

/** @param {Set<number>} places @param {number} place */
const without = (places, place) => new Set([...places].filter((each) => each !== place));

/** @param {State} state @param {Replay} found @returns {State} */
function replayed(state, { game, positions, problem }) {
  const turns = new Map(positions.map((position) => [position.turn, position]));
  const newest = positions[positions.length - 1] ?? null;
  const end = { outcome: game.outcome, blame: game.blame, message: game.message };
  return {
    ...state,
    game: { ...game, first: 0, count: positions.length, over: true, result: null },
    turns,
    newest: newest && { ...newest, ...(newest.reason && game.outcome ? end : {}) },
    problem,
    done: true,
  };
}

/** @param {State} state @param {[number, Position][]} found @returns {State} */
function fetched(state, found) {
  const places = new Set(found.map(([place]) => place));
  return faced({
    ...state,
    turns: new Map([...state.turns, ...found]),
    early: new Set([...state.early].filter((place) => !places.has(place))),
  });
}

/** @param {State} state @param {number} place @returns {State} */
function gone(state, place) {
  const wanted = Math.max(first(state), Math.min(last(state), place));
  return { ...state, linked: NaN, at: wanted === last(state) ? null : wanted };
}

/** Settle by the first position whether the board is turned. @param {State} state @returns {State} */
function faced(state) {
  const of = `${state.game?.run} ${state.own}`;
  if (state.facing.of === of) return state;
  const start =
    state.mine?.turn === 0
      ? state.mine.scene
      : first(state) === 0
        ? state.turns.get(0)?.scene
        : null;
  if (!start) return { ...state, facing: { of: "", turned: false } };
  return { ...state, facing: { of, turned: state.own !== null && above(start, state.own) } };
}

// -- what is asked of it

/** @param {State} state */
export const first = (state) => state.game?.first ?? 0;
/** @param {State} state */
export const last = (state) => first(state) + Math.max(1, state.game?.count ?? 1) - 1;
/** The place that is shown. @param {State} state */
export const where = (state) => state.at ?? last(state);
/** @param {State} state */
export const over = (state) => Boolean(state.game?.over || state.done);

/** The viewer who gave no name is called by it. */
const YOU = "You";

/** @param {State} state @param {number} seat */
export function name(state, seat) {
  const found = state.names[seat] ?? state.game?.agents?.[seat] ?? `player ${seat + 1}`;
  return seat === state.own && /^Person \d+$/.test(found) ? YOU : found;
}

/** The names by seat, with what tells agents of one name apart. @param {State} state */
export const players = (state) =>
  Array.from({ length: Math.max(state.names.length, state.game?.agents?.length ?? 0) }, (_, seat) =>
    name(state, seat),
  );

/** A person's or an agent's name without its options. @param {State} state @param {number} seat */
export const brief = (state, seat) => name(state, seat).replace(/ \(.*\)$/, "");

/** @param {Scene | null | undefined} scene */
export const drawable = (scene) =>
  Boolean(scene && ((scene.cells ?? []).length || (scene.cards ?? []).length));

/**
 * The view to draw: a position, its scene as the viewer sees it, and the open choice if it is the viewer's.
 * @param {State} state @param {number} now milliseconds
 */
export function shown(state, now) {
  const live = state.at === null;
  const position = live ? state.newest : (state.turns.get(state.at ?? 0) ?? null);
  const { mine } = state;
  const seated =
    live && (state.waiting || !state.newest || mine?.scene) && !state.game?.over ? mine : null;
  const secret = (mine?.scene?.cards ?? []).length > 0;
  const working =
    Boolean(state.newest && state.own !== null && !state.newest.to_act?.includes(state.own)) &&
    now - state.decided >= PATIENCE;
  const hand = !state.waiting && live && !state.game?.over ? state.mine?.own : null;
  const theirs = seated?.scene && (state.waiting || (secret && !working)) ? seated.scene : null;
  const scene = hand ?? theirs ?? position?.scene ?? (live && mine ? mine.scene : null);
  const drawn = scene && entitled(state, scene);
  return {
    position:
      position ??
      (mine ? { turn: mine.turn ?? 0, to_act: state.waiting ? [mine.seat] : [] } : null),
    scene: drawn && state.facing.turned ? turned(drawn) : drawn,
    playing: state.waiting ? seated : null,
  };
}

/** The same scene, with the seats' names in the titles of their cards. @param {State} state @param {Scene} scene @returns {Scene} */
function entitled(state, scene) {
  if (!scene.zones?.length || !(state.names.length || state.game)) return scene;
  const zones = scene.zones.map((zone) => {
    if (typeof zone.owner !== "number" || !zone.title) return zone;
    const who = brief(state, zone.owner);
    const whose = who === YOU ? "Your" : `${who}'s`;
    return { ...zone, title: zone.title.replace(`Player ${zone.owner + 1}'s`, () => whose) };
  });
  return { ...scene, zones };
}

/** A seat's action as text. @param {Position} position @param {unknown} action */
function called(position, action) {
  const alone = (position.actions ?? []).length === 1 ? moved(position.scene) : "";
  return alone || (typeof action === "object" ? JSON.stringify(action) : String(action));
}

/** The actions that led to a position, by player. @param {State} state @param {Position} position */
export const did = (state, position) =>
  (position.actions ?? [])
    .map(([seat, action]) => `${name(state, seat)}: ${called(position, action)}`)
    .join("; ");

/** @param {string} text */
const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}` : "");

/** How a game ended, if it has and its end is shown. @param {State} state @param {Position | null} position */
export const end = (state, position) => (state.at === null ? result(state, position) : null);

/** How a game ended, if it has. @param {State} state @param {Position | null} position the last one */
function result(state, position) {
  const found = state.game?.result ?? (position?.reason ? position : null);
  if (!found || !over(state)) return null;
  const whole = { ...found, outcome: found.outcome ?? position?.outcome };
  const [won, how] = ending(whole, (seat) => brief(state, seat));
  const reason =
    !found.reason || found.reason === "terminated" ? (position?.scene?.reason ?? "") : "";
  const score = position?.scene?.seats?.[0]?.score;
  const alone = Math.max(state.names.length, state.game?.agents?.length ?? 0) < 2;
  const mine = state.own !== null && won.winners.length === 1 && won.winners[0] === state.own;
  const scored = alone && typeof score === "number" ? `Score ${score.toLocaleString("en")}` : "";
  return {
    headline: state.ended
      ? "The game was ended"
      : mine
        ? "You won"
        : won.text || scored || "The game is over",
    reason: state.ended
      ? `${state.ended} ended it.`
      : [how, reason, position ? lastSeen(position, state.game?.result) : ""]
          .filter(Boolean)
          .map((each) => `${sentence(each)}.`)
          .join(" "),
    winner: won.winners.length === 1 && !alone ? won.winners[0] : null,
    mine,
    winners: alone ? [] : won.winners,
  };
}

/** The contents of the bar above the board. @param {State} state @param {number} now milliseconds @returns {Bar} */
export function bar(state, now) {
  const { position, scene, playing } = shown(state, now);
  const turn = position ? `turn ${position.turn}` : "";
  /** @param {Partial<Bar>} more @returns {Bar} */
  const say = (more) => ({ tone: "", headline: "", hint: "", turn, told: "", seat: null, ...more });
  const trouble = state.lost
    ? "The server does not answer"
    : state.broker
      ? "No connection to the games"
      : "";
  if (trouble) {
    const hint = state.lost ? "Trying again; what you see may be old." : state.broker;
    return say({ tone: "trouble", headline: trouble, hint, told: `${trouble}. ${hint}` });
  }
  if (state.problem) {
    return say({
      tone: "trouble",
      headline: "This game has stopped",
      hint: state.problem,
      told: state.problem,
    });
  }
  if (!position) {
    const headline = state.done ? "The game is over" : "Loading the game";
    return say({
      headline,
      hint: state.done ? "" : "The first time this takes some seconds.",
      told: state.done ? "The game is over." : "Waiting for the first position.",
      turn: "",
    });
  }
  const told = did(state, position).slice(0, 160);
  const before = `Turn ${position.turn}${told ? `. ${told}` : ""}.`;
  const finished = end(state, position);
  if (finished) {
    return say({
      tone: finished.mine ? "won" : "ended",
      headline: finished.headline,
      hint: finished.reason,
      told: `The game is over. ${finished.headline}. ${finished.reason}`,
      seat: finished.winner,
    });
  }
  const acting = position.to_act ?? [];
  const away = state.away.map((each) => `${each} has closed the page; the game waits.`).join(" ");
  if (playing) {
    return say({
      tone: "yours",
      headline: "Your turn",
      hint: away,
      told: `${before} Your turn. ${away}`,
      seat: playing.seat,
    });
  }
  if (state.at !== null && over(state)) {
    const ended = result(state, state.newest);
    return say({
      headline: state.kind === "replay" ? "Replay" : "An earlier position",
      hint: ended ? `${ended.headline}. ${ended.reason}`.trim() : "",
      turn: `${turn} of ${last(state)}`,
      told: before,
    });
  }
  const live = state.at === null && !over(state);
  const sent = live && state.mine?.turn === position.turn;
  const rest = sent ? acting.filter((seat) => seat !== state.own) : acting;
  const who = rest.map((seat) => brief(state, seat)).join(", ");
  const thinks = live && who !== YOU;
  const headline = who
    ? thinks
      ? `${who} is thinking`
      : `${who} to act`
    : sent
      ? "Your move is sent"
      : "The end";
  const facts = [scene?.caption ?? "", away].filter(Boolean).join(". ");
  return say({
    headline,
    hint: facts,
    told: `${before} ${who ? `${who} to act.` : ""} ${away}`,
    seat: acting[0] ?? null,
  });
}

/** True if arrow keys are the game's: one that is not a choice now does not lead to an earlier turn. @param {State} state */
export const arrowed = (state) => state.arrows && state.at === null && !over(state);

/** Why nothing can be chosen now. @param {State} state */
export function why(state) {
  if (state.at !== null)
    return "This is an earlier position. Press End to return to the newest one.";
  if (state.kind === "replay")
    return "This is a replay. Step through it with the arrows, or press Play.";
  if (over(state)) return "The game is over.";
  if (!state.chair) return "You are watching; only those who play can choose.";
  const who = (state.newest?.to_act ?? []).map((seat) => name(state, seat)).join(", ");
  return who ? `It is not your turn: ${who} is to act.` : "It is not your turn.";
}

/** Seconds as clocks show them. @param {number} seconds */
export const minutes = (seconds) =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** Seconds since a moment of the server's clock. @param {State} state @param {number | undefined} since @param {number} now */
const since = (state, since, now) => Math.max(0, state.ahead + now / 1000 - (since ?? NaN));

/** The time left for the decision and for the game, and the time that the player to act has used. @param {State} state @param {number} now milliseconds */
export function clocks(state, now) {
  const position = state.at === null ? state.newest : state.turns.get(state.at);
  const playing = state.at === null && !over(state);
  const passed = since(state, position?.at, now);
  /** @param {number} seat */
  const runs = (seat) => playing && Boolean(position?.running?.includes(seat));
  /** @param {(number | null)[]} clock */
  const least = (clock) => Math.min(...clock.flatMap((each) => each ?? []));
  const seats = (position?.clocks ?? []).map(([, whole], seat) =>
    typeof whole === "number" ? minutes(Math.max(0, whole - (runs(seat) ? passed : 0))) : "",
  );
  let text = "";
  if (state.waiting) {
    const left = least(state.mine?.clock ?? []) - since(state, state.mine?.at, now);
    if (Number.isFinite(left)) text = `${Math.max(0, left).toFixed(0)} s left`;
  } else if (playing && position?.to_act?.length) {
    const [seat] = position.to_act;
    const clock = least(position.clocks?.[seat] ?? []);
    const limit = Math.min(clock, state.can.hurry ? (state.patience ?? Infinity) : Infinity);
    const limited = Number.isFinite(clock);
    const most = Number.isFinite(limit) ? ` of at most ${limit.toFixed(0)} s` : "";
    if (limited && !runs(seat)) text = "the clock stands";
    else if (passed >= 1 && seat !== state.own) text = `for ${passed.toFixed(0)} s${most}`;
  }
  return { text, seats, thinking: playing && !state.waiting ? passed : 0 };
}

/** Milliseconds of waiting after which the page offers to help. */
export const TEDIOUS = 4000;

/** True if people wait so long for an agent that they may have enough of it. @param {State} state @param {number} now */
export const tedious = (state, now) =>
  Boolean(state.can.hurry) && 1000 * clocks(state, now).thinking >= TEDIOUS;

/** The seats as their cards show them. @param {State} state @param {number} now milliseconds */
export function seats(state, now) {
  const { position, scene } = shown(state, now);
  const known = [state.names.length, state.game?.agents?.length ?? 0, scene?.seats?.length ?? 0];
  const finished = end(state, position);
  return Array.from({ length: Math.max(...known) }, (_, seat) => {
    const told = scene?.seats?.[seat];
    const result = state.at === null ? state.game?.result?.seats?.[seat] : undefined;
    const seconds = result?.seconds ?? position?.seconds?.[seat] ?? 0;
    const used = seconds >= 0.1 ? `${seconds.toFixed(1)} s used` : "";
    const own = name(state, seat).match(/ \((.*)\)$/)?.[1] ?? "";
    const role = told?.name && /^Player( \d+)?$/.test(told.name) ? "" : told?.name;
    return {
      name: brief(state, seat),
      you: seat === state.own && brief(state, seat) !== YOU,
      acts: Boolean(position?.to_act?.includes(seat)) && !finished,
      won: finished?.winners.length === 1 && finished.winners.includes(seat),
      note: [role, told?.note, own].filter(Boolean).join(" · "),
      used,
      score: typeof told?.score === "number" ? told.score.toLocaleString("en") : "",
    };
  });
}

/**
 * The turns that are known, in rows: each with its number, and who did what.
 * @param {State} state @returns {{ number: number, moves: { place: number, turn: number, seat: number, text: string }[] }[]}
 */
export function moves(state) {
  const columns = Math.max(state.names.length, state.game?.agents?.length ?? 0);
  /** @type {{ number: number, moves: { place: number, turn: number, seat: number, text: string }[] }[]} */
  const rows = [];
  const known = [...state.turns].sort(([a], [b]) => a - b);
  // Rows are rounds only if no turn is missing among them.
  const rounds = columns > 1 && known.every(([, { turn }], n) => turn === n);
  for (const [place, position] of known) {
    for (const [seat, action] of position.actions ?? []) {
      const row = rows[rows.length - 1];
      const before = row?.moves[row.moves.length - 1];
      const text = called(position, action);
      const move = { place, turn: position.turn, seat, text };
      const joins =
        row && before && columns > 1 && (columns > 2 ? seat >= before.seat : seat > before.seat);
      if (joins) row.moves.push(move);
      else rows.push({ number: rounds ? rows.length + 1 : position.turn, moves: [move] });
    }
  }
  return rows;
}

/** The thoughts in the position shown, which come with the next turn; for the newest position, those that led to it. @param {State} state @param {Position | null} position */
export function thought(state, position) {
  const next = state.at === null ? undefined : state.turns.get(state.at + 1);
  const here = next && position && next.turn === position.turn + 1 ? next.thoughts?.[0] : undefined;
  const given = here ?? (state.at === null ? position?.thoughts?.[0] : undefined);
  if (!given) return null;
  const [seat, found] = given;
  const placed = found.choices.some((choice) => parts(choice).length);
  const who = here ? name(state, seat) : `${name(state, seat)} before the last move`;
  const expected = found.line.length ? `expects ${found.line.join(" ")}` : "";
  const look = !here && placed ? "press ◀ to see it on the board" : "";
  return {
    seat,
    found,
    here: Boolean(here),
    placed,
    text: [who, found.text, expected, look].filter(Boolean).join(": "),
  };
}

/**
 * The value of a position to the agent that acts: by its choices' probabilities if it has any, for a
 * choice that a search has tried once may have the highest value by luck; else the best choice's.
 * @param {Considered[]} choices
 */
function worth(choices) {
  const known = choices.flatMap(({ value, chance }) =>
    value === null ? [] : [{ value, chance: chance ?? 0 }],
  );
  const whole = known.reduce((sum, { chance }) => sum + chance, 0);
  if (whole) return known.reduce((sum, { value, chance }) => sum + value * chance, 0) / whole;
  return known.length ? Math.max(...known.map(({ value }) => value)) : null;
}

/** How good each agent found its position, by seat: turn and value. @param {State} state @returns {Map<number, [number, number][]>} */
export function course(state) {
  /** @type {Map<number, [number, number][]>} */
  const lines = new Map();
  for (const { turn, thoughts } of state.turns.values()) {
    for (const [seat, { choices }] of thoughts ?? []) {
      const value = worth(choices);
      if (value !== null) lines.set(seat, [...(lines.get(seat) ?? []), [turn - 1, value]]);
    }
  }
  for (const points of lines.values()) points.sort(([a], [b]) => a - b);
  return lines;
}

/** An agent's proposal for the open decision. @param {State} state */
export function advice(state) {
  const given = state.advice && state.advice.number === state.mine?.number ? state.advice : null;
  const choice = given ? state.mine?.scene?.choices?.[given.choice ?? -1] : undefined;
  const text = !given
    ? ""
    : (given.problem ??
      (given.label === undefined
        ? `${given.by} thinks…`
        : `${given.by} would play ${given.label}.`));
  return { text, parts: choice ? parts(choice) : [] };
}

/** The address of the position that is shown, and the part of it that names a turn. @param {State} state */
export const address = (state) =>
  state.kind === "replay"
    ? `/replay/${encodeURIComponent(state.key)}`
    : state.game && state.newest
      ? `/game/${encodeURIComponent(state.game.episode)}`
      : "";
