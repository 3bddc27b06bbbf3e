// Heads as switches: each state's shares were computed beforehand.
const [BLUE, ORANGE] = ["#0072b2", "#d55e00"];
const [CELL, HIGH, LEFT, TOP] = [84, 40, 62, 40]; // of the switches, in CSS pixels
const [LINE, NAME, REACH] = [30, 130, 190]; // of the bars
const LETTERS = "12px system-ui, sans-serif";

/** A share as a percentage. */
export function percent(share) {
  return `${(100 * share).toFixed(1)}\u00a0%`;
}

/** The row of shares of a state: head i is bit i. */
export function stateOf(open) {
  return [...open].reduce((sum, one, head) => sum + (one === "1" ? 2 ** head : 0), 0);
}

/** The switches with one of them turned over. */
export function turned(open, head) {
  return [...open].map((one, i) => (i === head ? (one === "1" ? "0" : "1") : one)).join("");
}

/** Describe the chosen switch, and what all of them together leave. */
export function described({ layers, heads, names, sharesOf }, { open, row, column }) {
  const how = open[row * heads + column] === "1" ? "open" : "shut";
  const left = open.replaceAll("0", "").length;
  const shares = sharesOf(open);
  const told = names.map((name, i) => `${name} ${percent(shares[i])}`).join(", ");
  return `layer ${row}, head ${column}: ${how}. ${left} of ${layers * heads} heads are open: ${told}.`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const { layers, heads, names } = model.get("options");
  const { data } = arrays(model).shares;
  const sharesOf = (state) => {
    const at = stateOf(state) * names.length;
    return [...data.slice(at, at + names.length)];
  };
  const all = { layers, heads, names, sharesOf, every: "1".repeat(layers * heads) };
  const tell = (state) => described(all, state);
  button(view, "open all", () => view.set({ open: all.every }));
  button(view, "shut all", () => view.set({ open: "0".repeat(layers * heads) }));
  switches(view, all, tell);
  table(view, names, ["now", "all heads open"], (i, column, state) =>
    percent(sharesOf(column ? all.every : state.open)[i]));
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  return view.close;
}

function switches(view, all, tell) {
  const { layers, heads, names } = all;
  const wide = Math.max(LEFT + heads * CELL, NAME + REACH + 170) + 6;
  const box = { x: LEFT, y: TOP, width: heads * CELL, height: layers * HIGH, rows: layers, columns: heads };
  const under = TOP + box.height + 44;
  const at = (x, y) => cellAt(box, x, y);
  const turn = (head) => view.set({ open: turned(view.state.open, head) });
  const made = canvas(view, {
    width: wide,
    height: under + names.length * LINE + 26,
    label: "a switch for each head: arrow keys move, Space or Enter opens and shuts; below, the shares",
    grid: { place: ["row", "column"], rows: layers, columns: heads, at, tell },
    draw(context, state) {
      context.font = `bold ${LETTERS}`;
      context.fillText("click a head to shut or open it", 2, 14);
      named(context, box);
      for (let head = 0; head < layers * heads; head++)
        oneSwitch(context, box, head, state.open[head] === "1");
      outline(context, box, state, ORANGE);
      bars(context, all, state, under);
    },
  });
  made.style.cursor = "pointer";
  const press = (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    turn(view.state.row * heads + view.state.column);
  };
  const point = ({ offsetX, offsetY }) => {
    const scale = wide / made.getBoundingClientRect().width;
    const cell = at(offsetX * scale, offsetY * scale);
    if (!cell) return;
    view.set(cell);
    turn(cell.row * heads + cell.column);
  };
  for (const [event, act] of [["keydown", press], ["click", point]])
    made.addEventListener(event, act, { signal: view.signal });
}

function named(context, { x, y, rows, columns }) {
  context.font = LETTERS;
  for (let row = 0; row < rows; row++) context.fillText(`layer ${row}`, 2, y + (row + 0.5) * HIGH + 4);
  context.textAlign = "center";
  for (let column = 0; column < columns; column++)
    context.fillText(`head ${column}`, x + (column + 0.5) * CELL, y - 8);
  context.textAlign = "left";
}

function oneSwitch(context, { x, y, columns }, head, isOpen) {
  const [left, top] = [x + (head % columns) * CELL + 5, y + Math.floor(head / columns) * HIGH + 5];
  const [width, height] = [CELL - 10, HIGH - 10];
  context.beginPath();
  context.roundRect(left, top, width, height, height / 2);
  context.fillStyle = isOpen ? BLUE : "transparent";
  context.fill();
  Object.assign(context, { strokeStyle: isOpen ? BLUE : context.ink, lineWidth: 1.5 });
  context.stroke();
  const knob = isOpen ? left + width - height / 2 : left + height / 2;
  context.beginPath();
  context.arc(knob, top + height / 2, height / 2 - 5, 0, 7);
  context.fillStyle = isOpen ? "#fff" : context.ink;
  context.fill();
  Object.assign(context, { font: `bold ${LETTERS}`, textAlign: "center" });
  context.fillText(isOpen ? "open" : "shut", left + width / 2 + (isOpen ? -8 : 8), top + height / 2 + 4);
  context.textAlign = "left";
}

function bars(context, { layers, heads, names, sharesOf, every }, { open: state }, top) {
  const [now, before] = [sharesOf(state), sharesOf(every)];
  const left = state.replaceAll("0", "").length;
  context.font = `bold ${LETTERS}`;
  context.fillStyle = context.ink;
  context.fillText(`${left} of ${layers * heads} heads are open`, 2, top - 14);
  names.forEach((name, i) => {
    const y = top + (i + 0.5) * LINE;
    context.font = LETTERS;
    context.fillStyle = context.ink;
    context.fillText(name, 2, y + 4, NAME - 8);
    context.fillText(`${percent(now[i])} (all open: ${percent(before[i])})`, NAME + REACH + 8, y + 4);
    Object.assign(context, { strokeStyle: context.ink, lineWidth: 1 });
    context.strokeRect(NAME, y - 9, REACH, 18);
    context.fillStyle = BLUE;
    context.fillRect(NAME, y - 8, now[i] * REACH, 16);
    context.fillStyle = ORANGE;
    context.fillRect(NAME + before[i] * REACH - 1.5, y - 12, 3, 24);
  });
  context.font = LETTERS;
  context.fillStyle = context.ink;
  context.fillText("orange mark: with all heads open", NAME, top + names.length * LINE + 16);
}

export default { render };
