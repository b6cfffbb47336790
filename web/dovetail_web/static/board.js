// Draws a scene of any game as SVG, and says what a person points at. It knows no game.

const NS = "http://www.w3.org/2000/svg";
const CARD_WIDTH = 1.7;
const CARD_HEIGHT = 1.05;

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 * @returns {SVGElementTagNameMap[T]}
 */
export function element(name, attributes, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The place of everything that can be pointed at: cells as "c3", cards as "k3". @param {Scene} scene */
function placed(scene) {
  /** @type {Boxes} */
  const boxes = new Map();
  const cells = scene.cells ?? [];
  cells.forEach((cell, n) => {
    boxes.set(`c${n}`, { x: cell.x, y: cell.y, w: cell.width ?? 1, h: cell.height ?? 1 });
  });
  const cards = scene.cards ?? [];
  /** @type {Zone[]} */
  const zones = [...(scene.zones ?? [])];
  for (const card of cards) {
    if (!zones.some((zone) => zone.name === card.zone && (zone.owner ?? null) === (card.owner ?? null))) {
      zones.push({ name: card.zone, owner: card.owner ?? null, title: card.zone });
    }
  }
  const titles = [];
  let y = (scene.height ?? 0) + (scene.height ? 0.4 : 0);
  const room = innerWidth > 800 ? 14.2 : 8.9;  // a phone has fewer cards in a row
  const wide = Math.max(scene.width ?? 0, cards.length ? room : 0, 1);
  let x = 0, owner = /** @type {number | null | undefined} */ (undefined);
  for (const zone of zones) {
    const own = cards.map((card, n) => ({ card, n })).filter(
      ({ card }) => card.zone === zone.name && (card.owner ?? null) === (zone.owner ?? null));
    if (!own.length) continue;
    const title = zone.title || zone.name;
    const needs = Math.max(own.length * (CARD_WIDTH + 0.1), 0.19 * title.length);
    // What belongs to one seat stays side by side as far as it fits.
    if (x > 0 && (owner !== zone.owner || x + 0.25 + needs > wide)) { x = 0; y += CARD_HEIGHT + 0.55; } else if (x > 0) x += 0.25;
    else y += 0.45;
    owner = zone.owner;
    titles.push({ x, y: y - 0.1, text: title });
    const end = x + 0.19 * title.length;
    for (const { n } of own) {
      if (x + CARD_WIDTH > wide + 0.01) { x = 0; y += CARD_HEIGHT + 0.1; }
      boxes.set(`k${n}`, { x, y, w: CARD_WIDTH, h: CARD_HEIGHT });
      x += CARD_WIDTH + 0.1;
    }
    x = Math.max(x, Math.min(end, wide));
  }
  return { boxes, titles, width: wide, height: Math.max(x > 0 ? y + CARD_HEIGHT + 0.1 : y, scene.height ?? 0, 1) };
}

/** @type {Record<string, string>} */
const CELLS = { dark: "darkcell", hole: "holecell", base: "base", edge: "edge", box: "box", area: "area", off: "off", arrow: "arrowcell", dot: "dot", point: "point" };
/** @param {number | null | undefined} owner */
const seatOf = (owner) => (owner === null || owner === undefined ? "none" : `s${owner % 6}`);

/** @param {Element} group @param {Box} box @param {string} text @param {number} size @param {string} kind */
function label(group, box, text, size, kind) {
  const fit = Math.min(size, (1.7 * box.w) / Math.max(text.length, 1));
  group.append(element("text", { x: box.x + box.w / 2, y: box.y + box.h / 2 + fit * 0.35, "font-size": fit, "text-anchor": "middle", class: kind }, text));
}

/** Write a card's name, on two lines if it has a space and would be small on one. @param {Element} group @param {Box} box @param {string} text */
function title(group, box, text) {
  const at = text.length > 12 ? text.lastIndexOf(" ", text.length / 2 + 3) : -1;
  const lines = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text];
  if (lines.length < 2) label(group, box, text, 0.34, "ink");
  else lines.forEach((line, n) => label(group, { ...box, y: box.y + 0.05 + 0.24 * n, h: 0.25 }, line, 0.25, "ink"));
}

/** What tells the pieces of the seats apart beside their colours, in a box from -1 to 1. */
const SIGNS = ["", "M-.45 0a.45 .45 0 1 0 .9 0a.45 .45 0 1 0 -.9 0", "M-.5 0H.5", "M-.5 0H.5M0-.5V.5", "M0-.55L.5 .35H-.5Z", "M-.4-.4H.4V.4H-.4Z"];

