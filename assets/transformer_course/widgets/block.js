// A block as its data flows: parts and sums, each with the sizes of its tokens.
const WAY = "#0072b2";
const CHOSEN = "#d55e00";
const BAR = "#009e73";
const ROW = 16; // CSS pixels of a token in a box
const HEAD = 22;

/** The root mean square of the numbers from `start` on. */
export function size(data, start, count) {
  let sum = 0;
  for (let i = start; i < start + count; i++) sum += data[i] ** 2;
  return Math.sqrt(sum / count);
}

/** The boxes of nodes in a diagram this wide, and its height: the stream below, branches above. */
export function boxes(nodes, rows, wide) {
  const across = wide / nodes.length;
  const gap = Math.min(30, 0.28 * across);
  const height = HEAD + rows * ROW + 4;
  const below = nodes.some((node) => !node.on_stream) ? height + 34 : 0;
  const placed = nodes.map((node, i) => ({
    x: i * across,
    y: node.on_stream ? below : 0,
    width: across - gap,
    height,
  }));
  return { placed, height: below + height };
}

/** The corners of the way from one box to another: straight on a level, else by a right angle. */
export function way(from, to) {
  const middle = (box) => box.y + box.height / 2;
  const end = [to.x, middle(to)];
  if (from.y === to.y) return [[from.x + from.width, middle(from)], end];
  if (from.y > to.y) {
    const x = from.x + from.width - 10;
    return [[x, from.y], [x, middle(to)], end];
  }
  const x = to.x + 12;
  return [[from.x + from.width, middle(from)], [x, middle(from)], [x, to.y]];
}

/** What a node does, in words: "adds x and attention". */
export function role(nodes, i) {
  const { name, reads } = nodes[i];
  if (name === "x") return "the tokens that the block is given";
  if (!reads.length) return "reads something that no part gave, and no sum of what they gave";
  return `${name === "+" ? "adds" : "reads"} ${reads.map((at) => naming(nodes, at)).join(" and ")}`;
}

/** A node's name; sums are counted: "sum 1". */
export function naming(nodes, i) {
  if (nodes[i].name !== "+") return nodes[i].name;
  return `sum ${nodes.slice(0, i + 1).filter(({ name }) => name === "+").length}`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const { words, nodes, off } = model.get("options");
  const { values } = arrays(model);
  const width = values.shape[4];
  const start = (state, node, token, negated = state.negated, without = state.off) =>
    (((without * (words.length + 1) + negated) * nodes.length + node) * words.length + token) * width;
  const number = (state, node, token, feature) => {
    const at = start(state, node, token) + feature;
    const before = start(state, node, token, 0) + feature;
    return state.negated ? values.data[at] - values.data[before] : values.data[at];
  };
  const shown = (state, node, token) => {
    const row = Float32Array.from({ length: width }, (_, i) => number(state, node, token, i));
    return size(row, 0, width);
  };
  const tell = (state) => {
    const { node, token, negated } = state;
    const own = size(values.data, start(state, node, token, 0), width);
    const part = `${naming(nodes, node)} (${role(nodes, node)}), token “${words[token]}”`;
    if (!negated) return `${part}: size (root mean square) ${short(own)}`;
    const changed = shown(state, node, token);
    return `${part}: ${changed < 1e-5 ? "not changed" : `changed by ${short(changed)}`}`;
  };
  const choose = (names) => names.map((name, i) => [i, name]);
  choice(view, { name: "off", label: "switch off", options: choose(off) });
  const negate = choose(["no token", ...words]);
  choice(view, { name: "negated", label: "show what changes if you negate", options: negate });
  diagram(view, { nodes, words, shown, tell });
  map(view, { nodes, words, width, number });
  view.draws.push((state) => {
    const told = tell(state);
    if (view.told.textContent !== told) view.say(told);
  });
  const names = nodes.map((_, i) => naming(nodes, i));
  table(view, words, names, (token, node, state) => short(shown(state, node, token)));
  return view.close;
}

