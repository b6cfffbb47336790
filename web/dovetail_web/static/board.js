// A board on which a person can point at what is to be chosen. It knows no game.
import { colour, coordinates, drawing, drawn, element, middle } from "./scene.js";

const CHOICES_LABELLED = 24;
const DROP = 60;
const LONGEST_DROP = 300;
const MOVE = 180;
const SWIPE = 24;

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The parts of a choice or a mark, in order. @param {Parts} choice */
export function parts(choice) {
  return [...(choice.cells ?? []).map((n) => `c${n}`), ...(choice.cards ?? []).map((n) => `k${n}`)];
}

/** Return true if arrow keys are choices of the game. @param {Scene | null | undefined} scene */
export const arrows = (scene) =>
  Boolean(scene?.choices?.some(({ key }) => key?.startsWith("Arrow")));

/** @param {Scene} scene @param {string} part */
function nameOf(scene, part) {
  const n = Number(part.slice(1));
  if (part[0] === "k") {
    const card = /** @type {Card[]} */ (scene.cards)[n];
    const about = card.corner ? `, ${card.corner}` : "";
    const count = card.count ?? 1;
    return `${card.name || "face down"}${about}, ${count} in ${card.zone}${card.note ? `: ${card.note}` : ""}`;
  }
  const cell = /** @type {Cell[]} */ (scene.cells)[n];
  const on = (scene.pieces ?? []).filter((piece) => piece.cell === n);
  const what = on.map((piece) => {
    const owned = typeof piece.owner === "number";
    const seat = owned
      ? (scene.seats?.[piece.owner ?? 0]?.name ?? `player ${(piece.owner ?? 0) + 1}`)
      : "";
    return [seat, piece.kind, piece.text].filter(Boolean).join(" ");
  });
  return [cell.name || `${cell.kind ?? "square"} ${n + 1}`, ...what].join(", ");
}

/** The name of the last actions: the scene's, else the places that they touched. @param {Scene | null | undefined} scene */
export function moved(scene) {
  if (!scene) return "";
  const last = (scene.marks ?? []).filter((mark) => mark.kind === "last");
  const places = last.flatMap((mark) => [
    ...(mark.cells ?? []).map((n) => scene.cells?.[n]?.name),
    ...(mark.cards ?? []).map((n) => scene.cards?.[n]?.name),
  ]);
  return scene.moved || places.filter(Boolean).join(" ");
}

/**
 * True if what belongs to a seat lies above what belongs to others, in the first position of a game.
 * @param {Scene} scene @param {number} seat
 */
export function above(scene, seat) {
  const cells = scene.cells ?? [];
  const pieces = (scene.pieces ?? []).map(({ cell, owner }) => ({ ...cells[cell], owner }));
  const owned = [...cells, ...pieces].filter(({ owner }) => typeof owner === "number");
  /** @param {Cell[]} some */
  const mean = (some) =>
    some.reduce((sum, { y, height }) => sum + y + (height ?? 1) / 2, 0) / some.length;
  const own = owned.filter(({ owner }) => owner === seat);
  const others = owned.filter(({ owner }) => owner !== seat);
  if (!own.length || !others.length) return false;
  return mean(own) < mean(others) - 0.1 * (scene.height ?? 0);
}

/**
 * The scene as one sees it from the other side of the board; not where keys stand for directions.
 * @param {Scene} scene @returns {Scene}
 */
export function turned(scene) {
  const width = scene.width ?? 0;
  const height = scene.height ?? 0;
  if (arrows(scene)) return scene;
  return {
    ...scene,
    cells: scene.cells?.map((cell) => ({
      ...cell,
      x: width - cell.x - (cell.width ?? 1),
      y: height - cell.y - (cell.height ?? 1),
      ...(cell.outline && { outline: cell.outline.map(([x, y]) => [width - x, height - y]) }),
    })),
    lines: scene.lines?.map(([x1, y1, x2, y2]) => [
      width - x1,
      height - y1,
      width - x2,
      height - y2,
    ]),
  };
}

/**
 * Let the pieces that stood elsewhere before slide to their places, and a disc that was dropped fall.
 * @param {Element} frame of the scene @param {Scene} scene @param {Scene | null | undefined} before
 */
