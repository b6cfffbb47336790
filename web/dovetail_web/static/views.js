// Parts of a game's page, each made from the state alone.
import {
  drawable,
  thought,
  course,
  seats,
  moves,
  players,
  where,
  last,
  clocks,
  address,
  advice,
  name,
  tedious,
} from "./state.js";
import { colour, seatRole, sign } from "./scene.js";
import { button, made, of, renew } from "./dom.js";
import { chart } from "./chart.js";

const DASHES = ["", "6 4", "2 3", "8 3 2 3"];
const SHOWN = 12;

/** @param {Bar} bar @param {Scene | null | undefined} scene */
export function showBar(bar, scene) {
  of("bar").className = `status ${bar.tone}`;
  of("headline").textContent = bar.headline;
  of("facts").textContent = bar.hint;
  of("turn").textContent = bar.turn;
  const told = of("status");
  if (told.textContent !== bar.told) told.textContent = bar.told;
  colour(of("acting"), scene);
  renew(of("acting"), [bar.seat, scene?.seats, scene?.palette, bar.tone], () =>
    bar.seat === null || bar.tone === "yours" ? [] : [sign(scene, bar.seat)],
  );
}

/** @param {State} state @param {Scene | null | undefined} scene @param {number} now */
export function showSeats(state, scene, now) {
  const found = seats(state, now);
  const list = of("seats");
  renew(list, [found, scene?.palette, seatRole(scene, 0)], () =>
    found.map(({ name, you, acts, won, note, used, score }, seat) => {
      const item = made(
        "li",
        { class: acts ? "seat acts" : "seat" },
        sign(scene, seat),
        made(
          "span",
          { class: "who" },
          name,
          you ? made("span", { class: "muted" }, " (you)") : null,
          " ",
          won ? made("span", { class: "badge good" }, "Won") : null,
        ),
        made(
          "small",
          {},
          note,
          used ? made("span", { class: "used" }, `${note && " · "}${used}`) : null,
        ),
        made("span", { class: "score", "data-seat": seat }, score),
      );
      colour(item, scene);
      item.style.setProperty("--c", `var(--${seatRole(scene, seat)})`);
      return item;
    }),
  );
  list.classList.toggle(
    "ended",
    found.some(({ won }) => won),
  );
}

/** Clocks tick without a change of the state. @param {State} state @param {number} now */
export function showClocks(state, now) {
  const { text, seats } = clocks(state, now);
  of("clock").textContent = text;
  const hurry = document.getElementById("hurry");
  if (hurry) hurry.hidden = !tedious(state, now);
  for (const each of of("seats").querySelectorAll(".score")) {
    const left = seats[Number(/** @type {HTMLElement} */ (each).dataset.seat)];
    if (left) {
      each.textContent = left;
      each.className = "score clock";
    }
  }
}

/** @param {State} state @param {Scene | null | undefined} scene @param {(place: number) => void} go */
export function showMoves(state, scene, go) {
  const rows = moves(state);
  const columns = Math.max(state.names.length, state.game?.agents?.length ?? 0);
  const heads = Array.from({ length: columns }, (_, seat) => name(state, seat));
  renew(of("columns"), [heads, scene?.seats, scene?.palette], () =>
    columns > 2
      ? []
      : ["", ...heads].map((text, at) =>
          made("span", { class: "clip" }, at ? sign(scene, at - 1) : null, text),
        ),
  );
  colour(of("columns"), scene);
  const log = of("log");
  log.className = columns === 1 ? "one" : columns > 2 ? "many" : "two";
  renew(log, [rows, heads, scene?.seats], () =>
    rows.map((row) =>
      made(
        "li",
        {},
        made("span", {}, String(row.number)),
        ...row.moves.map(({ place, turn, seat, text }) =>
          made(
            "button",
            {
              type: "button",
              "data-place": place,
              "data-turn": turn,
              "data-seat": seat,
              "aria-label": `Turn ${turn}. ${heads[seat] ?? ""}: ${text}`,
              on: () => go(place),
            },
            columns > 2 ? sign(scene, seat) : null,
            text,
          ),
        ),
      ),
    ),
  );
  const shown = String(where(state));
  for (const each of log.querySelectorAll("button")) {
    const here = each.dataset.place === shown;
    if (here === each.hasAttribute("aria-current")) continue;
    if (here) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
    if (here) reveal();
  }
}

/** Scroll the turns to the one that is shown. */
export function reveal() {
  const log = of("log");
  const row = log.querySelector("[aria-current]")?.getBoundingClientRect();
  const box = log.getBoundingClientRect();
  if (row && row.top < box.top) log.scrollTop -= box.top - row.top;
  if (row && row.bottom > box.bottom) log.scrollTop += row.bottom - box.bottom;
}

/** The agent whose view a line of the chart shows. @param {State} state @param {Scene | null | undefined} scene @param {number} seat */
const seen = (state, scene, seat) =>
  [name(state, seat), scene?.seats?.[seat]?.name].filter(Boolean).join(", ");

/**
 * @param {State} state @param {Position | null} position @param {Scene | null | undefined} scene
 * @param {{ point: (choice: Considered) => void, go: (place: number) => void }} on
 */
