// A game: live, at a table where one plays, or a replay.
import { above, draw, element, moved, parts, point, sign, slide, turned } from "./board.js";
import { button, of } from "./dom.js";
import { LOST, live } from "./live.js";
import { ending } from "./words.js";

const page = of("game"), about = page.dataset.about ?? "", chair = page.dataset.chair;
const slider = /** @type {HTMLInputElement} */ (of("slider")), typed = /** @type {HTMLInputElement} */ (of("move"));
const [kind, key] = about.split(/:(.*)/s);
/** By place: the turn, unless a fast game was seen in part. @type {Map<number, Position>} */
const turns = new Map();
/** @type {Game | null} */
let game = null;
/** @type {string[]} */
let names = [];
/** @type {Position | null} */
let newest = null;
/** The place that is shown; null for the newest. @type {number | null} */
let at = null;
/** @type {Mine | null} */
let mine = null;
/** @type {Advice | null} */
let advice = null;
/** @type {Record<string, boolean>} */
let can = {};
/** The person's seat. @type {number | null} */
let own = null;
/** The turn that a link names, until it has been shown; NaN for none. */
let linked = Number(new URLSearchParams(location.search).get("turn") ?? NaN);
/** The server's clock when this connection began, and by how much it is ahead of the browser's; in seconds. */
let time = NaN, ahead = NaN;
let lost = false, waiting = false, done = false, followed = false, problem = "", broker = "", drawn = "";
/** Who has closed the page. @type {string[]} */
let away = [];
/** @type {(message: object) => void} */
let send = () => {};

/** @param {number} seat */
const name = (seat) => names[seat] ?? game?.agents?.[seat] ?? `seat ${seat + 1}`;
/** @param {string} text */
const say = (text) => { of("say").textContent = text; };

const LONGEST = 160;

/** Who did what before a position. @param {Position} position */
function did(position) {
  const actions = position.actions ?? [], called = actions.length === 1 ? moved(position.scene) : "";
  return actions.map(([seat, action]) => `${name(seat)}: ${called || (typeof action === "object" ? JSON.stringify(action) : action)}`).join("; ");
}

/** @param {Position | null | undefined} position @param {Scene | null | undefined} scene */
function status(position, scene) {
  if (lost) return "Not connected.";
  if (broker) return broker;
  if (problem) return problem;
  if (!position) return done ? "The game is over." : "Waiting for the first position.";
  const told = scene?.caption ?? "", caption = told ? ` ${told[0].toUpperCase()}${told.slice(1)}.` : "";
  const end = game?.result ?? (position.reason ? position : null);
  if (end && at === null) {
    const how = ending({ ...end, outcome: end.outcome ?? position.outcome }, name).map((sentence) => ` ${sentence}.`).join("");
    // What a game that was broken off says of its position is not how it ended.
    return `The game is over.${how}${!end.reason || end.reason === "terminated" ? caption : ""}`;
  }
  const who = (position.to_act ?? []).map(name).join(", "), last = did(position).slice(0, LONGEST);
  const absent = away.map((each) => ` ${each} has closed the page; the game waits.`).join("");
  return `Turn ${position.turn}${last ? `. ${last}. ` : ": "}${waiting && at === null && mine ? `${name(mine.seat)}, it is your turn` : who ? `${who} to act` : "the end"}.${caption}${absent}`;
}

