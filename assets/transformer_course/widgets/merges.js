// Merges: the tokens of a text fuse, by the number of merges of byte pair encoding.
const [BLUE, ORANGE, GREEN] = ["#0072b2", "#d55e00", "#009e73"];
const [WIDE, LINE, HIGH, TOP] = [560, 30, 22, 26]; // of the picture, in CSS pixels
const [LETTER, AROUND, APART] = [7.3, 8, 6]; // of a box: a letter, its margins, between words
const LETTERS = "12px ui-monospace, monospace";
const PLAIN = "12px system-ui, sans-serif";

/** Two bytes as an integer, the higher one first. */
export function integers(data) {
  return Array.from({ length: data.length / 2 }, (_, i) => 256 * data[2 * i] + data[2 * i + 1]);
}

/** A box for each token: the tokens of a word touch, and a line is broken between words. */
export function laidOut(words, wide) {
  const placed = [];
  let [x, line] = [0, 0];
  words.forEach((names, word) => {
    const widths = names.map((name) => AROUND + LETTER * [...name].length);
    const whole = widths.reduce((sum, width) => sum + width, 0);
    if (x > 0 && x + whole > wide) [x, line] = [0, line + 1];
    widths.forEach((width) => {
      if (x > 0 && x + width > wide) [x, line] = [0, line + 1];
      placed.push({ x, line, width, word });
      x += width;
    });
    x += APART;
  });
  return placed;
}

/** Where the slider stands for a number of merges: at the last state that has no more. */
export function stateAt(counts, merges) {
  return Math.max(0, counts.findLastIndex((count) => count <= merges));
}

/** The pair of the last merge, for reading. */
export function lastMerge({ learned, names }, merges) {
  if (merges === 0) return "no merge yet: each token is a byte";
  const [left, right] = learned[merges - 1];
  return `merge ${merges}: ${names[left]} + ${names[right]} → ${names[255 + merges]}`;
}

/** Describe the chosen token. */
export function described(all, { merges, token }) {
  const { tokens, words, boxes } = all.states[stateAt(all.counts, merges)];
  const at = Math.min(token, tokens.length - 1);
  const id = tokens[at];
  const size = `${tokens.length} tokens in ${words} ${words === 1 ? "word" : "words"}, ${short(tokens.length / words)} per word`;
  const word = all.words[boxes[at].word];
  return `${merges} merges: ${size}. Token ${at + 1} is “${all.names[id]}”, id ${id}, bytes ${all.bytes[id]}, in “${word}”.`;
}

// every state of the slider: the tokens with their boxes, and the frequent pairs
function read(model) {
  const options = model.get("options");
  const found = arrays(model);
  const states = options.counts.map((count, number) => {
    const tokens = integers(found[`tokens${number}`].data);
    const sizes = integers(found[`sizes${number}`].data);
    let start = 0;
    const rows = sizes.map((size) => tokens.slice(start, (start += size)));
    const named = rows.map((row) => row.map((token) => options.names[token]));
    const flat = integers(found[`pairs${number}`].data);
    const pairs = Array.from({ length: flat.length / 3 }, (_, i) => flat.slice(3 * i, 3 * i + 3));
    const seen = pairs.filter(([, , times]) => times > 0);
    return { count, tokens, words: sizes.length, boxes: laidOut(named, WIDE - 4), pairs: seen };
  });
  const words = options.words.map((word) => word.replaceAll(" ", "␣"));
  return { ...options, words, states };
}

function render({ model, el }) {
  const view = open({ model, el });
  const all = read(model);
  const text = (merges) => `${merges} of ${all.learned.length}`;
  slider(view, { name: "merges", label: "merges", among: all.counts, text });
  const move = (by) => () => {
    const at = stateAt(all.counts, view.state.merges) + by;
    if (all.counts[at] !== undefined) view.set({ merges: all.counts[at] });
  };
  button(view, "fewer", move(-1));
  button(view, "more", move(1));
  const tell = (state) => described(all, state);
  picture(view, all, tell, move);
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  const most = Math.max(1, ...all.states.map(({ pairs }) => pairs.length));
  const ranks = Array.from({ length: most }, (_, i) => `pair ${i + 1}`);
  table(view, ranks, ["tokens", "how often"], (row, column, state) => {
    const pair = all.states[stateAt(all.counts, state.merges)].pairs[row];
    if (!pair) return "–";
    const told = `${all.names[pair[0]]} + ${all.names[pair[1]]}`;
    return [make("span", { textContent: told }).innerHTML, pair[2]][column];
  });
  return view.close;
}

