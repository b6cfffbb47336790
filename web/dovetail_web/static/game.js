// A game: live, at a table where one plays, or a replay. The state is in state.js, what is shown in
// views.js; here they are joined with the page, the connection and the keyboard.
import { draw, parts, point, slide } from "./board.js";
import { button, made, of } from "./dom.js";
import { taken } from "./early.js";
import { LOST } from "./live.js";
import { forget, keep } from "./own.js";
import { picture } from "./scene.js";
import {
  PATIENCE,
  address,
  advice,
  arrowed,
  bar,
  clocks,
  drawable,
  first,
  initial,
  last,
  over,
  shown,
  thought,
  update,
  where,
  why,
} from "./state.js";
import {
  reveal,
  showBar,
  showClocks,
  showControls,
  showLinks,
  showMoves,
  showNotes,
  showSeats,
  showThoughts,
  showWho,
} from "./views.js";

import { task } from "./words.js";

/** Not needed for the first board, so not loaded before it. */
const sounds = import("./sound.js");
const page = of("game");
const slider = /** @type {HTMLInputElement} */ (of("slider"));
const typed = /** @type {HTMLInputElement} */ (of("move"));
const stage = of("board");
const title = page.dataset.title ?? "";
/** @type {Record<string, string>} */
const ARROWS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
const FILLED = 40;
const menu = /** @type {HTMLDetailsElement} */ (page.querySelector(".menu"));
const TOUCHED = matchMedia("(pointer: coarse)");

const asked = Number(new URLSearchParams(location.search).get("turn") ?? NaN);
let state = initial(page.dataset.about ?? "", page.dataset.chair, asked);
/** @type {(message: object) => void} */
let send = () => {};
/** The scene that was drawn last, and what it was drawn from. @type {{ scene: Scene | null | undefined, key: string }} */
let before = { scene: null, key: "" };
/** True if the person plays by the keyboard, so that the focus stays on the board from turn to turn. */
let keyed = false;
/** True if the person goes along to the next game. */
let follows = false;
/** @type {ReturnType<typeof setInterval> | null} */
let playback = null;

const now = () => performance.now();

/** @param {string} text */
const say = (text) => {
  of("say").textContent = text;
};

/** @param {Change} what */
function change(what) {
  const old = state;
  state = update(state, what);
  show();
  if (state.newest && old.newest && state.newest.turn > old.newest.turn && state.at === null) {
    const own = (state.newest.actions ?? []).some(([seat]) => seat === state.own);
    sounds.then(({ tap }) => tap(own));
  }
  if (over(state) && !over(old)) {
    forget(state.key);
    document.getElementById("how")?.removeAttribute("open");
  }
  if (over(state) && !over(old) && old.newest) sounds.then((sound) => sound.over());
  page.dataset.number = String(state.mine?.number ?? 0);
  page.dataset.waiting = String(state.waiting);
  page.dataset.over = String(over(state));
  page.dataset.lost = String(state.lost);
}

function show() {
  const { position, scene, playing } = shown(state, now());
  const said = bar(state, now());
  showBar(said, scene);
  document.title = `${said.tone === "yours" ? "Your turn: " : ""}${title} · Dovetail`;
  board(position, scene, playing);
  of("typed").hidden = !playing;
  of("prompt").hidden = said.tone !== "yours";
  showControls(state);
  showSeats(state, scene, now());
  showClocks(state, now());
  showMoves(state, scene, step);
  showThoughts(state, position, scene, {
    go: step,
    point: (choice) => scene && point(stage, scene, choice, stage.clientWidth),
  });
  showNotes(scene);
  showWho(state);
  showLinks(state, scene);
  slider.min = String(first(state));
  slider.max = String(last(state));
  slider.value = String(where(state));
  slider.setAttribute("aria-valuetext", `turn ${where(state)} of ${last(state)}`);
}

