// Alignments: two columns of tokens joined by lines as strong as the weights, beside the matrix.
const SIDE = 440; // maximum size of the matrix, in CSS pixels, unless there are many tokens
const GAP = 170; // between the two columns of tokens
const NUMBERS = 76; // for the chosen output's weights, as bars and numbers
const BAR = 38;
const OTHERS = "#0072b2";
const CHOSEN = "#d55e00";
const FAINT = 0.01; // lines of smaller weights are left out

/** One pair's weights by one head: sizes, tokens, the chosen cell, and `weight(row, column)`. */
export function mapped(pairs, { pair, layer, head, row, column }) {
  const { shape, value, outputs, sources } = pairs[pair];
  const [, heads, rows, columns] = shape;
  const start = (layer * heads + head) * rows * columns;
  const chosen = { row: Math.min(row, rows - 1), column: Math.min(column, columns - 1) };
  const weight = (r, c) => value(start + r * columns + c);
  return { rows, columns, outputs, sources, ...chosen, weight };
}

/** The sources of an output token with their weights, the largest first. */
export function ranked({ columns, sources, weight }, row) {
  return Array.from({ length: columns }, (_, column) => ({
    column, name: sources[column], weight: weight(row, column),
  })).sort((one, other) => other.weight - one.weight);
}

/** Describe the chosen output token and the chosen source token; `exact` weights have a sum. */
export function described(map, exact) {
  const { row, column, outputs, sources, weight } = map;
  const all = ranked(map, row);
  const most = all.slice(0, 3).map((one) => `“${one.name}” ${one.weight.toFixed(2)}`);
  const sum = all.reduce((total, one) => total + one.weight, 0);
  const wrong = Math.abs(sum - 1) > 0.01 ? "⚠ " : "";
  const said = exact ? `; ${wrong}all its weights sum to ${sum.toFixed(2)}` : "";
  const cell = `weight on source ${column} “${sources[column]}”: ${weight(row, column).toFixed(3)}`;
  return `output ${row} “${outputs[row]}” attends most to ${most.join(", ")}; ${cell}${said}`;
}

/** The name of a pair in a list: its tokens, cut if there are many. */
export function pairName({ outputs, sources }, number) {
  const text = (tokens) => tokens.join(tokens.every((token) => token.length === 1) ? "" : " ");
  const cut = (one) => (one.length > 28 ? `${one.slice(0, 27)}…` : one);
  return `${number}: ${cut(text(sources))} → ${cut(text(outputs))}`;
}

/** How all is placed: the room for names, the height of a row, the box of the matrix. */
export function placed(pairs) {
  const most = (list) => Math.max(...list);
  const longest = (side) => most(pairs.flatMap((one) => one[side].map((name) => name.length)));
  // at least as wide as the headings
  const room = (side) => Math.max(50, Math.min(90, 10 + 7 * longest(side)));
  const [left, right] = [room("sources"), room("outputs")];
  const [rows, columns] = ["outputs", "sources"].map((side) =>
    most(pairs.map((one) => one[side].length)),
  );
  const cell = Math.max(10, Math.min(24, SIDE / Math.max(rows, columns)));
  const top = 26 + left;
  return { left, right, rows, columns, cell, top, height: top + cell * Math.max(rows, columns) + 6 };
}

function render({ model, el }) {
  const view = open({ model, el });
  const { outputs, sources } = model.get("options");
  const pairs = Object.values(arrays(model)).map((one, i) => ({
    ...one, outputs: outputs[i], sources: sources[i],
  }));
  const exact = pairs.every(({ data }) => data instanceof Float32Array);
  const [layers, heads] = pairs[0].shape;
  const listed = (name, count, text) => {
    if (count < 2) return null;
    return choice(view, { name, label: name, options: Array.from({ length: count }, (_, i) => [i, text(i)]) });
  };
  // what was chosen in a longer pair may not be in this one
  const within = () => {
    const { row, column } = mapped(pairs, view.state);
    view.set({ row, column });
  };
  const pair = listed("pair", pairs.length, (i) => pairName(pairs[i], i));
  pair?.addEventListener("change", within, { signal: view.signal });
  listed("layer", layers, (i) => `layer ${i}`);
  listed("head", heads, (i) => `head ${i}`);
  tick(view, { name: "all", label: "lines of all output tokens" });

  const places = placed(pairs);
  const now = () => mapped(pairs, view.state);
  const tell = (state) => described(mapped(pairs, state), exact);
  const grid = (at) => ({
    place: ["row", "column"],
    get rows() {
      return now().rows;
    },
    get columns() {
      return now().columns;
    },
    at: (x, y) => at(now(), x, y),
    tell,
  });
  lines(view, pairs, places, grid);
  matrix(view, pairs, places, grid);
  view.draws.push((state) => view.say(tell(state)));
  if (places.rows * places.columns <= 400) {
    const names = { outputs: [], sources: [] }; // of the chosen pair
    view.draws.push((state) => {
      const map = mapped(pairs, state);
      for (const side in names) names[side].splice(0, Infinity, ...map[side]);
    });
    table(view, names.outputs, names.sources, (row, column, state) =>
      brief(mapped(pairs, state).weight(row, column)));
  }
  return view.close;
}

