// A page that brings its parts up to date by itself, as long as someone looks at it.

/** Milliseconds between two renewals; the longer one after failures. */
const EVERY = 4000,
  LONGEST = 60000;

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let tag = "",
  wait = EVERY;

/** Make an element like another. Equal parts stay, with their focus, input and scroll. @param {Element} old @param {Element} next */
function renew(old, next) {
  for (const { name } of [...old.attributes])
    if (name !== "open" && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const wanted = [...next.childNodes];
  wanted.forEach((node, at) => {
    const has = old.childNodes[at];
    if (!has) old.append(node);
    else if (has.nodeName !== node.nodeName) has.replaceWith(node);
    else if (node instanceof Element) renew(/** @type {Element} */ (has), node);
    else if (has.nodeValue !== node.nodeValue) has.nodeValue = node.nodeValue;
  });
  while (old.childNodes.length > wanted.length) old.lastChild?.remove();
}

async function look() {
  if (document.hidden) return;
  try {
    const answer = await fetch(main.dataset.address ?? location.href, {
      headers: { "X-Renewal": "1", "If-None-Match": tag },
      cache: "no-store",
      redirect: "error",
    });
    wait = answer.ok || answer.status === 304 ? EVERY : Math.min(LONGEST, 2 * wait);
    if (!answer.ok) return;
    tag = answer.headers.get("ETag") ?? "";
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const next = found.querySelector(`[data-part="${part.getAttribute("data-part")}"]`);
      if (next) renew(part, next);
    }
  } catch {
    wait = Math.min(LONGEST, 2 * wait);
  }
}

const again = () => setTimeout(() => look().then(again), wait);
again();
document.addEventListener("visibilitychange", look);