export function slide(frame, scene, before) {
  if (!before || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  /** @param {Scene} scene @param {Piece} piece */
  const place = (scene, piece) => /** @type {Cell[]} */ (scene.cells)[piece.cell];
  /** @param {string} selector @param {number} dx @param {number} dy @param {number} duration */
  const animate = (selector, dx, dy, duration) =>
    frame
      .querySelector(selector)
      ?.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], {
        duration,
        easing: "cubic-bezier(.2, .7, .2, 1)",
      });
  const pieces = before.pieces ?? [];
  const stood = new Map(
    pieces.filter(({ key }) => key).map((piece) => [piece.key, place(before, piece)]),
  );
  for (const piece of scene.pieces ?? []) {
    const from = piece.key ? stood.get(piece.key) : undefined;
    const to = place(scene, piece);
    if (!from || !to || (from.x === to.x && from.y === to.y)) continue;
    const dx = from.x - to.x + ((from.width ?? 1) - (to.width ?? 1)) / 2;
    const dy = from.y - to.y + ((from.height ?? 1) - (to.height ?? 1)) / 2;
    animate(`[data-key="${CSS.escape(piece.key ?? "")}"]`, dx, dy, MOVE);
  }
  const filled = new Set(pieces.map(({ cell }) => cell));
  const dropped = (scene.pieces ?? []).filter(
    ({ cell }) => !filled.has(cell) && scene.cells?.[cell]?.kind === "hole",
  );
  if (dropped.length !== 1 || (scene.pieces ?? []).length !== pieces.length + 1) return;
  const { y } = place(scene, dropped[0]);
  const duration = Math.min(LONGEST_DROP, DROP * (y + 1));
  animate(`.piece[data-part="c${dropped[0].cell}"]`, 0, -y - 1, duration);
}

/**
 * Draw a scene, with its coordinates outside of it in letters of one size.
 * @param {Scene} scene
 * @param {Hooks} [hooks]
 */
export function draw(scene, hooks) {
  const frame = document.createElement("div");
  frame.className = "frame";
  const found = drawing(scene, hooks?.width);
  const [x, y, wide, tall] = found.view;
  const svg = element("svg", {
    viewBox: found.view.join(" "),
    class: "board",
    role: "group",
    "aria-label": "Board",
  });
  colour(frame, scene);
  frame.style.setProperty("--ratio", String(wide / tall));
  const [files, ranks] = coordinates(scene);
  frame.append(
    rim("ranks", ranks, (at) => (at - y) / tall, "top"),
    svg,
    rim("files", files, (at) => (at - x) / wide, "left"),
  );
  frame.classList.toggle("bare", !files.length);
  const beneath = element("g", { class: "considered", "aria-hidden": "true" });
  let over = false;
  for (const [what, part, key, shapes] of found.groups) {
    if (!over && !["ground", "cell", "label", "lines", "bars"].includes(what)) {
      svg.append(beneath);
      over = true;
    }
    const group = element("g", { class: what, "data-part": part });
    if (key) group.dataset.key = key;
    group.append(...shapes.map(drawn));
    const note = part[0] === "k" ? scene.cards?.[Number(part.slice(1))].note : "";
    if (note) group.append(element("title", {}, note));
    svg.append(group);
  }
  if (!over) svg.append(beneath);
  if (hooks?.thoughts?.length) considered(svg, beneath, found.boxes, hooks.thoughts);
  if (hooks?.play && scene.choices?.length) new Pointing(svg, scene, found, hooks);
  else if (hooks?.why) svg.addEventListener("click", () => hooks.say?.(hooks.why?.() ?? ""));
  return frame;
}

/**
 * @param {string} name @param {[number, string][]} texts @param {(at: number) => number} share
 * @param {"top" | "left"} side
 */
function rim(name, texts, share, side) {
  const made = document.createElement("div");
  made.className = name;
  made.setAttribute("aria-hidden", "true");
  for (const [at, text] of texts) {
    const each = document.createElement("span");
    each.textContent = text;
    each.style[side] = `${(100 * share(at)).toFixed(3)}%`;
    made.append(each);
  }
  return made;
}

/** How an agent rates a choice: by its probability, else by its value. @param {Considered} choice */
const weight = (choice) => choice.chance ?? choice.value;

/** An agent's value of a choice, in few characters. @param {number} worth @param {boolean} chance */
const brief = (worth, chance) => {
  if (chance) return `${(100 * worth).toFixed(0)} %`;
  return Math.abs(worth) >= 100 ? worth.toFixed(0) : worth.toFixed(2);
};