/** @param {Position | null | undefined} position @param {Scene | null | undefined} scene */
function seats(position, scene) {
  const count = Math.max(names.length, game?.agents?.length ?? 0, scene?.seats?.length ?? 0);
  const returns = Array(count).fill(0);
  for (const each of turns.values()) if (!position || each.turn <= position.turn) each.rewards?.forEach((reward, seat) => { if (seat < count) returns[seat] += reward ?? 0; });
  const items = [];
  for (let seat = 0; seat < count; seat += 1) {
    const told = scene?.seats?.[seat], item = document.createElement("li");
    if (position?.to_act?.includes(seat)) item.className = "acts";
    const mark = element("svg", { viewBox: "0 0 1 1", "aria-hidden": "true" });
    mark.append(element("circle", { cx: 0.5, cy: 0.5, r: 0.42, class: `piece s${seat % 6}` }), ...sign(scene, seat, 0.5, 0.5, 0.42));
    const who = document.createElement("span"), score = document.createElement("b"), more = document.createElement("small");
    who.textContent = `${name(seat)}${told ? ` (${told.name})` : ""}${seat === own ? " – you" : ""}`;
    score.textContent = told && typeof told.score === "number" ? String(told.score) : "";
    score.title = "score";
    const result = at === null ? game?.result?.seats?.[seat] : undefined;
    const thought = position?.seconds?.[seat];
    const earned = game?.whole === false || !returns.some(Boolean) ? "" : `return ${+returns[seat].toFixed(3)}`;
    more.textContent = [told?.note, result ? `return ${result.total}, ${result.decisions} decisions, thought ${result.seconds.toFixed(1)} s` : earned, !result && thought !== undefined ? `thought ${thought.toFixed(1)} s` : ""].filter(Boolean).join("; ");
    item.append(mark, who, score);
    if (typeof position?.clocks?.[seat]?.[1] === "number") {
      const clock = document.createElement("span");
      clock.className = "clock"; clock.dataset.seat = String(seat); clock.title = "left for the game";
      item.append(clock);
    }
    item.append(more);
    items.push(item);
  }
  of("seats").replaceChildren(...items);
  clocks();
}

/** What was thought in the position that is shown, which comes with the next turn; of the newest, what led to it. @param {Position | null | undefined} position */
function thought(position) {
  const next = at === null ? undefined : turns.get(at + 1);
  const here = next && position && next.turn === position.turn + 1 ? next.thoughts?.[0] : undefined;
  const [seat, found] = here ?? (at === null ? position?.thoughts?.[0] : undefined) ?? [0, null];
  return { seat, found, here: Boolean(here) };
}

/** List what an agent thought. @param {Position | null | undefined} position @param {Scene | null | undefined} scene */
function thoughts(position, scene) {
  const { seat, found, here } = thought(position);
  of("thoughts").hidden = !found;
  if (!found) return;
  const placed = found.choices.some((choice) => parts(choice).length);
  of("thought").textContent = [here ? name(seat) : `${name(seat)} before the last move`, found.text, found.line.length ? `expects ${found.line.join(" ")}` : "", !here && placed ? "press ◀ to see it on the board" : ""].filter(Boolean).join(": ");
  of("course").replaceChildren(course());
  const key = JSON.stringify([here, found]);
  if (of("values").dataset.key === key) return;
  of("values").dataset.key = key;
  const chances = found.choices.some(({ chance }) => chance !== null), head = document.createElement("tr");
  for (const title of ["Choice", "Value", ...(chances ? ["Probability"] : [])]) {
    const cell = document.createElement("th"); cell.scope = "col"; cell.textContent = title; head.append(cell);
  }
  const rows = found.choices.slice(0, 12).map((choice) => {
    const row = document.createElement("tr"), first = document.createElement("td");
    if (here && placed) {
      const made = document.createElement("button");
      made.type = "button"; made.className = "plain"; made.textContent = choice.label;
      const show = () => { const svg = of("board").querySelector("svg"); if (svg && scene) point(svg, scene, choice); };
      for (const event of ["mouseenter", "focus", "click"]) made.addEventListener(event, show);
      first.append(made);
    } else first.textContent = choice.label;
    row.append(first);
    for (const text of [choice.value?.toFixed(3) ?? "", ...(chances ? [choice.chance === null ? "" : `${(100 * choice.chance).toFixed(0)} %`] : [])]) {
      const cell = document.createElement("td"); cell.textContent = text; row.append(cell);
    }
    return row;
  });
  const more = found.count - rows.length;
  of("values").replaceChildren(head, ...rows);
  of("others").textContent = more > 0 ? `and ${more} more` : "";
}

/** How good each agent thought its best choice, over the turns that are known. */
function course() {
  /** @type {Map<number, [number, number][]>} */
  const lines = new Map();
  for (const { turn, thoughts: found } of turns.values()) {
    for (const [seat, { choices }] of found ?? []) {
      const known = choices.flatMap(({ value }) => value ?? []);
      if (known.length) lines.set(seat, [...(lines.get(seat) ?? []), [turn, Math.max(...known)]]);
    }
  }
  const all = [...lines.values()].flat(), xs = all.map(([x]) => x), ys = all.map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const svg = element("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": all.length ? `Value of the best choice by turn: from ${low.toFixed(3)} to ${high.toFixed(3)}` : "No values" });
  for (const [seat, points] of lines) {
    const at = points.sort(([a], [b]) => a - b).map(([x, y]) => `${2 + 96 * (x - left) / Math.max(1, right - left)},${38 - 36 * (y - low) / Math.max(1e-9, high - low)}`);
    svg.append(element("polyline", { points: at.join(" "), class: `course c${seat % 6}` }));
  }
  return svg;
}

