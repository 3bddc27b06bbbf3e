// Softmax saturation: bars of scores and weights, and a measure of saturation.
// CSS pixels: the ends of names and numbers, and the extents of bars
const [NAME, NUMBER, SCORES, WEIGHTS, TOP] = [92, 142, [152, 292], [350, 510], 44];
const CURVE = { x: 52, y: 44, width: 262, height: 190 };
const [BLUE, ORANGE] = ["#0072b2", "#d55e00"];
const GRID = 20; // steps of the temperature for each factor of ten

/** Saturation: the largest weight and its index, the largest w·(1 − w), and the sum. */
export function saturation(weights) {
  const largest = Math.max(...weights);
  return {
    largest,
    place: weights.indexOf(largest),
    gradient: Math.max(...Array.from(weights, (weight) => weight * (1 - weight))),
    sum: weights.reduce((total, weight) => total + weight, 0),
  };
}

/** Describe this saturation. */
export function verdict({ largest, gradient, sum }, count) {
  if (Math.abs(sum - 1) > 0.005) return `these weights sum to ${sum.toFixed(2)}, not to 1`;
  if (gradient < 0.02) return "saturated: one takes all, and small changes of the scores are lost";
  if (largest < 1.3 / count) return "almost even: the scores hardly count";
  return "in between: each score still counts";
}

const heat = (log) => String(Number((10 ** log).toPrecision(2)));

/** The row of settings for this state, and its index. */
export function setting(state) {
  if (state.experiment === "temperature")
    return { at: Math.round((state.log10_temperature + 1) * GRID), plane: 0 };
  return { at: state.log2_d_k, plane: state.divided ? 1 : 0 };
}

function render({ model, el }) {
  const view = open({ model, el });
  const sent = arrays(model);
  const { labels } = model.get("options");
  const tables = {
    temperature: { scores: sent.scores, weights: sent.weights, names: labels },
    d_k: { scores: sent.dots, weights: sent.dot_weights },
  };
  const keys = sent.dots.shape[2];
  tables.d_k.names = Array.from({ length: keys }, (_, i) => `key ${i}`);
  const row = ({ data, shape }, { at, plane }) => {
    const [settings, count] = shape.slice(-2);
    const start = (plane * settings + at) * count;
    return data.slice(start, start + count);
  };
  const shown = (state) => {
    const { scores, weights, names } = tables[state.experiment];
    const where = setting(state);
    return { names, scores: row(scores, where), weights: row(weights, where) };
  };
  const experiments = [["temperature", "temperature"], ["d_k", "width d_k"]];
  choice(view, { name: "experiment", label: "change the", options: experiments });
  const logarithm = { min: -1, max: 1, step: 1 / GRID };
  const only = [
    slider(view, { ...logarithm, name: "log10_temperature", label: "temperature", text: heat }),
    slider(view, { name: "log2_d_k", label: "d_k", min: 0, max: 9, text: (log) => `${2 ** log}` }),
    tick(view, { name: "divided", label: "divide by √d_k" }),
  ];
  view.draws.push((state) =>
    only.forEach((input, i) => {
      const used = (i === 0) === (state.experiment === "temperature");
      input.parentElement.style.display = used ? "" : "none";
    }));
  const tell = (state) => {
    const { names, weights } = shown(state);
    const found = saturation(weights);
    const { log10_temperature, log2_d_k, divided } = state;
    const where =
      state.experiment === "temperature"
        ? `temperature ${heat(log10_temperature)}`
        : `d_k = ${2 ** log2_d_k}, ${divided ? "divided" : "not divided"} by √d_k`;
    const said = verdict(found, names.length);
    return (
      `At ${where}: the largest weight is ${found.largest.toFixed(2)} (“${names[found.place]}”)` +
      ". The largest entry of softmax's gradient, w·(1 − w), is " +
      `${found.gradient.toFixed(3)}, of at most 0.25. ${said[0].toUpperCase()}${said.slice(1)}.`
    );
  };
  bars(view, tables, shown);
  curves(view, sent, tables, shown);
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  for (const experiment of ["temperature", "d_k"]) {
    const { names } = tables[experiment];
    table(view, names, ["score", "weight"], (i, column, state) =>
      brief(Number((column ? shown(state).weights : shown(state).scores)[i])));
    const folded = view.root.lastElementChild;
    view.draws.push((state) =>
      (folded.style.display = state.experiment === experiment ? "" : "none"));
  }
  return view.close;
}

