// A beam search as a tree: what each step keeps, what it drops, and what is returned.
const WIDE = 102; // of a step, in CSS pixels
const HIGH = 42; // of a hypothesis
const BOX = { width: 84, height: 34 };
const TOP = 62;
const OPEN = 1;
const ENDED = 2;
const KEPT = "#0072b2";
const PATH = "#d55e00";
const ordinary = "12px system-ui, sans-serif";

/** The nodes of the tree from the rows that Python sent. */
export function read({ shape, data }, names) {
  const nodes = names.map((name, i) => {
    const [step, parent, sum, score, fate, path] = data.subarray(i * shape[1], (i + 1) * shape[1]);
    return { i, name, step, parent, sum, score, fate, path: path === 1 };
  });
  for (const node of nodes)
    node.text = node.parent > 0 ? `${nodes[node.parent].text} ${node.name}` : node.name;
  return nodes;
}

/** The nodes of each step up to the chosen one, with or without the dropped ones. */
export function columns(nodes, { step, dropped }) {
  const found = Array.from({ length: step + 1 }, () => []);
  for (const node of nodes) if (node.step <= step && (dropped || node.fate)) found[node.step].push(node);
  return found;
}

/** The first step that is drawn if `fit` columns are drawn: the last ones up to the chosen step. */
export const firstShown = (step, fit) => Math.max(0, step + 1 - fit);

/** The chosen node: its column lies among those drawn, its row among those of the column. */
export function chosenIn(found, { column, row }, first) {
  const at = Math.max(first, Math.min(column, found.length - 1));
  return { column: at, row: Math.max(0, Math.min(row, found[at].length - 1)) };
}

const signed = (value) => value.toFixed(2).replace("-", "−");

/** Describe a node: its hypothesis, what became of it, and its scores. */
export function described(node, nodes, { alpha, end }) {
  if (node.step === 0) return `“${node.name}”: here the search begins, with log-probability 0`;
  const fate = ["dropped", "kept, still open", `kept, ended with ${end}`][node.fate];
  const added = signed(node.sum - nodes[node.parent].sum);
  const sum = `log-probability ${signed(node.sum)}, to which “${node.name}” adds ${added}`;
  const score = alpha ? `; score ${signed(node.sum)} / ${node.step}^${alpha} = ${signed(node.score)}` : "";
  return `step ${node.step}, “${node.text}”: ${fate}; ${sum}${score}`;
}

/** Describe a step: how many continuations compete, and what became of them. */
export function summary(nodes, step, { vocab, max_length: longest, alpha }) {
  const count = (at, fate) => nodes.filter((node) => node.step === at && node.fate === fate).length;
  const some = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const before = count(step - 1, OPEN);
  const [kept, ended] = [count(step, OPEN), count(step, ENDED)];
  const rows = `${before === 1 ? "1 open hypothesis" : `${before} open hypotheses`}`;
  const all = `Step ${step}: ${rows} × ${vocab} tokens = ${some(before * vocab, "continuation")}`;
  const said = `${all}; kept: ${kept + ended}, of which ${ended} ended and ${kept} ${kept === 1 ? "stays" : "stay"} open.`;
  const last = Math.max(...nodes.map((node) => node.step));
  if (step < last) return said;
  const stopped = kept && last < longest ? ` The search stops before step ${longest}.` : "";
  const final = nodes.filter(({ fate, step: at }) => fate === ENDED || (fate === OPEN && at === last));
  const best = final.find((node) => node.path);
  if (!best) return said + stopped;
  const by = alpha ? `score ${signed(best.score)}` : `log-probability ${signed(best.score)}`;
  const hypotheses = final.length === 1 ? "hypothesis" : "hypotheses";
  return `${said}${stopped} Of ${final.length} ended or open ${hypotheses}, “${best.text}” is returned: ${by}.`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const options = model.get("options");
  const nodes = read(arrays(model).nodes, options.names);
  const last = nodes.at(-1).step;
  const text = (value) => `${value} of ${last}`;
  // a single step needs no slider
  const steps = last > 1 && slider(view, { name: "step", label: "step", min: 1, max: last, text });
  const dropping = nodes.some(({ fate }) => !fate);
  const dropped = dropping && tick(view, { name: "dropped", label: "the best of the dropped" });
  // the first node of the newest step is chosen
  const newest = () => view.set({ column: view.state.step, row: 0 });
  for (const control of [steps, dropped])
    if (control) control.addEventListener("input", newest, { signal: view.signal });
  for (const fault of options.faults)
    view.told.before(make("div", { textContent: `⚠ ${fault}`, style: "font-weight: 600" }));
  const about = make("p", { style: "margin: 4px 0" });
  view.told.before(about);
  const fit = tree(view, nodes, { ...options, last });
  view.draws.push(({ step }) => {
    const hidden = firstShown(step, fit) ? " Move the slider back to see earlier steps." : "";
    about.textContent = summary(nodes, step, options) + hidden;
  });
  if (nodes.length <= 100) listed(view, nodes.slice(1), options);
  return view.close;
}

function listed(view, nodes, { alpha, end }) {
  const heads = ["step", "what became of it", "log-probability", ...(alpha ? ["score"] : [])];
  table(view, nodes.map((node) => node.text), heads, (row, column) => {
    const { step, fate, sum, score } = nodes[row];
    return [step, ["dropped", "open", `ended: ${end}`][fate], signed(sum), signed(score)][column];
  });
}

