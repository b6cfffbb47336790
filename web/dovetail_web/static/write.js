// A visitor's agent: its code runs in a worker, and this tab plays its games over a WebSocket of the broker.
import { made, of } from "./dom.js";

const CLIENT = "/client/browser/index.js";
const LACKING = "Agents cannot connect from here: the client could not be loaded. Reload the page.";
/** Milliseconds for a decision. */
const LIMIT = 5000;
/** Problems that are listed. */
const LISTED = 20;

/**
 * The worker's code after the visitor's, so that line numbers in errors are the visitor's.  A decision's random numbers
 * (mulberry32) come from one that the agent drew, so the same seeds play the same game.
 */
const REST = `
;onmessage = async ({ data: { bits, decision } }) => {
  const next = () => {
    let t = (bits = (bits + 0x6d2b79f5) | 0);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const random = { next, choice: (items) => items[Math.floor(next() * items.length)] };
  try {
    postMessage({ action: await act({ ...decision, random }) });
  } catch (error) {
    postMessage({ problem: String(error?.message ?? error) });
  }
};`;

/** @param {string} text */
const say = (text) => void (of("status").textContent = text);

/** List a problem of the agent. @param {string} line */
function list(line) {
  of("log").prepend(made("li", {}, line));
  while (of("log").children.length > LISTED) of("log").lastElementChild?.remove();
}

/** The visitor's code, in a worker that is replaced if it takes too long. */
class Mind {
  /** @type {Worker | null} */
  #worker = null;

  /** @param {string} code */
  constructor(code) {
    this.address = URL.createObjectURL(new Blob([code, REST], { type: "text/javascript" }));
  }

  /** Return the code's answer. @param {object} question @returns {Promise<unknown>} */
  ask(question) {
    const worker = (this.#worker ??= new Worker(this.address));
    return new Promise((resolve, reject) => {
      /** @param {string} text */
      const fail = (text) => {
        clearTimeout(timer);
        reject(new Error(text));
      };
      const timer = setTimeout(() => {
        this.close();
        fail(`no answer within ${LIMIT / 1000} s`);
      }, LIMIT);
      worker.onmessage = ({ data: { action, problem } }) => {
        clearTimeout(timer);
        if (problem === undefined) resolve(action);
        else fail(problem);
      };
      worker.onerror = ({ message, lineno }) => {
        this.close();
        fail(lineno ? `${message} (line ${lineno})` : (message ?? "the code cannot be read"));
      };
      worker.postMessage(question);
    });
  }

  close() {
    this.#worker?.terminate();
    this.#worker = null;
  }
}

/** An agent that asks the visitor's code. @param {string} code */
function agent(code) {
  const mind = new Mind(code);
  return {
    /** @param {any} decision */
    step: ({ legal, text, observation, reward, turn, seat, random }) =>
      mind.ask({
        bits: random.bits(),
        decision: { legal, text, observation, reward, turn, seat: seat.seat },
      }),
    cleanup: () => mind.close(),
  };
}

/** Fetched at once, so that visitors read what is missing before they write. */
const client = import(CLIENT).catch(() => ({}));
client.then(({ serve }) => serve === undefined && say(LACKING));

const writing = /** @type {HTMLFormElement} */ (of("writing"));
const entering = /** @type {HTMLFormElement} */ (of("entering"));
let leave = new AbortController();
let left = Promise.resolve();

writing.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { name, token, code } = Object.fromEntries(new FormData(writing));
  leave.abort(); // the agent as it was
  await left;
  leave = new AbortController();
  entering.hidden = true;
  say("Connecting …");
  const { serve } = await client;
  if (serve === undefined) {
    say(LACKING);
    return;
  }
  const served = {
    agents: [
      {
        name,
        wants: ["text"],
        description: "Written on the page.",
        create: () => agent(String(code)),
      },
    ],
  };
  left = serve(served, {
    broker: writing.dataset.peers,
    token: token || null,
    signal: leave.signal,
    problem: list,
    ready() {
      say(`${name} is connected. It plays as long as this tab is open.`);
      entering.dataset.agent = String(name);
      entering.hidden = false;
    },
  }).then(
    () => say("The broker has left."),
    (/** @type {Error} */ error) => say(error.message),
  );
});

entering.addEventListener("submit", () => {
  const game = /** @type {HTMLSelectElement} */ (of("game")),
    against = /** @type {HTMLSelectElement} */ (of("against"));
  entering.action = `/play/${encodeURIComponent(game.value)}`;
  for (const each of entering.querySelectorAll("[name^='seat.']")) each.remove();
  const seats = Number(game.selectedOptions[0]?.dataset.seats ?? 2);
  for (let seat = 0; seat < seats; seat++) {
    const value = seat ? against.value : (entering.dataset.agent ?? "");
    entering.append(made("input", { type: "hidden", name: `seat.${seat}`, value }));
  }
});
