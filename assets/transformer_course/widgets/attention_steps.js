// Attention step by step: each product is right of its left factor and below its right one.
const ROOM = 940; // maximum width in CSS pixels
const NEAR = 0.002; // weights closer than this look equal with the decimals shown
const counting = (size) => Array.from({ length: size }, (_, i) => String(i));
const SAID = {
  scores: () => "Query times key, feature by feature, added up: how well do the two match?",
  scaled: (root) => `Each score is divided by √d_k = ${root}: width alone shall not count.`,
  plain: () => "The division is left out: the scores stay as large as they are.",
  masked: () => "Where a query may not attend (hatched), its score becomes −∞.",
  weights: () => "Softmax makes each row positive, with the sum 1. These are your weights.",
  output: () => "Each row of your weights blends the values. This is your output.",
};

/** All dot products: (rows, columns) from (rows, width) and (columns, width). */
export function products(query, key, rows, columns, width) {
  return Float64Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    let sum = 0;
    for (let f = 0; f < width; f++) sum += query[row * width + f] * key[column * width + f];
    return sum;
  });
}

/** Softmax of each row of scores; 0 where masked. */
export function shared(scores, rows, columns, may) {
  const found = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const own = Array.from({ length: columns }, (_, c) => row * columns + c).filter(may);
    const most = Math.max(...own.map((i) => scores[i]));
    const sum = own.reduce((total, i) => total + Math.exp(scores[i] - most), 0);
    for (const i of own) found[i] = Math.exp(scores[i] - most) / sum;
  }
  return found;
}

/** The cells in which two tables differ visibly with two decimals. */
export const unequal = (yours, ours) =>
  Array.from(ours, (one, i) => Math.abs(one - yours[i]) > NEAR);

/** "1·2 + 0·(−1)"; with many products, only the first and the last. */
export function spelled(left, right) {
  const factor = (value) => (short(value).startsWith("−") ? `(${short(value)})` : short(value));
  const terms = Array.from(left, (one, i) => `${factor(one)}·${factor(right[i])}`);
  return (terms.length > 6 ? [...terms.slice(0, 4), "…", terms.at(-1)] : terms).join(" + ");
}