/** @param {{ label: string, index: number }[]} choices @param {boolean} [ends] whether others continue where these end @param {boolean} [focus] */
function buttons(choices, ends = false, focus = false) {
  const target = of("buttons");
  target.replaceChildren();
  for (const { label, index } of choices) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = ends ? `${label} (stop here)` : label;
    made.addEventListener("click", () => play(index));
    target.append(made);
  }
  if (focus) target.querySelector("button")?.focus();
}

/** @type {Record<string, string>} */
const ARROWS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** Say what to point at. @param {number} picked @param {number} most */
function step(picked, most) {
  const choices = mine?.scene?.choices ?? [], keys = choices.flatMap(({ key }) => (key ? (ARROWS[key] ?? key) : []));
  const press = !picked && choices.length && keys.length === choices.length ? `, or press ${keys.join(" ")}` : "";
  of("prompt").textContent = most < 1 ? "Choose by a button below the board." : `Choose a highlighted place${most > 1 ? ` (${picked + 1} of ${most}${picked ? "; Esc takes the last one back" : ""})` : ""}${of("buttons").childElementCount || choices.some((choice) => !parts(choice).length) ? ", or a button below the board" : ""}${press}.`;
}

/** Seconds as clocks show them. @param {number} seconds */
const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** What is left of a limit, if it still runs down. @param {number} limit @param {number | undefined} since by the server's clock @param {boolean} runs */
const left = (limit, since, runs = true) => Math.max(0, limit - (runs ? ahead + performance.now() / 1000 - (since ?? NaN) : 0));

/** Say how long those who are to act still have, and each seat for the rest of the game. */
function clocks() {
  const position = at === null ? newest : turns.get(at), playing = at === null && !game?.over && !done;
  const runs = (/** @type {number} */ seat) => playing && Boolean(position?.running?.includes(seat));
  const limits = (/** @type {(number | null)[]} */ clock) => Math.min(...clock.flatMap((each) => each ?? []));
  let text = "";
  if (waiting && mine?.clock) text = `${left(limits(mine.clock), mine.at).toFixed(0)} s left`;
  else if (playing && position?.clocks?.length && position.to_act?.length) text = position.to_act.map((seat) => `${left(limits(position.clocks?.[seat] ?? []), position.at, runs(seat)).toFixed(0)} s left for ${name(seat)}${runs(seat) ? "" : " (the clock stands)"}`).join(", ");
  of("clock").textContent = text;
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (of("seats").querySelectorAll(".clock"))) {
    const seat = Number(each.dataset.seat), rest = position?.clocks?.[seat]?.[1] ?? NaN;
    each.textContent = minutes(left(rest, position?.at, runs(seat)));
  }
}
setInterval(clocks, 250);

/** @param {number} index */
function play(index) {
  if (!waiting || !mine) return;
  if (lost) { say(LOST); return; }
  waiting = false;
  decidedAt = performance.now();
  setTimeout(show, PATIENCE + 20);
  send({ number: mine.number, choice: index });
}

/** Say what people may do besides moving: take back, ask, resign, play again. */
function controls() {
  if (!chair) return;
  for (const id of ["undo", "hint", "resign"]) {
    const found = button(id);
    if (found) found.disabled = !can[id];
  }
  of("again").hidden = !can.again;
  of("leave").hidden = Boolean(can.again);
  const given = advice && advice.number === mine?.number ? advice : null;
  of("advice").textContent = !given ? "" : given.problem ?? (given.label === undefined ? `${given.by} thinks…` : `${given.by} would play ${given.label}.`);
}

/** The parts of the choice that an agent has proposed. */
function proposed() {
  const choice = advice && advice.number === mine?.number ? mine?.scene?.choices?.[advice.choice ?? -1] : undefined;
  return choice ? parts(choice) : [];
}

