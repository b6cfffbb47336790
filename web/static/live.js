// The page's one connection; it comes back by itself.

/** What a page says while its connection is lost. */
export const LOST = "The page's server does not answer. Check that dovetail web is running; the page connects again by itself.";

/** @param {object} about what to look at @param {(message: News) => void} heard @param {(lost: boolean) => void} [lost] */
export function live(about, heard, lost) {
  /** @type {WebSocket} */
  let socket;
  let wait = 250;
  const open = () => {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`);
    socket.addEventListener("open", () => { wait = 250; socket.send(JSON.stringify(about)); lost?.(false); });
    socket.addEventListener("message", (event) => { heard(JSON.parse(event.data)); socket.send('{"got":true}'); });
    socket.addEventListener("close", () => { lost?.(true); setTimeout(open, wait); wait = Math.min(4000, wait * 2); });
  };
  open();
  return /** @param {object} message */ (message) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
}