function render({ model, el }) {
  const view = open({ model, el });
  const sent = arrays(model);
  const { queries, keys } = model.get("options");
  const [[rows, width], [columns, depth]] = [sent.query.shape, sent.value.shape];
  const may = (i) => !sent.mask || sent.mask.data[i] === 1;
  const scores = products(sent.query.data, sent.key.data, rows, columns, width);
  const divided = scores.map((score) => score / Math.sqrt(width));
  const [given, bare] = [divided, scores].map((one) => shared(one, rows, columns, may));
  const turned = Float64Array.from(sent.value.data, (_, i) =>
    sent.value.data[(i % columns) * depth + Math.floor(i / columns)]);
  const blended = products(sent.weights.data, turned, rows, depth, columns);
  const yours = sent.weights.data;
  const wrong = { weights: unequal(yours, given), output: unequal(sent.output.data, blended) };
  const differs = wrong.weights.includes(true);
  const unscaled = differs && !unequal(yours, bare).includes(true);
  const stages = ["scores", "scaled", ...(sent.mask ? ["masked"] : []), "weights", "output"];
  const about = { sent, queries, keys, rows, columns, width, depth, stages, may, wrong };
  Object.assign(about, { scores, divided, given, bare, differs });
  const root = `√${width} = ${short(Math.sqrt(width))}`;
  const text = (at) => `${at} of ${stages.length}: ${stages[at - 1]}`;
  const moved = slider(view, { name: "step", label: "step", min: 1, max: stages.length, text });
  moved.parentElement.lastChild.style.minWidth = "8.5em";
  tick(view, { name: "scaled", label: "scaled (divide by √d_k)" });
  const options = counting(depth).map((name, i) => [i, name]);
  const feature = choice(view, { name: "feature", label: "output feature", options });
  const sentence = make("div", { style: "min-height: 2.8em; margin-bottom: 4px" });
  view.stage.before(sentence);
  const remark = (name, { scaled }) => {
    if (name === "output" && wrong.output.includes(true))
      return "◥ your output differs here from what your weights make of the values.";
    if (name !== "weights" && name !== "output") return "";
    if (unscaled && !scaled) return "Your weights are these: does your code divide by √d_k?";
    if (differs) return "◥ your weights differ here from what the steps give.";
    return scaled ? "" : "Below yours: what they would be without the division.";
  };
  const tell = (state) => followed(about, stages[state.step - 1], state);
  strip(view, about, tell);
  view.draws.push((state) => {
    const name = stages[state.step - 1];
    feature.parentElement.style.display = name === "output" ? "" : "none";
    const said = SAID[name === "scaled" && !state.scaled ? "plain" : name];
    sentence.textContent = `${said(root)} ${remark(name, state)}`;
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  table(view, queries, keys, (row, column, state) => {
    const at = row * columns + column;
    return `${short(yours[at])}; computed here ${short((state.scaled ? given : bare)[at])}`;
  });
  return view.close;
}

// the computation of the chosen cell up to this step
function followed({ sent, queries, keys, columns, width, depth, may, ...about }, name, state) {
  const { row, column, feature, scaled } = state;
  const at = row * columns + column;
  const weights = sent.weights.data.slice(row * columns, (row + 1) * columns);
  if (name === "output") {
    const values = keys.map((_, i) => sent.value.data[i * depth + feature]);
    const sum = values.reduce((total, value, i) => total + value * weights[i], 0);
    const said = `output “${queries[row]}”, feature ${feature}: weight · value, over the keys`;
    const yours = short(sent.output.data[row * depth + feature]);
    return `${said} = ${spelled(weights, values)} = ${short(sum)}; yours ${yours}`;
  }
  const of = (part, i) => part.data.slice(i * width, (i + 1) * width);
  const sum = `${spelled(of(sent.query, row), of(sent.key, column))} = ${short(about.scores[at])}`;
  const said = [`query “${queries[row]}” · key “${keys[column]}” = ${sum}`];
  if (name !== "scores")
    said.push(scaled ? `÷ √${width} = ${short(about.divided[at])}` : "not divided");
  if (!["scores", "scaled"].includes(name) && !may(at)) said.push("masked: −∞");
  if (name === "weights") {
    const ours = short((scaled ? about.given : about.bare)[at]);
    said.push(`softmax over the row: ${ours}`, `your weight ${short(weights[column])}`);
  }
  return said.join("; ");
}

// the position of each matrix at a step: all matrices if they fit, else those of the step
function layout({ queries, keys, rows, columns, width, depth, stages }, at) {
  const size = (name) => ({ query: width, output: depth })[name] ?? columns;
  const long = (names) => Math.min(90, 14 + 8 * Math.max(...names.map((name) => name.length)));
  const [left, names] = [Math.max(60, long(queries)), long(keys)];
  const gap = (name) => ({ scores: 34, output: 52 + names })[name] ?? 56;
  const fitted = (shown) => {
    const gaps = shown.slice(1).reduce((sum, name) => sum + gap(name), left + 10);
    return Math.min(52, (ROOM - gaps) / shown.reduce((sum, name) => sum + size(name), 0));
  };
  let shown = ["query", ...stages];
  if (fitted(shown) < 32) shown = shown.slice(at - 1, at + 1);
  const [wide, high] = [fitted(shown), rows + columns <= 14 ? 28 : 21];
  const flat = names <= wide + 10; // horizontal column names, if they fit
  const head = flat ? 20 : names;
  const most = Math.max(...shown.map((name) => ({ query: width, output: columns })[name] ?? 0));
  const bottom = most ? 20 + head + most * high + 16 : head + 4;
  const boxes = {};
  const box = (x, y, across, down) =>
    ({ x, y, columns: across, rows: down, width: across * wide, height: down * high });
  const over = ({ x, columns: across }, down) => box(x, bottom - 16 - down * high, across, down);
  let x = left;
  for (const name of shown) {
    if (name !== shown[0]) x += gap(name);
    boxes[name] = box(x, bottom, size(name), rows);
    x += boxes[name].width;
  }
  if (boxes.query) boxes.key = over(boxes.scores, width);
  if (boxes.output) boxes.value = over(boxes.output, columns);
  const under = bottom + rows * high + 24;
  if (boxes.weights) boxes.beside = box(boxes.weights.x, under + 22, columns, rows);
  return { shown, boxes, flat, head, under, whole: under + rows * high + 64, across: x + 18 };
}

// each matrix: its numbers (null: masked), the range of its colours, title and columns
function tables({ sent, rows, columns, width, depth, keys, scores, may, ...about }, state, boxes) {
  const table = (values, across, seen = () => true) => (row, column) =>
    seen(row * across + column) ? values[row * across + column] : null;
  const weighed = (values) => table(values, columns, (i) => may(i) || values[i] > NEAR);
  const { query, key, value, output, weights } = sent;
  const shares = { low: 0, high: 1 };
  const scale = { low: Math.min(...scores), high: Math.max(...scores) };
  const blends = { low: Math.min(value.low, output.low), high: Math.max(value.high, output.high) };
  const [now, ours] = state.scaled ? [about.divided, about.given] : [scores, about.bare];
  const said = state.scaled
    ? ["scaled", `÷ √${width}`, "computed here: what the steps give"]
    : ["not scaled", "as it is", "computed here: without ÷ √d_k"];
  return {
    query: [table(query.data, width), query, "query", counting(width)],
    key: [(row, column) => key.data[column * width + row], key, "key, transposed", keys],
    scores: [table(scores, columns), scale, "scores", boxes.key ? [] : keys, "×"],
    scaled: [table(now, columns), scale, said[0], keys, said[1]],
    masked: [table(now, columns, may), scale, "masked", keys, "mask"],
    weights: [weighed(weights.data), shares, "your weights", keys, "softmax"],
    beside: [weighed(ours), shares, said[2], []],
    value: [table(value.data, depth), blends, "value", counting(depth)],
    output: [table(output.data, depth), blends, "your output", [], "× value"],
  };
}

function strip(view, about, tell) {
  const { stages, rows, columns, queries, keys, width, wrong } = about;
  const plans = stages.map((_, i) => layout(about, i + 1));
  const [across, tall] = ["across", "whole"].map((one) => Math.max(...plans.map((p) => p[one])));
  const place = (x, y) => {
    for (const [name, box] of Object.entries(plans[view.state.step - 1].boxes)) {
      const cell = cellAt(box, x, y);
      if (cell && name === "key") return { ...cell, row: view.state.row };
      if (cell && name === "value") return { row: view.state.row, column: cell.row };
      const { column } = ["query", "output"].includes(name) ? view.state : (cell ?? view.state);
      if (cell) return { ...cell, column };
    }
  };
  const made = canvas(view, {
    width: across,
    height: tall,
    label: "the matrices of the steps; arrow keys choose a query (row) and a key (column)",
    grid: { place: ["row", "column"], rows, columns, at: place, tell },
    draw(context, state) {
      const { boxes, shown, flat, head, under, whole } = plans[state.step - 1];
      const reached = (name) => stages.indexOf(name) < state.step;
      const beside = boxes.beside && reached("weights") && (!state.scaled || about.differs);
      made.style.aspectRatio = `${across} / ${beside ? whole : under}`; // no empty space
      const rowNames = { key: counting(width), value: keys, beside: queries, [shown[0]]: queries };
      for (const [name, parts] of Object.entries(tables(about, state, boxes))) {
        const box = boxes[name];
        if (!box || (name === "beside" && !beside)) continue;
        const columnNames = parts[3];
        if (reached(name)) numberMap(context, box, parts[0], parts[1], wrong[name]);
        else outline(context, box, {}, context.ink, 1, [3, 3]);
        const lying = flat || columnNames !== keys;
        cellNames(context, box, rowNames[name] ?? [], columnNames, lying);
        titled(context, box, name, parts, shown[0], lying ? 20 : head);
      }
      followedCells(context, boxes, stages[state.step - 1], state, reached);
    },
  });
  Object.assign(made.style, { objectFit: "cover", objectPosition: "top" });
}

function followedCells(context, boxes, name, { row, column, feature }, reached) {
  const mark = (which, part, line) =>
    boxes[which] && outline(context, boxes[which], part, "#d55e00", line);
  for (const stage of ["scores", "scaled", "masked", "weights"])
    if (reached(stage)) mark(stage, { row, column }, stage === name ? 3 : 2);
  if (name === "weights") mark(boxes.masked ? "masked" : "scaled", { row }, 2);
  mark(name === "output" ? "weights" : "query", { row });
  mark(name === "output" ? "value" : "key", { column: name === "output" ? feature : column });
  if (name === "output") mark("output", { row, column: feature });
}

function titled(context, box, name, [, , title, , how], first, head) {
  context.save();
  const over = name === "key" || name === "value";
  Object.assign(context, { textAlign: over ? "left" : "center", font: "bold 12px system-ui" });
  if (over) context.fillText(title, box.x, box.y - head - 5);
  else context.fillText(title, box.x + box.width / 2, box.y + box.height + 17);
  context.font = "11px system-ui, sans-serif";
  const [x, y] = [box.x - (name === "scores" ? 17 : 28), box.y + box.height / 2];
  if (how && name !== first) context.fillText(how, x, y - 8);
  if (how && name !== first) context.fillText(name === "scores" ? "" : "→", x, y + 7);
  context.textAlign = "right";
  if (over || name === "query") context.fillText("feature", box.x - 5, box.y - 7);
  context.restore();
}

export default { render };