/** The name of a seat, if it is one letter. @param {Scene | null | undefined} scene @param {number | null | undefined} owner */
function letter(scene, owner) {
  const name = scene?.seats?.[owner ?? -1]?.name ?? "";
  return name.length === 1 ? name : "";
}

/** The sign of a seat, for a piece of a radius: its name if that is one letter. @param {Scene | null | undefined} scene @param {number | null | undefined} owner @param {number} cx @param {number} cy @param {number} r */
export function sign(scene, owner, cx, cy, r) {
  const n = (owner ?? 0) % 6, name = letter(scene, owner);
  if (name) return [element("text", { x: cx, y: cy + 0.4 * r, "font-size": 1.15 * r, "text-anchor": "middle", class: `t${n}` }, name)];
  return SIGNS[n] ? [element("path", { d: SIGNS[n], transform: `translate(${cx} ${cy}) scale(${r})`, class: `sign i${n}` })] : [];
}

/** @param {Element} group @param {Piece} piece @param {Box} box @param {Scene} scene */
function drawPiece(group, piece, box, scene) {
  const cx = box.x + box.w / 2, cy = box.y + box.h / 2, size = Math.min(box.w, box.h, 1);
  const owner = seatOf(piece.owner), ink = piece.owner === null || piece.owner === undefined ? "tnone" : `t${piece.owner % 6}`;
  if (piece.kind === "line") {
    group.append(element("rect", { x: box.x, y: box.y, width: box.w, height: box.h, class: "drawn" }));
  } else if (piece.kind === "arrow") {
    const d = size * 0.28;
    group.append(element("path", { d: `M${cx - d} ${cy - d}L${cx + d} ${cy + d}M${cx + d} ${cy - d}L${cx - d} ${cy + d}`, class: "shot" }));
  } else if (["block", "next", "box", "tile"].includes(piece.kind)) {
    const gap = 0.05;
    const made = element("rect", { x: box.x + gap, y: box.y + gap, width: box.w - 2 * gap, height: box.h - 2 * gap, rx: 0.08, class: `piece ${piece.level === undefined || piece.level === null ? owner : ""}` });
    if (typeof piece.level === "number") {
      const strong = Math.max(0, Math.min(1, piece.level));
      made.setAttribute("fill", `hsl(${45 - 40 * strong} ${40 + 50 * strong}% ${90 - 45 * strong}%)`);
    }
    group.append(made);
    label(group, box, piece.text || (piece.owner === null || piece.owner === undefined ? "" : "ABCDEF"[piece.owner] ?? String(piece.owner)), 0.45, typeof piece.level === "number" ? (piece.level > 0.75 ? "t1" : "t0") : ink);
  } else {
    const r = size * 0.38;
    group.append(element("circle", { cx, cy, r, class: `piece ${owner}` }));
    const symbol = piece.symbol || (piece.kind === "queen" ? "♛" : "");
    const text = piece.text || ((piece.count ?? 1) > 1 ? String(piece.count) : "");
    const whose = text ? "" : letter(scene, piece.owner);
    if (symbol && whose) {
      label(group, { ...box, y: box.y - 0.17 * size }, symbol, size * 0.4, ink);
      label(group, { ...box, y: box.y + 0.17 * size }, whose, size * 0.36, ink);
    } else if (symbol) label(group, box, symbol, size * 0.5, ink);
    else if (!text) group.append(...sign(scene, piece.owner, cx, cy, r));
    if (text) label(group, box, text, size * 0.4, ink);
  }
}

/** The parts of a choice or a mark, in order. @param {Parts} choice */
export function parts(choice) {
  return [...(choice.cells ?? []).map((n) => `c${n}`), ...(choice.cards ?? []).map((n) => `k${n}`)];
}

/** @param {Scene} scene @param {string} part */
function nameOf(scene, part) {
  const n = Number(part.slice(1));
  if (part[0] === "k") {
    const card = /** @type {Card[]} */ (scene.cards)[n];
    return `${card.name || "face down"}, ${card.count ?? 1}, in ${card.zone}${card.note ? `: ${card.note}` : ""}`;
  }
  const cell = /** @type {Cell[]} */ (scene.cells)[n];
  const on = (scene.pieces ?? []).filter((piece) => piece.cell === n);
  const what = on.map((piece) => {
    const whose = piece.owner === null || piece.owner === undefined ? "" : `${scene.seats?.[piece.owner]?.name ?? `seat ${piece.owner + 1}`} `;
    return `${whose}${piece.kind}${piece.text ? ` ${piece.text}` : ""}`;
  });
  return [cell.name || `${cell.kind ?? "square"} ${n + 1}`, ...what].join(", ");
}

