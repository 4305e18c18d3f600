// Draws the maps. Every word that is not in this file reaches the page through textContent or fillText.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

// Weights lie in the order layer, head, query, key, 16 bits each, the low byte first.
for (const grid of data.grids) {
  const bytes = Uint8Array.from(atob(grid.weights), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  grid.weights = Float32Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true) / 65535);
  grid.cells = grid.queries.length * grid.keys.length;
}

const shown = { grid: 0, layer: 0, head: 0, row: 0, column: 0, lift: false };
const grid = () => data.grids[shown.grid];
const mapOf = (layer, head) => {
  const first = (layer * grid().heads + head) * grid().cells;
  return grid().weights.subarray(first, first + grid().cells);
};
const weight = (row, column) => mapOf(shown.layer, shown.head)[row * grid().keys.length + column];

// So that a word written from right to left does not turn round what stands beside it.
const apart = (label) => `\u2068${label}\u2069`;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// --- colours --------------------------------------------------------------------------------

function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const stops = ["--low", "--middle", "--high"].map((name) => read(name).split(",").map(Number));
  return { stops, ink: read("--ink"), line: read("--line"), mark: read("--mark") };
}

// One pixel a weight.
function paint(canvas, values, { stops }) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < values.length; i++) {
    const share = 2 * (shown.lift ? Math.sqrt(values[i]) : values[i]);
    const [from, to] = share < 1 ? stops : stops.slice(1);
    for (let part = 0; part < 3; part++) {
      image.data[4 * i + part] = Math.round(from[part] + (share < 1 ? share : share - 1) * (to[part] - from[part]));
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

// --- the large map --------------------------------------------------------------------------

const FONT = "13px system-ui, sans-serif";
const frame = { left: 0, top: 0, cell: 0 }; // of the cells on the canvas, in CSS pixels
const picture = document.createElement("canvas"); // the chosen map, one pixel a weight

const short = (label) => ([...label].length > 16 ? [...label].slice(0, 15).join("") + "…" : label);

function drawMap() {
  const canvas = at("map");
  const context = canvas.getContext("2d");
  const palette = colours();
  const { queries, keys, border } = grid();
  context.font = FONT;
  const widest = (labels) => Math.max(...labels.map((label) => context.measureText(short(label)).width));
  frame.left = Math.ceil(widest(queries)) + 10;
  frame.top = Math.ceil(widest(keys)) + 10;
  const room = (at("frame").clientWidth - 12 - frame.left) / keys.length;
  frame.cell = Math.max(16, Math.min(34, Math.floor(room)));
  const width = frame.left + frame.cell * keys.length + 2;
  const height = frame.top + frame.cell * queries.length + 2;
  const ratio = Math.min(window.devicePixelRatio || 1, 8000 / width, 8000 / height); // canvases have limits
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.font = FONT;
  context.textBaseline = "middle";
  const [wide, high] = [frame.cell * keys.length, frame.cell * queries.length];
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, frame.left, frame.top, wide, high);
  context.strokeStyle = palette.line;
  context.strokeRect(frame.left, frame.top, wide, high);
  if (border > 0) { // source and target in one sequence: a line between them, both ways
    context.fillStyle = palette.ink;
    context.fillRect(frame.left + border * frame.cell - 0.5, frame.top, 1, high);
    context.fillRect(frame.left, frame.top + border * frame.cell - 0.5, wide, 1);
  }
  context.textAlign = "right";
  queries.forEach((label, row) => {
    context.fillStyle = row === shown.row ? palette.mark : palette.ink;
    context.fillText(short(label), frame.left - 5, frame.top + (row + 0.5) * frame.cell);
  });
  context.textAlign = "left";
  keys.forEach((label, column) => {
    context.save();
    context.translate(frame.left + (column + 0.5) * frame.cell, frame.top - 5);
    context.rotate(-Math.PI / 2);
    context.fillStyle = column === shown.column ? palette.mark : palette.ink;
    context.fillText(short(label), 0, 0);
    context.restore();
  });
  context.strokeStyle = palette.mark;
  context.lineWidth = 2;
  context.strokeRect(
    frame.left + shown.column * frame.cell, frame.top + shown.row * frame.cell, frame.cell, frame.cell);
}

function show() {
  picture.width = grid().keys.length;
  picture.height = grid().queries.length;
  paint(picture, mapOf(shown.layer, shown.head), colours());
  drawMap();
  describe();
}

function describe() {
  const { queries, keys, written, title, first_layer, first_head } = grid();
  const name = `${title}, layer ${first_layer + shown.layer}, head ${first_head + shown.head}`;
  at("name").textContent = name;
  at("map").setAttribute("aria-label", `${name}: ${queries.length} rows, ${keys.length} columns`);
  const next = written[shown.row];
  at("readout").textContent =
    `${apart(queries[shown.row])} (row ${shown.row + 1}${next === null ? "" : `, next to be written: ${apart(next)}`}) → ` +
    `${apart(keys[shown.column])} (column ${shown.column + 1}): ${weight(shown.row, shown.column).toFixed(4)}`;
  const order = keys.map((label, column) => [weight(shown.row, column), label, column])
    .sort((a, b) => b[0] - a[0]).slice(0, 5);
  at("strongest-name").textContent = `Strongest in the row of ${apart(queries[shown.row])}`;
  at("strongest").replaceChildren(...order.map(([value, label, column]) =>
    element("li", `${value.toFixed(4)}  ${apart(label)} (column ${column + 1})`)));
}

function choose(row, column) {
  const within = (value, length) => Math.max(0, Math.min(length - 1, value));
  shown.row = within(row, grid().queries.length);
  shown.column = within(column, grid().keys.length);
  drawMap();
  describe();
}

function cellAt(event) {
  const box = at("map").getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - frame.left) / frame.cell);
  const row = Math.floor((event.clientY - box.top - frame.top) / frame.cell);
  const inside = row >= 0 && column >= 0 && row < grid().queries.length && column < grid().keys.length;
  return inside ? [row, column] : null;
}

