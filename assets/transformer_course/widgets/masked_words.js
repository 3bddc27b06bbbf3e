// Masked words: hide one token or two, and see what the model predicts there.
const [BLUE, PURPLE, ORANGE, GREY] = ["#0072b2", "#cc79a7", "#d55e00", "#888888"];
const [WIDE, LINE, HIGH, TOP] = [430, 62, 22, 30]; // of the picture, in CSS pixels
const [NAME, BAR, REACH] = [100, 106, 220]; // of the bars
const LETTERS = "12px system-ui, sans-serif";
const MOST = 2; // words that are masked at once

/** A share as a percentage; small ones are not rounded to 0. */
export function percent(share) {
  if (share > 0 && share < 0.0005) return "<\u00a00.1\u00a0%";
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)}\u00a0%`;
}

/** The masked positions after one is chosen: it is added or removed; the oldest goes first. */
export function toggled(masked, position, most = MOST) {
  if (masked.includes(position)) return masked.filter((one) => one !== position);
  return [...masked, position].slice(-most);
}

/** Where the answer at `position` stands in a row's answers: each word alone, then two by two. */
export function answerAt(words, masked, position) {
  const places = masked.map((one) => words.indexOf(one)).sort((one, other) => one - other);
  if (places.length === 1) return places[0];
  const [low, high] = places;
  const before = low * words.length - (low * (low + 1)) / 2; // pairs that begin earlier
  const pair = before + high - low - 1;
  return words.length + 2 * pair + (words.indexOf(position) === high ? 1 : 0);
}

/** How many answers a row has. */
export function answers(words, paired) {
  return words + (paired ? words * (words - 1) : 0);
}

/** Lines of token boxes: a new one after the first [SEP] that is followed by segment 1, or if full. */
export function laidOut(tokens, wide) {
  const placed = [];
  let [x, line] = [0, 0];
  tokens.forEach(({ name, segment }, position) => {
    const width = Math.max(52, 16 + 8 * name.length);
    const next = position > 0 && segment === 1 && tokens[position - 1].segment === 0;
    if (position > 0 && (next || x + width > wide)) [x, line] = [0, line + 1];
    placed.push({ x, line, width });
    x += width + 6;
  });
  return placed;
}

// all rows, and functions that look up what the model predicts
function read(model) {
  const options = model.get("options");
  const found = arrays(model);
  const bars = found.shares.shape[1];
  const name = (id) => options.names[id];
  let start = 0;
  const rows = options.pairs.map((paired, number) => {
    const { data, shape } = found[`tokens${number}`];
    const tokens = Array.from({ length: shape[0] }, (_, i) => {
      const id = 256 * data[3 * i] + data[3 * i + 1];
      return { id, segment: data[3 * i + 2], name: name(id), word: id > options.mask };
    });
    const words = tokens.flatMap(({ word }, position) => (word ? [position] : []));
    const row = { tokens, words, start, most: paired ? MOST : 1 };
    start += answers(words.length, paired);
    return row;
  });
  const predicted = ({ words, start: from }, masked, position) => {
    const at = from + answerAt(words, masked, position);
    const [own, rank] = found.about.data.slice(2 * at, 2 * at + 2);
    const likeliest = Array.from({ length: bars }, (_, i) => {
      const byte = 2 * (at * bars + i);
      const id = 256 * found.ids.data[byte] + found.ids.data[byte + 1];
      return { id, name: name(id), share: found.shares.data[at * bars + i] };
    });
    return { own, rank, likeliest };
  };
  return { ...options, rows, bars, predicted };
}

/** The masked position whose bars are shown: the chosen one, or the last that was masked. */
export function shownAt({ masked, position }) {
  return masked.includes(position) ? position : (masked.at(-1) ?? null);
}

/** Describe the chosen token, and the chosen word of the bars. */
export function described(all, state) {
  const row = all.rows[state.row];
  const { name, word } = row.tokens[state.position];
  const hides = state.masked.includes(state.position);
  const what = hides ? "masked" : word ? "not masked" : "is no word and cannot be masked";
  const chosen = `position ${state.position} “${name}”, ${what}`;
  const at = shownAt(state);
  if (at === null) return `${chosen}. Nothing is masked: press Enter or click a word to hide it.`;
  const { own, rank, likeliest } = all.predicted(row, state.masked, at);
  const bar = likeliest[state.rank];
  const true_ = `the word itself, “${row.tokens[at].name}”, has ${percent(own)}, rank ${rank + 1}`;
  return `${chosen}. At position ${at}: “${bar.name}” has ${percent(bar.share)}, rank ${state.rank + 1} of ${all.vocab}; ${true_}.`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const all = read(model);
  const { rows } = all;
  const text = ({ tokens }) => tokens.filter(({ word }) => word).map(({ name }) => name).join(" ");
  if (rows.length > 1) {
    const listed = rows.map((row, i) => [i, `${i + 1}: ${text(row)}`]);
    const select = choice(view, { name: "row", label: "row", options: listed });
    // positions of another row mean other words
    const begin = () => {
      const [first] = rows[view.state.row].words;
      view.set({ position: first, masked: [first], rank: 0 });
    };
    select.addEventListener("change", begin, { signal: view.signal });
  }
  button(view, "mask nothing", () => view.set({ masked: [] }));
  const tell = (state) => described(all, state);
  picture(view, all, tell);
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  const ranks = Array.from({ length: all.bars }, (_, i) => String(i + 1));
  table(view, ranks, ["token", "probability"], (i, column, state) => {
    const at = shownAt(state);
    if (at === null) return "–";
    const { name, share } = all.predicted(rows[state.row], state.masked, at).likeliest[i];
    return [make("span", { textContent: name }).innerHTML, percent(share)][column];
  });
  return view.close;
}

function picture(view, all, tell) {
  const layouts = all.rows.map(({ tokens }) => laidOut(tokens, WIDE - 4));
  const lines = Math.max(...layouts.map((places) => places.at(-1).line + 1));
  const under = TOP + lines * LINE + 26; // where the bars begin
  const rest = all.vocab > all.bars ? 1 : 0;
  const token = (x, y) =>
    layouts[view.state.row].findIndex((box) =>
      x >= box.x + 2 && x < box.x + 2 + box.width && y >= TOP + box.line * LINE && y < TOP + box.line * LINE + 46);
  const mask = (position) => {
    const row = all.rows[view.state.row];
    if (!row.tokens[position].word) return;
    view.set({ position, rank: 0, masked: toggled(view.state.masked, position, row.most) });
  };
  const made = canvas(view, {
    width: WIDE,
    height: under + (all.bars + 2 * rest) * HIGH + 6,
    label: "the row of tokens, and the likeliest words where one is masked: left and right choose a token, Enter masks it, up and down choose a word",
    grid: {
      place: ["rank", "position"],
      rows: all.bars,
      get columns() {
        return all.rows[view.state.row].tokens.length;
      },
      at(x, y) {
        const rank = Math.floor((y - under) / HIGH);
        const bars = shownAt(view.state) !== null && rank >= 0 && rank < all.bars;
        return bars ? { row: rank, column: view.state.position } : null;
      },
      tell,
    },
    draw(context, state) {
      tokens(context, all, layouts[state.row], state);
      predictions(context, all, state, under);
    },
  });
  made.style.cursor = "pointer";
  const press = (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    mask(view.state.position);
  };
  const point = ({ offsetX, offsetY }) => {
    const scale = WIDE / made.getBoundingClientRect().width;
    const position = token(offsetX * scale, offsetY * scale);
    if (position < 0) return;
    view.set({ position });
    mask(position);
  };
  for (const [event, act] of [["keydown", press], ["click", point]])
    made.addEventListener(event, act, { signal: view.signal });
}

// a box for each token; below a masked one, what the model thinks likeliest
function tokens(context, all, places, state) {
  context.font = `bold ${LETTERS}`;
  context.fillText("click a word to mask it; two can be masked at once", 2, 14);
  context.textAlign = "center";
  const row = all.rows[state.row];
  row.tokens.forEach(({ name, segment }, position) => {
    const { x, line, width } = places[position];
    const hides = state.masked.includes(position);
    const y = TOP + line * LINE;
    context.fillStyle = hides ? BLUE : segment === 1 ? `${PURPLE}33` : `${BLUE}22`;
    context.fillRect(x + 2, y, width, 30);
    context.font = hides ? `bold ${LETTERS}` : LETTERS;
    context.fillStyle = hides ? "#fff" : context.ink;
    context.fillText(hides ? "?" : name, x + 2 + width / 2, y + 20, width - 4);
    if (hides) guess(context, all.predicted(row, state.masked, position), x + 2 + width / 2, y + 45, width + 4);
    if (position !== state.position) return;
    Object.assign(context, { strokeStyle: ORANGE, lineWidth: 3 });
    context.strokeRect(x + 2, y, width, 30);
  });
}

function guess(context, { likeliest }, x, y, room) {
  const [{ name, share }] = likeliest;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = context.ink;
  context.fillText(`${name} ${Math.round(100 * share)}\u00a0%`, x, y, room);
}

function predictions(context, all, state, top) {
  const row = all.rows[state.row];
  const at = shownAt(state);
  context.textAlign = "left";
  context.font = `bold ${LETTERS}`;
  context.fillStyle = context.ink;
  if (at === null) {
    context.fillText("nothing is masked", 2, top - 14);
    return;
  }
  const { own, rank, likeliest } = all.predicted(row, state.masked, at);
  context.fillText(`predicted at position ${at}, where “${row.tokens[at].name}” was`, 2, top - 14, WIDE - 4);
  const id = row.tokens[at].id;
  likeliest.forEach((one, i) =>
    oneBar(context, top + (i + 0.5) * HIGH, { ...one, true_: one.id === id, chosen: i === state.rank }));
  if (all.vocab > all.bars) {
    const share = Math.max(0, 1 - likeliest.reduce((sum, one) => sum + one.share, 0));
    const y = top + (all.bars + 0.5) * HIGH;
    oneBar(context, y, { name: `other ${all.vocab - all.bars}`, share: share < 1e-4 ? 0 : share, other: true });
    if (rank >= likeliest.length)
      context.fillText(`among them “${row.tokens[at].name}” ${percent(own)}`, BAR, y + HIGH);
  }
}

function oneBar(context, y, { name, share, true_, chosen, other }) {
  context.fillStyle = other ? GREY : true_ ? PURPLE : BLUE;
  context.fillRect(BAR, y - 7, share * REACH, 14);
  context.fillStyle = context.ink;
  context.font = `${chosen ? "bold " : ""}${LETTERS}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillText(chosen ? `▸ ${name}` : name, NAME, y, NAME - 2);
  context.textAlign = "left";
  context.fillText(`${percent(share)}${true_ ? " ◂ masked word" : ""}`, BAR + share * REACH + 6, y);
  context.textBaseline = "alphabetic";
}

export default { render };