// the two columns of tokens, and at the left the chosen output's weights
function lines(view, pairs, { left, right, cell, top, height }, grid) {
  const from = NUMBERS + left;
  const to = from + GAP;
  // the shorter column stands beside the middle of the longer one
  const start = (map, side) => top + ((Math.max(map.rows, map.columns) - map[`${side}s`]) / 2) * cell;
  const middles = (map) => {
    const [row, column] = [start(map, "row"), start(map, "column")];
    return { row: (i) => row + (i + 0.5) * cell, column: (i) => column + (i + 0.5) * cell };
  };
  canvas(view, {
    width: to + right,
    height,
    label: "source tokens and output tokens, joined by lines as strong as the weights",
    grid: grid((map, x, y) => {
      const side = x < from + 10 ? "column" : x > to - 10 ? "row" : null;
      const i = side && Math.floor((y - start(map, side)) / cell);
      if (!side || i < 0 || i >= map[`${side}s`]) return null;
      return { row: map.row, column: map.column, [side]: i };
    }),
    draw(context, state) {
      const map = mapped(pairs, state);
      context.textBaseline = "middle";
      const middle = middles(map);
      const order = [...Array(map.rows).keys()].filter((row) => row !== map.row);
      for (const row of state.all ? [...order, map.row] : [map.row])
        joined(context, map, row, [from + 4, to - 4], middle);
      names(context, map, middle, { from, to, cell, left, right });
      headed(context, from, to, top);
      for (let column = 0; column < map.columns; column++)
        weightBar(context, map.weight(map.row, column), middle.column(column), cell);
    },
  });
}

function joined(context, map, row, [from, to], middle) {
  const chosen = row === map.row;
  context.save();
  context.strokeStyle = chosen ? CHOSEN : OTHERS;
  for (let column = 0; column < map.columns; column++) {
    const weight = Math.max(0, Math.min(1, map.weight(row, column)));
    if (weight < FAINT) continue;
    context.globalAlpha = chosen ? 0.25 + 0.75 * weight : 0.1 + 0.65 * weight;
    context.lineWidth = 0.5 + 5 * weight;
    context.beginPath();
    context.moveTo(from, middle.column(column));
    context.lineTo(to, middle.row(row));
    context.stroke();
  }
  context.restore();
}

function names(context, map, middle, { from, to, cell, left, right }) {
  const write = (name, y, chosen, x, room) => {
    context.font = `${chosen ? "bold " : ""}${Math.min(13, cell)}px system-ui, sans-serif`;
    context.fillText(name, x, y, room);
  };
  context.fillStyle = context.ink;
  context.textAlign = "right";
  map.sources.forEach((name, i) => write(name, middle.column(i), i === map.column, from - 2, left - 6));
  context.textAlign = "left";
  map.outputs.forEach((name, i) => write(name, middle.row(i), i === map.row, to + 2, right - 6));
}

function headed(context, from, to, top) {
  context.font = "italic 12px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText("source", from - 2, top - 14);
  context.textAlign = "left";
  context.fillText("output", to + 2, top - 14);
  context.fillText("weights", 2, top - 14);
}

function weightBar(context, weight, y, cell) {
  context.save();
  context.fillStyle = CHOSEN;
  const wide = BAR * Math.max(0, Math.min(1, weight));
  context.fillRect(NUMBERS - 2 - BAR, y - Math.min(10, cell - 2) / 2, wide, Math.min(10, cell - 2));
  context.fillStyle = context.ink;
  context.font = `${Math.min(12, cell)}px system-ui, sans-serif`;
  context.textAlign = "right";
  context.fillText(weight.toFixed(2), NUMBERS - 6 - BAR, y);
  context.restore();
}

function matrix(view, pairs, { left, right, rows, columns, cell, top, height }, grid) {
  const boxed = ({ rows, columns }) =>
    ({ x: right + 18, y: top, width: cell * columns, height: cell * rows, rows, columns });
  canvas(view, {
    width: right + 24 + Math.max(150, cell * columns),
    height: Math.min(height, top + cell * rows + 6),
    label: "the same weights as a matrix: a row for each output token, a column for each source",
    grid: grid((map, x, y) => cellAt(boxed(map), x, y)),
    draw(context, state) {
      const map = mapped(pairs, state);
      const box = boxed(map);
      heatmap(context, box, map.rows, map.columns, map.weight);
      cellNames(context, box, map.outputs, map.sources);
      outline(context, box, { row: map.row }, CHOSEN, 2);
      outline(context, box, map, CHOSEN, 3);
      context.font = "italic 12px system-ui, sans-serif";
      context.fillText("source →", box.x, 12);
      scale(context, box.x + 62, 2);
      context.save();
      context.translate(11, top);
      context.rotate(-Math.PI / 2);
      context.textAlign = "right";
      context.fillText("← output", 0, 0);
      context.restore();
    },
  });
}

// the colours of weights from 0 to 1
function scale(context, x, y) {
  context.save();
  context.font = "11px system-ui, sans-serif";
  context.fillText("0", x, y + 10);
  for (let i = 0; i < 50; i++) {
    context.fillStyle = `rgb(${colour(i / 49)})`;
    context.fillRect(x + 10 + i, y, 1.5, 12);
  }
  context.fillStyle = context.ink;
  context.fillText("1", x + 65, y + 10);
  context.restore();
}

export default { render };