// boxes with a bar for the size of each token, or of its change
function diagram(view, { nodes, words, shown, tell }) {
  const left = 8 + Math.min(80, 7 * Math.max(...words.map((word) => word.length)));
  const { placed, height } = boxes(nodes, words.length, 900 - left);
  const inside = (box) => ({ ...box, x: box.x + left, y: box.y + 4 });
  const at = (x, y) => {
    const node = placed.findIndex((one) => cellAt({ ...inside(one), rows: 1, columns: 1 }, x, y));
    if (node < 0) return null;
    const token = Math.floor((y - inside(placed[node]).y - HEAD) / ROW);
    return { row: Math.max(0, Math.min(words.length - 1, token)), column: node };
  };
  canvas(view, {
    width: 900,
    height: height + 8,
    label: "the block: arrow keys move through its parts and the tokens",
    grid: { place: ["token", "node"], rows: words.length, columns: nodes.length, at, tell },
    draw(context, state) {
      const all = nodes.map((_, node) => words.map((_, token) => shown(state, node, token)));
      const most = Math.max(1e-6, ...all.flat());
      const drawn = placed.map(inside);
      nodes.forEach(({ reads }, i) => {
        for (const from of reads) arrow(context, way(drawn[from], drawn[i]));
      });
      drawn.forEach((box, i) => part(context, box, naming(nodes, i), all[i], most));
      words.forEach((word, token) => {
        context.textAlign = "right";
        context.fillStyle = context.ink;
        const y = drawn[0].y + HEAD + (token + 0.75) * ROW;
        context.fillText(word, left - 6, y, left - 8);
      });
      const box = drawn[state.node];
      Object.assign(context, { strokeStyle: CHOSEN, lineWidth: 3 });
      context.strokeRect(box.x, box.y, box.width, box.height);
      context.strokeRect(box.x + 2, box.y + HEAD + state.token * ROW, box.width - 4, ROW);
    },
  });
}

function part(context, box, name, amounts, most) {
  context.save();
  context.clearRect(box.x, box.y, box.width, box.height);
  context.strokeStyle = context.ink;
  context.strokeRect(box.x, box.y, box.width, box.height);
  context.textAlign = "center";
  context.font = "bold 12px system-ui, sans-serif";
  context.fillText(name, box.x + box.width / 2, box.y + 15, box.width - 6);
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "right";
  amounts.forEach((amount, token) => {
    const y = box.y + HEAD + token * ROW;
    const room = box.width - 40;
    context.fillStyle = BAR;
    context.fillRect(box.x + 4, y + 3, (room * amount) / most, ROW - 6);
    context.fillStyle = context.ink;
    context.fillText(amount < 1e-5 ? "0" : amount.toFixed(2), box.x + box.width - 4, y + 12);
  });
  context.restore();
}

function arrow(context, corners) {
  context.save();
  context.strokeStyle = context.fillStyle = WAY;
  context.lineWidth = 2;
  context.beginPath();
  for (const corner of corners) context.lineTo(...corner);
  context.stroke();
  const [[fromX, fromY], [x, y]] = corners.slice(-2);
  context.translate(x, y);
  context.rotate(Math.atan2(y - fromY, x - fromX));
  context.beginPath();
  for (const corner of [[0, 0], [-8, -4], [-8, 4]]) context.lineTo(...corner);
  context.fill();
  context.restore();
}

// the numbers at the chosen node: a token in each row
function map(view, { nodes, words, width, number }) {
  const cell = Math.max(20, Math.min(46, 760 / width));
  const box = { x: 92, y: 40, width: cell * width, height: 22 * words.length };
  Object.assign(box, { rows: words.length, columns: width });
  canvas(view, {
    width: box.x + box.width + 10,
    height: box.y + box.height + 8,
    label: "the features of each token at the chosen place",
    draw(context, state) {
      const what = state.negated ? "what changes at" : "features at";
      context.fillText(`${what} ${naming(nodes, state.node)}`, box.x, 14);
      const value = (token, feature) => number(state, state.node, token, feature);
      const all = words.flatMap((_, t) => Array.from({ length: width }, (_, f) => value(t, f)));
      const limit = Math.max(1e-6, ...all.map(Math.abs));
      numberMap(context, box, value, { low: -limit, high: limit });
      const features = Array.from({ length: width }, (_, feature) => String(feature));
      cellNames(context, box, words, features, true);
      outline(context, box, { row: state.token }, CHOSEN);
    },
  });
}

export default { render };