/** @param {Box} box @param {number} inset @param {Record<string, string | number>} more */
const rect = ([x, y, w, h], inset, more) =>
  element("rect", {
    x: x + inset,
    y: y + inset,
    width: Math.max(0.02, w - 2 * inset),
    height: Math.max(0.02, h - 2 * inset),
    ...more,
  });

/**
 * Draw what an agent thought where its choices begin: a probability, of all choices that begin there,
 * or the best value.
 * @param {SVGSVGElement} svg @param {Element} beneath what lies beneath the pieces
 * @param {Boxes} boxes @param {Considered[]} choices the best first
 */
function considered(svg, beneath, boxes, choices) {
  const layer = element("g", { class: "considered", "aria-hidden": "true" });
  svg.append(layer);
  /** @type {Map<string, number>} */
  const worths = new Map();
  const chance = choices.some((choice) => choice.chance !== null);
  for (const choice of choices) {
    const [first] = parts(choice);
    const worth = weight(choice);
    if (!first || !boxes.has(first) || worth === null) continue;
    const known = worths.get(first);
    worths.set(first, chance ? (known ?? 0) + worth : Math.max(known ?? -Infinity, worth));
  }
  const all = [...worths.values()];
  const most = Math.max(...all);
  const least = chance ? 0 : Math.min(...all);
  const order = [...worths].sort(([, a], [, b]) => b - a);
  order.forEach(([part, worth], n) => {
    const box = /** @type {Box} */ (boxes.get(part));
    const share = most > least ? (worth - least) / (most - least) : 1;
    (part[0] === "c" ? beneath : layer).append(
      rect(box, 0, { class: "weight", "fill-opacity": (0.08 + 0.42 * share).toFixed(2) }),
    );
    if (n >= CHOICES_LABELLED) return;
    const unit = part[0] === "k" && box[3] > 20 ? 60 : 1;
    const text = brief(worth, chance);
    const size = unit * Math.min(0.3, Math.max(0.2, (1.5 * box[2]) / unit / text.length));
    const wide = 0.62 * size * text.length + 0.12 * unit;
    const [cx, cy] = box[3] > 1.5 * unit ? [box[0] + box[2] / 2, box[1] + 0.3 * unit] : middle(box);
    layer.append(
      rect([cx - wide / 2, cy - 0.62 * size, wide, 1.24 * size], 0, {
        rx: 0.08 * unit,
        class: "tag",
      }),
      element(
        "text",
        { x: cx, y: cy + 0.36 * size, "font-size": size, "text-anchor": "middle", class: "tagged" },
        text,
      ),
    );
  });
  way(svg, boxes, choices[0]);
}

/** Show one of the choices that an agent considered. @param {Element} frame @param {Scene} scene @param {Considered} choice @param {number} [width] */
export function point(frame, scene, choice, width) {
  const svg = frame.querySelector("svg.board");
  if (svg) way(/** @type {SVGSVGElement} */ (svg), drawing(scene, width).boxes, choice);
}

/** Draw the way of one choice: its parts in order, and where it would lead. @param {SVGSVGElement} svg @param {Boxes} boxes @param {Considered} choice */
function way(svg, boxes, choice) {
  svg.querySelector(".way")?.remove();
  const layer = element("g", { class: "way", "aria-hidden": "true" });
  for (const n of choice.shows ?? []) {
    const box = boxes.get(`c${n}`);
    if (box) layer.append(rect(box, 0.1, { rx: 0.1, class: "goal" }));
  }
  const found = parts(choice).flatMap((part) => {
    const box = boxes.get(part);
    return box ? [box] : [];
  });
  if (found.length > 1 && !choice.shows?.length) {
    const points = found.map((box) => middle(box).join(",")).join(" ");
    const [cx, cy] = middle(found[found.length - 1]);
    layer.append(
      element("polyline", { points, class: "track" }),
      element("circle", { cx, cy, r: 0.14, class: "end" }),
    );
  } else if (found.length && !choice.shows?.length) {
    layer.append(rect(found[0], 0.03, { rx: 0.1, class: "goal" }));
  }
  svg.append(layer);
}

