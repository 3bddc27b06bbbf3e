// The sheet on which the reader draws, and its controls. Follows vit.pictures.js.
const DRAWN = -1; // instead of a picture's number: the reader's drawing
const SHEET = 304; // CSS pixels of the longer side of the sheet
const EMPTY = { picture: DRAWN, drawing: "", fit: true, brush: "draw" };
const STEPS = 100; // that can be undone
const HELP =
  "Arrows move, Space draws, Shift+arrow draws a line, Delete clears, E erases, Ctrl+Z undoes.";

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

/**
 * The changes of the state when the brush is at these cells. A picture that is changed becomes the
 * drawing, and stays where it is.
 */
export function painted(state, bits, wide, cells) {
  const drawing = toHex(stamped(bits, wide, cells, state.pen, state.brush === "draw" ? 1 : 0));
  return { picture: DRAWN, drawing, fit: state.fit && state.picture === DRAWN };
}

/** What can be undone: `keep(state)` before a change, then `undo(view)`. */
export function undoing() {
  const kept = [];
  return {
    keep({ picture, drawing, fit }) {
      kept.push({ picture, drawing, fit });
      kept.splice(0, kept.length - STEPS);
    },
    undo(view) {
      const last = kept.pop();
      if (last) view.set(last);
      return Boolean(last);
    },
  };
}

/** The sheet, the pen and their controls; `on(state)` is the bitmap, `tell(fact)` announces. */
export function drawingPanel(view, { shape, names, on, tell }) {
  const history = undoing();
  const clear = () => {
    history.keep(view.state);
    view.set(EMPTY);
    tell("Cleared. Undo brings it back.");
  };
  const undo = () => {
    const done = history.undo(view);
    tell(done ? "The last change is undone." : "There is nothing to undo.");
  };
  const pictures = names.map((name, i) => [i, name]);
  const options = [[DRAWN, "your drawing"], ...pictures];
  choice(view, { name: "picture", label: "image", options });
  button(view, "Clear", clear);
  button(view, "Undo", undo);
  choice(view, { name: "brush", label: "brush", options: [["draw", "draw"], ["erase", "erase"]] });
  slider(view, { name: "pen", label: "width", min: 2, max: 7 });
  const label = "centre and scale my drawing, as the training digits are";
  const fit = tick(view, { name: "fit", label });
  fit.parentElement.prepend(fit);
  view.draws.push(({ picture }) => (fit.disabled = picture !== DRAWN));
  painter(view, { shape, on, tell, history, clear, undo });
}

/** The sheet: a pointer paints; arrow keys move the pen, Space paints, Shift with an arrow too. */
function painter(view, { shape, on, tell, history, clear, undo }) {
  const [high, wide] = canvasSize(shape);
  const cell = SHEET / Math.max(high, wide);
  const box = { x: 4, y: 22, width: wide * cell, height: high * cell, rows: high, columns: wide };
  const ink = ({ y, x }) => (on(view.state)[y * wide + x] ? "ink" : "empty");
  const place = (state) => `pen at row ${state.y}, column ${state.x}: ${ink(state)}`;
  const grid = { place: ["y", "x"], rows: high, columns: wide, at: () => null };
  grid.tell = () => tell(place);
  const draw = (context, state) => {
    const example = "an example: your strokes change a copy";
    const text = state.picture === DRAWN ? "draw a digit here" : example;
    context.fillText(text, 4, 13);
    context.imageSmoothingEnabled = false;
    context.drawImage(greys(on(state), wide), box.x, box.y, box.width, box.height);
    const across = { ...box, rows: high / FINE, columns: wide / FINE };
    for (let row = 0; row < across.rows; row++) outline(context, across, { row }, GRID, 0.4);
    for (let column = 0; column < across.columns; column++)
      outline(context, across, { column }, GRID, 0.4);
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.clip();
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
  view.stage.append(make("p", { className: "vit-keys", textContent: HELP }));
  const paint = (cells, y, x) =>
    view.set({ ...painted(view.state, on(view.state), wide, cells), y, x });
  strokes(view, made, { keep: history.keep, paint, tell, place, at(event) {
    const scale = size.width / made.getBoundingClientRect().width;
    return cellAt(box, event.offsetX * scale, event.offsetY * scale);
  } });
  sheetKeys(view, made, { clear, undo, tell, stamp() {
    const { y, x } = view.state;
    history.keep(view.state);
    paint([{ row: y, column: x }], y, x);
    tell(place);
  } });
}

// a stroke is one step to undo; it is announced when it ends
function strokes(view, made, { keep, paint, tell, place, at }) {
  let last = null; // the last painted cell
  let drawing = false;
  const move = (event) => {
    if (!drawing) return;
    const here = at(event);
    if (here) paint(path(last ?? here, here), here.row, here.column);
    last = here;
  };
  const start = (event) => {
    if (event.button) return;
    keep(view.state);
    [drawing, last] = [true, null];
    view.root.ariaBusy = "true"; // screen readers wait for the end of the stroke
    tell("");
    made.setPointerCapture(event.pointerId);
    move(event);
  };
  const stop = () => {
    if (!drawing) return;
    drawing = false;
    view.root.ariaBusy = "false";
    tell(place);
  };
  const acts = { pointerdown: start, pointermove: move, pointerup: stop, pointercancel: stop };
  for (const event in acts) made.addEventListener(event, acts[event], { signal: view.signal });
}

function sheetKeys(view, made, { clear, undo, stamp, tell }) {
  const erase = () => {
    view.set({ brush: view.state.brush === "draw" ? "erase" : "draw" });
    tell(({ brush }) => `brush: ${brush}`);
  };
  const acts = { " ": stamp, Enter: stamp, Delete: clear, e: erase, E: erase };
  const press = (event) => {
    const undoes = (event.ctrlKey || event.metaKey) && event.key === "z";
    const draws = event.shiftKey && event.key.startsWith("Arrow");
    const plain = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
    const act = undoes ? undo : draws ? stamp : plain;
    if (!act) return;
    event.preventDefault();
    act();
  };
  made.addEventListener("keydown", press, { signal: view.signal });
}