export function showThoughts(state, position, scene, on) {
  const found = thought(state, position);
  const lines = course(state);
  of("thoughts").hidden = !found && !lines.size;
  if (of("thoughts").hidden) return;
  of("thought").textContent = found?.text ?? "";
  const wide = Math.max(200, of("course").clientWidth);
  renew(of("course"), [[...lines], where(state), wide], () => {
    const values = [...lines.values()].flat().map(([, y]) => y);
    if (!values.length) return [];
    const [low, high] = [Math.min(...values), Math.max(...values)].map((each) => each.toFixed(2));
    return [
      chart(
        [...lines].map(([seat, points]) => ({
          name: name(state, seat),
          colour: `var(--seat-${(seat % 6) + 1})`,
          dash: DASHES[seat % DASHES.length],
          points,
        })),
        {
          width: wide,
          height: 112,
          at: where(state),
          last: last(state),
          label: `How good each agent found its own position, by turn: from ${low} to ${high}`,
          axes: ["Turn", "Value of the position, as the agent to act sees it"],
          go: on.go,
        },
      ),
    ];
  });
  renew(of("legend"), [[...lines.keys()], state.names, scene?.seats], () =>
    [...lines.keys()].map((seat) => {
      const key = made("span", { class: "key" });
      key.style.setProperty("--c", `var(--seat-${(seat % 6) + 1})`);
      key.style.borderTopStyle = seat % DASHES.length ? "dashed" : "solid";
      return made("span", {}, key, ` ${seen(state, scene, seat)}`);
    }),
  );
  const values = of("values");
  of("choices").hidden = !found;
  renew(values, found && [found.here, found.found, found.placed], () => {
    if (!found) return [];
    const { choices } = found.found;
    const chances = choices.some(({ chance }) => chance !== null);
    const heads = ["Choice", "Value", ...(chances ? ["Probability"] : [])];
    const rows = choices.slice(0, SHOWN).map((choice) => {
      const show = () => on.point(choice);
      const label =
        found.here && found.placed
          ? made(
              "button",
              { type: "button", class: "plain", on: show, mouseenter: show, focus: show },
              choice.label,
            )
          : choice.label;
      const chance = choice.chance === null ? "" : `${(100 * choice.chance).toFixed(0)} %`;
      return made(
        "tr",
        {},
        made("td", {}, label),
        made("td", { class: "num" }, choice.value?.toFixed(3) ?? ""),
        chances ? made("td", { class: "num" }, chance) : null,
      );
    });
    const head = made(
      "tr",
      {},
      ...heads.map((text) =>
        made("th", { scope: "col", class: text === "Choice" ? null : "num" }, text),
      ),
    );
    return [made("thead", {}, head), made("tbody", {}, ...rows)];
  });
  const more = found ? found.found.count - Math.min(SHOWN, found.found.choices.length) : 0;
  of("others").textContent = more > 0 ? `and ${more} more` : "";
}

/** Show the controls that people have besides moving. @param {State} state */
export function showControls(state) {
  of("others-to-play").hidden = !state.problem;
  if (!state.chair) return;
  const { can } = state;
  for (const id of ["undo", "hint", "resign"]) {
    const found = button(id);
    if (!found) continue;
    found.disabled = !can[id];
    found.hidden = Boolean(can.again || state.problem);
  }
  const undo = button("undo");
  if (undo)
    undo.title = can.undo
      ? ""
      : "There is nothing to take back, there is a clock, or several people play.";
  const adviser = document.getElementById("adviser");
  if (adviser instanceof HTMLSelectElement) adviser.disabled = Boolean(can.again);
  for (const id of ["again", "review"]) of(id).hidden = !can.again;
  of("swap").hidden = !can.swap;
  of("leave").hidden = Boolean(can.again);
  of("advice").textContent = advice(state).text;
  of("next").hidden = !state.again;
  if (state.again)
    /** @type {HTMLAnchorElement} */ (of("next").querySelector("a")).href = state.again;
}

/** Show the descriptions of the agents in this game. @param {State} state */
export function showWho(state) {
  const list = document.getElementById("who");
  if (!list) return;
  const found = players(state);
  for (const each of list.querySelectorAll("li"))
    each.hidden = !found.includes(each.dataset.name ?? "");
  list.hidden = !list.querySelector("li:not([hidden])");
}

/** The rules of cards, which on the board only a mouse can ask for. @param {Scene | null | undefined} scene */
export function showNotes(scene) {
  const told = new Map(
    (scene?.cards ?? []).flatMap(({ name, note }) => (name && note ? [[name, note]] : [])),
  );
  of("notes").hidden = !told.size;
  renew(/** @type {HTMLElement} */ (of("notes").querySelector("ul")), [...told], () =>
    [...told].map(([card, note]) => made("li", {}, made("b", {}, card), `: ${note}`)),
  );
}

/** Set the links to the position that is shown. @param {State} state @param {Scene | null | undefined} scene */
export function showLinks(state, scene) {
  const base = address(state);
  of("links").hidden = !base;
  of("svg").hidden = !drawable(scene);
  const turn = encodeURIComponent(where(state));
  for (const [id, end] of [
    ["here", `?turn=${turn}`],
    ["as-svg", `/turn/${turn}.svg`],
    ["as-png", `/turn/${turn}.png`],
  ]) {
    /** @type {HTMLAnchorElement} */ (of(id)).href = base + end;
  }
}
