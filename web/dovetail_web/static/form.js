// The form that starts a game: beside each seat what concerns the one chosen for it, and as many seats as the game's
// options say.
import { of } from "./dom.js";

const templates = [...document.querySelectorAll("template")];

/** Show what concerns the one who sits in a seat. @param {HTMLElement} row */
function show(row) {
  const who = row.querySelector("select")?.value ?? "";
  const person = /** @type {HTMLElement} */ (row.querySelector(".person")),
    theirs = /** @type {HTMLElement} */ (row.querySelector(".theirs"));
  person.hidden = who !== "person";
  /** @type {HTMLElement} */ (row.querySelector(".told")).textContent =
    row.querySelector("select")?.selectedOptions[0]?.dataset.told ?? "";
  if (theirs.dataset.agent === who) return;
  theirs.dataset.agent = who;
  const found = templates.find((each) => each.dataset.agent === who);
  theirs.replaceChildren(...(found ? [found.content.cloneNode(true)] : []));
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (
    theirs.querySelectorAll("[data-option]")
  ))
    field.name = `a.${row.dataset.seat}.${field.dataset.option}`;
}

const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".place"))];
/** The option that is the number of seats, if the game has one. @type {HTMLInputElement | null} */
const count = document.querySelector("form [data-seats]");
const choosers = rows.map((row) => /** @type {HTMLSelectElement} */ (row.querySelector("select")));

choosers.forEach((chooser, seat) => {
  chooser.addEventListener("change", () => {
    show(rows[seat]);
    if (count) count.value = String(choosers.filter(({ value }) => value).length);
  });
  show(rows[seat]);
});
count?.addEventListener("change", () => {
  choosers.forEach((chooser, seat) => {
    const wanted = seat < Number(count.value);
    if (!wanted && [...chooser.options].some(({ value }) => !value)) chooser.value = "";
    else if (!chooser.value) chooser.value = of("seats").dataset.opponent ?? "";
    show(rows[seat]);
  });
});
