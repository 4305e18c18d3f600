// Sorts tables by the column whose heading is pressed, switches between views of plots, sets two rows'
// translations side by side, and opens what a link leads to.
"use strict";

// Cells hold what they sort by in data-order; those without one go last, whichever way.
function sort(heading) {
  const table = heading.closest("table");
  const column = [...heading.parentElement.children].indexOf(heading);
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const words = heading.dataset.kind === "words";
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => {
    const order = row.cells[column].dataset.order;
    return { row, key: order === undefined ? null : words ? order : Number(order) };
  });
  const compare = (a, b) => (words ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    return down ? compare(b.key, a.key) : compare(a.key, b.key);
  });
  body.append(...keyed.map(({ row }) => row));
  const said = document.getElementById("said");
  said.textContent = `Sorted by ${heading.textContent.trim()}, ${down ? "descending" : "ascending"}`;
}

for (const button of document.querySelectorAll("table.grid thead button")) {
  button.addEventListener("click", () => sort(button.closest("th")));
}

for (const input of document.querySelectorAll(".switch input")) {
  const show = () => {
    if (!input.checked) return;
    for (const other of document.getElementsByName(input.name)) {
      document.getElementById(other.value).hidden = other !== input;
    }
  };
  input.addEventListener("change", show);
  show(); // a page gone back to keeps what was chosen
}

// Each sentence is its line, the different texts, which of them each row has, and each row's score.
for (const picker of document.querySelectorAll(".picker")) {
  const { shown, sentences } = JSON.parse(picker.querySelector("script").textContent);
  const [left, right] = picker.querySelectorAll("select");
  const headings = picker.querySelectorAll("thead th");
  const body = picker.querySelector("tbody");
  const cell = (kind, text, attributes) =>
    Object.assign(document.createElement(kind), { textContent: text, ...attributes });
  // Stacked on a phone, cells say whose they are.
  const translation = (text, select) => {
    const made = cell("td", text, { dir: "auto" });
    made.dataset.of = select.selectedOptions[0].text;
    return made;
  };
  const fill = () => {
    const [one, other] = [Number(left.value), Number(right.value)];
    headings[1].textContent = left.selectedOptions[0].text;
    headings[2].textContent = right.selectedOptions[0].text;
    const gap = ([, , , scores]) => Math.abs(scores[other] - scores[one]);
    const most = sentences.filter((each) => gap(each) > 0).sort((a, b) => gap(b) - gap(a));
    const rows = most.slice(0, Math.max(shown, 1)).map(([line, texts, which, scores]) => {
      const row = document.createElement("tr");
      const change = `${scores[one].toFixed(1)} → ${scores[other].toFixed(1)}`;
      row.append(
        cell("th", line, { scope: "row" }),
        translation(texts[which[one]], left),
        translation(texts[which[other]], right),
        cell("td", change),
      );
      return row;
    });
    body.replaceChildren(...rows);
  };
  left.addEventListener("change", fill);
  right.addEventListener("change", fill);
  fill();
  picker.hidden = false;
}

function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  for (let each = target; each; each = each.parentElement) {
    if (each instanceof HTMLDetailsElement) each.open = true;
  }
  if (target) target.scrollIntoView();
}
window.addEventListener("hashchange", reveal);
reveal();

// What is folded away is printed too.
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) {
    each.dataset.was = each.open;
    each.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = each.dataset.was === "true";
});