/** Lets a person point at the parts of a choice, one after the other. */
class Pointing {
  /** @param {SVGSVGElement} svg @param {Scene} scene @param {Drawing} made @param {Hooks} hooks */
  constructor(svg, scene, made, hooks) {
    this.svg = svg;
    this.scene = scene;
    this.boxes = made.boxes;
    this.cards = made.scale; // units of a pixel
    this.hooks = hooks;
    this.choices = (scene.choices ?? []).map((choice, index) => ({
      index,
      label: choice.label,
      path: parts(choice),
      shows: choice.shows ?? [],
    }));
    /** @type {string[]} */
    this.picked = [];
    this.layer = element("g", {});
    svg.append(this.layer);
    const pieces = scene.pieces ?? [];
    /** True if a choice puts a disc where one points. */
    this.places =
      pieces.every(({ kind }) => kind === "disc") &&
      this.choices.every(({ path }) => path.length < 2);
    this.listen();
    this.show(false);
  }

  /** @param {string} part */
  box(part) {
    return /** @type {Box} */ (this.boxes.get(part));
  }

  /** @param {string} part */
  cell(part) {
    return part[0] === "c" ? this.scene.cells?.[Number(part.slice(1))] : undefined;
  }

  /** The radius of a part's corners. @param {string} part */
  radius(part) {
    return part[0] === "c" ? 0.1 : 8 * this.cards;
  }

  /** The choices that continue what has been picked. */
  open() {
    const { picked } = this;
    return this.choices.filter(
      ({ path }) => path.length > picked.length && picked.every((part, n) => path[n] === part),
    );
  }

  targets() {
    return [...new Set(this.open().map(({ path }) => path[this.picked.length]))];
  }

  /** Show what a choice would lead to. @param {string | undefined} part */
  preview(part) {
    for (const each of this.layer.querySelectorAll(".shows")) each.remove();
    if (!part || !this.targets().includes(part)) return;
    const kind = this.cell(part)?.kind ?? "square";
    const made = [];
    if (part[0] === "c" && !["edge", "arrow"].includes(kind)) {
      made.push(rect(this.box(part), 0, { rx: 0.1, class: "shows over" }));
    }
    const only = this.open().filter(({ path }) => path[this.picked.length] === part);
    if (only.length === 1) {
      const cells = only[0].shows.length
        ? only[0].shows
        : this.places && part[0] === "c"
          ? [Number(part.slice(1))]
          : [];
      for (const n of cells) made.push(this.ghost(n, cells.length === 1));
    }
    if (kind === "edge") made.push(rect(this.box(part), 0, { rx: 0.04, class: "shows drawn" }));
    this.layer.prepend(...made);
  }

  /** A piece that is not there yet. @param {number} cell @param {boolean} alone */
  ghost(cell, alone) {
    const group = element("g", { class: "shows ghost" });
    const box = this.box(`c${cell}`);
    if (!alone || typeof this.hooks.seat !== "number") {
      const next = this.scene.pieces?.find(({ kind }) => kind === "next");
      const role = next?.colour || "selected";
      group.append(rect(box, 0.04, { rx: 0.08, fill: `var(--${role})` }));
      return group;
    }
    const scene = { ...this.scene, pieces: [{ cell, kind: "disc", owner: this.hooks.seat }] };
    const [, , , shapes] = /** @type {Group} */ (
      drawing(scene).groups.find(([what]) => what === "piece")
    );
    group.append(...shapes.map(drawn));
    const [cx, cy] = middle(box);
    group.append(element("circle", { cx, cy, r: 0.42, class: "dashed" }));
    return group;
  }

  /** The sign that a part can be chosen. @param {string} part */
  sign(part) {
    const box = this.box(part);
    const [x, y, w, h] = box;
    if (part[0] === "k") return rect(box, 0, { rx: 8 * this.cards, class: "can" });
    const kind = this.cell(part)?.kind ?? "square";
    if (kind === "arrow") return null;
    if (Math.min(w, h) < 0.3) {
      const [cx, cy] = middle(box);
      return element("line", {
        ...(w > h
          ? { x1: x + 0.16, x2: x + w - 0.16, y1: cy, y2: cy }
          : { x1: cx, x2: cx, y1: y + 0.16, y2: y + h - 0.16 }),
        class: "free",
      });
    }
    const shows = this.choices.find(({ path }) => path[this.picked.length] === part)?.shows ?? [];
    if (kind === "area") {
      if (shows.length === 1) return dot(middle(this.box(`c${shows[0]}`)), 0.075, true);
      return rect(box, 0.04, { rx: 0.12, class: "room" });
    }
    const filled = this.scene.pieces?.some(({ cell }) => cell === Number(part.slice(1)));
    // The name of a base stands at its top.
    const low = kind === "base" ? h - 0.16 : 0.16;
    if (filled) return dot([x + w - 0.16, y + low], 0.085, false);
    return dot(middle(box), 0.1, kind === "hole");
  }

