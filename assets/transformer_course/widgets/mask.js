// Paint a mask, and recompute the attention weights of the remaining keys.
const SIDE = 340; // maximum size of a map in CSS pixels
const BLUE = "#0072b2";
const ORANGE = "#d55e00";

/** The initial masks: whether the query of a row may attend to the key of a column. */
export const PRESETS = {
  everything: () => true,
  causal: (row, column) => column <= row,
  "causal, window of 3": (row, column) => column <= row && column > row - 3,
  "padding: last 2 keys": (row, column, rows, columns) => column < columns - 2,
  "only itself": (row, column) => row === column,
  "two segments": (row, column, rows, columns) =>
    row < Math.ceil(rows / 2) === column < Math.ceil(columns / 2),
};

/** A mask by name, as a string of 0 and 1 for each row. */
export function preset(name, rows, columns) {
  const one = (row, column) => (PRESETS[name](row, column, rows, columns) ? "1" : "0");
  const line = (row) => Array.from({ length: columns }, (_, column) => one(row, column)).join("");
  return Array.from({ length: rows }, (_, row) => line(row));
}

/** Softmax of each row over the columns that are 1; zeros if there is none. */
export function weights(scores, mask) {
  return mask.map((line, row) => {
    const kept = scores[row].map((score, column) => (line[column] === "1" ? score : -Infinity));
    const most = Math.max(...kept);
    const powers = kept.map((score) => (score === -Infinity ? 0 : Math.exp(score - most)));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => (sum === 0 ? 0 : power / sum));
  });
}

/** The mask with these cells set to "0" or "1". */
export function painted(mask, cells, one) {
  const lines = mask.map((line) => [...line]);
  for (const { row, column } of cells) lines[row][column] = one;
  return lines.map((line) => line.join(""));
}

/** The cells between two pointer events: a fast pointer skips cells. */
export function between(from, to) {
  const [down, right] = [to.row - from.row, to.column - from.column];
  const steps = Math.max(Math.abs(down), Math.abs(right), 1);
  return Array.from({ length: steps + 1 }, (_, i) => ({
    row: Math.round(from.row + (i / steps) * down),
    column: Math.round(from.column + (i / steps) * right),
  }));
}

/** Describe how many pairs are allowed, and whether a query has no key. */
export function counted(mask) {
  const all = mask.join("");
  const open = all.replaceAll("0", "").length;
  const empty = mask.filter((line) => !line.includes("1")).length;
  const nowhere = empty ? `; ${empty} ${empty === 1 ? "query" : "queries"} may attend to no key` : "";
  return `${open} of ${all.length} pairs are allowed${nowhere}`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const { scores } = arrays(model);
  const { queries, keys } = model.get("options");
  const [rows, columns] = scores.shape;
  const lines = queries.map((_, row) => keys.map((_, i) => scores.value(row * columns + i)));
  const free = weights(lines, preset("everything", rows, columns));
  const found = (state) => weights(lines, state.mask);
  const may = (state, row, column) => state.mask[row][column] === "1";
  const tell = (state) => {
    const { row, column, mask } = state;
    const weight = brief(found(state)[row][column]);
    const looks = may(state, row, column) ? `allowed, weight ${weight}` : "masked";
    const empty = mask[row].includes("1") ? "" : " (this query is empty: all its weights are 0)";
    const pair = `query ${row} “${queries[row]}”, key ${column} “${keys[column]}”`;
    return `${pair}: ${looks}${empty}. ${counted(mask)}.`;
  };
  const change = (mask) => view.set({ mask });
  const options = [["forbid", "forbid (×)"], ["allow", "allow (●)"]];
  choice(view, { name: "brush", label: "brush", options });
  presets(view, rows, columns, change);
  const map = framed(queries, keys);
  const grid = { place: ["row", "column"], rows, columns, at: map.at, tell };
  const shared = { ...map, queries, keys, may, found, free, grid };
  painter(view, shared, change);
  result(view, shared);
  if (rows * columns <= 400)
    table(view, queries, keys, (row, column, state) =>
      may(state, row, column) ? brief(found(state)[row][column]) : "masked",
    );
  view.draws.push((state) => {
    const words = tell(state); // after a change by any control
    if (view.told.textContent !== words) view.say(words);
  });
  return view.close;
}

function presets(view, rows, columns, change) {
  view.controls.append(make("span", { textContent: "start from" }));
  for (const name in PRESETS) {
    const mask = preset(name, rows, columns);
    const made = button(view, name, () => change(mask));
    // also after painting by hand
    view.draws.push((state) => {
      const same = state.mask.join() === mask.join();
      made.setAttribute("aria-pressed", String(same));
      made.style.boxShadow = same ? `inset 0 -3px ${ORANGE}` : "";
    });
  }
}

// a map with names on both sides: its box, and the cell at a point
function framed(queries, keys) {
  const longest = (names) => Math.min(90, 8 + 7 * Math.max(...names.map((name) => name.length)));
  const [left, top] = [Math.max(56, longest(queries)), 38 + longest(keys)];
  const cell = Math.min(44, SIDE / Math.max(queries.length, keys.length));
  const box = { x: left, y: top, width: cell * keys.length, height: cell * queries.length };
  const at = (x, y) => {
    const [row, column] = [Math.floor((y - top) / cell), Math.floor((x - left) / cell)];
    return row in queries && column in keys ? { row, column } : null;
  };
  return { box, cell, at, wide: Math.max(left + box.width + 54, 270) };
}

