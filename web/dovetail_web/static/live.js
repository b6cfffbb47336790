// The page's one connection; it comes back by itself.

/** The notice shown while the connection is lost. */
export const LOST =
  "The page's server does not answer, so what is shown here may be old. The page connects again by itself; if this lasts, ask the person who runs the server whether it was stopped.";

/** Milliseconds of silence after which a page says so, and after which it tries another connection; the server says something each 1.7 s. */
const SILENT = 2600,
  GIVEN_UP = 8000;

/** @param {Blob} packed a message, compressed by zlib */
const unpacked = (packed) =>
  new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).text();

/** @param {object} about what to look at @param {(message: News) => void} heard @param {(lost: boolean) => void} [lost] told when that changes */
export function live(about, heard, lost) {
  /** @type {WebSocket} */
  let socket;
  let wait = 250,
    down = false,
    last = performance.now(),
    began = last;
  /** @param {boolean} now */
  const say = (now) => {
    if (now !== down) {
      down = now;
      lost?.(now);
    }
  };
  const open = () => {
    const own = (socket = new WebSocket(
      `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`,
    ));
    let over = false;
    began = performance.now();
    const ended = () => {
      if (over) return;
      over = true;
      setTimeout(open, wait);
      wait = Math.min(4000, wait * 2);
    };
    own.addEventListener("open", () =>
      own.send(JSON.stringify({ ...about, unpacks: "DecompressionStream" in window })),
    );
    /** @param {string} text */
    const took = (text) => {
      if (over) return;
      if (text === "{}") {
        own.send('{"here":true}');
        return;
      }
      const news = JSON.parse(text);
      heard(news);
      if (!news.calm) own.send('{"got":true}');
    };
    let before = Promise.resolve();
    own.addEventListener("message", ({ data }) => {
      if (over) return;
      last = performance.now();
      wait = 250;
      say(false);
      before = before
        .then(async () => took(typeof data === "string" ? data : await unpacked(data)))
        .catch(reportError);
    });
    own.addEventListener("close", () => {
      if (!over) say(true);
      ended();
    });
    // A connection that is dead at the other end, or in between, does not close by itself.
    const watch = setInterval(() => {
      const now = performance.now();
      if (over) {
        clearInterval(watch);
        return;
      }
      if (now - last > SILENT) say(true);
      if (now - Math.max(last, began) > GIVEN_UP) {
        own.close();
        ended();
      }
    }, 200);
  };
  open();
  return /** @param {object} message */ (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
}
