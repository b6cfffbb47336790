// The list of results: what each experiment found, which takes the server some seconds to read.
import { made } from "./dom.js";

for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (
  document.querySelectorAll(".sift")
))
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of input.closest("section")?.querySelectorAll("tbody tr") ?? []) {
      const text = row.textContent?.toLowerCase() ?? "";
      /** @type {HTMLElement} */ (row).hidden = !words.every((word) => text.includes(word));
    }
  });

/** Sentences as items of a list. @param {string[]} found */
const items = (found) =>
  found.length
    ? found.map((text) => made("li", {}, text))
    : [made("li", { class: "muted" }, "No evaluation or tournament is finished yet.")];

/** One after the other: they are read by one thread. */
for (const list of /** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll("[data-source]")
)) {
  try {
    const answer = await fetch(list.dataset.source ?? "");
    if (!answer.ok) throw new Error();
    list.replaceChildren(...items(await answer.json()));
  } catch {
    list.replaceChildren(made("li", { class: "muted" }, "This cannot be read now."));
  }
}
