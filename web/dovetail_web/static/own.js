// The games that this browser's person plays, kept until each is over, so that the first page leads back to them.
const KEY = "games";
const MOST = 3;

/** By table, the newest last. @returns {[string, { href: string, title: string }][]} */
export function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return []; // a browser that keeps nothing
  }
}

/** @param {[string, { href: string, title: string }][]} games */
function store(games) {
  try {
    localStorage.setItem(KEY, JSON.stringify(games.slice(-MOST)));
  } catch {
    // then only the browser's own history leads back
  }
}

/** @param {string} table */
export function forget(table) {
  if (kept().some(([key]) => key === table)) store(kept().filter(([key]) => key !== table));
}

/** @param {string} table @param {string} href with the person's chair @param {string} title of the game */
export function keep(table, href, title) {
  store([...kept().filter(([key]) => key !== table), [table, { href, title }]]);
}
