// Training: a line for each series, losses in one panel and accuracies in another.
const INKS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const DASHES = [[], [7, 4], [2, 3], [8, 3, 2, 3]];
const BOX = { x: 58, y: 40, width: 300, height: 176 };
const MARKED = 10; // marks along a line

/** The index of the nearest of the ascending `steps`. */
export function nearest(steps, step) {
  let [low, high] = [0, steps.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low > 0 && step - steps[low - 1] <= steps[low] - step ? low - 1 : low;
}

/** The range of the numbers that an axis can show; null if it can show none. */
export function ends(series, logarithmic) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of series.flatMap((values) => [...values])) {
    if (!Number.isFinite(value) || (logarithmic && value <= 0)) continue;
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return low <= high ? { low, high } : null;
}

/** 1, 2 and 5 times the powers of ten between two ends; only powers if there are many. */
export function decades(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    for (const factor of [1, 2, 5]) found.push(Number(`${factor}e${power}`));
  const inside = found.filter((value) => value >= low && value <= high);
  const powers = inside.filter((value) => Number.isInteger(Number(Math.log10(value).toFixed(9))));
  return inside.length > 7 ? powers : inside;
}

/** The points of a line that have a mark: some along it, and those between two gaps. */
export function marked(values) {
  const every = values.length <= 4 * MARKED ? 1 : Math.floor(values.length / MARKED);
  const known = (i) => Number.isFinite(values[i]);
  const alone = (i) => !known(i - 1) && !known(i + 1);
  return [...values.keys()].filter((i) => known(i) && (i % every === 0 || alone(i)));
}

function render({ model, el }) {
  const view = open({ model, el });
  let lines = [];
  const read = () => {
    const found = arrays(model);
    lines = model.get("options").names.map((name, i) => ({
      name,
      steps: found[`steps ${i}`].data,
      values: found[`values ${i}`].data,
      ink: INKS[i],
      dash: DASHES[i],
      shape: i,
    }));
  };
  read();
  tick(view, { name: "logarithmic", label: "logarithmic loss axis" });
  const words = make("span");
  view.controls.append(words);
  view.draws.push(() => {
    read(); // new data has arrived
    const { step, steps, total } = model.get("options");
    const of = total && total !== steps ? ` of ${total}` : "";
    const last = lines.map(({ name, values }) => `, ${name} ${spoken(values.at(-1))}`);
    words.textContent = `${step} ${steps}${of}${last.join("")}`;
  });
  const tell = ({ series, at }) => {
    const order = [lines[series], ...lines.filter((_, i) => i !== series)];
    const told = order.map(({ name, steps, values }) => {
      const point = nearest(steps, at);
      const where = steps[point] === at ? "" : ` (at ${steps[point]})`;
      return `${name} ${spoken(values[point])}${where}`;
    });
    return `${model.get("options").step} ${at}: ${told.join(", ")}`;
  };
  for (const which of [0, 1]) panel({ view, model, which, lines: () => lines, tell });
  return view.close;
}

const spoken = (value) => (Number.isFinite(value) ? brief(value) : "no number");

