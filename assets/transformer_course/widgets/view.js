// Shared by all live views: data, state, controls. paint.js, chart.js and the view's own file
// follow; the last ends with `export default { render }`.
const REST = 400; // milliseconds without a change before the state is sent to the kernel

/** The arrays that Python sent: name -> { shape, data, value(i), byte(i) }. */
export function arrays(model) {
  const view = model.get("data");
  const found = {};
  for (const { name, shape, kind, low, high, at } of model.get("options").arrays) {
    const length = shape.reduce((product, size) => product * size, 1);
    const start = view.byteOffset + at;
    // a copy if the bytes are not aligned
    const data =
      kind === "float32"
        ? new Float32Array(view.buffer.slice(start, start + 4 * length))
        : new Uint8Array(view.buffer, start, length);
    const value =
      kind === "float32" ? (i) => data[i] : (i) => low + (data[i] / 255) * (high - low);
    found[name] = { shape, data, low, high, value };
  }
  return found;
}

/** Format a number for reading. */
export function brief(value) {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 10000) ? value.toExponential(1) : value.toFixed(3);
}

/** Format a number with at most two decimals. */
export function short(value) {
  if (Math.abs(value) >= 10000) return value.toExponential(1);
  return String(Number(value.toFixed(2)) || 0).replace("-", "−");
}

/** The next cell of a grid for an arrow key, Home or End; null for another key. */
export function step(key, { row, column }, rows, columns) {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (key === "Home") return { row, column: 0 };
  if (key === "End") return { row, column: columns - 1 };
  if (!moves[key]) return null;
  const within = (at, size) => Math.max(0, Math.min(size - 1, at));
  return { row: within(row + moves[key][0], rows), column: within(column + moves[key][1], columns) };
}

/**
 * A live view: its element, its state, and its cleanup.
 *
 * Read `view.state` and change it by `view.set({...})`: every view of the widget redraws once per
 * frame, and the kernel receives the state when changes pause. Each frame calls `view.draws`.
 */
export function open({ model, el }) {
  const ending = new AbortController();
  const root = make("div", { className: "course-view" });
  const parts = { title: "title", controls: "controls", stage: "stage", told: "told" };
  for (const name in parts) root.append((parts[name] = make("div", { className: name })));
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", model.get("options").title);
  parts.told.setAttribute("aria-live", "polite");
  el.append(root);
  // by a style rule, since the figure may be added later or replaced
  const hidden = make("style");
  const hide = () => {
    const rule = `[data-picture="${model.get("options").picture}"] { display: none }`;
    if (hidden.textContent !== rule) hidden.textContent = rule;
  };
  hide();
  document.head.append(hidden);
  const view = { model, root, ...parts, draws: [], signal: ending.signal };
  let frame = 0;
  let frames = 0;
  let resting = 0;
  const draw = () => {
    frame = 0;
    hide();
    parts.title.textContent = model.get("options").title;
    root.dataset.frames = String(++frames);
    for (const act of view.draws) act(view.state);
  };
  const tell = () => {
    if (!resting) return;
    resting = 0;
    try {
      model.save_changes();
    } catch {
      // the kernel is gone; the view continues without it
    }
  };
  view.redraw = () => (frame ||= requestAnimationFrame(draw));
  view.say = (text) => (parts.told.textContent = text);
  Object.defineProperty(view, "state", { get: () => model.get("state") });
  view.set = (changes) => {
    model.set("state", { ...model.get("state"), ...changes });
    clearTimeout(resting);
    resting = setTimeout(tell, REST);
  };
  const changes = ["change:state", "change:data", "change:options"];
  for (const change of changes) model.on(change, view.redraw);
  const themes = matchMedia("(prefers-color-scheme: dark)");
  themes.addEventListener("change", view.redraw, { signal: ending.signal });
  const watching = new MutationObserver(view.redraw); // pages mark their theme on the body
  for (const place of [document.documentElement, document.body])
    watching.observe(place, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "data-theme", "theme", "class"],
    });
  view.close = () => {
    for (const change of changes) model.off(change, view.redraw);
    ending.abort();
    watching.disconnect();
    cancelAnimationFrame(frame);
    clearTimeout(resting);
    tell();
    hidden.remove();
    root.remove();
  };
  view.redraw();
  return view;
}

/** Create an element with these properties. */
export function make(kind, properties = {}) {
  return Object.assign(document.createElement(kind), properties);
}

// keep keys from Jupyter, in which d d would delete the cell
function own(view, element) {
  element.dataset.lmSuppressShortcuts = "true";
  element.addEventListener("keydown", (event) => event.stopPropagation(), { signal: view.signal });
  return element;
}

function labelled(view, text, element) {
  const label = make("label");
  label.append(text, own(view, element));
  view.controls.append(label);
  return label;
}

/** A slider for the state `name`; `text` formats its value. `among` restricts the values. */
export function slider(view, { name, label, min, max, step = 1, text = brief, among }) {
  const [low, high] = among ? [0, among.length - 1] : [min, max];
  const input = make("input", { type: "range", min: low, max: high, step });
  const said = make("output");
  labelled(view, label, input).append(said);
  const listen = () => view.set({ [name]: among ? among[input.value] : Number(input.value) });
  input.addEventListener("input", listen, { signal: view.signal });
  view.draws.push((state) => {
    const place = among ? among.indexOf(state[name]) : state[name];
    if (Number(input.value) !== place) input.value = place;
    said.textContent = text(state[name]);
    input.setAttribute("aria-valuetext", text(state[name]));
  });
  return input;
}

/** A select box for the state `name`: `options` are [value, text]. */
export function choice(view, { name, label, options }) {
  const select = make("select");
  options.forEach(([, text], i) => select.append(make("option", { value: i, textContent: text })));
  labelled(view, label, select);
  const listen = () => view.set({ [name]: options[select.value][0] });
  select.addEventListener("change", listen, { signal: view.signal });
  view.draws.push((state) => (select.value = options.findIndex(([v]) => v === state[name])));
  return select;
}

/** A checkbox for the state `name`. */
export function tick(view, { name, label }) {
  const input = make("input", { type: "checkbox" });
  labelled(view, label, input);
  const listen = () => view.set({ [name]: input.checked });
  input.addEventListener("change", listen, { signal: view.signal });
  view.draws.push((state) => (input.checked = state[name]));
  return input;
}

/** A button that calls a function. */
export function button(view, label, act) {
  const made = own(view, make("button", { type: "button", textContent: label }));
  made.addEventListener("click", act, { signal: view.signal });
  view.controls.append(made);
  return made;
}