/** Coordinates for the rim, if the cells' names have two parts, one for each column and one for each row. @param {Scene} scene */
function coordinates(scene) {
  const cells = (scene.cells ?? []).filter((cell) => ["square", "dark", "hole", "point", "dot"].includes(cell.kind ?? "square"));
  const named = cells.map((cell) => ({ cell, found: /^([a-z]+|\d+),?(\d+)$/i.exec(cell.name ?? "") }));
  if (cells.length < 2 || named.some(({ found }) => !found)) return [];
  for (const [across, down] of [[1, 2], [2, 1]]) {
    /** @type {Map<number, string>} */
    const columns = new Map();
    /** @type {Map<number, string>} */
    const rows = new Map();
    let fits = true;
    for (const { cell, found } of named) {
      const x = cell.x + (cell.width ?? 1) / 2, y = cell.y + (cell.height ?? 1) / 2;
      const column = found?.[across] ?? "", row = found?.[down] ?? "";
      fits &&= (columns.get(x) ?? column) === column && (rows.get(y) ?? row) === row;
      columns.set(x, column);
      rows.set(y, row);
    }
    if (!fits || new Set(columns.values()).size < columns.size || new Set(rows.values()).size < rows.size) continue;
    const low = Math.max(...cells.map((cell) => cell.y + (cell.height ?? 1))), left = Math.min(...cells.map((cell) => cell.x));
    return [...[...columns].map(([x, text]) => ({ x, y: low + 0.33, text, end: false })), ...[...rows].map(([y, text]) => ({ x: left - 0.12, y: y + 0.1, text, end: true }))];
  }
  return [];
}

/** What the last actions are called: as the scene says, else by the places they touched. @param {Scene | null | undefined} scene */
export function moved(scene) {
  if (!scene) return "";
  const last = (scene.marks ?? []).filter((mark) => mark.kind === "last");
  const places = last.flatMap((mark) => [...(mark.cells ?? []).map((n) => scene.cells?.[n]?.name), ...(mark.cards ?? []).map((n) => scene.cards?.[n]?.name)]);
  return scene.moved || places.filter(Boolean).join(" ");
}

/**
 * Whether what belongs to a seat lies above what belongs to others, in the first position of a game.
 * @param {Scene} scene @param {number} seat
 */
export function above(scene, seat) {
  const cells = scene.cells ?? [], pieces = (scene.pieces ?? []).map(({ cell, owner }) => ({ ...cells[cell], owner }));
  const owned = [...cells, ...pieces].filter(({ owner }) => typeof owner === "number");
  /** @param {Cell[]} some */
  const mean = (some) => some.reduce((sum, { y, height }) => sum + y + (height ?? 1) / 2, 0) / some.length;
  const own = owned.filter(({ owner }) => owner === seat), others = owned.filter(({ owner }) => owner !== seat);
  return own.length > 0 && others.length > 0 && mean(own) < mean(others) - 0.1 * (scene.height ?? 0);
}

/**
 * The scene as one sees it from the other side of the board; not where keys stand for directions.
 * @param {Scene} scene @returns {Scene}
 */
export function turned(scene) {
  const width = scene.width ?? 0, height = scene.height ?? 0;
  if (scene.choices?.some(({ key }) => key?.startsWith("Arrow"))) return scene;
  return {
    ...scene,
    cells: scene.cells?.map((cell) => ({
      ...cell,
      x: width - cell.x - (cell.width ?? 1),
      y: height - cell.y - (cell.height ?? 1),
      ...(cell.outline && { outline: cell.outline.map(([x, y]) => /** @type {[number, number]} */ ([width - x, height - y])) }),
    })),
    lines: scene.lines?.map(([x1, y1, x2, y2]) => [width - x1, height - y1, width - x2, height - y2]),
  };
}

const SLIDE = { duration: 160, easing: "ease-out" };

/**
 * Let the pieces that stood elsewhere in the scene before slide to their places.
 * @param {SVGSVGElement} svg of the scene @param {Scene} scene @param {Scene | null | undefined} before
 */
