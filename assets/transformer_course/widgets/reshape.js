// Reshape: the path of a number from x to the heads and into the merged tensor.
const WIDTH = 930; // maximum width of all three stages in CSS pixels
const [TOP, APART, BETWEEN] = [64, 34, 6]; // above the grids; between stages; between heads
const TITLE = 175; // width of a stage's title
const CHOSEN = "#d55e00";
const DARK = "#111"; // text on the tints, which are light in every theme

/** The letter that distinguishes a head from others of the same colour. */
export const letter = (head) => String.fromCharCode(65 + head);

/** The indices of element `at` of a tensor of this shape, in row-major order. */
export function indices(at, shape) {
  const found = [];
  for (const size of [...shape].reverse()) {
    found.unshift(at % size);
    at = Math.floor(at / size);
  }
  return found;
}

/** The position of each number. */
export function places(numbers) {
  const found = new Int32Array(numbers.length);
  numbers.forEach((number, at) => (found[number] = at));
  return found;
}

/** Heads by `view` alone, which keeps the order of numbers, and the same merge of them. */
export function viewed(heads, merged) {
  const from = places(heads);
  return { heads: Float32Array.from(heads, (_, at) => at), merged: merged.map((n) => from[n]) };
}

/** Errors: numbers of another token, and numbers that merge does not restore. */
export function found(heads, merged, shape, whole) {
  const [, length, d_model] = whole;
  const said = [];
  const strange = [...heads.keys()].find((at) => {
    const [entry, , position] = indices(at, shape);
    return Math.floor(heads[at] / d_model) !== entry * length + position;
  });
  if (strange !== undefined) {
    const [entry, head, position] = indices(strange, shape);
    const token = indices(heads[strange], whole).slice(0, 2).join(", ");
    const where = `heads[${entry}, ${head}, ${position}]`;
    said.push(`tokens mixed: ${where} has numbers of x[${token}], not of x[${entry}, ${position}]`);
  }
  const away = [...merged.keys()].filter((at) => merged[at] !== at);
  const more = away.length > 1 ? ` and at ${away.length - 1} more` : "";
  if (!away.length) said.push("merge gives x back");
  else said.push(`merge does not give x back at [${indices(away[0], whole).join(", ")}]${more}`);
  return said.join("; ");
}

/** Describe the path of a number. */
export function way(number, heads, merged, shape, whole) {
  const [entry, head, position, feature] = indices(places(heads)[number], shape);
  const of = shape[0] > 1 ? ` of entry ${entry}` : "";
  const back = indices(places(merged)[number], whole);
  return (
    `x[${indices(number, whole).join(", ")}] → head ${head} (${letter(head)})${of}, ` +
    `position ${position}, feature ${feature} → merged[${back.join(", ")}]`
  );
}

function render({ model, el }) {
  const view = open({ model, el });
  const sent = arrays(model);
  const [shape, whole] = [sent.heads.shape, sent.merged.shape];
  const [batch, length, d_model] = whole;
  tick(view, { name: "as_view", label: "as view without transpose" });
  const theirs = { heads: sent.heads.data, merged: sent.merged.data };
  const compared = viewed(theirs.heads, theirs.merged);
  const all = [theirs, compared].map(({ heads, merged }) => {
    const stages = [places(heads).map((_, at) => at), heads, merged];
    const words = found(heads, merged, shape, whole);
    return { stages, at: stages.map(places), words };
  });
  const shown = (state) => all[state.as_view ? 1 : 0];
  const chosen = (state) => state.row * d_model + state.column;
  const tell = (state) => {
    const { stages, words } = shown(state);
    return `${way(chosen(state), stages[1], stages[2], shape, whole)}; ${words}`;
  };
  stagesOf(view, { shape, whole, shown, chosen, tell });
  const hint = "Orange frame: the chosen number. Dark frames: all numbers of its token.";
  const legend = make("div", { textContent: hint });
  legend.style.flexBasis = "100%";
  view.stage.append(legend);
  if (batch * length * d_model <= 100) {
    const names = (count, name) => Array.from({ length: count }, (_, i) => name(i));
    const rows = names(batch * length, (i) => `x[${indices(i, [batch, length]).join(", ")}]`);
    const columns = names(d_model, String);
    table(view, rows, columns, (row, column, state) => {
      const at = shown(state).at[1][row * d_model + column];
      return `heads[${indices(at, shape).join(", ")}]`;
    });
  }
  view.draws.push((state) => view.told.textContent !== tell(state) && view.say(tell(state)));
  return view.close;
}

// the position of each element of each stage, and the left edges of the stages
function layout(shape, whole) {
  const [batch, length, d_model] = whole;
  const [, heads, , d_head] = shape;
  const side = batch > 1 ? 34 : 22;
  const free = WIDTH - side - 2 * APART - BETWEEN * (heads - 1);
  const cell = Math.min(36, Math.floor(free / (3 * d_model)));
  const middle = side + Math.max(d_model * cell, TITLE) + APART;
  const right = middle + Math.max(d_model * cell + BETWEEN * (heads - 1), TITLE) + APART;
  const y = (entry, position) => TOP + entry * (length * cell + 12) + position * cell;
  const grid = (left) => (at) => {
    const [entry, position, feature] = indices(at, whole);
    return { x: left + feature * cell, y: y(entry, position) };
  };
  const inHeads = (at) => {
    const [entry, head, position, feature] = indices(at, shape);
    const x = middle + head * (d_head * cell + BETWEEN) + feature * cell;
    return { x, y: y(entry, position) };
  };
  const [width, height] = [right + Math.max(d_model * cell, TITLE) + 4, y(batch - 1, length) + 6];
  const [lefts, of] = [[side, middle, right], [grid(side), inHeads, grid(right)]];
  return { width, height, cell, side, lefts, of };
}

