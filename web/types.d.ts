// What the page's server sends, for the types of the modules in static/.  Fields with their default are left out.

/** A scene: see src/dovetail/protocol/scenes.py. */
interface Scene {
  width?: number;
  height?: number;
  cells?: Cell[];
  pieces?: Piece[];
  cards?: Card[];
  choices?: Choice[];
  caption?: string;
  seats?: { name: string; score?: number | null; note?: string }[];
  marks?: (Parts & { kind: string })[];
  lines?: [number, number, number, number][];
  zones?: Zone[];
  moved?: string;
}
interface Cell {
  x: number;
  y: number;
  width?: number;
  height?: number;
  kind?: string;
  name?: string;
  owner?: number | null;
  text?: string;
  outline?: [number, number][];
}
interface Piece {
  cell: number;
  kind: string;
  owner?: number | null;
  text?: string;
  symbol?: string;
  count?: number;
  level?: number | null;
  /** The same piece has the same at the next turn. */
  key?: string;
}
interface Card {
  zone: string;
  name: string;
  count?: number;
  owner?: number | null;
  text?: string;
  note?: string;
  corner?: string;
}
interface Zone {
  name: string;
  title?: string;
  owner?: number | null;
}
interface Parts {
  cells?: number[];
  cards?: number[];
}
interface Choice extends Parts {
  label: string;
  shows?: number[];
  key?: string;
}

/** A place on the board, in squares. */
interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}
type Boxes = Map<string, Box>;

/** What the board calls when a person points at it. */
interface Hooks {
  /** Given if a person may choose: takes the choice's place. */
  play?: (choice: number) => void;
  say?: (text: string) => void;
  /** Shows choices that end at what has been picked; `ends`: others continue there; `focus`: the keyboard has no other place to go. */
  ask?: (choices: { label: string; index: number }[], ends: boolean, focus: boolean) => void;
  /** Says which part of how many is to be pointed at. */
  step?: (picked: number, most: number) => void;
  /** The person's seat. */
  seat?: number | null;
  /** Who sits where. */
  names?: string[];
  /** The parts that an agent proposes. */
  hinted?: string[];
  /** Says why nothing can be chosen. */
  why?: () => string;
  /** What an agent thought of the choices, the best first. */
  thoughts?: Considered[];
}

/** A choice that an agent has considered; with places if the scene said what one points at. */
interface Considered extends Parts {
  label: string;
  value: number | null;
  chance: number | null;
  shows?: number[];
}
interface Thought {
  text: string;
  line: unknown[];
  /** How many choices there were; `choices` has the best. */
  count: number;
  choices: Considered[];
}
interface Ending {
  reason?: string | null;
  blame?: number | null;
  outcome?: number[] | null;
  message?: string;
  seats?: { total: number; decisions: number; seconds: number }[];
}
/** A position of a game, as all may see it. */
interface Position extends Ending {
  turn: number;
  to_act?: number[];
  actions?: [number, unknown][];
  rewards?: (number | null)[];
  /** By seat, how long it has thought. */
  seconds?: number[];
  scene?: Scene | null;
  problem?: string;
  text?: string;
  thoughts?: [number, Thought][];
  /** By seat, the seconds left for this decision and for the game, where there is such a limit. */
  clocks?: [number | null, number | null][];
  /** The seats whose clock runs; those of the others stand. */
  running?: number[];
  /** When that was so, by the server's clock. */
  at?: number;
}
interface Game {
  episode: number;
  run: number;
  environment: string;
  agents: string[];
  first: number;
  count: number;
  over: boolean;
  /** Whether every turn up to the newest was seen. */
  whole?: boolean;
  result: Ending | null;
}
/** What a person's seat sees. */
interface Mine {
  number: number;
  turn: number | null;
  seat: number;
  scene: Scene | null;
  text: string;
  problem: string;
  clock?: [number | null, number | null] | null;
  /** When the decision came, by the server's clock. */
  at: number;
}
interface Advice {
  number: number;
  by: string;
  choice?: number | null;
  label?: string;
  problem?: string;
}
interface News {
  say?: string;
  now?: Now;
  game: Game | null;
  broker: string;
  names: string[];
  problem: string;
  done: boolean;
  /** Who has closed the page. */
  away?: string[];
  /** The server's clock, in seconds, when this connection was sent its first message. */
  time: number;
  position: Position | null;
  mine: Mine | null;
  waiting: boolean;
  seat?: number;
  hint?: Advice | null;
  can?: Record<string, boolean>;
  again?: string;
}
interface Now {
  problem: string;
  peers: { name: string; role: string; state: string; software: string }[];
  environments: string[];
  agents: string[];
  runs: { run: number; environment: string; agents: string[]; state: string; finished: number; episodes: number }[];
  counters: Record<string, number>;
  rate: number;
  /** With the position only if it is new. */
  games: (Game & { position?: Position })[];
}
