// Generation: what each next token is drawn from, the text so far, and the cache.
const [BLUE, ORANGE, PURPLE, GREY] = ["#0072b2", "#d55e00", "#cc79a7", "#888888"];
const LIKELIEST = 12; // bars, before the one for all other tokens
const [NAME, BAR, REACH, TOP, HIGH] = [74, 82, 250, 66, 24]; // of the bars, in CSS pixels
const [WIDE, CACHE_TOP, LINE] = [450, 74, 34]; // of the cache
const LETTERS = "12px system-ui, sans-serif";

/** Integers that Python sent as two bytes each. */
export const pairs = ({ data }) =>
  Array.from({ length: data.length / 2 }, (_, i) => 256 * data[2 * i] + data[2 * i + 1]);

/** A share as a percentage; small ones are not rounded to 0. */
export function percent(share) {
  if (share > 0 && share < 0.0005) return "<\u00a00.1\u00a0%";
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)}\u00a0%`;
}

/** The number of a case in the arrays: a step at a temperature and a top-k. */
export function caseAt({ step, temperature, top_k }, options) {
  const { temperatures, top_k: settings } = options;
  const row = step * temperatures.length + temperatures.indexOf(temperature);
  return row * settings.length + settings.indexOf(top_k);
}

/** Describe what is wrong with the probabilities of a case; empty if nothing is. */
export function fault({ sum, possible }, { temperature, top_k }) {
  if (Math.abs(sum - 1) > 0.005) return `these probabilities sum to ${sum.toFixed(2)}, not to 1`;
  const most = temperature === 0 ? 1 : (top_k ?? Infinity);
  if (possible <= most) return "";
  const why = temperature === 0 ? "temperature 0" : `top-k ${top_k}`;
  return `${possible} tokens can be drawn, with ${why}`;
}

/** What the cache does with a position at a step: "read", "new", "taken" or "later". */
export function cell(position, step, prompt) {
  const length = prompt + step; // of the text so far
  if (position > length) return "later";
  if (position === length) return "taken";
  return step > 0 && position < length - 1 ? "read" : "new";
}

// all that was sent, and functions that look it up
function read(model) {
  const options = model.get("options");
  const { ids, probabilities, about, tokens } = arrays(model);
  const [numbers, shares, text] = [pairs(ids), pairs(probabilities), pairs(tokens)];
  const { prompt, names } = options;
  const [steps, , , bars] = ids.shape;
  const bar = (at, i) => ({ id: numbers[at * bars + i], share: shares[at * bars + i] / 65535 });
  const likeliest = (state) =>
    Array.from({ length: bars }, (_, i) => bar(caseAt(state, options), i));
  const plain = ({ step }) => {
    const found = likeliest({ step, temperature: 1, top_k: null });
    return new Map(found.map(({ id, share }) => [id, share]));
  };
  const facts = (state) => {
    const at = 3 * caseAt(state, options);
    const [sum, possible, ofTaken] = about.data.slice(at, at + 3);
    return { sum, possible, ofTaken, taken: text[prompt + state.step] };
  };
  return { ...options, text, steps, bars, likeliest, plain, facts, name: (id) => names[id] };
}

function render({ model, el }) {
  const view = open({ model, el });
  const all = read(model);
  const { steps, bars, vocab } = all;
  const nth = (value) => `${value + 1} of ${steps}`;
  slider(view, { name: "step", label: "step", min: 0, max: steps - 1, text: nth });
  const heats = { name: "temperature", label: "temperature", among: all.temperatures };
  slider(view, { ...heats, text: String });
  const every = (value) => (value === null ? "all" : String(value));
  slider(view, { name: "top_k", label: "top-k", among: all.top_k, text: every });
  textSoFar(view, all);

  const tell = (state) => {
    const found = all.facts(state);
    const { id, share } = all.likeliest(state)[state.bar];
    const wrong = fault(found, state);
    const taken = found.ofTaken > 0 ? percent(found.ofTaken) : "0\u00a0%, so not with these settings";
    return (
      `Step ${nth(state.step)}, temperature ${state.temperature}, top-k ${every(state.top_k)}: ` +
      `${found.possible} of ${vocab} tokens can be drawn. “${all.name(id)}” has ` +
      `${percent(share)}. Taken: “${all.name(found.taken)}”, ${taken}.${wrong && ` ⚠ ${wrong}.`}`
    );
  };
  barChart(view, all, tell);
  cache(view, all);
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  const ranks = Array.from({ length: bars }, (_, i) => String(i + 1));
  table(view, ranks, ["token", "probability", "at temperature 1, top-k all"], (i, column, state) => {
    const { id, share } = all.likeliest(state)[i];
    const before = all.plain(state).get(id);
    // as elements are made of it
    const token = make("span", { textContent: all.name(id) }).innerHTML;
    return [token, percent(share), before === undefined ? "–" : percent(before)][column];
  });
  return view.close;
}

// the text so far and the token taken; what follows keeps its place, unseen
function textSoFar(view, { text, prompt, earlier, separator, name }) {
  const line = make("p");
  const about = make("span", { textContent: "text so far, generated underlined: " });
  about.style.font = "13px system-ui, sans-serif";
  line.append(about, earlier ? "… " : "");
  Object.assign(line.style, { font: "15px/1.9 ui-monospace, monospace", margin: "0 0 8px" });
  line.style.overflowWrap = "anywhere";
  const spans = text.map((id) => make("span", { textContent: name(id) }));
  for (const span of spans) {
    span.style.borderRadius = "3px";
    line.append(span, separator, make("wbr"));
  }
  view.stage.before(line);
  view.draws.push(({ step }) =>
    spans.forEach(({ style }, position) => {
      const what = cell(position, step, prompt);
      style.visibility = what === "later" ? "hidden" : "visible";
      style.outline = what === "taken" ? `2px solid ${PURPLE}` : "none";
      style.borderBottom = position < prompt ? "none" : `2px solid ${BLUE}`;
    }));
}

function barChart(view, all, tell) {
  const { bars, vocab, steps } = all;
  const rest = vocab > bars ? 1 : 0;
  canvas(view, {
    width: BAR + REACH + 148,
    height: TOP + (bars + 2 * rest) * HIGH + 40,
    label: "the likeliest next tokens: up and down choose a token, left and right a step",
    grid: {
      place: ["bar", "step"],
      rows: bars,
      columns: steps,
      at(x, y) {
        const row = Math.floor((y - TOP) / HIGH);
        return row >= 0 && row < bars ? { row, column: view.state.step } : null;
      },
      tell,
    },
    draw(context, state) {
      const found = all.facts(state);
      heading(context, fault(found, state));
      axis(context, TOP + (bars + 2 * rest) * HIGH);
      const shown = all.likeliest(state);
      const before = all.plain(state);
      shown.forEach(({ id, share }, i) =>
        oneBar(context, TOP + (i + 0.5) * HIGH, {
          name: all.name(id), share, before: before.get(id),
          taken: id === found.taken, chosen: i === state.bar,
        }));
      if (!rest) return;
      const share = Math.max(0, found.sum - shown.reduce((sum, one) => sum + one.share, 0));
      const others = { name: `other ${vocab - bars}`, share: share < 1e-4 ? 0 : share, other: true };
      oneBar(context, TOP + (bars + 0.5) * HIGH, others);
      if (shown.some(({ id }) => id === found.taken)) return;
      const taken = { name: all.name(found.taken), share: found.ofTaken, taken: true };
      oneBar(context, TOP + (bars + 1.5) * HIGH, taken);
    },
  });
}

function heading(context, wrong) {
  context.font = `bold ${LETTERS}`;
  context.fillText(wrong ? `⚠ ${wrong}` : "the next token’s probabilities, by your function", 2, 14);
  context.font = LETTERS;
  context.fillStyle = BLUE;
  context.fillRect(2, 28, 12, 12);
  context.fillStyle = PURPLE;
  context.fillRect(152, 28, 12, 12);
  context.fillStyle = context.ink;
  context.strokeRect(260.5, 28.5, 12, 11);
  context.fillText("with these settings", 20, 38);
  context.fillText("token taken", 170, 38);
  context.fillText("temperature 1, top-k all", 278, 38);
}

function axis(context, bottom) {
  context.textAlign = "center";
  for (const share of [0, 0.5, 1]) {
    const x = BAR + share * REACH;
    context.globalAlpha = share ? 0.3 : 1;
    context.fillRect(x - 0.5, TOP - 6, 1, bottom - TOP + 8);
    context.globalAlpha = 1;
    context.fillText(`${100 * share} %`, x, bottom + 16);
  }
  context.fillText("probability", BAR + REACH / 2, bottom + 33);
}

function oneBar(context, y, { name, share, before = 0, taken, chosen, other }) {
  const high = HIGH - 8;
  context.fillStyle = other ? GREY : taken ? PURPLE : BLUE;
  context.fillRect(BAR, y - high / 2, share * REACH, high);
  context.fillStyle = context.strokeStyle = context.ink;
  context.lineWidth = 1.2;
  if (before > 0) context.strokeRect(BAR, y - high / 2, before * REACH, high);
  context.font = `${chosen ? "bold " : ""}${LETTERS}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillText(chosen ? `▸ ${name}` : name, NAME, y, NAME - 2);
  context.textAlign = "left";
  context.font = `${taken ? "bold " : ""}${LETTERS}`;
  const said = `${percent(share)}${taken ? " ◂ taken" : ""}`;
  context.fillText(said, BAR + Math.max(share, before) * REACH + 6, y);
}