function point(event) {
  const cell = cellAt(event);
  const tip = at("tip");
  tip.hidden = cell === null;
  if (cell === null) return;
  if (cell[0] !== shown.row || cell[1] !== shown.column) choose(...cell);
  tip.textContent = `${apart(grid().queries[cell[0]])} → ${apart(grid().keys[cell[1]])}: ${weight(...cell).toFixed(3)}`;
  // Left of the cell where there is no room at its right.
  const x = 4 + frame.left + (cell[1] + 1) * frame.cell + 6;
  const scrolled = at("frame").scrollLeft;
  const room = scrolled + at("frame").clientWidth;
  const left = x + tip.offsetWidth > room ? x - frame.cell - 12 - tip.offsetWidth : x;
  tip.style.left = `${Math.max(scrolled, left)}px`;
  tip.style.top = `${4 + frame.top + cell[0] * frame.cell}px`;
}

// --- all maps -------------------------------------------------------------------------------

function drawAll() {
  const { layers, heads, first_layer, first_head, queries, keys } = grid();
  const palette = colours();
  const scale = 68 / Math.max(queries.length, keys.length);
  const table = element("table", null, { role: "presentation" });
  const top = table.createTHead().insertRow();
  top.append(element("td", ""));
  for (let head = 0; head < heads; head++) top.append(element("th", `head ${first_head + head}`));
  const body = table.createTBody();
  for (let layer = 0; layer < layers; layer++) {
    const row = body.insertRow();
    row.append(element("th", `layer ${first_layer + layer}`));
    for (let head = 0; head < heads; head++) {
      const name = `layer ${first_layer + layer}, head ${first_head + head}`;
      const button = element("button", null, { type: "button", "aria-label": name });
      const canvas = element("canvas", null, { width: keys.length, height: queries.length, "aria-hidden": "true" });
      canvas.style.width = `${Math.max(4, keys.length * scale)}px`;
      canvas.style.height = `${Math.max(4, queries.length * scale)}px`;
      paint(canvas, mapOf(layer, head), palette);
      button.append(canvas);
      button.addEventListener("click", () => select(layer, head));
      row.insertCell().append(button);
    }
  }
  at("all").replaceChildren(table);
  mark();
}

