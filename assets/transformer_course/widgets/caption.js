// Captions: a scene under the weights of one word, and the caption with and without a cover.
const SIDE = 416; // width of the scene in CSS pixels
const CHOSEN = "#d55e00";

/** A caption's words: `cover` is 0 for the whole scene, else 1 + the covered cell. */
export function captionOf({ tokens, counts }, words, scene, cover) {
  const [, covers, steps] = tokens.shape;
  const at = scene * covers + cover;
  const count = Math.round(counts.value(at));
  return Array.from({ length: count }, (_, i) => words[Math.round(tokens.value(at * steps + i))]);
}

/** A word's weights over the cells, row by row. */
export function weightsOf({ weights }, scene, cover, word) {
  const [, covers, steps, rows, columns] = weights.shape;
  const start = ((scene * covers + cover) * steps + word) * rows * columns;
  return Float64Array.from({ length: rows * columns }, (_, i) => weights.value(start + i));
}

/** What is shown: the cover, both captions, the chosen word's weights. */
export function chosen(data, words, { scene, line, word, covered }) {
  const both = covered < 0 ? [0] : [0, covered + 1];
  const captions = both.map((cover) => captionOf(data, words, scene, cover));
  const which = Math.min(line, both.length - 1);
  const at = Math.max(0, Math.min(word, captions[which].length - 1));
  const empty = captions[which].length === 0;
  const weights = weightsOf(data, scene, both[which], at);
  return { captions, line: which, word: at, name: empty ? "" : captions[which][at], weights };
}

/** How many cells change a caption when they are covered. */
export function changing(data, words, scene) {
  const whole = captionOf(data, words, scene, 0).join(" ");
  const cells = data.tokens.shape[1] - 1;
  const differs = (_, i) => captionOf(data, words, scene, i + 1).join(" ") !== whole;
  return Array.from({ length: cells }, differs).filter(Boolean).length;
}

/** Describe the cell under the cursor, and what covering it does. */
export function described(data, words, state) {
  const { captions, name, weights } = chosen(data, words, state);
  const columns = data.weights.shape[4];
  const cell = state.row * columns + state.column;
  const most = Math.max(...weights);
  const place = `cell in row ${state.row}, column ${state.column}`;
  const said = `${place}: weight of “${name}” ${weights[cell].toFixed(3)}, its largest ${most.toFixed(3)}`;
  if (state.covered < 0) return `${said}; click the cell, or press Enter, to cover it`;
  const covered = [Math.floor(state.covered / columns), state.covered % columns];
  const over = `row ${covered[0]}, column ${covered[1]} is covered`;
  const same = captions[1].join(" ") === captions[0].join(" ");
  return `${said}; ${over}: ${same ? "the caption stays" : `the caption becomes “${captions[1].join(" ")}”`}`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const data = arrays(model);
  const { words } = model.get("options");
  const [scenes] = data.images.shape;
  const tell = (state) => described(data, words, state);
  if (scenes > 1) {
    const named = (i) => [i, `${i}: ${captionOf(data, words, i, 0).join(" ")}`];
    const options = Array.from({ length: scenes }, (_, i) => named(i));
    const select = choice(view, { name: "scene", label: "scene", options });
    select.style.maxWidth = "min(100%, 320px)";
    const anew = () => view.set({ covered: -1, line: 0, word: 0 });
    select.addEventListener("change", anew, { signal: view.signal });
  }
  const strength = { name: "strength", label: "darken", min: 0, max: 1, step: 0.05 };
  slider(view, { ...strength, text: (value) => `${Math.round(100 * value)} %` });
  const uncover = button(view, "uncover", () => {
    view.set({ covered: -1 });
    view.say(tell(view.state));
  });
  view.draws.push((state) => (uncover.disabled = state.covered < 0));
  const lines = make("div");
  view.stage.before(lines);
  for (const line of [0, 1]) captionLine(view, data, words, line, lines, tell);
  picture(view, data, words, tell);
  bars(view, data, words);
  const about = make("div");
  about.style.marginTop = "8px";
  view.stage.after(about);
  view.draws.push((state) => {
    const cells = data.tokens.shape[1] - 1;
    const found = changing(data, words, state.scene);
    about.textContent = `Covering a single cell changes this caption for ${found} of ${cells} cells.`;
    if (view.told.textContent) view.say(tell(state)); // only in the view that was used
  });
  const [, , , rows, columns] = data.weights.shape;
  const names = (count, name) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
  table(view, names(rows, "row"), names(columns, "column"), (row, column, state) =>
    brief(chosen(data, words, state).weights[row * columns + column]));
  return view.close;
}

