// A scene of any game as shapes, and shapes as SVG; card() draws a card. Its twin is
// experiments/dovetail_experiments/reports/drawing.py, from the same table (looks.js); a test compares them.
import { LOOKS } from "./looks.js";

const NS = "http://www.w3.org/2000/svg";
const RIM = 0.42;
const RIM_SIZE = 0.26;
const NAMED = ["square", "dark", "hole", "well", "slot", "point", "dot"];
const FONT = "Roboto, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif";

/** @type {Record<string, Look[]>} */
const CELLS = LOOKS.cells;
/** @type {Record<string, Look[]>} */
const PIECES = LOOKS.pieces;
/** @type {Record<string, { stroke: string, width: number }>} */
const MARKS = LOOKS.marks;
/** @type {Record<string, string>} */
const FRAMES = LOOKS.frames;
/** @type {Record<string, number>} */
const MARGINS = LOOKS.margins;

/** A length as it is written. @param {number} value */
const number = (value) => Math.floor(value * 10_000 + 0.5) / 10_000;

/** @param {string} role */
const ink = (role) => `${role}-ink`;

/** @param {string} text */
const clean = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, " ");

/**
 * A shape; attributes that are undefined are left out.
 * @param {string} tag @param {Record<string, string | number | undefined>} given @param {string} [text] @returns {Shape}
 */
function shape(tag, given, text = "") {
  /** @type {Record<string, string | number>} */
  const attributes = {};
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) attributes[name] = typeof value === "number" ? number(value) : value;
  }
  return [tag, attributes, text];
}

/**
 * A text; `y` is its middle.
 * @param {number} x @param {number} y @param {number} size @param {string} text @param {string} fill
 * @param {Record<string, string | number>} [more]
 */
const writtenAt = (x, y, size, text, fill, more = {}) =>
  shape(
    "text",
    { x, y: y + 0.36 * size, "font-size": size, fill, "text-anchor": "middle", ...more },
    text,
  );

