// The GPT explorer: the student's own model computes in the page, for any text typed there.
const TEMPERATURES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2];
const SETTINGS = [1, 2, 3, 5, 10, 20]; // of top-k, and null, which is all

// the network, and `now()`: everything that is shown of the current state
function computed(view, model) {
  const options = model.get("options");
  const { sizes, vocabulary, half } = options;
  const { data } = arrays(model).weights;
  const net = network(sizes, half ? unpackHalf(data, data.length / 2) : data);
  const [look, lookWhole] = [reader(net), reader(net)];
  const [names, split] = [namesOf(vocabulary), splitter(vocabulary)];
  const every = "1".repeat(sizes.depth * (sizes.heads + 2));
  const longest = names.reduce((most, name) => Math.max(most, name.length), 1);
  const fixed = { ...sizes, name: (id) => names[id], longest, every };
  const after = ({ logits }, { length }, { temperature, top_k }) =>
    chances(logits(sizes.depth, length - 1), temperature, top_k);
  const all = (state) => {
    const text = textOf(state, split, sizes.context);
    const { ids } = text;
    const said = remarks(text, options, sizes.context);
    const row = Math.min(state.row, ids.length - 1);
    if (!ids.length) return { ...fixed, ...text, said, row };
    const [read, allOn] = [look(ids, state.on), state.on === every];
    const found = { ...fixed, ...text, said, row, read, allOn, chances: after(read, ids, state) };
    const whole = allOn ? found.chances : after(lookWhole(ids, every), ids, state);
    const full = ids.length === sizes.context;
    const next = full ? null : drawn(found.chances, randomAt(state.seed, ids.length));
    return { ...found, whole, next };
  };
  let last = {};
  return () => {
    if (last.state !== view.state) last = { state: view.state, found: all(view.state) };
    return last.found;
  };
}

function render({ model, el }) {
  const view = open({ model, el });
  view.root.append(make("style", { textContent: STYLE }));
  const now = computed(view, model);
  const top = make("div", { className: "gpt-top" });
  const columns = [1, 2].map(() => make("div", { className: "gpt-column" }));
  view.stage.before(top);
  view.stage.append(...columns);
  const { vocabulary, sizes } = model.get("options");
  writing(view, top, now, { vocabulary, context: sizes.context });
  choosing(view, columns[0], now);
  inside(view, columns, now);
  view.draws.push(() => {
    for (const column of columns) column.hidden = !now().ids.length;
  });
  return view.close;
}

function choosing(view, column, now) {
  const { vocab, depth, heads, every } = now();
  const next = section(view, column, "The next token");
  next.body.className = "gpt-next";
  const heats = { name: "temperature", label: "temperature", among: TEMPERATURES };
  slider(next.inside, { ...heats, text: String });
  const settings = [...SETTINGS.filter((k) => k < vocab), null];
  const all = (value) => (value === null ? "all" : String(value));
  slider(next.inside, { name: "top_k", label: "top-k", among: settings, text: all });
  slider(next.inside, { name: "seed", label: "seed", min: 0, max: 9 });
  const outlined = "The bars above change; an outline is the bar with all parts on.";
  const off = section(view, column, "Switch parts off", outlined);
  switches(view, off.body, { depth, heads });
  button(off.inside, "all on", () => view.set({ on: every }));
  view.draws.push(({ temperature, top_k }) => {
    const limited = temperature === 0 || top_k !== null; // a share of 0 is one that was cut
    if (now().ids.length) nextTokens(next.body, now(), limited);
  });
}

function inside(view, columns, now) {
  const { depth, heads } = now();
  const cache = section(view, columns[0], "The key–value cache");
  const arrows =
    "Rows are queries, columns are keys; yellow is the largest weight of a row. Arrow keys move " +
    "the large map's cell.";
  const maps = section(view, columns[1], "Attention", arrows);
  const many = (count, name) => Array.from({ length: count }, (_, i) => [i, `${name} ${i}`]);
  choice(maps.inside, { name: "block", label: "block", options: many(depth, "block") });
  choice(maps.inside, { name: "head", label: "head", options: many(heads, "head") });
  allMaps(view, maps.body, now, { depth, heads });
  oneMap(view, maps.body, now);
  const when =
    "What the model would answer if it stopped after this block: the final norm and the token " +
    "table read the residual stream.";
  const reading = section(view, columns[1], "The logit lens", when);
  reading.body.className = "gpt-lens";
  view.draws.push(() => {
    if (!now().ids.length) return;
    cached(cache.body, now());
    lens(reading.body, now());
  });
}

export default { render };
