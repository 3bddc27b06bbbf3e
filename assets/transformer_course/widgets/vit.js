// Draw an image: the student's Vision Transformer computes in the page what it is.
const DRAWN = -1; // instead of a picture's number: the reader's drawing
const SHEET = 256; // CSS pixels of the longer side of the sheet

/** What the model answers, in words, with the runner-up. */
export function answerText(probabilities, classes) {
  const [first, second] = ranking(probabilities, 2);
  const percent = (one) => Math.round(100 * probabilities[one]);
  const then = percent(second) ? `, then ${classes[second]} (${percent(second)} %)` : "";
  return `The model answers ${classes[first]} (${percent(first)} %)${then}.`;
}

/** The bitmap that is on the sheet: the drawing, or the chosen picture drawn back. */
export function sheet({ picture, drawing }, pictures, shape) {
  const [high, wide] = canvasSize(shape);
  if (picture !== DRAWN) return drawnBack(pictures[picture], shape);
  return drawing ? fromHex(drawing) : new Uint8Array(high * wide);
}

/** The image that the model gets. */
export function imageOf(state, pictures, shape) {
  if (state.picture !== DRAWN) return pictures[state.picture];
  const bits = sheet(state, pictures, shape);
  return counted(state.fit ? fitted(bits, canvasSize(shape)[1]) : bits, shape);
}

// the function of a state, computed again only when what it depends on has changed
function once(names, compute) {
  let [key, found] = [null, null];
  return (state) => {
    const now = names.map((name) => String(state[name])).join("|");
    if (now !== key) [key, found] = [now, compute(state)];
    return found;
  };
}

function render({ model, el }) {
  const view = open({ model, el });
  const { images, weights } = arrays(model);
  const { shape, classes, names } = model.get("options");
  const size = shape.rows * shape.columns * shape.patch ** 2;
  const pictures = names.map((_, i) => images.data.slice(i * size, (i + 1) * size));
  const net = network(weights.data, shape);
  const read = once(["picture", "drawing", "fit", "off"], (state) => {
    const image = imageOf(state, pictures, shape);
    return { image, ...answered(net, image, state.off) };
  });
  const on = once(["picture", "drawing"], (state) => sheet(state, pictures, shape));
  const answer = (state) => answerText(read(state).answers.at(-1), classes);
  const words = make("div");
  controls(view, { shape, names, answer });
  painter(view, { shape, on, answer });
  seenImage(view, shape, read, (state) => patchText(shape, read(state), state));
  answerBars(view, shape, classes, read);
  headMaps(view, shape, read, (state) => headText(shape, read(state), state));
  largeMaps(view, shape, read);
  view.stage.before(words);
  const lines = Array.from({ length: shape.blocks }, (_, block) => `after block ${block + 1}`);
  table(view, lines, classes, (row, column, state) => brief(read(state).answers[row][column]));
  view.draws.push((state) => {
    const silent = state.off.map((one) => headName(shape, one)).join("; ");
    words.textContent = answer(state) + (silent && ` Switched off: ${silent}.`);
  });
  return view.close;
}

const headName = ({ heads }, one) =>
  `block ${Math.floor(one / heads) + 1}, head ${one % heads}`;

/** A chosen patch, in words: its ink, and what of it reaches what the head reads. */
export function patchText(shape, { image, rollout }, { row, column }) {
  const { rows, columns, patch } = shape;
  const number = row * columns + column;
  const size = patch * patch;
  const pixels = patchRows(image, shape).subarray(number * size, (number + 1) * size);
  const ink = meanRow(pixels, 1)[0];
  const share = onPatches(rollout, shape, null)[number];
  const where = `patch ${number} of ${rows * columns} (row ${row}, column ${column})`;
  return `${where}: mean pixel ${brief(ink)}, share in the rollout ${brief(share)}`;
}

/** A chosen head, in words: the patches to which it attends most. */
export function headText(shape, found, state) {
  const values = headOnPatches(found, shape, state);
  const most = ranking(values, 3).map((one) => `${one} (${brief(values[one])})`).join(", ");
  const off = state.off.includes(state.block * shape.heads + state.head) ? ", switched off" : "";
  const name = headName(shape, state.block * shape.heads + state.head);
  return `${name}${off}: ${sourceName(shape, state)} attends most to patches ${most}`;
}