/** Why nothing can be chosen now. */
function why() {
  if (at !== null) return "This is an earlier position. Press End to return to the newest one.";
  if (game?.over || done) return "The game is over.";
  if (!chair) return kind === "replay" ? "This is a replay. Step through it with the arrows or the slider." : "You are watching; only those who play can choose.";
  const who = (newest?.to_act ?? []).map(name).join(", ");
  return who ? `It is not your turn: ${who} is to act.` : "It is not your turn.";
}

/** Whether the person plays by the keyboard, so that the focus stays on the board from turn to turn. */
let keys = false;
of("board").addEventListener("keydown", () => { keys = true; });
document.addEventListener("pointerdown", () => { keys = false; });

/** Of which episode and seat it is known whether the board is turned. */
let faced = "", turn = false;
/** The scene that was drawn last. @type {Scene | null | undefined} */
let last = null;

/** A scene as the viewer sees it: their own side at the bottom. @param {Scene | null | undefined} scene */
function facing(scene) {
  const viewer = `${game?.run} ${own}`;
  if (faced !== viewer) {
    const start = mine?.turn === 0 ? mine.scene : game?.first === 0 ? turns.get(0)?.scene : null;
    turn = Boolean(start && own !== null && above(start, own));
    if (start) { faced = viewer; last = null; }
  }
  return scene && turn ? turned(scene) : scene;
}

function show() {
  const position = at === null ? newest : turns.get(at);
  const live = at === null;
  const seated = live && (waiting || !newest || mine?.scene) && !game?.over ? mine : null;
  const scene = facing(seated?.scene && (waiting || (hidden() && !elsewhere())) ? seated.scene : (position?.scene ?? (live && mine ? mine.scene : null)));
  const playing = waiting ? seated : null;
  of("status").textContent = status(position ?? (mine ? { turn: mine.turn ?? 0, to_act: waiting ? [mine.seat] : [] } : null), scene);
  const hinted = playing ? proposed() : [];
  const { found, here } = thought(position);
  const considered = here && found ? found.choices : [];
  const drawing = JSON.stringify([scene, playing !== null, hinted, considered]);
  if (drawing !== drawn) {
    drawn = drawing;
    const drawable = scene && ((scene.cells ?? []).length || (scene.cards ?? []).length);
    of("buttons").replaceChildren();
    if (drawable) {
      const svg = draw(scene, playing ? { play, say, step, ask: buttons, seat: own, names, hinted } : { say, why, thoughts: considered });
      svg.toggleAttribute("data-turned", turn);
      const left = of("board").contains(document.activeElement) || document.activeElement === document.body;
      of("board").replaceChildren(svg);
      if (playing && keys && left) /** @type {SVGElement | null} */ (svg.querySelector(".target"))?.focus();
      slide(svg, scene, last);
    } else of("board").replaceChildren();
    last = scene;
    if (playing && scene?.choices && !drawable) buttons(scene.choices.map((choice, index) => ({ label: choice.label, index })));
    else if (playing && scene?.choices) {
      const bare = scene.choices.map((choice, index) => ({ choice, index })).filter(({ choice }) => !parts(choice).length);
      if (bare.length) buttons(bare.map(({ choice, index }) => ({ label: choice.label, index })));
    }
    of("text").hidden = Boolean(drawable);
    const trouble = (playing ? playing.problem : position?.problem) || "";
    if (trouble) say(trouble);
  }
  of("text").textContent = (playing ? playing.text : position?.text) ?? "";
  of("typed").hidden = !playing;
  of("prompt").hidden = !playing;
  controls();
  seats(position, scene);
  thoughts(position, scene);
  notes(scene);
  links();
  const first = game?.first ?? 0, count = kind === "replay" ? turns.size : (game?.count ?? 0);
  slider.min = String(first); slider.max = String(Math.max(first, first + count - 1)); slider.value = String(at ?? first + count - 1);
}

/** Tell the rules of cards, which on the board only a mouse can ask for. @param {Scene | null | undefined} scene */
function notes(scene) {
  const told = new Map((scene?.cards ?? []).flatMap(({ name, note }) => (name && note ? [[name, note]] : [])));
  of("notes").hidden = !told.size;
  const list = of("notes").querySelector("ul"), key = JSON.stringify([...told]);
  if (!list || list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...[...told].map(([name, note]) => {
    const item = document.createElement("li"), card = document.createElement("b");
    card.textContent = name;
    item.append(card, `: ${note}`);
    return item;
  }));
}