  /** @param {boolean} focus whether the keyboard is to stay here */
  show(focus) {
    this.layer.replaceChildren();
    for (const part of this.picked) {
      const inset = part[0] === "c" ? 0.03 : 0;
      this.layer.append(rect(this.box(part), inset, { rx: this.radius(part), class: "picked" }));
    }
    const found = this.targets();
    found.forEach((part, n) => {
      const box = this.box(part);
      const group = element("g", {
        class: "target",
        role: "button",
        tabindex: n === 0 ? 0 : -1,
        "aria-label": `${nameOf(this.scene, part)}, can be chosen`,
        "data-part": part,
      });
      const sign = this.sign(part);
      if (sign) group.append(sign);
      const inset = part[0] === "c" && Math.min(box[2], box[3]) > 0.3 ? 0.03 : 0;
      group.append(
        rect(box, inset, {
          rx: this.radius(part),
          class: part[0] === "c" ? "ring" : "ring of-card",
        }),
      );
      const note = part[0] === "k" ? this.scene.cards?.[Number(part.slice(1))].note : "";
      if (note) group.append(element("title", {}, note));
      group.addEventListener("focus", () => this.preview(part));
      group.addEventListener("blur", () => this.preview(undefined));
      this.layer.append(group);
    });
    for (const part of this.hooks.hinted ?? []) {
      this.layer.append(
        rect(this.box(part), part[0] === "c" ? 0.08 : 0, {
          rx: this.radius(part),
          class: "hinted",
        }),
      );
    }
    if (focus) /** @type {SVGElement | null} */ (this.layer.querySelector(".target"))?.focus();
    const open = this.open();
    this.hooks.step?.(this.picked.length, Math.max(0, ...open.map(({ path }) => path.length)));
    this.hooks.ask?.(
      this.ended(),
      this.picked.length > 0 && open.length > 0,
      focus && !found.length,
    );
  }

  /** The choices that are complete. */
  ended() {
    const { picked } = this;
    return this.choices.filter(
      ({ path }) => path.length === picked.length && path.every((part, n) => part === picked[n]),
    );
  }

  /** @param {string} part @param {boolean} focus */
  take(part, focus) {
    if (!this.targets().includes(part)) return;
    this.picked.push(part);
    const ended = this.ended();
    if (ended.length === 1 && !this.open().length) {
      this.picked = [];
      this.layer.replaceChildren();
      this.hooks.play?.(ended[0].index);
    } else {
      this.hooks.say?.("");
      this.show(focus);
    }
  }

  undo() {
    if (!this.picked.length) return false;
    this.picked.pop();
    this.show(true);
    return true;
  }

