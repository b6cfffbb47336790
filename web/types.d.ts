// Types that the modules in static/ and the page's server exchange; scenes are in contract.d.ts.

/** The parts of a scene that a choice or a mark names. */
interface Parts {
  cells?: number[];
  cards?: number[];
}

/** A place: left, top, width and height. */
type Box = [number, number, number, number];
/** By part: cell "c0", card "k0". */
type Boxes = Map<string, Box>;
/** Tag, attributes whose colours are roles, and text. */
type Shape = [string, Record<string, string | number>, string];
/** A word for its meaning, its part, a piece's key, and its shapes. */
type Group = [string, string, string, Shape[]];
/** A shape of the table of looks. */
interface Look {
  rect?: number;
  round?: number;
  disc?: number;
  path?: string;
  scale?: number;
  sign?: number;
  fill?: string;
  stroke?: string;
  width?: number;
}
interface Drawing {
  view: Box;
  boxes: Boxes;
  groups: Group[];
  /** Units of a card's pixel. */
  scale: number;
}

/** Callbacks of the board when a person points at it. */
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
  /** The players' names by seat. */
  names?: string[];
  /** The parts that an agent proposes. */
  hinted?: string[];
  /** Says why nothing can be chosen. */
  why?: () => string;
  /** An agent's values of the choices, the best first. */
  thoughts?: Considered[];
  /** Pixels that there are for cards. */
  width?: number;
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
  /** True if every turn up to the newest was seen. */
  whole?: boolean;
  result: Ending | null;
}
/** The position as a person's seat sees it. */
interface Mine {
  number: number;
  turn: number | null;
  seat: number;
  scene: Scene | null;
  text: string;
  problem: string;
  /** The position as the seat sees it while others act. */
  own?: Scene | null;
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
  /** True if the server waits for no answer. */
  calm?: boolean;
  say?: string;
  now?: Now;
  leaders?: Standing | null;
  game: Game | null;
  broker: string;
  names: string[];
  problem: string;
  done: boolean;
  /** The people who have closed the page. */
  away?: string[];
  /** The person who ended the game early. */
  ended?: string;
  /** The server's clock, in seconds, when what this browser knew nothing of was sent. */
  time?: number;
  position: Position | null;
  mine: Mine | null;
  waiting: boolean;
  seat?: number;
  hint?: Advice | null;
  can?: Record<string, boolean>;
  /** Seconds for which people wait for an agent. */
  patience?: number | null;
  again?: string;
}
interface Now {
  problem: string;
  peers: { name: string; role: string; state: string; software: string }[];
  environments: string[];
  agents: string[];
  runs: {
    run: number;
    environment: string;
    agents: string[];
    state: string;
    finished: number;
    episodes: number;
    playing: number;
  }[];
  counters: Record<string, number>;
  rate: number;
  /** With the position only if it is new. */
  games: (Game & { position?: Position })[];
}

/** The state of a game's page; see state.js. */
interface State {
  kind: string;
  key: string;
  chair: string;
  linked: number;
  game: Game | null;
  names: string[];
  /** By place: the turn, unless a fast game was seen in part. */
  turns: Map<number, Position>;
  /** Places whose position came while a person played, without what the agents thought. */
  early: Set<number>;
  newest: Position | null;
  /** The place that is shown; null for the newest. */
  at: number | null;
  mine: Mine | null;
  advice: Advice | null;
  can: Record<string, boolean>;
  patience: number | null;
  /** The person's seat. */
  own: number | null;
  /** The server's clock when this connection began, and by how much it is ahead of the browser's. */
  time: number;
  ahead: number;
  lost: boolean;
  waiting: boolean;
  done: boolean;
  problem: string;
  broker: string;
  /** The people who have closed the page. */
  away: string[];
  /** The person who ended the game early. */
  ended: string;
  again: string;
  /** Of which game and seat it is known whether the board is turned. */
  facing: { of: string; turned: boolean };
  /** When the person last decided. */
  decided: number;
  /** True if choices of this game have arrow keys. */
  arrows: boolean;
}
interface Replay {
  game: Game & Ending;
  positions: Position[];
  problem: string;
}
type Change =
  | { news: News; now: number }
  | { replay: Replay }
  | { fetched: [number, Position][] }
  | { go: number }
  | { chose: number }
  | { refused: true }
  | { lost: boolean };
/** The contents of the bar above the board. */
interface Bar {
  tone: "" | "yours" | "won" | "ended" | "trouble";
  headline: string;
  hint: string;
  turn: string;
  /** For those who cannot see it. */
  told: string;
  seat: number | null;
}

/** An agent in the hall. */
interface Leader {
  player: number;
  name: string;
  rating: string;
  state: string;
  bar: [number, number, number] | null;
}
/** A game in the hall. */
interface Result {
  first: string;
  how: string;
  others: string;
  end: string;
}
/** A ladder in the hall. */
interface Standing {
  ladder: string;
  season: string;
  /** When the final begins, in seconds since 1970. */
  ends: number | null;
  online: number;
  agents: number;
  played: number;
  ticks: [number, string][];
  rows: Leader[];
  results: Result[];
}
