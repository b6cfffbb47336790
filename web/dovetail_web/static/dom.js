// Elements of the page by their id.

/** The element that the template has. @param {string} id */
export const of = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** An element that only some pages have. @param {string} id */
export const button = (id) => /** @type {HTMLButtonElement | null} */ (document.getElementById(id));