  /** The choice nearest to the pointer. @param {MouseEvent} event */
  near(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      this.svg.getScreenCTM()?.inverse(),
    );
    /** @param {Box} box */
    const far = ([x, y, w, h]) =>
      Math.hypot(
        Math.max(x - point.x, 0, point.x - x - w),
        Math.max(y - point.y, 0, point.y - y - h),
      );
    /** @param {Box} box */
    const off = (box) => Math.hypot(middle(box)[0] - point.x, middle(box)[1] - point.y);
    const reach = this.scene.width ? 0.49 : 8;
    const near = this.targets()
      .map((part) => ({ part, far: far(this.box(part)), off: off(this.box(part)) }))
      .filter((each) => each.far < reach)
      .sort((a, b) => a.far - b.far || a.off - b.off);
    const over = [...this.boxes].filter(([, box]) => far(box) === 0).map(([part]) => part);
    return { near: near[0], over };
  }

  /** Why a place cannot be chosen, and what can be done instead. @param {string | undefined} part */
  reason(part) {
    if (!part) return "There is nothing to choose there. Choose a marked place.";
    const { scene, hooks, picked } = this;
    const what = nameOf(scene, part);
    const back = picked.length ? ", or press Esc to take the last part back" : "";
    const n = Number(part.slice(1));
    const piece =
      part[0] === "c" ? (scene.pieces ?? []).find((each) => each.cell === n) : undefined;
    const owner = piece?.owner ?? (part[0] === "k" ? scene.cards?.[n].owner : undefined);
    if (typeof owner === "number" && owner !== hooks.seat) {
      const whose = hooks.names?.[owner] ?? `player ${owner + 1}`;
      return `${what}, belongs to ${whose}, not to you. Choose a marked place${back}.`;
    }
    if (picked.length && this.choices.some(({ path }) => path[0] === part)) {
      return `${what} begins another choice. Press Esc to take the last part back first.`;
    }
    if (this.open().some(({ path }) => path.slice(picked.length + 1).includes(part))) {
      return `${what} comes later in a choice. First choose a marked place${back}.`;
    }
    if (!picked.length && piece && owner === hooks.seat) {
      return `${what} has no legal move now. Choose a marked place.`;
    }
    return `${what} cannot be chosen now. Choose a marked place${back}.`;
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("click", (event) => {
      const { near, over } = this.near(event);
      const last = this.picked[this.picked.length - 1];
      if (near && (near.far === 0 || !(last && over.includes(last)))) this.take(near.part, false);
      else if (last && over.includes(last)) this.undo();
      else this.hooks.say?.(this.reason(over[over.length - 1]));
    });
    svg.addEventListener("mousemove", (event) => this.preview(this.near(event).near?.part));
    svg.addEventListener("mouseleave", () => this.preview(undefined));
    svg.addEventListener("keydown", (event) => this.key(event));
    if (arrows(this.scene)) this.swipes();
  }

  /** On a screen that is touched, a stroke stands for an arrow key. */
  swipes() {
    const { svg } = this;
    svg.classList.add("swiped");
    /** @type {PointerEvent | null} */
    let down = null;
    svg.addEventListener("pointerdown", (event) => {
      down = event;
    });
    svg.addEventListener("pointerup", (event) => {
      if (!down) return;
      const [dx, dy] = [event.clientX - down.clientX, event.clientY - down.clientY];
      down = null;
      if (Math.hypot(dx, dy) < SWIPE) return;
      const key =
        Math.abs(dx) > Math.abs(dy)
          ? dx > 0
            ? "ArrowRight"
            : "ArrowLeft"
          : dy > 0
            ? "ArrowDown"
            : "ArrowUp";
      const index = this.scene.choices?.findIndex((choice) => choice.key === key) ?? -1;
      if (index >= 0) this.hooks.play?.(index);
    });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = event.target instanceof SVGElement ? event.target.closest(".target") : null;
    const now = /** @type {SVGElement | null} */ (target);
    if (event.key === "Escape") {
      if (this.undo()) event.preventDefault();
      return;
    }
    if (!now) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.take(now.dataset.part ?? "", true);
      return;
    }
    const way = /** @type {Record<string, number[]>} */ (ARROWS)[event.key];
    // Where choices have arrow keys, these are the game's, wherever the focus is.
    if (!way || arrows(this.scene)) return;
    event.preventDefault();
    event.stopPropagation();
    const [fx, fy] = middle(this.box(now.dataset.part ?? ""));
    /** @type {SVGElement | null} */
    let best = null;
    let least = Infinity;
    for (const each of this.layer.querySelectorAll(".target")) {
      const target = /** @type {SVGElement} */ (each);
      const [x, y] = middle(this.box(target.dataset.part ?? ""));
      const ahead = (x - fx) * way[0] + (y - fy) * way[1];
      const aside = Math.abs((x - fx) * way[1]) + Math.abs((y - fy) * way[0]);
      if (ahead > 0.01 && ahead + 3 * aside < least) {
        best = target;
        least = ahead + 3 * aside;
      }
    }
    if (!best) return;
    now.setAttribute("tabindex", "-1");
    best.setAttribute("tabindex", "0");
    best.focus();
  }
}

/** @param {[number, number]} at @param {number} r @param {boolean} white */
const dot = ([cx, cy], r, white) =>
  element("circle", { cx, cy, r, class: white ? "lit on-dark" : "lit" });