/** Set the links to the position that is shown. */
function links() {
  const base = kind === "replay" ? `/replay/${encodeURIComponent(key ?? "")}` : game && newest ? `/game/${encodeURIComponent(game.episode)}` : "";
  of("links").hidden = !base;
  for (const [id, end] of [["here", `?turn=${encodeURIComponent(where())}`], ["as-svg", `/turn/${encodeURIComponent(where())}.svg`], ["as-png", `/turn/${encodeURIComponent(where())}.png`]]) {
    /** @type {HTMLAnchorElement} */ (of(id)).href = base + end;
  }
}

/** Whether the seat sees something else than everybody: cards in hands. */
function hidden() { return (mine?.scene?.cards ?? []).length > 0; }

const PATIENCE = 800;
/** When the person last decided. */
let decidedAt = -PATIENCE;

/** Whether others have been at work for so long that the person sees what all may see of it. */
function elsewhere() { return Boolean(newest && own !== null && !newest.to_act?.includes(own)) && performance.now() - decidedAt >= PATIENCE; }

/** @param {Position} position */
function log(position) {
  if (!position.actions?.length || of("log").querySelector(`[data-turn="${position.turn}"]`)) return;
  const item = document.createElement("li");
  item.dataset.turn = String(position.turn);
  item.textContent = `${position.turn}. ${did(position)}`;
  const after = [.../** @type {HTMLCollectionOf<HTMLElement>} */ (of("log").children)].find((each) => Number(each.dataset.turn) < position.turn);
  if (after) after.before(item); else of("log").append(item);
}

let filling = false;
/** Places whose position came while a person played, without what the agents thought: that is shown after the end. @type {Set<number>} */
const early = new Set();

/** Fetch a position that is not there, or not whole; return whether it is there now. @param {number} place */
async function fetched(place) {
  if (turns.has(place) && !early.has(place)) return true;
  try {
    const answer = await fetch(`/game/${encodeURIComponent(game?.episode ?? "")}/turn/${encodeURIComponent(place)}`);
    if (answer.ok) { turns.set(place, await answer.json()); early.delete(place); }
    return answer.ok;
  } catch { return false; }  // the connection says so
}

/** Fetch the last turns that went by too fast to be sent, for the list of turns and the returns. */
async function fill() {
  if (filling || !game || !newest) return;
  filling = true;
  const last = () => game ? game.first + game.count - 1 : 0;  // more turns may come meanwhile
  for (let place = Math.max(game.first, last() - 40); place < last(); place += 1) {
    if (!await fetched(place)) break;
    log(/** @type {Position} */ (turns.get(place)));
  }
  filling = false;
  show();
}

/** @param {number} turn */
async function go(turn) {
  const first = game?.first ?? 0, last = first + (kind === "replay" ? turns.size : (game?.count ?? 1)) - 1;
  const wanted = Math.max(first, Math.min(last, turn));
  at = wanted === last ? null : wanted;
  if (kind === "replay") newest = turns.get(last) ?? null;
  if (at !== null && game) {
    // The next turn has what was thought in this one.
    await Promise.all([wanted, wanted + 1].filter((place) => place <= last).map(fetched));
  }
  show();
}