/** A text in lines of so many characters. @param {string} text @param {number} room @param {number} most */
export function wrapped(text, room, most) {
  /** @type {string[]} */
  let lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = lines[lines.length - 1];
    if (lines.length && last.length + 1 + word.length <= room)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  if (lines.length > most) lines = [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")];
  const letters = Math.max(2, Math.floor(room));
  return lines
    .map(clean)
    .map((line) => (line.length <= room + 1 ? line : `${line.slice(0, letters - 1)}…`));
}

/** @param {number[][]} points the ends of a line, by x, then y */
const ends = (points) => {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [sorted[0], sorted[sorted.length - 1]];
};

/** @param {number[][]} points */
function straight(points) {
  const [[x1, y1], [x2, y2]] = ends(points);
  return points.every(([x, y]) => Math.abs((x - x1) * (y2 - y1) - (y - y1) * (x2 - x1)) < 1e-6);
}

/**
 * @param {Box} box @param {number} inset @param {number} radius
 * @param {Record<string, string | number>} line
 */
const ring = ([x, y, w, h], inset, radius, line) =>
  shape("rect", {
    x: x + inset,
    y: y + inset,
    width: w - 2 * inset,
    height: h - 2 * inset,
    rx: radius,
    fill: "none",
    ...line,
  });

/** Draws one scene. */
class SceneDrawing {
  /** @param {Scene} scene @param {number} width */
  constructor(scene, width) {
    this.scene = scene;
    this.cells = scene.cells ?? [];
    this.all = scene.cards ?? [];
    const kinds = new Set(this.cells.map(({ kind }) => kind ?? "square"));
    this.framed = Object.keys(FRAMES).find((each) => kinds.has(each)) ?? "";
    const margin = Math.max(0, ...[...kinds].map((kind) => MARGINS[kind] ?? 0));
    this.scale = scene.width ? 1 / LOOKS.square : 1;
    this.width = scene.width ? Math.max(scene.width, this.all.length ? 10 : 0) : width;
    const narrow = this.width / this.scale < LOOKS.narrow;
    /** @type {Record<string, any>} */
    this.sizes = narrow ? LOOKS.cards.narrow : LOOKS.cards.wide;
    this.kinds = [...new Set(this.all.flatMap(({ kind }) => kind || []))];
    /** @type {[number, number, string][]} */
    this.titles = [];
    /** @type {[number, number, string][]} */
    this.chips = [];
    /** @type {Boxes} */
    this.boxes = new Map(
      this.cells.map((cell, n) => [`c${n}`, [cell.x, cell.y, cell.width ?? 1, cell.height ?? 1]]),
    );
    const tall = this.all.length ? this.lay() : (scene.height ?? 0);
    /** @type {Box} */
    this.view = [
      -margin,
      -margin,
      Math.max(this.width, 1) + 2 * margin,
      Math.max(tall, 1) + 2 * margin,
    ];
    /** @type {Group[]} */
    this.groups = [];
  }

  /** @param {string} what @param {Shape[]} shapes @param {string} [part] @param {string} [key] */
  add(what, shapes, part = "", key = "") {
    if (shapes.length) this.groups.push([what, part, key, shapes]);
  }

  /** @param {string} part */
  at(part) {
    return /** @type {Box} */ (this.boxes.get(part));
  }

  /** Place the cards; return the height of all. */
  lay() {
    const { scene, scale, sizes } = this;
    const gap = sizes.gap * scale;
    const head = sizes.title * scale;
    const zones = (scene.zones ?? []).map(({ name, owner, title, show }) => ({
      name,
      owner: owner ?? null,
      title: title || name,
      show: show ?? "row",
    }));
    for (const card of this.all) {
      const owner = card.owner ?? null;
      if (!zones.some((zone) => zone.name === card.zone && zone.owner === owner)) {
        zones.push({ name: card.zone, owner, title: card.zone, show: "row" });
      }
    }
    const named = new Set(
      [...(scene.marks ?? []), ...(scene.choices ?? [])].flatMap(({ cards }) => cards ?? []),
    );
    let x = 0;
    let y = (scene.height ?? 0) + (scene.height ? gap : 0);
    let low = 0;
    /** @type {[number[], string][]} */
    const counted = [];
    for (const { name, owner, title, show } of zones) {
      const own = this.all.flatMap((card, n) =>
        card.zone === name && (card.owner ?? null) === owner ? [n] : [],
      );
      if (!own.length) continue;
      const hidden = own.every((n) => !this.all[n].name);
      if ((show === "pile" || hidden) && !own.some((n) => named.has(n))) {
        const total = own.reduce((sum, n) => sum + (this.all[n].count ?? 1), 0);
        counted.push([own, `${title} ${total}`]);
        continue;
      }
      const kind = owner !== null && show !== "grid" ? "fan" : show;
      const [most, height] = sizes[kind] ?? sizes.row;
      const wide = (this.width - (most - 1) * gap) / most;
      const needs = Math.max(
        Math.min(own.length, most) * (wide + gap) - gap,
        0.62 * sizes.title_size * scale * title.length,
      );
      if (x > 0 && (owner === null || x + needs > this.width + 0.001)) {
        x = 0;
        y = low + gap;
      }
      this.titles.push([x, y + 0.4 * head, title]);
      own.forEach((card, place) => {
        const across = place % most;
        const down = Math.floor(place / most);
        this.boxes.set(`k${card}`, [
          x + across * (wide + gap),
          y + head + down * (height * scale + gap),
          wide,
          height * scale,
        ]);
      });
      low = Math.max(low, y + head + Math.ceil(own.length / most) * (height * scale + gap) - gap);
      if (owner === null) {
        x = 0;
        y = low + gap;
      } else x += needs + 2 * gap;
    }
    return this.count(counted, Math.max(low, x === 0 ? y : low));
  }

  /** Place the piles that are only counted. @param {[number[], string][]} counted @param {number} top */
  count(counted, top) {
    const size = this.sizes.line * this.scale;
    let x = 0;
    let y = top + (counted.length ? 0.4 * size : 0);
    for (const [own, text] of counted) {
      const wide = 0.6 * size * text.length;
      if (x > 0 && x + wide > this.width) {
        x = 0;
        y += 1.5 * size;
      }
      this.chips.push([x, y + 0.75 * size, text]);
      for (const n of own) this.boxes.set(`k${n}`, [x, y, wide, 1.5 * size]);
      x += wide + 1.5 * size;
    }
    return y + (counted.length ? 1.5 * size : 0);
  }

  frame() {
    if (!this.framed) return;
    const [x, y, width] = this.view;
    const height = (this.scene.height ?? 0) - 2 * y;
    this.add("ground", [
      shape("rect", { x, y, width, height, rx: 0.16, fill: FRAMES[this.framed] }),
    ]);
  }

  /** @param {Cell} cell @param {Box} box */
  cell(cell, box) {
    const found = CELLS[cell.kind ?? "square"] ?? CELLS.square;
    /** @type {Shape[]} */
    let shapes;
    if (cell.outline?.length) {
      const points = cell.outline.map(([x, y]) => `${number(x)},${number(y)}`).join(" ");
      const fill = found.length ? (found[0].fill ?? "none") : "none";
      shapes = [shape("polygon", { points, fill, stroke: "board-ink", "stroke-width": 0.02 })];
    } else shapes = found.map((look) => this.shaped(look, box));
    if (cell.text) {
      const under = FRAMES[this.framed] ?? (found.length ? (found[0].fill ?? "") : "paper");
      const size = (cell.kind === "arrow" ? 0.9 : 0.62) * Math.min(box[2], box[3], 1);
      shapes.push(this.label(box, cell.text, size, ink(under)));
    }
    return shapes;
  }

  /** The name of a place that belongs to a seat. @param {Cell} cell */
  base(cell) {
    const text = cell.name || this.letter(cell.owner);
    if (cell.kind !== "base" || typeof cell.owner !== "number" || !text) return [];
    const width = cell.width ?? 1;
    const size = Math.min(0.3, (1.6 * width) / text.length);
    return [this.label([cell.x, cell.y + 0.06, width, 2 * size], text, size, "board-frame-ink")];
  }

  /** @param {Piece} piece @param {Box} box */
  piece(piece, box) {
    const count = piece.count ?? 1;
    const text = piece.text || piece.symbol || (count > 1 ? String(count) : "");
    const fill = this.colour(piece);
    const owned = typeof piece.owner === "number";
    const shapes = (PIECES[piece.kind] ?? LOOKS.disc)
      .filter((look) => look.sign === undefined || (!text && owned))
      .map((look) => this.shaped(look, box, fill, piece.owner));
    if (text && !["queen", "arrow", "line"].includes(piece.kind)) {
      const size = Math.min(0.46, 1.1 / Math.max(1, text.length)) * Math.min(box[2], box[3], 1);
      shapes.push(
        this.label(box, text, size, ink(piece.kind === "box" ? seat(piece.owner) : fill)),
      );
    }
    return shapes;
  }

  /** @param {Piece} piece */
  colour(piece) {
    if (piece.colour && LOOKS.own.includes(piece.colour)) return piece.colour;
    if (typeof piece.level === "number") {
      const strong = Math.max(0, Math.min(1, piece.level));
      return `tile-${1 + Math.floor(strong * (LOOKS.tiles - 1) + 0.5)}`;
    }
    return typeof piece.owner === "number"
      ? `piece-${(piece.owner % LOOKS.seats) + 1}`
      : "piece-none";
  }

  /** A seat's name if it is one letter, which then is its sign. @param {number | null | undefined} owner */
  letter(owner) {
    const name = this.scene.seats?.[owner ?? -1]?.name ?? "";
    return name.length === 1 ? name : "";
  }

  /**
   * A shape of the table at a place.
   * @param {Look} look @param {Box} box @param {string} [piece] @param {number | null} [owner]
   */
  shaped(look, [x, y, wide, tall], piece = "", owner = null) {
    const size = Math.min(wide, tall, 1);
    /** @param {string} [name] */
    const role = (name) => {
      if (name === "piece" || name === "piece-ink") return name === "piece" ? piece : ink(piece);
      if (name === "seat" || name === "seat-ink") {
        return name === "seat" ? seat(owner) : ink(seat(owner));
      }
      return name ?? "none";
    };
    /** @type {Record<string, string | number | undefined>} */
    const given = { fill: role(look.fill) };
    if (look.stroke)
      Object.assign(given, { stroke: role(look.stroke), "stroke-width": look.width });
    if (look.rect !== undefined) {
      const inset = Math.min(wide, tall) > 0.3 ? look.rect : 0;
      const room = { width: wide - 2 * inset, height: tall - 2 * inset };
      return shape("rect", { x: x + inset, y: y + inset, ...room, rx: look.round, ...given });
    }
    const cx = x + wide / 2;
    const cy = y + tall / 2;
    if (look.disc !== undefined) return shape("circle", { cx, cy, r: look.disc * size, ...given });
    const scale = (look.sign ?? look.scale ?? 1) * size;
    if (look.sign !== undefined && this.letter(owner)) {
      return this.label([x, y, wide, tall], this.letter(owner), 1.1 * scale, role(look.stroke));
    }
    const d = look.sign !== undefined ? LOOKS.signs[(owner ?? 0) % LOOKS.seats] : look.path;
    return shape("path", {
      d,
      transform: `translate(${number(cx)} ${number(cy)}) scale(${number(scale)})`,
      ...given,
      "stroke-width": Number(given["stroke-width"]) / scale,
      "stroke-linejoin": "round",
      "stroke-linecap": "round",
    });
  }

  /** @param {Box} box @param {string} text @param {number} size @param {string} fill */
  label([x, y, wide, tall], text, size, fill) {
    const fit = Math.min(size, (1.6 * wide) / Math.max(text.length, 1));
    return writtenAt(x + wide / 2, y + tall / 2, fit, clean(text), fill, { "font-weight": 600 });
  }

  drawCards() {
    const { sizes, scale } = this;
    const start = { "text-anchor": "start" };
    for (const [x, y, text] of this.titles) {
      const size = sizes.title_size * scale;
      this.add("title", [
        writtenAt(x, y, size, clean(text), "rim", { ...start, "font-weight": 600 }),
      ]);
    }
    for (const [x, y, text] of this.chips) {
      this.add("title", [writtenAt(x, y, sizes.line * scale, clean(text), "rim", start)]);
    }
    this.all.forEach((card, n) => {
      const box = this.at(`k${n}`);
      if (!this.isChip(box)) this.add("card", this.card(card, box), `k${n}`);
    });
  }

  /** @param {Box} box */
  isChip(box) {
    return box[3] <= 1.5 * this.sizes.line * this.scale + 0.001;
  }

  /** @param {Card} card @param {Box} box */
  card(card, [x, y, wide, tall]) {
    const { scale: s, sizes } = this;
    const narrow = sizes.kind === 0;
    const pad = (narrow ? 8 : 10) * s;
    const count = card.count ?? 1;
    const shapes = [
      shape("rect", {
        x,
        y,
        width: wide,
        height: tall,
        rx: 8 * s,
        fill: card.name ? "card" : "card-back",
        stroke: "card-edge",
        "stroke-width": 1.5 * s,
      }),
    ];
    const times = count !== 1 || !card.name ? `×${count}` : "";
    const low = y + tall - (narrow ? 12 : 15) * s;
    const small = sizes.line * s;
    if (times) {
      const fill = card.name ? "card-ink" : "card-back-ink";
      shapes.push(writtenAt(x + wide - pad, low, small, times, fill, { "text-anchor": "end" }));
    }
    if (!card.name) return shapes;
    shapes.push(...this.strip(card, x, y, wide));
    const room = wide - 2 * pad;
    const size = sizes.name * s;
    let lines = [card.name];
    const cut = card.name.indexOf(" ");
    if (narrow && 0.6 * size * card.name.length > room && cut >= 0) {
      lines = [card.name.slice(0, cut), card.name.slice(cut + 1)];
    }
    let at = y + (narrow ? 17 : 21) * s;
    const start = { "text-anchor": "start" };
    for (const text of lines) {
      const fit = Math.min(size, room / (0.6 * Math.max(1, text.length)));
      shapes.push(
        writtenAt(x + pad, at, fit, clean(text), "card-ink", { ...start, "font-weight": 600 }),
      );
      at += 1.15 * size;
    }
    if (card.kind && sizes.kind) {
      shapes.push(writtenAt(x + pad, at, sizes.kind * s, card.kind, "rim", start));
      at += 17 * s;
    }
    const most = tall > 90 * s ? sizes.rules : 0;
    const bottom = low - (card.corner || times ? 14 * s : -8 * s);
    for (const text of most ? wrapped(card.note ?? "", room / (0.56 * small), most) : []) {
      if (at < bottom) shapes.push(writtenAt(x + pad, at, small, text, "card-ink", start));
      at += 15 * s;
    }
    if (card.corner) shapes.push(...this.coin(card.corner, x + pad + sizes.coin * s, low));
    else if (card.text) {
      shapes.push(writtenAt(x + pad, low, small, clean(card.text), "card-ink", start));
    }
    return shapes;
  }

  /** @param {string} text @param {number} cx @param {number} cy */
  coin(text, cx, cy) {
    const r = this.sizes.coin * this.scale;
    const edge = { stroke: "coin-ink", "stroke-width": 0.8 * this.scale };
    return [
      shape("circle", { cx, cy, r, fill: "coin", ...edge }),
      writtenAt(cx, cy, 1.2 * r, clean(text), "coin-ink", { "font-weight": 600 }),
    ];
  }

  /** The strip of a card's kind. @param {Card} card @param {number} x @param {number} y @param {number} wide */
  strip(card, x, y, wide) {
    if (!card.kind) return [];
    const s = this.scale;
    const kind = this.kinds.indexOf(card.kind) % LOOKS.kinds;
    const left = x + 6 * s;
    const length = x + wide - 6 * s - left;
    /** @type {Record<number, string>} */
    const dashes = {
      1: `${number(14 * s)} ${number(4 * s)}`,
      2: `${number(4 * s)} ${number(3 * s)}`,
    };
    const lines =
      kind === 3
        ? [
            [1, 1.5],
            [4.5, 1.5],
          ]
        : [[2.5, 5]];
    return lines.map(([down, thick]) =>
      shape("line", {
        x1: left,
        y1: y + 2 * s + down * s,
        x2: left + length,
        y2: y + 2 * s + down * s,
        stroke: `card-${kind + 1}`,
        "stroke-width": thick * s,
        "stroke-dasharray": dashes[kind],
      }),
    );
  }

  /** The bar that joins round places that won together. @param {Mark} mark */
  joined(mark) {
    const cells = mark.kind === "win" ? (mark.cells ?? []) : [];
    const rounded = cells
      .filter((n) => LOOKS.round.includes(this.cells[n].kind ?? "square"))
      .map((n) => middle(this.at(`c${n}`)));
    if (rounded.length < 2 || !straight(rounded)) return [];
    const [[x1, y1], [x2, y2]] = ends(rounded);
    return [shape("line", { x1, y1, x2, y2, stroke: "win", "stroke-width": 0.14 })];
  }

  /** @param {string} kind @param {number[]} cells @param {number[]} cards */
  marked(kind, cells, cards) {
    const look = MARKS[kind] ?? MARKS.last;
    /** @param {number} n */
    const round = (n) => LOOKS.round.includes(this.cells[n].kind ?? "square");
    /** @type {Shape[]} */
    const found = [];
    for (const n of cells) {
      const [x, y, width, height] = this.at(`c${n}`);
      const line = { stroke: look.stroke, "stroke-width": look.width };
      if (round(n)) {
        line.stroke = kind === "last" ? LOOKS.lastOnRound : look.stroke;
        const [cx, cy] = middle([x, y, width, height]);
        found.push(
          shape("circle", { cx, cy, r: 0.43 * Math.min(width, height), fill: "none", ...line }),
        );
      } else if (Math.min(width, height) < 0.3) {
        found.push(
          shape("rect", {
            x,
            y,
            width,
            height,
            rx: 0.04,
            fill: kind === "last" ? LOOKS.lastLine : look.stroke,
          }),
        );
      } else found.push(ring([x, y, width, height], 0.05, 0.1, line));
    }
    for (const n of cards) {
      const line = { stroke: look.stroke, "stroke-width": 3 * this.scale };
      found.push(ring(this.at(`k${n}`), 0, 8 * this.scale, line));
    }
    return found;
  }
}

/** @param {number | null | undefined} owner */
const seat = (owner) =>
  typeof owner === "number" ? `seat-${(owner % LOOKS.seats) + 1}` : "piece-none";

/** The middle of a place. @param {Box} box @returns {[number, number]} */
export const middle = ([x, y, w, h]) => [x + w / 2, y + h / 2];

/**
 * A scene as shapes.
 * @param {Scene} scene @param {number} [width] pixels that cards may take, if there is no board
 * @returns {Drawing}
 */
export function drawing(scene, width = LOOKS.picture) {
  const board = new SceneDrawing(scene, width);
  const cells = scene.cells ?? [];
  board.frame();
  cells.forEach((cell, n) => board.add("cell", board.cell(cell, board.at(`c${n}`)), `c${n}`));
  for (const cell of cells) board.add("label", board.base(cell));
  const lines = (scene.lines ?? []).map(([x1, y1, x2, y2]) =>
    shape("line", { x1, y1, x2, y2, stroke: "board-ink", "stroke-width": 0.03 }),
  );
  board.add("lines", lines);
  const marks = scene.marks ?? [];
  const won = new Set(marks.flatMap(({ kind, cells }) => (kind === "win" ? (cells ?? []) : [])));
  for (const mark of marks) board.add("bars", board.joined(mark));
  for (const piece of scene.pieces ?? []) {
    const shapes = board.piece(piece, board.at(`c${piece.cell}`));
    if (won.size && !won.has(piece.cell)) for (const each of shapes) each[1].opacity = LOOKS.dimmed;
    board.add("piece", shapes, `c${piece.cell}`, piece.key ?? "");
  }
  board.drawCards();
  for (const mark of marks) {
    board.add(`mark ${mark.kind}`, board.marked(mark.kind, mark.cells ?? [], mark.cards ?? []));
  }
  return { view: board.view, boxes: board.boxes, groups: board.groups, scale: board.scale };
}

/**
 * The names of the columns and of the rows, each with its middle; empty if the names of cells are not
 * coordinates.
 * @param {Scene} scene @returns {[[number, string][], [number, string][]]}
 */
export function coordinates(scene) {
  const found = [];
  for (const cell of scene.cells ?? []) {
    if (!NAMED.includes(cell.kind ?? "square")) continue;
    const match = /^([A-Za-z]+|[0-9]+),?([0-9]+)$/.exec(cell.name ?? "");
    if (!match) return [[], []];
    found.push({ cell, one: match[1], other: match[2] });
  }
  if (found.length < 2) return [[], []];
  for (const turned of [false, true]) {
    /** @type {Map<number, string>} */
    const columns = new Map();
    /** @type {Map<number, string>} */
    const rows = new Map();
    let fits = true;
    for (const { cell, one, other } of found) {
      const [column, row] = turned ? [other, one] : [one, other];
      const [x, y] = middle([cell.x, cell.y, cell.width ?? 1, cell.height ?? 1]).map(number);
      fits &&= (columns.get(x) ?? column) === column && (rows.get(y) ?? row) === row;
      columns.set(x, column);
      rows.set(y, row);
    }
    if (!fits || new Set(columns.values()).size < columns.size) continue;
    if (new Set(rows.values()).size < rows.size) continue;
    return [[...columns].sort(([a], [b]) => a - b), [...rows].sort(([a], [b]) => a - b)];
  }
  return [[], []];
}

/** @param {string} colour */
function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio of two colours. @param {string} one @param {string} other */
export function contrast(one, other) {
  const [dim, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

/** The colour of what is written on a colour. @param {string} colour */
export const inkOn = (colour) =>
  [...LOOKS.inks].sort((a, b) => contrast(b, colour) - contrast(a, colour))[0];

/** A palette with the ink of each of its colours. @param {Record<string, string[]>} palette */
export function inked(palette) {
  return Object.fromEntries(
    Object.entries(palette).flatMap(([role, [light, dark]]) => [
      [role, [light, dark]],
      [ink(role), [inkOn(light), inkOn(dark)]],
    ]),
  );
}

/** Give an element the colours of a scene's game. @param {HTMLElement | SVGElement} element @param {Scene | null | undefined} scene */
export function colour(element, scene) {
  for (const [role, [light, dark]] of Object.entries(inked(scene?.palette ?? {}))) {
    element.style.setProperty(`--${role}`, `light-dark(${light}, ${dark})`);
  }
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} name @param {Record<string, string | number>} attributes @param {string} [text]
 * @returns {SVGElementTagNameMap[T]}
 */
export function element(name, attributes, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** An SVG element of a shape, in the colours of the page. @param {Shape} shape */
export function drawn([tag, attributes, text]) {
  const made = element(/** @type {"rect"} */ (tag), attributes, text || undefined);
  for (const name of ["fill", "stroke"]) {
    const role = attributes[name];
    if (role !== undefined && role !== "none") made.setAttribute(name, `var(--${role})`);
  }
  return made;
}

/** True if the seats of a game are told apart by the colours of their pieces. @param {Scene | null | undefined} scene */
const byPieces = (scene) =>
  Boolean(scene?.palette?.["piece-1"]) ||
  (scene?.pieces ?? []).some(({ kind, owner }) => typeof owner === "number" && kind !== "box");

/** The mark of a seat: one of its pieces. @param {Scene | null | undefined} scene @param {number} owner */
export function sign(scene, owner) {
  const board = new SceneDrawing({ seats: scene?.seats }, 1);
  const svg = element("svg", { viewBox: "0 0 1 1", class: "mark", "aria-hidden": "true" });
  const looks = byPieces(scene)
    ? [
        { disc: 0.46, fill: "piece", stroke: "piece-ink", width: 0.04 },
        { sign: 0.46, stroke: "piece-ink", width: 0.08 },
      ]
    : [
        { disc: 0.46, fill: "seat" },
        { sign: 0.44, stroke: "seat-ink", width: 0.09 },
      ];
  const piece = `piece-${(owner % LOOKS.seats) + 1}`;
  for (const look of looks) svg.append(drawn(board.shaped(look, [0, 0, 1, 1], piece, owner)));
  return svg;
}

/** The role of a seat's colour. @param {Scene | null | undefined} scene @param {number} owner */
export function seatRole(scene, owner) {
  return !byPieces(scene) ? seat(owner) : `piece-${(owner % LOOKS.seats) + 1}`;
}

/**
 * A scene as the text of an SVG picture, as the server draws it.
 * @param {Scene} scene @param {number} width pixels @param {number} [theme] 1 for the dark
 */
export function picture(scene, width, theme = 0) {
  const { view, groups } = drawing(scene);
  const [x, y, wide, tall] = view;
  const [files, ranks] = coordinates(scene);
  const left = ranks.length ? RIM : 0;
  const under = files.length ? RIM : 0;
  const margin = scene.width ? 0.1 : 8;
  const box = [x - left - margin, y - margin, wide + left + 2 * margin, tall + under + 2 * margin];
  const zoom = Math.min(width / box[2], 60);
  const palette = inked({ ...LOOKS.roles, ...scene.palette });
  const svg = element("svg", {
    viewBox: box.map(number).join(" "),
    width: (box[2] * zoom).toFixed(0),
    height: (box[3] * zoom).toFixed(0),
    "font-family": FONT,
  });
  /** @param {Element} parent @param {Shape} each */
  const append = (parent, each) => {
    const made = element(/** @type {"rect"} */ (each[0]), each[1], each[2] || undefined);
    for (const name of ["fill", "stroke"]) {
      const role = String(each[1][name] ?? "none");
      if (role !== "none") made.setAttribute(name, palette[role][theme]);
    }
    parent.append(made);
  };
  for (const [what, , , shapes] of groups) {
    const group = element("g", { class: what });
    for (const each of shapes) append(group, each);
    svg.append(group);
  }
  const low = (scene.height ?? 0) - y;
  for (const [at, text] of files) append(svg, writtenAt(at, low + 0.22, RIM_SIZE, text, "rim"));
  for (const [at, text] of ranks) append(svg, writtenAt(x - 0.24, at, RIM_SIZE, text, "rim"));
  return new XMLSerializer().serializeToString(svg);
}
