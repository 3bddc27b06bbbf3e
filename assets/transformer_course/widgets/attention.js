// Attention maps: an overview of all heads, one or two enlarged, with row and column sums.
const SIDE = 380; // maximum size of an enlarged map, in CSS pixels
const THUMB = 76;

/**
 * One head's weights at a temperature: each row to the power 1/temperature, then normalised.
 * Large maps are subsampled: only every `every`-th row and column.
 */
export function heated(weights, start, rows, columns, temperature, low, high, every = 1) {
  const powers = Float64Array.from({ length: 256 }, (_, i) =>
    Math.max(0, low + (i / 255) * (high - low)) ** (1 / temperature),
  );
  const found = new Float32Array(Math.ceil(rows / every) * Math.ceil(columns / every));
  let at = 0;
  for (let row = 0; row < rows; row += every) {
    const [first, end] = [start + row * columns, start + (row + 1) * columns];
    let sum = 0;
    if (temperature !== 1) for (let i = first; i < end; i++) sum += powers[weights[i]];
    for (let i = first; i < end; i += every) found[at++] = powers[weights[i]] / (sum || 1);
  }
  return found;
}

/** The offset of a head in the array. */
export const headAt = ([, heads, rows, columns], layer, head) =>
  (layer * heads + head) * rows * columns;

function render({ model, el }) {
  const view = open({ model, el });
  const { weights, row_sums, column_sums, mask } = arrays(model);
  const { queries, keys } = model.get("options");
  const [layers, heads, rows, columns] = weights.shape;
  const may = (row, column) => !mask || mask.data[row * columns + column] === 1;
  const shown = (values, every = 1) => {
    const wide = Math.ceil(columns / every);
    const from = (i) => every * (Math.floor(i / wide) * columns + (i % wide));
    return mask ? values.map((one, i) => (mask.data[from(i)] ? one : NaN)) : values;
  };
  const many = (count, name) => Array.from({ length: count }, (_, i) => [i, `${name} ${i}`]);
  if (layers > 1) choice(view, { name: "layer", label: "layer", options: many(layers, "layer") });
  if (heads > 1) {
    choice(view, { name: "head", label: "head", options: many(heads, "head") });
    const compared = [[-1, "nothing"], ...many(heads, "head")];
    choice(view, { name: "compare", label: "compare with", options: compared });
  }
  const temperature = { name: "temperature", label: "temperature", min: 0.1, max: 4, step: 0.1 };
  slider(view, { ...temperature, text: (value) => `${Number(value).toFixed(1)}` });

  let kept = {};
  const head = (state, number, every = 1) => {
    const key = `${state.layer}/${number}/${state.temperature}/${every}`;
    const at = headAt(weights.shape, state.layer, number);
    return (kept[key] ??= heated(
      weights.data, at, rows, columns, state.temperature, weights.low, weights.high, every,
    ));
  };
  view.draws.push(() => {
    if (Object.keys(kept).length > 4 * heads) kept = {};
  });
  const sum = (sums, state, size, at) =>
    sums.value((state.layer * heads + state.head) * size + at);
  const tell = (state) => {
    const { row, column, head: number } = state;
    const value = may(row, column) ? brief(head(state, number)[row * columns + column]) : "masked";
    const sums =
      state.temperature === 1
        ? `; the row sums to ${sum(row_sums, state, rows, row).toFixed(2)}, ` +
          `the column to ${sum(column_sums, state, columns, column).toFixed(2)}`
        : "";
    return `query ${row} “${queries[row]}”, key ${column} “${keys[column]}”: ${value}${sums}`;
  };

  if (heads > 1) thumbnails(view, { heads, rows, columns, head, shown });
  enlarged(view, { which: "head", queries, keys, head, shown, tell });
  if (heads > 1) enlarged(view, { which: "compare", queries, keys, head, shown, tell });
  if (rows * columns <= 400)
    table(view, queries, keys, (row, column, state) =>
      may(row, column) ? brief(head(state, state.head)[row * columns + column]) : "masked",
    );
  return view.close;
}