const where = () => at ?? (game?.first ?? 0) + (kind === "replay" ? turns.size : (game?.count ?? 1)) - 1;
slider.addEventListener("input", () => go(Number(slider.value)));
of("first").addEventListener("click", () => go(0));
of("back").addEventListener("click", () => go(where() - 1));
of("forward").addEventListener("click", () => go(where() + 1));
of("last").addEventListener("click", () => go(Infinity));
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.matches("input, select, textarea");
  if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape" && !of("board").contains(/** @type {Node} */ (event.target))) of("board").querySelector("svg")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  if (waiting && at === null) {
    const index = (mine?.scene?.choices ?? []).findIndex((choice) => choice.key === event.key);
    if (index >= 0) { event.preventDefault(); play(index); return; }
  }
  /** @type {Record<string, number>} */
  const ways = { ArrowLeft: where() - 1, ArrowRight: where() + 1, Home: 0, End: Infinity };
  const to = ways[event.key];
  if (to !== undefined && !event.defaultPrevented) { event.preventDefault(); go(to); }
});
of("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = typed.value.trim().toLowerCase();
  const labels = (mine?.scene?.choices ?? []).map((choice) => choice.label.toLowerCase());
  const exact = labels.indexOf(text), near = labels.map((label, n) => ({ label, n })).filter(({ label }) => text && label.startsWith(text));
  if (exact >= 0) play(exact);
  else if (near.length === 1) play(near[0].n);
  else { say(near.length ? `${near.length} moves begin like this: ${near.slice(0, 5).map(({ label }) => label).join(", ")}${near.length > 5 ? ", …" : ""}. Type more of the name.` : `No legal move has this name. Legal moves are: ${labels.slice(0, 5).join(", ")}${labels.length > 5 ? ", …" : ""}.`); return; }
  typed.value = "";
});
of("svg").addEventListener("click", () => {
  const svg = of("board").querySelector("svg");
  if (!svg) return;
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true)), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((each, n) => {
    const looks = getComputedStyle(each);
    for (const property of ["fill", "stroke", "stroke-width", "fill-opacity", "stroke-dasharray"]) to[n].setAttribute(property, looks.getPropertyValue(property));
    to[n].removeAttribute("class");
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  link.download = `position-${where()}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
});

if (kind === "replay") {
  const answer = await fetch(`/replay/${encodeURIComponent(key ?? "")}/positions`);
  const found = await answer.json();
  if (!answer.ok) {
    of("status").textContent = found.problem;
    of("aside").hidden = true;
  } else {
    game = { ...found.game, first: 0, over: true, result: null };
    for (const position of found.positions) { turns.set(position.turn, position); log(position); }
    newest = found.positions[found.positions.length - 1] ?? null;
    if (newest && found.game.outcome) newest.outcome = found.game.outcome;
    if (newest && typeof found.game.blame === "number") Object.assign(newest, { blame: found.game.blame, message: found.game.message });
    say(found.problem);
    await go(linked || 0);
  }
} else {
  button("undo")?.addEventListener("click", () => { drawn = ""; send({ do: "undo" }); });
  button("hint")?.addEventListener("click", () => send({ do: "hint", agent: /** @type {HTMLSelectElement} */ (of("adviser")).value }));
  button("resign")?.addEventListener("click", () => { if (confirm("Resign this game?")) send({ do: "resign" }); });
  button("again")?.addEventListener("click", () => { followed = true; send({ do: "again" }); });
  send = live({ about, chair }, (message) => {
    if (message.say !== undefined) { say(message.say); waiting = mine?.turn !== null; drawn = ""; show(); return; }
    ({ broker, problem, done } = message);
    away = message.away ?? [];
    if (message.time !== time) { time = message.time; ahead = time - performance.now() / 1000; }
    if (message.game && game && message.game.episode !== game.episode) { turns.clear(); early.clear(); of("log").replaceChildren(); at = null; }
    // At a table they are kept back until the end.
    if (kind === "table" && message.game?.over && game && !game.over) for (const place of turns.keys()) early.add(place);
    game = message.game ?? game;
    names = message.names?.length ? message.names : names;
    const before = mine?.number;
    mine = message.mine;
    waiting = message.waiting;
    own = message.seat ?? null;
    advice = message.hint ?? null;
    can = message.can ?? {};
    if (message.again) {
      of("next").hidden = false;
      /** @type {HTMLAnchorElement} */ (of("next").querySelector("a")).href = message.again;
      if (followed) location.href = message.again;
    }
    if (mine && mine.number !== before) { say(""); if (waiting) at = null; }
    if (message.position && game) { newest = message.position; early.delete(game.first + game.count - 1); turns.set(game.first + game.count - 1, newest); log(newest); }
    // The page begins with the position that a link names, not with the newest.
    if (linked >= 0 && game && newest) { const turn = linked; linked = NaN; go(turn); } else show();
    fill();
    page.dataset.number = String(mine?.number ?? 0);
    page.dataset.waiting = String(waiting);
    page.dataset.over = String(Boolean(game?.over || done));
  }, (now) => { lost = now; say(lost ? LOST : ""); page.dataset.lost = String(lost); show(); });
}
