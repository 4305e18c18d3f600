// Sorts tables by the column whose heading is pressed, and opens what a link leads to.
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
