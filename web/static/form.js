// The form that starts a game: beside each seat what concerns whoever was chosen for it.

const templates = [...document.querySelectorAll("template")];

for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".seat"))) {
  const chosen = row.querySelector("select"), person = /** @type {HTMLElement} */ (row.querySelector(".person"));
  const theirs = /** @type {HTMLElement} */ (row.querySelector(".theirs"));
  const show = () => {
    const who = chosen?.value ?? "";
    person.hidden = who !== "person";
    if (theirs.dataset.agent === who) return;
    theirs.dataset.agent = who;
    const found = templates.find((each) => each.dataset.agent === who);
    theirs.replaceChildren(...(found ? [found.content.cloneNode(true)] : []));
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (theirs.querySelectorAll("[data-option]"))) field.name = `a.${row.dataset.seat}.${field.dataset.option}`;
  };
  chosen?.addEventListener("change", show);
  show();
}