function frame(context, { box, cell, queries, keys }, state, heading) {
  cellNames(context, box, queries, keys);
  context.font = "bold 13px system-ui, sans-serif";
  context.fillStyle = context.ink;
  context.fillText(heading, 2, 13);
  context.font = "italic 12px system-ui, sans-serif";
  context.fillText("key →", box.x, 31);
  context.fillText("query ↓", 2, box.y - 6);
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = ORANGE;
  context.lineWidth = 3;
  context.strokeRect(box.x + state.column * cell, box.y + state.row * cell, cell, cell);
}

function crossed(context, x, y, wide, high) {
  hatchCell(context, x, y, wide, high);
  const size = Math.max(2, Math.min(wide, high) / 7);
  context.strokeStyle = "#000";
  context.lineWidth = Math.max(1.2, size / 3);
  context.beginPath();
  for (const way of [-size, size]) {
    context.moveTo(x + wide / 2 - size, y + high / 2 - way);
    context.lineTo(x + wide / 2 + size, y + high / 2 + way);
  }
  context.stroke();
}

function painter(view, shared, change) {
  const { queries, keys, may, box, cell, at, wide, grid } = shared;
  const square = (context, row, column, open) => {
    const [x, y] = [box.x + column * cell, box.y + row * cell];
    if (!open) return crossed(context, x + 0.5, y + 0.5, cell - 1, cell - 1);
    context.fillStyle = `${BLUE}33`;
    context.fillRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    context.fillStyle = context.ink;
    context.beginPath();
    context.arc(x + cell / 2, y + cell / 2, Math.max(1.5, cell / 9), 0, 7);
    context.fill();
  };
  const made = canvas(view, {
    width: wide,
    height: box.y + box.height + 6,
    label: "the mask: arrow keys move, Space or Enter allows and forbids, a pointer paints",
    grid,
    draw(context, state) {
      queries.forEach((_, row) =>
        keys.forEach((_, column) => square(context, row, column, may(state, row, column))),
      );
      frame(context, shared, state, "mask: who may attend to whom");
    },
  });
  Object.assign(made.style, { touchAction: "none", cursor: "crosshair" });
  const paint = (cells, one) => change(painted(view.state.mask, cells, one));
  let last = null; // the last painted cell
  const drag = ({ type, buttons, offsetX, offsetY }) => {
    const scale = wide / made.getBoundingClientRect().width;
    const here = buttons & 1 ? at(offsetX * scale, offsetY * scale) : null;
    const from = type === "pointerdown" ? here : (last ?? here); // a touch may start anywhere
    if (here) paint(between(from, here), view.state.brush === "allow" ? "1" : "0");
    last = here;
  };
  const toggle = (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    paint([view.state], may(view.state, view.state.row, view.state.column) ? "0" : "1");
  };
  for (const [event, act] of [["pointerdown", drag], ["pointermove", drag], ["keydown", toggle]])
    made.addEventListener(event, act, { signal: view.signal });
}

function result(view, shared) {
  const { queries, keys, may, found, free, box, cell, wide, grid } = shared;
  const right = box.x + box.width + 8;
  const below = { ...box, y: box.y + box.height + 58 };
  canvas(view, {
    width: wide,
    height: below.y + 92,
    label: "the attention weights that the mask leaves, each row with its sum",
    grid,
    draw(context, state) {
      const { row } = state;
      const values = found(state);
      const shown = (query, key) => (may(state, query, key) ? values[query][key] : null);
      heatmap(context, box, queries.length, keys.length, shown);
      frame(context, shared, state, "weights: softmax of what is allowed");
      context.fillText(`query ${row} “${queries[row]}”`, 2, below.y - 28);
      bars(context, below, free[row], values[row], (key) => may(state, row, key));
      context.fillStyle = context.ink;
      context.fillText("sum", right, box.y - 6);
      values.forEach((line, query) => {
        const sum = line.reduce((total, value) => total + value, 0);
        const y = box.y + (query + 0.5) * cell + 4;
        context.fillStyle = context.ink;
        context.font = `${sum ? "" : "bold "}${Math.min(12, cell)}px system-ui, sans-serif`;
        context.fillText(sum ? sum.toFixed(2) : "empty", right, y);
        line.forEach((value, key) => {
          context.fillStyle = value < 0.46 ? "#fff" : "#000";
          if (cell >= 30 && may(state, query, key))
            context.fillText(value.toFixed(2), box.x + (key + 0.5) * cell - 13.5, y);
        });
      });
    },
  });
}

// one row of weights below its columns, with and without the mask
function bars(context, { x: left, y: top, width }, before, after, open) {
  const [high, wide] = [70, width / before.length];
  const gap = wide > 16 ? 4 : 1;
  context.fillText("outlined: without a mask, filled: with it", 2, top - 10);
  context.fillText("1", left - 12, top + 10);
  context.fillText("0", left - 12, top + high);
  context.fillText("weight", 2, top + high / 2);
  context.fillRect(left, top + high, width, 1);
  before.forEach((one, column) => {
    const x = left + column * wide + gap / 2;
    context.fillStyle = BLUE;
    context.fillRect(x, top + high * (1 - after[column]), wide - gap, high * after[column]);
    context.strokeStyle = context.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x, top + high * (1 - one), wide - gap, high * one);
    if (!open(column)) crossed(context, x, top + high + 4, wide - gap, 12);
  });
}

export default { render };