/** @param {Position | null} position @param {Scene | null | undefined} scene @param {Mine | null} playing */
function board(position, scene, playing) {
  const hinted = playing ? advice(state).parts : [];
  const thinking = thought(state, position);
  const thoughts = thinking?.here ? thinking.found.choices : [];
  const width = Math.floor(stage.clientWidth);
  const key = JSON.stringify([scene, playing !== null, hinted, thoughts, scene?.width ? 0 : width]);
  if (!position && !scene && !before.key) return; // the game's picture stands there
  of("text").textContent = (playing ? playing.text : position?.text) ?? "";
  if (key === before.key) return;
  of("buttons").replaceChildren();
  of("text").hidden = drawable(scene);
  if (scene && drawable(scene)) {
    const hooks = playing
      ? {
          play,
          say,
          step: prompt,
          ask: buttons,
          seat: state.own,
          names: state.names,
          hinted,
          width,
        }
      : { say, why: () => why(state), thoughts, width };
    const frame = draw(scene, hooks);
    frame.querySelector("svg")?.toggleAttribute("data-turned", state.facing.turned);
    const left = stage.contains(document.activeElement) || document.activeElement === document.body;
    stage.replaceChildren(frame);
    if (playing && keyed && left)
      /** @type {SVGElement | null} */ (frame.querySelector(".target"))?.focus();
    slide(frame, scene, before.scene);
  } else stage.replaceChildren();
  before = { scene, key };
  if (playing?.scene?.choices) {
    const all = playing.scene.choices.map((choice, index) => ({ ...choice, index }));
    const bare = drawable(scene) ? all.filter((choice) => !parts(choice).length) : all;
    if (bare.length) buttons(bare);
    if (!drawable(scene)) prompt(0, 0);
  }
  const trouble = (playing ? playing.problem : position?.problem) || "";
  if (trouble) say(trouble);
}

/** @param {{ label: string, index: number }[]} choices @param {boolean} [ends] whether others continue where these end @param {boolean} [focus] */
function buttons(choices, ends = false, focus = false) {
  const target = of("buttons");
  target.replaceChildren(
    ...choices.map(({ label, index }) =>
      made(
        "button",
        { type: "button", class: "main", on: () => play(index) },
        ends ? `${label} (stop here)` : label,
      ),
    ),
  );
  if (focus) target.querySelector("button")?.focus();
}

/** Say what to point at. @param {number} picked @param {number} most */
function prompt(picked, most) {
  const scene = state.mine?.scene;
  const choices = scene?.choices ?? [];
  const keys = choices.flatMap(({ key }) => (key ? [ARROWS[key] ?? key] : []));
  const all = !picked && choices.length && keys.length === choices.length;
  const strokes = all && choices.every(({ key }) => key && key in ARROWS);
  const press = TOUCHED.matches
    ? strokes
      ? ", by a swipe"
      : ""
    : all
      ? `, or press ${keys.join(" ")}`
      : "";
  const bare = choices.some((choice) => !parts(choice).length);
  const count =
    most > 1 ? ` (${picked + 1} of ${most}${picked ? "; Esc takes the last one back" : ""})` : "";
  const what = task(scene?.prompt || "Choose a marked place", picked, most);
  const text =
    most < 1
      ? "Choose by a button below the board"
      : `${what}${count}${bare && !scene?.prompt ? ", or a button below the board" : ""}`;
  const facts = scene?.caption ? `; ${scene.caption}` : "";
  of("prompt").textContent = `${text}${press}${facts}.`;
}

/** @param {number} index */
function play(index) {
  if (!state.waiting || !state.mine) return;
  if (state.lost) {
    say(LOST);
    return;
  }
  say("");
  send({ number: state.mine.number, choice: index });
  setTimeout(show, PATIENCE + 20);
  change({ chose: now() });
}

// -- going through the turns

let filling = false;