function thumbnails(view, { heads, rows, columns, head, shown }) {
  const wide = Math.min(heads, 4);
  const size = THUMB + 18;
  const pixels = THUMB * (window.devicePixelRatio || 1);
  const every = Math.max(1, Math.floor(Math.min(rows, columns) / pixels)); // skips cells
  const at = (x, y) => {
    const [row, column] = [Math.floor(y / size), Math.floor(x / size)];
    return column < wide && row * wide + column < heads ? row * wide + column : null;
  };
  const made = canvas(view, {
    width: wide * size,
    height: Math.ceil(heads / wide) * size,
    label: `all ${heads} heads, small`,
    draw(context, state) {
      for (let number = 0; number < heads; number++) {
        const [x, y] = [(number % wide) * size, Math.floor(number / wide) * size];
        const values = shown(head(state, number, every), every);
        const box = { x: x + 4, y: y + 16, width: THUMB, height: THUMB };
        shareMap(context, box, Math.ceil(rows / every), Math.ceil(columns / every), values);
        context.fillText(`head ${number}`, x + 4, y + 12);
        if (number !== state.head) continue;
        context.strokeStyle = "#d55e00";
        context.lineWidth = 3;
        context.strokeRect(x + 3, y + 15, THUMB + 2, THUMB + 2);
      }
    },
  });
  const choose = (event) => {
    const scale = (wide * size) / made.getBoundingClientRect().width;
    const number = at(event.offsetX * scale, event.offsetY * scale);
    if (number !== null) view.set({ head: number });
  };
  made.addEventListener("click", choose, { signal: view.signal });
}

function enlarged(view, { which, queries, keys, head, shown, tell }) {
  const [rows, columns] = [queries.length, keys.length];
  const named = Math.max(rows, columns) <= 32;
  const longest = (names) => Math.min(90, 8 + 7 * Math.max(...names.map((name) => name.length)));
  const [left, top] = named ? [longest(queries), 16 + longest(keys)] : [18, 18];
  const cell = Math.min(36, SIDE / Math.max(rows, columns));
  const box = { x: left, y: top, width: cell * columns, height: cell * rows };
  const place = (x, y) => {
    const cellAt = { row: Math.floor((y - top) / cell), column: Math.floor((x - left) / cell) };
    const within = (value, size) => value >= 0 && value < size;
    return within(cellAt.row, rows) && within(cellAt.column, columns) ? cellAt : null;
  };
  const made = canvas(view, {
    width: left + box.width + 46,
    height: top + box.height + 46,
    label: which === "head" ? "the chosen head's weights" : "the weights of the head beside it",
    grid: { place: ["row", "column"], rows, columns, at: place, tell },
    draw(context, state) {
      made.hidden = state[which] < 0;
      if (made.hidden) return;
      const values = head(state, state[which]);
      shareMap(context, box, rows, columns, shown(values));
      sums(context, box, rows, columns, values);
      context.fillStyle = context.ink;
      context.fillText(`head ${state[which]}`, 2, 12);
      if (named) cellNames(context, box, queries, keys);
      else context.fillText("key →", left + 50, 12);
      context.strokeStyle = "#d55e00";
      context.lineWidth = 2;
      const size = Math.max(cell, 4);
      context.strokeRect(left + state.column * cell, top + state.row * cell, size, size);
    },
  });
}

// bars for the sums, to the right of each row and below each column
function sums(context, box, rows, columns, values) {
  const byRow = new Float32Array(rows);
  const byColumn = new Float32Array(columns);
  for (let i = 0; i < values.length; i++) {
    byRow[Math.floor(i / columns)] += values[i];
    byColumn[i % columns] += values[i];
  }
  const [high, wide] = [box.height / rows, box.width / columns];
  const [right, below] = [box.x + box.width + 4, box.y + box.height + 4];
  const most = Math.max(1, ...byColumn);
  context.fillStyle = "#0072b2";
  byRow.forEach((sum, i) => context.fillRect(right, box.y + i * high, 28 * Math.min(sum, 1.4), high - 0.5));
  byColumn.forEach((sum, i) => context.fillRect(box.x + i * wide, below, wide - 0.5, (28 * sum) / most));
  context.fillStyle = context.ink;
  context.font = "10px system-ui, sans-serif";
  context.fillText("Σ", right, box.y - 3);
  context.fillText("Σ", box.x - 10, below + 12);
  context.font = "12px system-ui, sans-serif";
}

export default { render };