// a row for each score: the input of softmax on the left, its output on the right
function bars(view, tables, shown) {
  const most = Math.max(...Object.values(tables).map(({ names }) => names.length));
  const { scores } = tables.temperature;
  const one = Array.from(scores.data.slice(GRID * scores.shape[1], (GRID + 1) * scores.shape[1]));
  // a fixed scale while a control moves; longer bars end in an arrow
  const ends = { temperature: [2 * Math.min(0, ...one), 2 * Math.max(0, ...one)], d_k: [-16, 16] };
  const high = most > 12 ? 17 : 24;
  const made = canvas(view, {
    width: WEIGHTS[1] + 46,
    height: TOP + most * high + 44,
    label: "bars of the scores, and of the weights that softmax makes of them",
    draw(context, state) {
      const { names, scores: given, weights } = shown(state);
      const [low, up] = ends[state.experiment];
      const unit = (SCORES[1] - SCORES[0]) / (up - low || 1);
      const zero = SCORES[0] - low * unit;
      const bottom = TOP + names.length * high;
      made.style.aspectRatio = `${WEIGHTS[1] + 46} / ${bottom + 44}`; // no empty space
      heading(context, state, bottom);
      rule(context, zero, bottom, 1);
      [0, 0.5, 1].forEach((share) => {
        const x = WEIGHTS[0] + share * (WEIGHTS[1] - WEIGHTS[0]);
        rule(context, x, bottom, share ? 0.3 : 1);
        context.fillText(share, x, bottom + 15);
      });
      const { sum } = saturation(weights);
      const off = Math.abs(sum - 1) > 0.005 ? "bold " : "";
      context.font = `${off}12px system-ui, sans-serif`;
      const text = `weight (sum ${sum.toFixed(2)}${off && ", not 1"})`;
      context.fillText(text, (WEIGHTS[0] + WEIGHTS[1]) / 2, bottom + 33);
      context.font = "12px system-ui, sans-serif";
      context.textBaseline = "middle";
      const largest = Math.max(...weights);
      names.forEach((name, i) => {
        const y = TOP + (i + 0.5) * high;
        context.fillStyle = context.ink;
        context.textAlign = "right";
        context.fillText(name, NAME, y, NAME - 4);
        context.fillText(given[i].toFixed(2).replace("-", "−"), NUMBER, y);
        context.textAlign = "left";
        const share = Math.max(0, Math.min(1, weights[i])) * (WEIGHTS[1] - WEIGHTS[0]);
        context.font = `${weights[i] === largest ? "bold " : ""}12px system-ui, sans-serif`;
        context.fillText(weights[i].toFixed(2).replace("-", "−"), WEIGHTS[0] + share + 5, y);
        context.font = "12px system-ui, sans-serif";
        context.fillStyle = BLUE;
        context.fillRect(WEIGHTS[0], y - high / 2 + 3, share, high - 6);
        arrowed(context, zero, y, given[i] * unit, high - 6);
      });
    },
  });
  Object.assign(made.style, { objectFit: "cover", objectPosition: "top" });
}

function heading(context, { experiment, log10_temperature, divided }, bottom) {
  const given = {
    temperature: `scores ÷ ${heat(log10_temperature)}`,
    d_k: divided ? "q·k ÷ √d_k" : "q·k",
  }[experiment];
  context.textAlign = "center";
  context.font = "bold 12px system-ui, sans-serif";
  context.fillText(given, (NUMBER + SCORES[1]) / 2, 18);
  context.fillText("weights, by your softmax", (WEIGHTS[0] + WEIGHTS[1]) / 2, 18);
  context.font = "12px system-ui, sans-serif";
  const between = (SCORES[1] + WEIGHTS[0]) / 2;
  context.fillText("softmax", between, (TOP + bottom) / 2 - 9);
  context.fillText("→", between, (TOP + bottom) / 2 + 7);
}