/** Fetch positions that are not there, or not whole; return whether all are there now. @param {number[]} places */
async function fetched(places) {
  const missing = places.filter((place) => !state.turns.has(place) || state.early.has(place));
  if (state.kind === "replay" || !missing.length) return true;
  /** @type {[number, Position][]} */
  const found = [];
  try {
    await Promise.all(
      missing.map(async (place) => {
        const answer = await fetch(`${address(state)}/turn/${encodeURIComponent(place)}`);
        if (answer.ok) found.push([place, await answer.json()]);
      }),
    );
  } catch {
    // the connection says so
  }
  if (found.length) change({ fetched: found });
  return found.length === missing.length;
}

/** Fetch the last turns that went by too fast to be sent, for the list of turns. */
async function fill() {
  if (filling || !state.game || !state.newest) return;
  filling = true;
  for (let place = Math.max(first(state), last(state) - FILLED); place < last(state); place += 1) {
    if (!(await fetched([place]))) break;
  }
  filling = false;
}

/** @param {number} place */
async function go(place) {
  // At once, so that a key that is pressed twice leads two turns on.
  state = update(state, { go: place });
  const wanted = where(state);
  // The next turn has what was thought in this one.
  if (wanted !== last(state)) {
    await fetched([wanted, wanted + 1].filter((each) => each <= last(state)));
  }
  change({ go: where(state) });
}

/** @param {boolean} on */
function playing(on) {
  if (playback) clearInterval(playback);
  playback = null;
  if (on) {
    if (where(state) === last(state)) go(first(state));
    const speed = Number(/** @type {HTMLSelectElement} */ (of("speed")).value);
    playback = setInterval(async () => {
      if (!state.newest) return; // pressed before the turns are there
      if (where(state) < last(state)) await go(where(state) + 1);
      if (where(state) >= last(state)) playing(false);
    }, 1000 / speed);
  }
  of("play").setAttribute("aria-pressed", String(Boolean(playback)));
  of("play").setAttribute("aria-label", playback ? "Pause" : "Play");
}

/** Show a turn that was asked for; the replay then stands. @param {number} place */
function step(place) {
  playing(false);
  return go(place);
}

// -- what people press

stage.addEventListener("keydown", () => {
  keyed = true;
});
document.addEventListener("pointerdown", ({ target }) => {
  keyed = false;
  if (!(target instanceof Element && target.closest(".menu, dialog"))) menu.open = false;
});
slider.addEventListener("input", () => step(Number(slider.value)));
of("first").addEventListener("click", () => step(-Infinity));
of("back").addEventListener("click", () => step(where(state) - 1));
of("forward").addEventListener("click", () => step(where(state) + 1));
of("last").addEventListener("click", () => step(Infinity));
of("play").addEventListener("click", () => playing(!playback));
of("speed").addEventListener("change", () => playback && playing(true));
document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Escape" && menu.open) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
    return;
  }
  if (
    target.matches("input, select, textarea, dialog *") ||
    event.ctrlKey ||
    event.altKey ||
    event.metaKey
  )
    return;
  if (event.key === "Escape" && !stage.contains(target)) {
    stage.querySelector("svg")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  }
  if (state.waiting && state.at === null) {
    const index = (state.mine?.scene?.choices ?? []).findIndex(
      (choice) => choice.key === event.key,
    );
    if (index >= 0) {
      event.preventDefault();
      play(index);
      return;
    }
  }
  if (event.key in ARROWS && arrowed(state)) {
    event.preventDefault();
    if (state.waiting) say(`${ARROWS[event.key]} moves nothing now.`);
    return;
  }
  if (event.key === " " && target === document.body && state.kind === "replay") {
    event.preventDefault();
    playing(!playback);
    return;
  }
  /** @type {Record<string, number>} */
  const ways = {
    ArrowLeft: where(state) - 1,
    ArrowRight: where(state) + 1,
    Home: -Infinity,
    End: Infinity,
  };
  const to = ways[event.key];
  if (to !== undefined && !event.defaultPrevented) {
    event.preventDefault();
    step(to);
  }
});
of("typed").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = typed.value.trim().toLowerCase();
  const labels = (state.mine?.scene?.choices ?? []).map((choice) => choice.label.toLowerCase());
  const exact = labels.indexOf(text);
  const starting = labels.flatMap((label, n) => (label.startsWith(text) ? [n] : []));
  const found = exact >= 0 ? exact : starting.length === 1 ? starting[0] : -1;
  if (found >= 0 && text) {
    typed.value = "";
    say("");
    play(found);
  } else if (starting.length > 1 && text) {
    say(`${starting.length} legal moves begin with "${typed.value}"; type more of the name.`);
  } else say(`No legal move is called "${typed.value}".`);
});
of("svg").addEventListener("click", () => {
  const { scene } = shown(state, now());
  if (!scene) return;
  const href = URL.createObjectURL(new Blob([picture(scene, 640)], { type: "image/svg+xml" }));
  made("a", { href, download: `position-${where(state)}.svg` }).click();
  URL.revokeObjectURL(href);
});