// a caption as buttons, one for each word: pointing at one, or focusing it, shows its weights
function captionLine(view, data, words, line, into, tell) {
  const row = make("div");
  Object.assign(row.style, { display: "flex", flexWrap: "wrap", gap: "4px", alignItems: "center" });
  Object.assign(row.style, { minHeight: "32px", marginBottom: "4px" });
  const label = make("span", { textContent: line ? "one cell covered:" : "whole scene:" });
  label.style.minWidth = "112px";
  row.append(label);
  into.append(row);
  const steps = data.tokens.shape[2];
  const buttons = Array.from({ length: steps }, (_, word) => {
    const choose = () => {
      if (view.state.line === line && view.state.word === word) return;
      view.set({ line, word });
      view.say(tell(view.state));
    };
    const made = button(view, "", choose);
    for (const event of ["pointerenter", "focus"])
      made.addEventListener(event, choose, { signal: view.signal });
    row.append(made);
    return made;
  });
  const none = make("span", { textContent: "click a cell of the scene to cover it" });
  none.style.opacity = 0.8;
  row.append(none);
  view.draws.push((state) => {
    const shown = chosen(data, words, state);
    const caption = shown.captions[line] ?? [];
    none.hidden = line === 0 || shown.captions.length > 1;
    buttons.forEach((made, word) => {
      made.hidden = word >= caption.length;
      if (made.hidden) return;
      const here = shown.line === line && shown.word === word;
      const changed = line === 1 && caption[word] !== shown.captions[0][word];
      made.textContent = caption[word];
      made.setAttribute("aria-pressed", String(here));
      made.setAttribute("aria-label", changed ? `${caption[word]}, changed` : caption[word]);
      made.style.fontWeight = changed ? "bold" : "normal";
      made.style.textDecoration = changed ? "underline 2px #d55e00" : "none";
      made.style.boxShadow = here ? `inset 0 0 0 2px ${CHOSEN}` : "none";
    });
  });
}

// a canvas with one pixel for each of the image
function painted({ images }, scene) {
  const [, channels, height, width] = images.shape;
  const cells = new ImageData(width, height);
  const start = scene * channels * height * width;
  for (let i = 0; i < height * width; i++) {
    const one = (channel) => 255 * images.value(start + (channel % channels) * height * width + i);
    cells.data.set([one(0), one(1), one(2), 255], 4 * i);
  }
  const made = new OffscreenCanvas(width, height);
  made.getContext("2d").putImageData(cells, 0, 0);
  return made;
}

function picture(view, data, words, tell) {
  const [, , height, width] = data.images.shape;
  const [, , , rows, columns] = data.weights.shape;
  const side = SIDE / columns;
  const box = { x: 3, y: 20, width: SIDE, height: (SIDE * height) / width, rows, columns };
  const high = box.height / rows;
  const scenes = Array.from({ length: data.images.shape[0] }, (_, i) => painted(data, i));
  const draw = (context, state) => {
    const { name, weights } = chosen(data, words, state);
    const most = Math.max(...weights) || 1;
    context.fillText(`weights of “${name}”`, box.x, 13);
    context.imageSmoothingEnabled = false;
    context.drawImage(scenes[state.scene], box.x, box.y, box.width, box.height);
    context.globalAlpha = state.strength;
    // white under the large weights, so that they are seen on a dark ground too; black over the rest
    weights.forEach((weight, cell) => {
      const [x, y] = [box.x + (cell % columns) * side, box.y + Math.floor(cell / columns) * high];
      const share = weight / most;
      for (const [tone, strength] of [["#fff", 0.35 * share], ["#000", 1 - share]]) {
        context.fillStyle = tone;
        context.globalAlpha = state.strength * strength;
        context.fillRect(x, y, side, high);
      }
    });
    context.globalAlpha = 1;
    if (state.covered >= 0) {
      const [row, column] = [Math.floor(state.covered / columns), state.covered % columns];
      hatchCell(context, box.x + column * side, box.y + row * high, side, high);
    }
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        outline(context, box, { row, column }, "#56b4e9", 0.6);
    outline(context, box, state, "#000", 5);
    outline(context, box, state, CHOSEN, 3);
    context.fillStyle = context.ink;
    context.fillText(`the brightest cell has weight ${brief(most)}`, box.x, box.y + box.height + 16);
  };
  const grid = { place: ["row", "column"], rows, columns, at: (x, y) => cellAt(box, x, y), tell };
  const label = "the scene: arrow keys choose a cell, Enter covers it";
  const size = { width: SIDE + 6, height: box.height + 44 };
  const made = canvas(view, { ...size, label, grid, draw });
  const cover = () => {
    const cell = view.state.row * columns + view.state.column;
    view.set({ covered: view.state.covered === cell ? -1 : cell });
    view.say(tell(view.state));
  };
  made.style.cursor = "pointer";
  made.addEventListener("click", cover, { signal: view.signal });
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    cover();
  };
  made.addEventListener("keydown", press, { signal: view.signal });
}

// the chosen word's weights as numbers
function bars(view, data, words) {
  const [, , , rows, columns] = data.weights.shape;
  const box = { x: 3, y: 20, width: 40 * columns, height: 28 * rows, rows, columns };
  const draw = (context, state) => {
    const { name, weights } = chosen(data, words, state);
    const most = Math.max(...weights);
    context.fillText(`“${name}”, in percent`, box.x, 13);
    const percent = (row, column) => Math.round(100 * weights[row * columns + column]);
    numberMap(context, box, percent, { low: 0, high: Math.round(100 * most) || 1 });
    outline(context, box, state, CHOSEN, 3);
  };
  const size = { width: Math.max(150, box.width + 6), height: box.height + 26 };
  canvas(view, { ...size, label: "the weights of the chosen word in percent", draw });
}

export default { render };
