/**
 * The rules of Othello on a square board: place a disc so that a line of the opponent's lies between it and
 * another of yours; all such lines turn.  A player who cannot must pass; when neither can, the game is over.
 */

import { DovetailError } from "dovetail-client/core";

const EMPTY = -1;

/** A position.  Squares are numbered row by row from the upper left corner. */
export class Board {
  /** The owner of each square's disc: 0, 1, or −1 for an empty square.  Copies share it, since a move replaces it. */
  squares: Int8Array;
  /** The seat to move; 0 begins. */
  mover: 0 | 1 = 0;
  over = false;
  /** The last disc that was placed; null before the first. */
  last: number | null = null;
  /** The mover's legal actions in rising order; the pass alone if there is no move. */
  legal: readonly number[] = [];

  constructor(
    /** Squares along an edge. */
    readonly size = 8,
  ) {
    if (size < 4 || size % 2) throw new DovetailError(`a board of ${size} squares has no middle`);
    this.squares = new Int8Array(size * size).fill(EMPTY);
    const corner = (size / 2 - 1) * size + size / 2 - 1;
    this.squares[corner] = this.squares[corner + size + 1] = 1;
    this.squares[corner + 1] = this.squares[corner + size] = 0;
    this.legal = this.moves();
  }

  /** The action that is not a square: the pass. */
  get pass(): number {
    return this.size * this.size;
  }

  copy(): Board {
    return Object.assign(Object.create(Board.prototype) as Board, this);
  }

  /** How many discs each player has. */
  count(): [number, number] {
    let [first, second] = [0, 0];
    for (const owner of this.squares) {
      if (owner === 0) first++;
      else if (owner === 1) second++;
    }
    return [first, second];
  }

  /** Return the squares after a legal action. */
  after(action: number): Int8Array {
    const squares = this.squares.slice();
    if (action === this.pass) return squares;
    for (const square of turned(squares, this.size, action, this.mover)) squares[square] = this.mover;
    squares[action] = this.mover;
    return squares;
  }

  /** Play a legal action. */
  play(action: number): void {
    this.squares = this.after(action);
    if (action !== this.pass) this.last = action;
    this.next();
    if (this.legal.length) return;
    this.next();
    // After a pass the other must have a move, or the game was over before it.
    if (this.legal.length === 0) this.over = true;
    else {
      this.mover = other(this.mover);
      this.legal = [this.pass];
    }
  }

  private next(): void {
    this.mover = other(this.mover);
    this.legal = this.moves();
  }

  private moves(): number[] {
    const moves: number[] = [];
    for (let square = 0; square < this.squares.length; square++) {
      if (this.squares[square] !== EMPTY) continue;
      if (turned(this.squares, this.size, square, this.mover, true).length) moves.push(square);
    }
    return moves;
  }
}

function other(player: 0 | 1): 0 | 1 {
  return player ? 0 : 1;
}

/** Return the squares that turn when a player places a disc; one line is enough if `any`. */
function turned(squares: Int8Array, size: number, square: number, player: 0 | 1, any = false): number[] {
  const found: number[] = [];
  const row = Math.floor(square / size);
  const column = square % size;
  for (let down = -1; down <= 1; down++) {
    for (let right = -1; right <= 1; right++) {
      if (down === 0 && right === 0) continue;
      const edge = Math.min(
        down ? (down > 0 ? size - 1 - row : row) : size,
        right ? (right > 0 ? size - 1 - column : column) : size,
      );
      const step = down * size + right;
      let length = 0;
      while (length < edge && squares[square + (length + 1) * step] === 1 - player) length++;
      if (length === 0 || length === edge || squares[square + (length + 1) * step] !== player) continue;
      for (let i = 1; i <= length; i++) found.push(square + i * step);
      if (any) return found;
    }
  }
  return found;
}

/** Return the number of ways to play a number of actions. */
export function perft(board: Board, depth: number): number {
  if (depth === 0) return 1;
  if (board.over) return 0;
  let ways = 0;
  for (const action of board.legal) {
    const after = board.copy();
    after.play(action);
    ways += perft(after, depth - 1);
  }
  return ways;
}