/** Ask before something that cannot be undone. @param {string} id of the dialog @param {() => void} sure */
function confirmed(id, sure) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
  if (!dialog) return;
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") sure();
    dialog.returnValue = "";
  });
  document
    .querySelector(`[data-asks="${id}"]`)
    ?.addEventListener("click", () => dialog.showModal());
}

for (const each of document.querySelectorAll("[data-copy]")) {
  each.addEventListener("click", async () => {
    const link = new URL(/** @type {HTMLElement} */ (each).dataset.copy ?? "", location.href);
    try {
      await navigator.clipboard.writeText(link.href);
      each.textContent = "Copied";
    } catch {
      say(`Copy it by hand: ${link.href}`);
    }
  });
}

new ResizeObserver(() => show()).observe(stage);
new ResizeObserver(reveal).observe(of("log"));
sounds.then(({ switched }) => switched(button("sound")));
let hurried = false;
setInterval(() => {
  showClocks(state, now());
  const { text } = clocks(state, now());
  const hurry = state.waiting && / left$/.test(text) && parseInt(text, 10) <= 10;
  if (hurry && !hurried) sounds.then((sound) => sound.hurry());
  hurried = hurry;
}, 250);

if (state.kind === "replay") {
  const answer = await fetch(`/replay/${encodeURIComponent(state.key)}/positions`);
  const found = await answer.json();
  if (!answer.ok) {
    of("headline").textContent = "This game cannot be replayed";
    of("status").textContent = found.problem;
    of("facts").textContent = found.problem;
    of("aside").hidden = true;
  } else {
    change({ replay: { ...found, problem: "" } });
    say(found.problem);
    await go(asked || 0);
  }
} else {
  if (state.chair) keep(state.key, location.pathname + location.search, title);
  for (const act of ["undo", "decide", "replace"])
    button(act)?.addEventListener("click", () => send({ do: act }));
  button("hint")?.addEventListener("click", () => {
    say("");
    send({ do: "hint", agent: /** @type {HTMLSelectElement} */ (of("adviser")).value });
  });
  for (const act of ["again", "swap"])
    button(act)?.addEventListener("click", () => {
      follows = true;
      send({ do: act });
    });
  button("review")?.addEventListener("click", () => step(-Infinity));
  confirmed("ask-resign", () => send({ do: "resign" }));
  confirmed("ask-leave", () => send({ do: "leave" }));
  send = taken(
    (news) => {
      if (news.say !== undefined) {
        change({ refused: true });
        before.key = "";
        show();
        say(news.say);
        return;
      }
      const number = state.mine?.number;
      const { linked } = state;
      if (news.mine && news.mine.number !== number) say("");
      change({ news, now: now() });
      if (follows && state.again) location.href = state.again;
      // The page begins with the position that a link names, not with the newest.
      if (linked >= 0 && state.game && state.newest) go(linked);
      fill();
    },
    (lost) => {
      change({ lost });
      say(lost ? LOST : "");
    },
  );
}