// a cell for each position whose keys and values are kept
function cache(view, { text, prompt, earlier, name }) {
  const names = text.map(name);
  const longest = Math.max(...names.map((one) => one.length));
  const wide = Math.max(30, Math.min(74, 10 + 7 * longest));
  const across = Math.floor(WIDE / wide);
  const top = CACHE_TOP + (earlier ? 18 : 0);
  canvas(view, {
    width: WIDE + 4,
    height: top + Math.ceil(names.length / across) * LINE + 4,
    label: "the cache: a cell for each position whose keys and values it holds",
    draw(context, { step }) {
      const held = earlier + prompt + step;
      const added = step === 0 ? held : 1;
      context.font = `bold ${LETTERS}`;
      context.fillText("the cache: keys and values of each position", 2, 14);
      context.font = LETTERS;
      const count = `${added} position${added === 1 ? "" : "s"}`;
      const what = step === 0 ? "the prompt, at once" : `reads ${held - 1}`;
      context.fillText(`call ${step + 1} computes ${count}, ${what}`, 2, 32);
      legend(context);
      if (earlier) context.fillText(`${earlier} earlier positions are not drawn`, 2, top - 8);
      names.forEach((one, position) => {
        const [x, y] = [2 + (position % across) * wide, Math.floor(position / across) * LINE];
        cacheCell(context, { x, y: top + y, wide: wide - 3 }, one, cell(position, step, prompt));
      });
    },
  });
}

function legend(context) {
  const items = [["read", 2, "read from it"], ["new", 116, "computed now"], ["taken", 246, "taken, for the next call"]];
  for (const [what, x, said] of items) {
    cacheCell(context, { x, y: 44, wide: 18, high: 14 }, "", what);
    context.fillStyle = context.ink;
    context.fillText(said, x + 24, 56);
  }
}

function cacheCell(context, { x, y, wide, high = LINE - 5 }, name, what) {
  context.save();
  const [fill, ink] = { read: [BLUE, "#fff"], new: [ORANGE, "#000"] }[what] ?? [null, context.ink];
  context.fillStyle = fill ?? "transparent";
  context.fillRect(x, y, wide, high);
  if (!fill) {
    Object.assign(context, { strokeStyle: what === "taken" ? PURPLE : context.ink, lineWidth: 1.5 });
    context.globalAlpha = what === "taken" ? 1 : 0.3;
    context.setLineDash([3, 3]);
    context.strokeRect(x + 1, y + 1, wide - 2, high - 2);
  }
  Object.assign(context, { fillStyle: ink, textAlign: "center", textBaseline: "middle" });
  if (what !== "later") context.fillText(name, x + wide / 2, y + high / 2, wide - 4);
  context.restore();
}

export default { render };