function stagesOf(view, { shape, whole, shown, chosen, tell }) {
  const [batch, length, d_model] = whole;
  const count = batch * length * d_model;
  const place = layout(shape, whole);
  const { cell, of, width, height } = place;
  const tints = view.model.get("options").tints;
  const pointed = (x, y) => {
    const { stages } = shown(view.state);
    for (let stage = 0; stage < 3; stage++)
      for (let at = 0; at < count; at++) {
        const corner = of[stage](at);
        if (x < corner.x || x >= corner.x + cell || y < corner.y || y >= corner.y + cell) continue;
        const number = stages[stage][at];
        return { row: Math.floor(number / d_model), column: number % d_model };
      }
    return null;
  };
  canvas(view, {
    width,
    height,
    label: "x, its heads and what merge gives: arrow keys choose a number of x",
    grid: { place: ["row", "column"], rows: batch * length, columns: d_model, at: pointed, tell },
    draw(context, state) {
      const { stages, at } = shown(state);
      const number = chosen(state);
      titles(context, place, shape, whole, state.as_view);
      const cells = stages.flatMap((numbers, stage) =>
        Array.from(numbers, (value, i) => {
          const head = indices(at[1][value], shape)[1];
          return { ...of[stage](i), value, head };
        }),
      );
      const path = of.map((corner, stage) => corner(at[stage][number]));
      const arrows = () => [1, 2].forEach((to) => arrow(context, path[to - 1], path[to], cell));
      if (cell < 16) arrows(); // behind the cells if these are small
      for (const { x, y, value, head } of cells) {
        context.fillStyle = tints[head % tints.length];
        context.fillRect(x, y, cell - 1, cell - 1);
        if (Math.floor(value / d_model) !== state.row) continue;
        frame(context, { x, y }, cell, DARK, cell < 16 ? 0 : 1, cell < 16 ? 1 : 2);
      }
      if (cell >= 16) arrows();
      for (const one of cells) text(context, one, cell);
      for (const corner of path) frame(context, corner, cell, CHOSEN, -1, Math.min(4, cell / 4));
    },
  });
}

// the letter above the number; only the letter if both do not fit
function text(context, { x, y, value, head }, cell) {
  context.fillStyle = DARK;
  context.textAlign = "center";
  if (cell < 20) {
    context.font = `${Math.max(7, cell - 4)}px system-ui, sans-serif`;
    context.fillText(letter(head), x + cell / 2, y + cell - 3);
    return;
  }
  context.font = `${Math.min(13, cell / 2.1)}px system-ui, sans-serif`;
  context.fillText(value, x + cell / 2, y + cell - Math.min(7, cell / 5));
  context.font = `${Math.min(10, cell / 2.5)}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.fillText(letter(head), x + 5, y + Math.min(13, cell / 2.1));
}

function frame(context, { x, y }, cell, style, inset, wide) {
  const [shift, side] = [inset + wide / 2, cell - 1 - 2 * inset - wide];
  context.strokeStyle = style;
  context.lineWidth = wide;
  context.strokeRect(x + shift, y + shift, side, side);
}

// from the right edge of one cell to the left edge of another
function arrow(context, from, to, cell) {
  const [endY, head] = [to.y + cell / 2, Math.min(9, cell / 2)];
  context.strokeStyle = context.fillStyle = CHOSEN;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(from.x + cell, from.y + cell / 2);
  context.lineTo(to.x - head + 2, endY);
  context.stroke();
  context.beginPath();
  context.moveTo(to.x, endY);
  context.lineTo(to.x - head, endY - head / 2);
  context.lineTo(to.x - head, endY + head / 2);
  context.fill();
}

function titles(context, { cell, side, lefts, of }, shape, whole, as_view) {
  const [batch, length, d_model] = whole;
  const [, heads, , d_head] = shape;
  context.fillStyle = context.ink;
  const names = ["x", as_view ? "heads by view" : "heads", "merged"];
  const write = (words, x, y, align, font) => {
    [context.textAlign, context.font] = [align, `${font} system-ui, sans-serif`];
    context.fillText(words, x, y);
  };
  [whole, shape, whole].forEach((sizes, stage) => {
    const words = `${names[stage]} (${sizes.join(", ")})`;
    write(words, lefts[stage], 16, "left", "bold 13px");
  });
  for (let head = 0; head < heads; head++) {
    const x = of[1](head * length * d_head).x + (d_head * cell) / 2;
    const words = d_head * cell > 64 ? `head ${head}: ${letter(head)}` : letter(head);
    write(words, x, 38, "center", "bold 12px");
  }
  write("position ↓, feature →", lefts[0], 38, "left", "11px");
  write("position ↓, feature →", lefts[2], 38, "left", "11px");
  for (let row = 0; row < batch * length; row++) {
    const { y } = of[0](row * d_model);
    const [entry, position] = indices(row, [batch, length]);
    const words = batch > 1 ? `${entry}, ${position}` : position;
    write(words, side - 5, y + cell / 2 + 4, "right", `${Math.min(11, cell)}px`);
  }
  if (cell < 14) return;
  for (let column = 0; column < d_model; column++) {
    for (const stage of [0, 2])
      write(column, of[stage](column).x + cell / 2, TOP - 5, "center", "10px");
    const x = of[1](Math.floor(column / d_head) * length * d_head + (column % d_head)).x;
    write(column % d_head, x + cell / 2, TOP - 5, "center", "10px");
  }
}

export default { render };
