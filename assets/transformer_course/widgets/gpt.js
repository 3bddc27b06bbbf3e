// The GPT explorer: the student's own model computes in the page, for any text typed there.
const PAUSE = 250; // milliseconds between two generated tokens
const TEMPERATURES = [0, 0.25, 0.5, 0.75, 1, 1.5, 2];
const SETTINGS = [1, 2, 3, 5, 10, 20]; // of top-k, and null, which is all

// the network, and `now()`: everything that is shown of the current state
function computed(view, model) {
  const options = model.get("options");
  const { sizes, vocabulary, half } = options;
  const { data } = arrays(model).weights;
  const net = network(sizes, half ? unpackHalf(data, data.length / 2) : data);
  const [look, lookWhole] = [reader(net), reader(net)];
  const names = vocabulary.map(visible);
  const every = "1".repeat(sizes.depth * (sizes.heads + 2));
  const longest = names.reduce((most, name) => Math.max(most, name.length), 1);
  const fixed = { ...sizes, name: (id) => names[id], longest, every };
  const after = ({ logits }, { length }, { temperature, top_k }) =>
    chances(logits(sizes.depth, length - 1), temperature, top_k);
  const all = (state) => {
    const text = textOf(state, vocabulary, sizes.context);
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

/** One line on the text and its next token. */
export function summary({ ids, said, chances: likely, whole, next, name, allOn, read }) {
  if (!ids.length) return said;
  const [first, before] = [ranked(likely)[0], ranked(whole)[0]];
  const lines = [
    `${ids.length} tokens, ${read.reused} of them read from the cache.`,
    `Likeliest: “${name(first)}” ${percent(likely[first])}.`,
    allOn ? "" : `“${name(before)}”: ${percent(whole[before])} → ${percent(likely[before])}.`,
    next === null ? "" : `Drawn next: “${name(next)}”.`,
    said,
  ];
  return lines.filter(Boolean).join(" ");
}

function render({ model, el }) {
  const view = open({ model, el });
  view.root.append(make("style", { textContent: STYLE }));
  const now = computed(view, model);
  const top = make("div", { className: "gpt-top" });
  const columns = [1, 2].map(() => make("div", { className: "gpt-column" }));
  view.stage.append(top, ...columns);
  writing(view, top, now);
  choosing(view, columns[0], now);
  inside(view, columns, now);
  let told = "";
  view.draws.push(({ on, temperature, top_k, seed }) => {
    for (const column of columns) column.hidden = !now().ids.length;
    const key = String([now().ids, on, temperature, top_k, seed, now().said]);
    if (key !== told) view.say(summary(now()));
    told = key;
  });
  return view.close;
}

// the prompt, its tokens, and the buttons that go on from it
function writing(view, top, now) {
  let timer = 0;
  const controls = make("div", { className: "controls" });
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    run.textContent = "Generate";
  };
  const append = () => {
    const { ids, next } = now();
    if (!ids.length || next === null) return false;
    view.set({ generated: [...view.state.generated, next], row: ids.length });
    return true;
  };
  const go = () => {
    stop();
    if (!append()) return;
    run.textContent = "Stop";
    timer = setTimeout(go, PAUSE);
  };
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const start = () => {
    if (timer) stop();
    else if (still.matches) while (append());
    else go();
  };
  const typed = (text) => {
    stop();
    view.set({ typed: text, generated: [] });
    view.set({ row: Math.max(0, now().ids.length - 1), column: 0 });
  };
  const about = "Type a prompt, or press Next token: your model computes all of this in the page.";
  top.append(make("p", { textContent: about }));
  promptField(view, top, typed);
  chips(view, top, now);
  top.append(controls);
  const inside = Object.assign(Object.create(view), { controls });
  button(inside, "Next token", () => (stop(), append()));
  const run = button(inside, "Generate", start);
  button(inside, "Back to the prompt", () => typed(view.state.typed));
  const remark = make("p");
  top.append(remark);
  view.draws.push(() => (remark.textContent = now().said));
  view.signal.addEventListener("abort", stop);
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
  const outlined = "See the bars move; an outline is a bar with all parts on.";
  const off = section(view, column, "Switch parts off", outlined);
  switches(view, off.body, { depth, heads });
  button(off.inside, "all on", () => view.set({ on: every }));
  view.draws.push(() => now().ids.length && nextTokens(next.body, now()));
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
  const when = "The next token, as the final norm and the table of tokens read it that early.";
  const reading = section(view, columns[1], "The logit lens", when);
  reading.body.className = "gpt-lens";
  view.draws.push(() => {
    if (!now().ids.length) return;
    cached(cache.body, now());
    lens(reading.body, now());
  });
}

export default { render };