function panel({ view, model, which, lines, tell }) {
  const about = () => model.get("options").panels[which];
  const across = () => {
    const { step: name, steps, total } = model.get("options");
    return { from: 0, to: Math.max(total ?? 0, steps, 1), name, whole: true };
  };
  const made = canvas(view, {
    width: BOX.x + BOX.width + 14,
    height: BOX.y + BOX.height + 38,
    label: which ? "accuracy: arrow keys choose a point" : "loss: arrow keys choose a point",
    draw(context, state) {
      made.hidden = !about();
      if (made.hidden) return;
      const mine = about().series.map((i) => lines()[i]);
      const { axis, place } = upright(mine, about().name, state.logarithmic);
      const { x, y, line } = chart(context, BOX, across(), axis);
      mine.forEach(({ steps, values, ink, dash, shape }) => {
        const up = Array.from(values, place);
        line(steps, up, ink, 2, dash);
        for (const i of marked(up)) mark(context, shape, x(steps[i]), y(up[i]), 3.5, ink);
      });
      legend(context, mine);
      if (state.at) crossed(context, { state, mine, lines: lines(), x, y, place });
    },
  });
  const choose = (series, step) => {
    view.set({ series, at: step });
    view.say(tell(view.state));
  };
  own(view, made).tabIndex = 0;
  made.setAttribute("role", "application");
  const keys = (event) => {
    const { series, at } = view.state;
    if (!lines().length) return;
    const { steps } = lines()[series];
    const here = { row: series, column: at ? nearest(steps, at) : -1 };
    const next = step(event.key, here, lines().length, steps.length);
    if (!next) return;
    event.preventDefault();
    const along = next.row === series ? steps[next.column] : at;
    const to = lines()[next.row].steps;
    choose(next.row, to[nearest(to, along)]);
  };
  const point = (event) => {
    const scale = (BOX.x + BOX.width + 14) / made.getBoundingClientRect().width;
    const share = (event.offsetX * scale - BOX.x) / BOX.width;
    if (share < 0 || share > 1 || !about()?.series.length) return;
    const { series: places } = about();
    const series = places.includes(view.state.series) ? view.state.series : places[0];
    const { steps } = lines()[series];
    const found = steps[nearest(steps, share * across().to)];
    if (found !== view.state.at || series !== view.state.series) choose(series, found);
  };
  made.addEventListener("keydown", keys, { signal: view.signal });
  made.addEventListener("pointermove", point, { signal: view.signal });
  made.addEventListener("pointerdown", point, { signal: view.signal });
}

// the y axis, and the position of a number on it; nonpositive numbers are gaps on a log axis
function upright(lines, name, logarithmic) {
  const values = lines.map((one) => one.values);
  if (name === "accuracy") {
    const { high } = ends(values) ?? { high: 1 };
    return { axis: { from: 0, to: Math.max(1, high), name }, place: (value) => value };
  }
  const shown = logarithmic && ends(values, true);
  if (shown) {
    const [low, high] = [shown.low / 1.2, shown.high * 1.2];
    const marks = decades(low, high).map(Math.log10);
    const text = (place) => String(Number((10 ** place).toPrecision(3)));
    const axis = { from: Math.log10(low), to: Math.log10(high), name: `${name}, log`, marks, text };
    return { axis, place: (value) => (value > 0 ? Math.log10(value) : NaN) };
  }
  const { low, high } = ends(values) ?? { low: 0, high: 1 };
  const room = 0.05 * (high - Math.min(0, low)) || 1;
  const from = low < 0 ? low - room : 0;
  return { axis: { from, to: high + room, name }, place: (value) => value };
}

// circle, square, triangle, diamond
function mark(context, shape, x, y, size, ink) {
  const corners = [[], [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.2], [1.1, 1], [-1.1, 1]]];
  corners.push([[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]);
  context.beginPath();
  if (shape === 0) context.arc(x, y, size, 0, 2 * Math.PI);
  for (const [right, down] of corners[shape]) context.lineTo(x + right * size, y + down * size);
  context.closePath();
  context.fillStyle = ink;
  context.fill();
}

function legend(context, lines) {
  let x = BOX.x;
  for (const { name, ink, dash, shape } of lines) {
    Object.assign(context, { strokeStyle: ink, lineWidth: 2 });
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, 20);
    context.lineTo(x + 30, 20);
    context.stroke();
    context.setLineDash([]);
    mark(context, shape, x + 15, 20, 3.5, ink);
    context.fillStyle = context.ink;
    context.fillText(name, x + 36, 24);
    x += 36 + context.measureText(name).width + 18;
  }
}

// the chosen step as a line, and a ring around each series' point there
function crossed(context, { state, mine, lines, x, y, place }) {
  const { at, series } = state;
  context.strokeStyle = context.ink;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x(at), BOX.y);
  context.lineTo(x(at), BOX.y + BOX.height);
  context.stroke();
  context.setLineDash([]);
  for (const one of mine) {
    const point = nearest(one.steps, at);
    const up = place(one.values[point]);
    if (!Number.isFinite(up)) continue;
    const chosen = one === lines[series];
    context.lineWidth = chosen ? 3 : 1.5;
    context.strokeStyle = chosen ? "#d55e00" : context.ink;
    context.beginPath();
    context.arc(x(one.steps[point]), y(up), chosen ? 7 : 5, 0, 2 * Math.PI);
    context.stroke();
  }
}

export default { render };
