// Elements of the page: those that the template has, and new ones.

/** The element that the template has. @param {string} id */
export const of = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** An element that only some pages have. @param {string} id */
export const button = (id) => /** @type {HTMLButtonElement | null} */ (document.getElementById(id));

/**
 * A new element. Attributes that are false, null or undefined are left out; `on` is what happens when
 * it is pressed.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Record<string, string | number | boolean | null | undefined | (() => void)>} [given]
 * @param {(Node | string | null)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function made(name, given = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(key === "on" ? "click" : key, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.filter((each) => each !== null));
  return element;
}

/** Set the children of an element, unless what they are made of is what it was. @param {HTMLElement} target @param {unknown} source @param {() => (Node | string)[]} children */
export function renew(target, source, children) {
  const key = JSON.stringify(source);
  if (kept.get(target) === key) return;
  kept.set(target, key);
  target.replaceChildren(...children());
}
/** @type {WeakMap<HTMLElement, string>} */
const kept = new WeakMap();