function mark() {
  at("all").querySelectorAll("button").forEach((button, i) => {
    const chosen = i === shown.layer * grid().heads + shown.head;
    button.setAttribute("aria-pressed", String(chosen));
    button.tabIndex = chosen ? 0 : -1; // one stop for the tab key; the arrow keys go on from there
  });
}

function select(layer, head) {
  const { layers, heads } = grid();
  shown.layer = (layer + layers) % layers;
  shown.head = (head + heads) % heads;
  at("layer").value = shown.layer;
  at("head").value = shown.head;
  mark();
  show();
}

function step(by) {
  const { layers, heads } = grid();
  const next = (shown.layer * heads + shown.head + by + layers * heads) % (layers * heads);
  select(Math.floor(next / heads), next % heads);
}

const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function onArrows(target, move) {
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const by = ARROWS[event.key] || { Home: [0, -Infinity], End: [0, Infinity] }[event.key];
    if (by && move(...by)) event.preventDefault();
  });
}

// --- controls -------------------------------------------------------------------------------

function open(index) {
  const { layers, heads, first_layer, first_head } = data.grids[index];
  Object.assign(shown, { grid: index, row: 0, column: 0 });
  shown.layer = Math.min(shown.layer, layers - 1);
  shown.head = Math.min(shown.head, heads - 1);
  for (const [id, count, first] of [["layer", layers, first_layer], ["head", heads, first_head]]) {
    at(id).replaceChildren(...Array.from({ length: count }, (_, i) => element("option", first + i, { value: i })));
    at(id).value = shown[id];
  }
  at("tip").hidden = true;
  redraw();
}

function redraw() {
  paint(at("scale"), Array.from({ length: 256 }, (_, i) => i / 255), colours());
  drawAll();
  show();
}

function begin() {
  const { source, target } = data;
  const averaged = data.averaged_checkpoints > 1 ? `, mean of ${data.averaged_checkpoints} checkpoints` : "";
  at("run").textContent = `${data.run}, update ${data.update}${averaged}`;
  at("source").textContent = source.text;
  at("target").textContent = target.text;
  at("target-name").textContent = target.translated ? "Its translation" : "Target as given";
  data.grids.forEach((each, index) => {
    const input = element("input", null, { type: "radio", name: "kind", value: index });
    input.checked = index === 0;
    input.addEventListener("change", () => open(index));
    const label = element("label", null);
    label.append(input, each.title);
    at("kinds").append(label);
  });
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("layer").addEventListener("change", (event) => select(Number(event.target.value), shown.head));
  at("head").addEventListener("change", (event) => select(shown.layer, Number(event.target.value)));
  at("previous").addEventListener("click", () => step(-1));
  at("next").addEventListener("click", () => step(1));
  at("lift").addEventListener("change", (event) => { shown.lift = event.target.checked; redraw(); });
  at("map").addEventListener("pointermove", point);
  at("map").addEventListener("pointerdown", point);
  at("map").addEventListener("pointerleave", () => { at("tip").hidden = true; });
  onArrows(at("map"), (down, right) => {
    at("tip").hidden = true;
    choose(shown.row + down, shown.column + right);
    return true;
  });
  onArrows(at("all"), (down, right) => {
    if (!Number.isFinite(right)) return false;
    select(shown.layer + down, shown.head + right);
    at("all").querySelector('[aria-pressed="true"]').focus();
    return true;
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("resize", drawMap);
  open(0);
}

begin();