function rule(context, x, bottom, alpha) {
  context.globalAlpha = alpha;
  context.fillRect(x - 0.5, TOP - 6, 1, bottom - TOP + 8);
  context.globalAlpha = 1;
}

// a grey bar from `x` for an input; if it is too long, it ends in an arrow
function arrowed(context, x, y, length, high) {
  const most = length < 0 ? x - SCORES[0] : SCORES[1] - x;
  const cut = Math.abs(length) > most + 1;
  const end = x + Math.sign(length) * (cut ? most - 8 : Math.abs(length));
  context.fillStyle = "#888888";
  context.fillRect(Math.min(x, end), y - high / 2, Math.abs(end - x), high);
  if (!cut) return;
  context.beginPath();
  context.moveTo(end, y - high / 2);
  context.lineTo(end + 8 * Math.sign(length), y);
  context.lineTo(end, y + high / 2);
  context.fill();
}

// saturation over the full range of the chosen control
function curves(view, sent, tables, shown) {
  const { data, shape } = sent.weights;
  const hot = Array.from({ length: shape[0] }, (_, at) =>
    saturation(data.slice(at * shape[1], (at + 1) * shape[1])));
  const settings = sent.largest.shape[1];
  const planes = (mean) => [0, 1].map((i) => mean.data.slice(i * settings, (i + 1) * settings));
  const lines = {
    temperature: [[hot.map((one) => one.largest)], [hot.map((one) => one.gradient)]],
    d_k: [planes(sent.largest), planes(sent.gradient)],
  };
  canvas(view, {
    width: CURVE.x + CURVE.width + 14,
    height: CURVE.y + CURVE.height + 44,
    label: "the largest weight, and the largest entry of the gradient, over the whole range",
    draw(context, state) {
      const wide = state.experiment === "d_k";
      const axis = wide
        ? { from: 0, to: 9, name: "d_k", text: (log) => 2 ** log }
        : { from: -1, to: 1, name: "temperature", text: heat };
      const up = { from: 0, to: 1, name: "" };
      const { x, y, line } = chart(context, CURVE, { ...axis, whole: true }, up);
      const { at, plane } = setting(state);
      const [largest, gradient] = lines[state.experiment];
      const xs = Array.from(largest[0], (_, i) => (wide ? i : i / GRID - 1));
      largest.forEach((values, i) => {
        context.globalAlpha = i === plane ? 1 : 0.45;
        line(xs, values, BLUE, 2.5);
        line(xs, gradient[i], ORANGE, 2.5, [6, 4]);
      });
      context.globalAlpha = 1;
      const now = saturation(shown(state).weights);
      context.fillRect(x(xs[at]) - 0.5, CURVE.y, 1, CURVE.height);
      context.fillStyle = BLUE;
      context.beginPath();
      context.arc(x(xs[at]), y(now.largest), 6, 0, 7);
      context.fill();
      context.fillStyle = ORANGE;
      context.fillRect(x(xs[at]) - 5, y(now.gradient) - 5, 10, 10);
      legend(context, wide, state.divided);
    },
  });
}

function legend(context, wide, divided) {
  context.textAlign = "left";
  const items = [["● largest weight", BLUE, 0], ["■ largest w·(1 − w)", ORANGE, 128]];
  for (const [text, colour, shift] of items) {
    context.fillStyle = colour;
    context.fillText(text[0], CURVE.x + shift, 18);
    context.fillStyle = context.ink;
    context.fillText(text.slice(2), CURVE.x + shift + 14, 18);
  }
  if (!wide) return;
  const other = divided ? "q·k as it is" : "with ÷ √d_k";
  context.fillText(`lines: mean of 64 queries; pale: ${other}`, CURVE.x - 28, 36);
}

export default { render };