function picture(view, all, tell, move) {
  const lines = Math.max(...all.states.map(({ boxes }) => (boxes.at(-1)?.line ?? 0) + 1));
  const under = TOP + lines * LINE + 26; // where the pairs and the curve begin
  const now = () => all.states[stateAt(all.counts, view.state.merges)];
  const made = canvas(view, {
    width: WIDE,
    height: under + 190,
    label: "the tokens of the text, its most frequent pairs, and tokens per word: left and right choose a token, up and down more merges and fewer",
    grid: {
      place: ["row", "token"],
      rows: 1,
      get columns() {
        return now().tokens.length;
      },
      at(x, y) {
        const column = now().boxes.findIndex((box) =>
          x >= box.x + 2 && x < box.x + 2 + box.width && y >= TOP + box.line * LINE && y < TOP + box.line * LINE + HIGH);
        return column < 0 ? null : { row: 0, column };
      },
      tell,
    },
    draw(context, state) {
      const one = all.states[stateAt(all.counts, state.merges)];
      tokens(context, all, one, state);
      frequent(context, all, one, under);
      curve(context, all, state, under);
    },
  });
  const press = ({ key }) => ({ ArrowUp: move(1), ArrowDown: move(-1) })[key]?.();
  made.addEventListener("keydown", press, { signal: view.signal });
}

function tokens(context, all, { tokens: ids, boxes, count }, { token }) {
  context.font = `bold ${PLAIN}`;
  context.fillText(lastMerge(all, count), 2, 15, WIDE - 4);
  context.textAlign = "center";
  context.font = LETTERS;
  const chosen = Math.min(token, ids.length - 1);
  boxes.forEach(({ x, line, width, word }, at) => {
    const y = TOP + line * LINE;
    const newest = count > 0 && ids[at] === 255 + count;
    context.fillStyle = newest ? GREEN : `${word % 2 ? BLUE : ORANGE}3a`;
    context.fillRect(x + 3, y, width - 2, HIGH);
    context.fillStyle = newest ? "#fff" : context.ink;
    context.fillText(all.names[ids[at]], x + 2 + width / 2, y + 15, width - 3);
    if (at !== chosen) return;
    Object.assign(context, { strokeStyle: ORANGE, lineWidth: 3 });
    context.strokeRect(x + 3, y, width - 2, HIGH);
  });
  context.textAlign = "left";
}

function frequent(context, all, { pairs }, top) {
  context.font = `bold ${PLAIN}`;
  context.fillStyle = context.ink;
  const said = pairs.length ? "most frequent pairs in this text" : "no word has two tokens: no pair";
  context.fillText(said, 2, top - 6);
  const most = Math.max(1, ...pairs.map(([, , times]) => times));
  pairs.forEach(([left, right, times], i) => {
    const y = top + 10 + i * HIGH;
    context.fillStyle = BLUE;
    context.fillRect(112, y, (times / most) * 110, 13);
    context.fillStyle = context.ink;
    context.font = LETTERS;
    context.textAlign = "right";
    context.fillText(`${all.names[left]} + ${all.names[right]}`, 104, y + 11, 102);
    context.textAlign = "left";
    context.font = PLAIN;
    context.fillText(times, 118 + (times / most) * 110, y + 11);
  });
}

function curve(context, all, { merges }, top) {
  const each = all.states.map(({ tokens: ids, words }) => ids.length / words);
  const bits = all.bits.map(([, value]) => value);
  const box = { x: 318, y: top + 8, width: 228, height: 136 };
  const up = { from: 0, to: 1.05 * Math.max(...each, ...bits), name: bits.length ? "per word, per byte" : "tokens per word" };
  const across = { from: 0, to: Math.max(1, all.counts.at(-1)), name: "merges", whole: true };
  context.font = PLAIN;
  const { x, y, line } = chart(context, box, across, up);
  line(all.counts, each, BLUE);
  if (bits.length) {
    line(all.bits.map(([count]) => count), bits, ORANGE, 2, [7, 4]);
    explained(context, { x: box.x + 4, y: top - 6 }, "tokens per word", BLUE);
    explained(context, { x: box.x + 134, y: top - 6 }, "bits per byte", ORANGE, 2, [7, 4]);
  }
  const value = each[stateAt(all.counts, merges)];
  context.fillStyle = BLUE;
  context.beginPath();
  context.arc(x(merges), y(value), 5, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = context.ink;
  context.textAlign = x(merges) > box.x + box.width - 50 ? "right" : "left";
  context.fillText(short(value), x(merges) + (context.textAlign === "left" ? 8 : -8), y(value) - 8);
  context.textAlign = "left";
}

export default { render };
