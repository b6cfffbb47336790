/** Othello as an environment. */

import { IllegalAction, Tensor, box, discrete, soleAction } from "dovetail-client/core";
import type { Environment, EnvironmentType, Scene, Spec, Symmetry, Turn, View } from "dovetail-client/core";
import { Board } from "./board.js";

const PALETTE = {
  "board-light": ["#2f7d5f", "#276a50"],
  "piece-1": ["#23272b", "#16191c"],
  "piece-2": ["#fdfcf8", "#f3f0e8"],
};

/**
 * Two seats place discs in turn.
 *
 * Observation: int8, shape [2, size, size], row 0 at the top; plane 0 has the discs of the seat that looks, plane
 * 1 the opponent's.  Actions: squares row by row, then the pass, which is legal only if there is no move.
 * Rewards: 1 to the winner and −1 to the loser at the end, 0 otherwise and for a draw.  There is no chance in it.
 */
export class Othello implements Environment {
  constructor(
    readonly size: number,
    private board = new Board(size),
  ) {}

  init(): Spec {
    const { size } = this;
    const squares = size * size;
    return {
      name: "othello",
      seats: 2,
      observation_spaces: [box([2, size, size], 0, 1, "int8")],
      action_spaces: [discrete(squares + 1)],
      reward_range: [-1, 1],
      perfect_information: true,
      afterstates: true,
      forfeit: [-1, 1],
      // A pass is always followed by a move, and there are as many moves as empty squares.
      max_turns: 2 * (squares - 4),
      symmetries: symmetries(size),
    };
  }

  start(): Turn {
    this.board = new Board(this.size);
    return this.turn();
  }

  step(actions: ReadonlyMap<number, unknown>): Turn {
    const { board } = this;
    const action: unknown = soleAction(actions, board.mover, board.over);
    if (!board.legal.includes(action as number)) {
      const text = typeof action === "number" ? this.label(action) : "what is not an action number";
      throw new IllegalAction(`${text} is not legal`, board.mover);
    }
    board.play(action as number);
    return this.turn();
  }

  private turn(): Turn {
    const { board } = this;
    if (!board.over) return { to_act: [board.mover], seats: [this.view(board.mover, 0)] };
    const [first, second] = board.count();
    const reward = Math.sign(first - second);
    return {
      seats: [this.view(0, reward), this.view(1, -reward)],
      terminated: true,
      outcome: [(1 + reward) / 2, (1 - reward) / 2],
    };
  }

  private view(seat: number, reward: number): View {
    const { board } = this;
    const legal = board.over ? null : [...board.legal];
    // Minus zero would travel as a float.
    return { seat, observation: this.observation(seat), legal, reward: reward || 0 };
  }

  /** Return a seat's observation: its own discs first. */
  observation(seat: number): Tensor<Int8Array> {
    const planes = new Int8Array(2 * this.board.pass);
    fill(planes, 0, this.board.squares, seat);
    return new Tensor("int8", [2, this.size, this.size], planes);
  }

  /** Return the mover's observation after each legal action: int8, shape [actions, 2, size, size]. */
  afterstates(seat: number): Tensor<Int8Array> {
    const { board, size } = this;
    const { legal, pass } = board;
    const rows = new Int8Array(legal.length * 2 * pass);
    legal.forEach((action, i) => fill(rows, i * 2 * pass, board.after(action), seat));
    return new Tensor("int8", [legal.length, 2, size, size], rows);
  }

  private label(action: number): string {
    if (action === this.board.pass) return "pass";
    return "abcdefghijklmnopqrstuvwxyz"[action % this.size] + String(Math.floor(action / this.size) + 1);
  }

  /** The board: X began, O answers, the last disc in lower case. */
  text(): string {
    const { board, size } = this;
    const lines = ["   " + [..."abcdefghijklmnopqrstuvwxyz".slice(0, size)].join(" ")];
    for (let row = 0; row < size; row++) {
      const marks = Array.from({ length: size }, (_, column) => {
        const square = row * size + column;
        const mark = { [-1]: ".", 0: "X", 1: "O" }[board.squares[square]] ?? "?";
        return square === board.last ? mark.toLowerCase() : mark;
      });
      lines.push(`${String(row + 1).padStart(2)} ${marks.join(" ")}`);
    }
    const [first, second] = board.count();
    const turn = board.over ? "game over" : `${"XO"[board.mover]} to move`;
    lines.push(`X ${first}, O ${second}, ${turn}`);
    return lines.join("\n");
  }

  /** The squares row by row; an action is chosen by its square. */
  scene(seat: number | null): Scene {
    const { board, size } = this;
    const cells = Array.from({ length: board.pass }, (_, i) => ({
      x: i % size,
      y: Math.floor(i / size),
      name: this.label(i),
    }));
    const pieces = [...board.squares]
      .map((owner, cell) => ({ cell, kind: "disc", owner }))
      .filter(({ owner }) => owner >= 0);
    const acts = !board.over && (seat === null || seat === board.mover);
    const choices = (acts ? board.legal : []).map((action) => ({
      action,
      label: this.label(action),
      cells: action === board.pass ? [] : [action],
    }));
    const [first, second] = board.count();
    const last = board.last === null ? [] : [board.last];
    const inner = Array.from({ length: size - 1 }, (_, i) => i + 1);
    const passes = choices.length === 1 && choices[0].cells.length === 0;
    return {
      width: size,
      height: size,
      cells,
      pieces,
      choices,
      seats: [
        { name: "Black", score: first },
        { name: "White", score: second },
      ],
      marks: [{ kind: "last", cells: last }],
      lines: inner.flatMap((i) => [
        [i, 0, i, size],
        [0, i, size, i],
      ]),
      prompt: board.over ? "" : passes ? "No move: pass" : "Place a disc",
      reason: board.over ? `${Math.max(first, second)} discs to ${Math.min(first, second)}` : "",
      palette: PALETTE,
    };
  }

  fork(): Othello {
    return new Othello(this.size, this.board.copy());
  }
}

/** Write both planes of a seat's sight of a board. */
function fill(planes: Int8Array, at: number, squares: Int8Array, seat: number): void {
  for (let square = 0; square < squares.length; square++) {
    const owner = squares[square];
    if (owner >= 0) planes[at + (owner === seat ? 0 : squares.length) + square] = 1;
  }
}

/** The seven ways to turn and mirror the board. */
export function symmetries(size: number): Required<Symmetry>[] {
  const found: Required<Symmetry>[] = [];
  for (let way = 1; way < 8; way++) {
    const observation: number[] = [];
    const actions = new Array<number>(size * size + 1).fill(size * size);
    for (let square = 0; square < size * size; square++) {
      let [row, column] = [Math.floor(square / size), square % size];
      if (way & 1) row = size - 1 - row;
      if (way & 2) column = size - 1 - column;
      if (way & 4) [row, column] = [column, row];
      // This square of the symmetric board is copied from there.
      observation.push(row * size + column);
      actions[row * size + column] = square;
    }
    observation.push(...observation.map((square) => square + size * size));
    found.push({ observation, actions });
  }
  return found;
}

/** The environment type that this program offers. */
export const othello: EnvironmentType = {
  name: "othello",
  description: "Othello (reversi): two seats place discs in turn and turn those in between; most discs win.",
  configuration: {
    size: {
      type: "integer",
      enum: [4, 6, 8],
      default: 8,
      description: "squares along an edge of the board",
    },
  },
  seats: [2],
  create: ({ size }) => new Othello(size as number),
};