export function slide(svg, scene, before) {
  if (!before || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  /** @param {Scene} scene @param {Piece} piece */
  const place = (scene, piece) => /** @type {Cell[]} */ (scene.cells)[piece.cell];
  const stood = new Map((before.pieces ?? []).filter(({ key }) => key).map((piece) => [piece.key, place(before, piece)]));
  for (const piece of scene.pieces ?? []) {
    const from = stood.get(piece.key), to = place(scene, piece);
    if (!from || (from.x === to.x && from.y === to.y)) continue;
    const dx = from.x - to.x + ((from.width ?? 1) - (to.width ?? 1)) / 2, dy = from.y - to.y + ((from.height ?? 1) - (to.height ?? 1)) / 2;
    svg.querySelector(`[data-key="${CSS.escape(piece.key ?? "")}"]`)?.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], SLIDE);
  }
}

/**
 * Draw a scene.
 * @param {Scene} scene
 * @param {Hooks} [hooks]
 */
export function draw(scene, hooks) {
  const { boxes, titles, width, height } = placed(scene);
  const at = /** @param {string} part */ (part) => /** @type {Box} */ (boxes.get(part));
  const rim = coordinates(scene), edge = 0.22, left = rim.length ? 0.5 : edge, under = rim.length ? 0.45 : edge;
  const svg = element("svg", { viewBox: `${-left} ${-edge} ${width + left + edge} ${height + edge + under}`, xmlns: NS, role: "group", "aria-label": "Board" });
  svg.setAttribute("font-family", "system-ui, sans-serif");
  (scene.cells ?? []).forEach((cell, n) => {
    const box = at(`c${n}`), kind = CELLS[cell.kind ?? ""] ?? "square";
    if (cell.outline?.length) svg.append(element("polygon", { points: cell.outline.map((corner) => corner.join(",")).join(" "), class: kind }));
    else if (kind !== "dot") svg.append(element("rect", { x: box.x, y: box.y, width: box.w, height: box.h, class: kind }));
    if (kind === "holecell") svg.append(element("circle", { cx: box.x + 0.5, cy: box.y + 0.5, r: 0.4, class: "hole" }));
    if (kind === "dot") svg.append(element("circle", { cx: box.x + box.w / 2, cy: box.y + box.h / 2, r: box.w / 2, class: "dot" }));
    if (cell.text) label(svg, box, cell.text, 0.6, "ink");
  });
  (scene.cells ?? []).forEach((cell, n) => {  // over the cells beside it
    if (cell.kind !== "base" || cell.owner === undefined || cell.owner === null) return;
    const { x, y, w } = at(`c${n}`), text = cell.name || scene.seats?.[cell.owner]?.name || "";
    label(svg, { x, y: y + 0.05, w, h: 0.5 }, text, Math.min(0.34, (1.6 * w) / Math.max(text.length, 1)), "soft");
  });
  for (const { x, y, text, end } of rim) svg.append(element("text", { x, y, "font-size": 0.28, "text-anchor": end ? "end" : "middle", class: "soft" }, text));
  for (const [x1, y1, x2, y2] of scene.lines ?? []) svg.append(element("line", { x1, y1, x2, y2, class: "line" }));
  const beneath = element("g", { class: "considered", "aria-hidden": "true" });
  svg.append(beneath);
  for (const piece of scene.pieces ?? []) {
    const group = piece.key ? element("g", { "data-key": piece.key }) : svg;
    drawPiece(group, piece, at(`c${piece.cell}`), scene);
    if (group !== svg) svg.append(group);
  }
  for (const title of titles) svg.append(element("text", { x: title.x, y: title.y, class: "zone" }, title.text));
  (scene.cards ?? []).forEach((card, n) => {
    const box = at(`k${n}`);
    const group = element("g", {});
    group.append(element("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 0.1, class: card.name ? "card" : "facedown" }));
    if (card.note) group.append(element("title", {}, card.note));
    if (card.name) title(group, { ...box, x: box.x + 0.12, w: box.w - 0.24, h: box.h - 0.3 }, card.name);
    const count = card.count ?? 1;
    group.append(element("text", { x: box.x + box.w - 0.16, y: box.y + box.h - 0.16, "font-size": 0.25, "text-anchor": "end", class: card.name ? "ink" : "t1" }, count === 1 && card.name ? "" : `×${count}`));
    if (card.corner || card.text) group.append(element("text", { x: box.x + 0.16, y: box.y + box.h - 0.16, "font-size": 0.25, class: "ink" }, card.corner ? `cost ${card.corner}` : card.text ?? ""));
    svg.append(group);
  });
  for (const mark of scene.marks ?? []) {
    for (const part of parts(mark)) {
      const box = boxes.get(part);
      const gap = box && Math.min(box.w, box.h) < 0.3 ? -0.06 : 0.04;  // around a line
      if (box) svg.append(element("rect", { x: box.x + gap, y: box.y + gap, width: box.w - 2 * gap, height: box.h - 2 * gap, rx: 0.1, class: ["last", "win", "danger"].includes(mark.kind) ? mark.kind : "last" }));
    }
  }
  if (hooks?.thoughts?.length) considered(svg, beneath, boxes, hooks.thoughts);
  if (hooks?.play && scene.choices?.length) pointing(svg, scene, boxes, hooks);
  else if (hooks?.why) svg.addEventListener("click", () => hooks.say?.(hooks.why?.() ?? ""));
  return svg;
}

/** How an agent rates a choice: by its probability, else by its value. @param {Considered} choice */
const weight = (choice) => choice.chance ?? choice.value;

/** What an agent thought of a choice, in few characters. @param {number} worth @param {boolean} chance */
const brief = (worth, chance) => (chance ? `${(100 * worth).toFixed(0)} %` : Math.abs(worth) >= 100 ? worth.toFixed(0) : worth.toFixed(2));

/**
 * Draw what an agent thought where its choices begin: a probability, of all choices that begin there, or the best value.
 * @param {SVGSVGElement} svg @param {Element} beneath what lies beneath the pieces @param {Boxes} boxes @param {Considered[]} choices the best first
 */
function considered(svg, beneath, boxes, choices) {
  const layer = element("g", { class: "considered", "aria-hidden": "true" });
  svg.append(layer);
  /** @type {Map<string, number>} */
  const worths = new Map();
  const chance = choices.some((choice) => choice.chance !== null);
  for (const choice of choices) {
    const [first] = parts(choice), worth = weight(choice);
    if (!first || !boxes.has(first) || worth === null) continue;
    worths.set(first, chance ? (worths.get(first) ?? 0) + worth : Math.max(worths.get(first) ?? -Infinity, worth));
  }
  const all = [...worths.values()], most = Math.max(...all), least = chance ? 0 : Math.min(...all);
  const order = [...worths].sort(([, a], [, b]) => b - a);
  order.forEach(([part, worth], n) => {
    const { x, y, w, h } = /** @type {Box} */ (boxes.get(part));
    const share = most > least ? (worth - least) / (most - least) : 1;
    (part[0] === "c" ? beneath : layer).append(element("rect", { x, y, width: w, height: h, class: "weight", "fill-opacity": (0.08 + 0.42 * share).toFixed(2) }));
    if (n >= LABELLED) return;
    const text = brief(worth, chance), size = Math.min(0.3, Math.max(0.2, (1.5 * w) / text.length)), wide = 0.6 * size * text.length + 0.1;
    const cx = x + w / 2, cy = h > 1.5 ? y + 0.3 : y + h / 2;
    layer.append(element("rect", { x: cx - wide / 2, y: cy - 0.62 * size, width: wide, height: 1.24 * size, rx: 0.08, class: "tag" }));
    layer.append(element("text", { x: cx, y: cy + 0.36 * size, "font-size": size, "text-anchor": "middle", class: "ink" }, text));
  });
  way(svg, boxes, choices[0]);
}
const LABELLED = 24;

/** Show one of the choices that an agent considered. @param {SVGSVGElement} svg @param {Scene} scene @param {Considered} choice */
export function point(svg, scene, choice) {
  way(svg, placed(scene).boxes, choice);
}

/** Draw the way of one choice: its parts in order, and where it would lead. @param {SVGSVGElement} svg @param {Boxes} boxes @param {Considered} choice */
function way(svg, boxes, choice) {
  svg.querySelector(".way")?.remove();
  const layer = element("g", { class: "way", "aria-hidden": "true" });
  for (const n of choice.shows ?? []) {
    const box = boxes.get(`c${n}`);
    if (box) layer.append(element("rect", { x: box.x + 0.1, y: box.y + 0.1, width: box.w - 0.2, height: box.h - 0.2, rx: 0.1, class: "goal" }));
  }
  const found = parts(choice).flatMap((part) => boxes.get(part) ?? []);
  const points = found.map((box) => `${box.x + box.w / 2},${box.y + box.h / 2}`);
  if (points.length > 1 && !choice.shows?.length) {
    layer.append(element("polyline", { points: points.join(" "), class: "track" }));
    const end = found[found.length - 1];
    layer.append(element("circle", { cx: end.x + end.w / 2, cy: end.y + end.h / 2, r: 0.14, class: "end" }));
  } else if (found.length && !choice.shows?.length) {
    const { x, y, w, h } = found[0];
    layer.append(element("rect", { x: x + 0.03, y: y + 0.03, width: Math.max(0.02, w - 0.06), height: Math.max(0.02, h - 0.06), rx: 0.1, class: "goal" }));
  }
  svg.append(layer);
}

/** Let a person point at the parts of a choice, one after the other. @param {SVGSVGElement} svg @param {Scene} scene @param {Boxes} boxes @param {Hooks} hooks */
function pointing(svg, scene, boxes, hooks) {
  const choices = (scene.choices ?? []).map((choice, index) => ({ index, label: choice.label, path: parts(choice), shows: choice.shows ?? [] }));
  /** @type {string[]} */
  let picked = [];
  /** @param {string} part */
  const box = (part) => /** @type {Box} */ (boxes.get(part));
  const layer = element("g", {});
  svg.append(layer);
  const open = () => choices.filter((choice) => choice.path.length > picked.length && picked.every((part, n) => choice.path[n] === part));
  const targets = () => [...new Set(open().map((choice) => choice.path[picked.length]))];

  /** @param {string | undefined} part */
  function preview(part) {
    for (const each of layer.querySelectorAll(".shows")) each.remove();
    const only = open().filter((choice) => choice.path[picked.length] === part);
    if (only.length !== 1) return;
    for (const n of only[0].shows) {
      const { x, y, w, h } = box(`c${n}`);
      layer.prepend(element("rect", { x, y, width: w, height: h, class: "shows" }));
    }
  }

  /** @param {boolean} focus */
  function show(focus) {
    layer.replaceChildren();
    for (const part of picked) {
      const { x, y, w, h } = box(part);
      layer.append(element("rect", { x, y, width: w, height: h, class: "picked" }));
    }
    const found = targets();
    found.forEach((part, n) => {
      const { x, y, w, h } = box(part);
      const group = element("g", { class: "target", role: "button", tabindex: n === 0 ? 0 : -1, "aria-label": `${nameOf(scene, part)}, can be chosen`, "data-part": part });
      if (part[0] === "c" && found.length > 60) group.append(element("circle", { cx: x + w / 2, cy: y + h / 2, r: 0.12, class: "litdot" }));
      else if (Math.min(w, h) < 0.3) group.append(element("line", w > h ? { x1: x + 0.1, x2: x + w - 0.1, y1: y + h / 2, y2: y + h / 2, class: "lit" } : { x1: x + w / 2, x2: x + w / 2, y1: y + 0.1, y2: y + h - 0.1, class: "lit" }));
      else group.append(element("rect", { x: x + 0.05, y: y + 0.05, width: Math.max(0.02, w - 0.1), height: Math.max(0.02, h - 0.1), rx: 0.1, class: "lit" }));
      group.append(element("rect", { x, y, width: w, height: h, class: "ring" }));
      const note = part[0] === "k" ? scene.cards?.[Number(part.slice(1))].note : "";
      if (note) group.append(element("title", {}, note));
      group.addEventListener("focus", () => preview(part));
      layer.append(group);
    });
    for (const part of hooks.hinted ?? []) {
      const { x, y, w, h } = box(part);
      layer.append(element("rect", { x: x + 0.1, y: y + 0.1, width: Math.max(0.02, w - 0.2), height: Math.max(0.02, h - 0.2), rx: 0.1, class: "hinted" }));
    }
    if (focus) /** @type {SVGElement | null} */ (layer.querySelector(".target"))?.focus();
    hooks.step?.(picked.length, Math.max(...open().map((choice) => choice.path.length)));
    hooks.ask?.(choices.filter((choice) => choice.path.length === picked.length && choice.path.every((part, n) => part === picked[n])), picked.length > 0 && open().length > 0, focus && !found.length);
  }

  /** @param {string} part @param {boolean} focus */
  function take(part, focus) {
    if (!targets().includes(part)) return false;
    picked.push(part);
    const ended = choices.filter((choice) => choice.path.length === picked.length && choice.path.every((each, n) => each === picked[n]));
    if (ended.length === 1 && open().length === 0) {
      const { index } = ended[0];
      picked = [];
      layer.replaceChildren();
      hooks.play?.(index);
    } else {
      hooks.say?.("");
      show(focus);
    }
    return true;
  }

  function undo() {
    if (picked.length) { picked.pop(); show(true); return true; }
    return false;
  }

  /** @param {MouseEvent} event */
  function at(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM()?.inverse());
    /** @param {Box} box */
    const far = (box) => Math.hypot(Math.max(box.x - point.x, 0, point.x - box.x - box.w), Math.max(box.y - point.y, 0, point.y - box.y - box.h));
    /** @param {Box} box */
    const middle = (box) => Math.hypot(box.x + box.w / 2 - point.x, box.y + box.h / 2 - point.y);
    const near = targets().map((part) => ({ part, far: far(box(part)), middle: middle(box(part)) }))
      .filter((each) => each.far < 0.49).sort((a, b) => a.far - b.far || a.middle - b.middle);
    const over = [...boxes].filter(([, box]) => far(box) === 0).map(([part]) => part);
    return { near: near[0], over };
  }

  /** Why a place cannot be chosen, and what can be done instead. @param {string | undefined} part */
  function reason(part) {
    if (!part) return "There is nothing to choose there. Choose a highlighted place.";
    const what = nameOf(scene, part);
    const back = picked.length ? ", or press Esc to take the last part back" : "";
    const piece = part[0] === "c" ? (scene.pieces ?? []).find((each) => each.cell === Number(part.slice(1))) : undefined;
    const owner = piece?.owner ?? (part[0] === "k" ? scene.cards?.[Number(part.slice(1))].owner : undefined);
    if (typeof owner === "number" && owner !== hooks.seat) return `${what}, belongs to ${hooks.names?.[owner] ?? `seat ${owner + 1}`}, not to you. Choose a highlighted one${back}.`;
    if (picked.length && choices.some((choice) => choice.path[0] === part)) return `${what} begins another choice. Press Esc to take the last part back first.`;
    if (open().some((choice) => choice.path.slice(picked.length + 1).includes(part))) return `${what} comes later in a choice. First choose a highlighted one${back}.`;
    if (!picked.length && piece && owner === hooks.seat) return `${what} has no legal move now. Choose a highlighted one.`;
    return `${what} cannot be chosen now. Choose a highlighted one${back}.`;
  }

  svg.addEventListener("click", (event) => {
    const { near, over } = at(event);
    /** @type {string | undefined} */
    const last = picked[picked.length - 1];
    if (near && (near.far === 0 || !(last && over.includes(last)))) { take(near.part, false); return; }
    if (last && over.includes(last)) { undo(); return; }
    hooks.say?.(reason(over[over.length - 1]));
  });
  svg.addEventListener("mousemove", (event) => { const { near } = at(event); preview(near?.part); });
  svg.addEventListener("keydown", (event) => {
    const now = event.target instanceof SVGElement ? /** @type {SVGElement | null} */ (event.target.closest(".target")) : null;
    if (event.key === "Escape") { if (undo()) event.preventDefault(); return; }
    if (!now) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      take(now.dataset.part ?? "", true);
      return;
    }
    /** @type {Record<string, [number, number]>} */
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const way = ways[event.key];
    // What a choice has as its key is that choice, wherever the focus is.
    if (!way || scene.choices?.some(({ key }) => key === event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const from = box(now.dataset.part ?? "");
    /** @type {SVGElement | null} */
    let best = null;
    let least = Infinity;
    for (const each of /** @type {NodeListOf<SVGElement>} */ (layer.querySelectorAll(".target"))) {
      const { x, y, w, h } = box(each.dataset.part ?? "");
      const dx = x + w / 2 - from.x - from.w / 2, dy = y + h / 2 - from.y - from.h / 2;
      const ahead = dx * way[0] + dy * way[1], aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (ahead > 0.01 && ahead + 3 * aside < least) { best = each; least = ahead + 3 * aside; }
    }
    if (best) { now.setAttribute("tabindex", "-1"); best.setAttribute("tabindex", "0"); best.focus(); }
  });
  show(false);
}