function controls(view, { shape, names, answer }) {
  const pictures = names.map((name, i) => [i, name]);
  const options = [[DRAWN, "your drawing"], ...pictures];
  choice(view, { name: "picture", label: "image", options });
  button(view, "Clear", () => {
    view.set({ picture: DRAWN, drawing: "" });
    view.say(`The sheet is empty. ${answer(view.state)}`);
  });
  choice(view, { name: "brush", label: "brush", options: [["draw", "draw"], ["erase", "erase"]] });
  slider(view, { name: "pen", label: "width", min: 2, max: 7 });
  tick(view, { name: "fit", label: "fit your drawing to the sheet" });
  const reader = shape.pool === "cls" ? "the class token" : "all patches, on average";
  const sources = [["answer", reader], ["patch", "the chosen patch"]];
  choice(view, { name: "source", label: "attention from", options: sources });
  const chosen = ({ block, head }) => block * shape.heads + head;
  const made = button(view, "", () => {
    const { off } = view.state;
    const one = chosen(view.state);
    const on = off.includes(one);
    const others = off.filter((head) => head !== one);
    view.set({ off: on ? others : [...off, one].sort((a, b) => a - b) });
    const done = `${headName(shape, one)}: switched ${on ? "on" : "off"}`;
    view.say(`${done}. ${answer(view.state)}`);
  });
  view.draws.push((state) => {
    const way = state.off.includes(chosen(state)) ? "on" : "off";
    made.textContent = `switch ${headName(shape, chosen(state))} ${way}`;
  });
}

// the sheet: a pointer paints; arrow keys move the pen, Space paints, and Shift with an arrow too
function painter(view, { shape, on, answer }) {
  const [high, wide] = canvasSize(shape);
  const cell = SHEET / Math.max(high, wide);
  const box = { x: 4, y: 22, width: wide * cell, height: high * cell, rows: high, columns: wide };
  const ink = ({ y, x }) => (on(view.state)[y * wide + x] ? "ink" : "empty");
  const place = (state) => `row ${state.y}, column ${state.x}: ${ink(state)}`;
  const grid = { place: ["y", "x"], rows: high, columns: wide, at: (x, y) => cellAt(box, x, y) };
  grid.tell = (state) => `${place(state)}. ${answer(state)}`;
  const draw = (context, state) => {
    context.fillText(`draw here: ${high} × ${wide} pixels`, 2, 13);
    context.imageSmoothingEnabled = false;
    context.drawImage(greys(on(state), wide), box.x, box.y, box.width, box.height);
    const across = { ...box, rows: high / FINE, columns: wide / FINE };
    for (let row = 0; row < across.rows; row++) outline(context, across, { row }, GRID, 0.4);
    for (let column = 0; column < across.columns; column++)
      outline(context, across, { column }, GRID, 0.4);
    context.beginPath();
    const [x, y] = [box.x + (state.x + 0.5) * cell, box.y + (state.y + 0.5) * cell];
    context.arc(x, y, (state.pen / 2) * cell, 0, 7);
    Object.assign(context, { strokeStyle: CHOSEN, lineWidth: 2.5 });
    context.stroke();
  };
  const label =
    "the sheet: arrow keys move the pen, Space or Enter paints, Shift with an arrow key draws";
  const size = { width: box.width + 8, height: box.y + box.height + 4 };
  const made = canvas(view, { ...size, label, draw, grid });
  Object.assign(made.style, { touchAction: "none", cursor: "crosshair" });
  const paint = (cells) => {
    const { pen, brush } = view.state;
    const bits = stamped(on(view.state), wide, cells, pen, brush === "draw" ? 1 : 0);
    view.set({ picture: DRAWN, drawing: toHex(bits) });
    view.say(grid.tell(view.state));
  };
  let last = null; // the last painted cell
  const drag = ({ type, buttons, offsetX, offsetY }) => {
    const scale = size.width / made.getBoundingClientRect().width;
    const here = buttons & 1 ? cellAt(box, offsetX * scale, offsetY * scale) : null;
    const from = type === "pointerdown" ? here : (last ?? here); // a touch may start anywhere
    if (here) paint(path(from, here));
    last = here;
  };
  const press = (event) => {
    const paints = event.key === " " || event.key === "Enter";
    if (paints) event.preventDefault();
    if (paints || (event.shiftKey && event.key.startsWith("Arrow")))
      paint([{ row: view.state.y, column: view.state.x }]);
  };
  for (const [event, act] of [["pointerdown", drag], ["pointermove", drag], ["keydown", press]])
    made.addEventListener(event, act, { signal: view.signal });
}

export default { render };