// the tree; returns for how many columns there is room
function tree(view, nodes, options) {
  const room = Math.min(948, view.root.clientWidth || 948);
  const fit = Math.max(2, Math.min(options.last + 1, Math.floor(room / WIDE)));
  const counts = columns(nodes, { step: options.last, dropped: true }).map((one) => one.length);
  const height = TOP + HIGH * Math.max(...counts);
  const found = (state) => columns(nodes, state);
  const chosen = (state) => chosenIn(found(state), state, firstShown(state.step, fit));
  const place = (state) => places(found(state), firstShown(state.step, fit), height);
  const node = (state) => {
    const { column, row } = chosen(state);
    return found(state)[column][row];
  };
  const tell = (state) => described(node(state), nodes, options);
  canvas(view, {
    width: fit * WIDE,
    height,
    label: "the tree of hypotheses: a column for each step",
    grid: {
      place: ["row", "column"],
      get rows() {
        return found(view.state)[chosen(view.state).column].length;
      },
      get columns() {
        return view.state.step + 1;
      },
      at(x, y) {
        const near = ([, at]) => Math.abs(at.x - x) < WIDE / 2 && Math.abs(at.y - y) < HIGH / 2;
        const [i] = [...place(view.state)].find(near) ?? [];
        if (i === undefined) return null;
        const column = nodes[i].step;
        return { row: found(view.state)[column].indexOf(nodes[i]), column };
      },
      tell,
    },
    draw(context, state) {
      legend(context, options.alpha);
      const at = place(state);
      const first = firstShown(state.step, fit);
      const returned = state.step === options.last;
      for (let step = Math.max(1, first); step <= state.step; step++)
        centred(context, `step ${step}`, (step - first + 0.5) * WIDE, 54);
      for (const [i, { x, y }] of at) {
        const { parent, fate, path } = nodes[i];
        const style = { fate, path: path && returned };
        if (at.has(parent)) branch(context, at.get(parent), { x, y }, style);
      }
      const here = node(state);
      for (const [i, { x, y }] of at)
        hypothesis(context, nodes[i], { x, y }, options.alpha, {
          returned: nodes[i].path && returned, here: nodes[i] === here,
        });
    },
  });
  view.draws.push((state) => view.say(tell(state)));
  return fit;
}

/** Where nodes are drawn: index -> { x, y }; those of a step stand around the same height. */
export function places(found, first, height) {
  const at = new Map();
  found.slice(first).forEach((several, column) => {
    const top = TOP + (height - TOP - HIGH * several.length) / 2;
    several.forEach(({ i }, row) =>
      at.set(i, { x: (column + 0.5) * WIDE, y: top + (row + 0.5) * HIGH }));
  });
  return at;
}

function stroked(context, { fate, path }) {
  context.strokeStyle = path ? PATH : fate ? KEPT : context.ink;
  context.lineWidth = path ? 3.5 : fate ? 1.75 : 1;
  context.setLineDash(fate ? [] : [4, 3]);
}

function centred(context, text, x, y, room) {
  context.save();
  context.textAlign = "center";
  context.fillText(text, x, y, room);
  context.restore();
}

function branch(context, from, to, style) {
  context.save();
  stroked(context, style);
  context.globalAlpha = style.fate ? 1 : 0.5;
  const [left, right] = [from.x + BOX.width / 2, to.x - BOX.width / 2];
  context.beginPath();
  context.moveTo(left, from.y);
  context.bezierCurveTo(left + 12, from.y, right - 12, to.y, right, to.y);
  context.stroke();
  context.restore();
}

function hypothesis(context, { name, step, sum, score, fate }, { x, y }, alpha, { returned, here }) {
  context.save();
  const [left, top] = [x - BOX.width / 2, y - BOX.height / 2];
  stroked(context, { fate, path: returned });
  context.beginPath();
  context.roundRect(left, top, BOX.width, BOX.height, fate === ENDED ? 14 : 3);
  if (fate === ENDED) {
    context.fillStyle = KEPT;
    context.fill();
  }
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = fate === ENDED ? "white" : context.ink;
  context.font = `${here ? "bold " : ""}${ordinary}`;
  centred(context, name, x, step ? y - 3 : y + 4, BOX.width - 8);
  context.font = "11px system-ui, sans-serif";
  const numbers = alpha ? `${signed(sum)} → ${signed(score)}` : signed(sum);
  if (step) centred(context, numbers, x, y + 11, BOX.width - 6);
  if (here) {
    context.strokeStyle = context.ink;
    context.lineWidth = 1.5;
    context.strokeRect(left - 3.5, top - 3.5, BOX.width + 7, BOX.height + 7);
  }
  context.restore();
}

function legend(context, alpha) {
  const entries = [["kept", { fate: OPEN }], ["dropped", {}], ["returned", { fate: OPEN, path: true }]];
  let x = 4;
  for (const [text, style] of entries) {
    context.save();
    stroked(context, style);
    context.beginPath();
    context.moveTo(x, 11);
    context.lineTo(x + 26, 11);
    context.stroke();
    context.restore();
    context.fillText(text, x + 31, 15);
    x += 44 + context.measureText(text).width;
  }
  context.save();
  context.fillStyle = KEPT;
  context.beginPath();
  context.roundRect(x, 4, 26, 14, 7);
  context.fill();
  context.restore();
  context.fillText("kept, ended", x + 31, 15);
  const numbers = `its log-probability${alpha ? ` → its score, divided by length^${alpha}` : ""}`;
  context.fillText(`below each token: ${numbers}`, 4, 35);
}

export default { render };
