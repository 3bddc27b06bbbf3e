// Dropout: one sample as a network, and the outputs of its linear unit over all samples.
const [BAR, MEAN, STILL] = ["#0072b2", "#d55e00", "#009e73"];
const PLOT = { left: 46, top: 76, width: 440, height: 250 };

/** The effect of a sample on x: how many units are dropped, and the factors of the others. */
export function became(x, result) {
  const factors = [...result].flatMap((value, unit) => (value === 0 ? [] : [value / x[unit]]));
  const dropped = x.length - factors.length;
  return { dropped, least: Math.min(...factors), most: Math.max(...factors) };
}

/** The output of the linear unit. */
export const output = (weights, result) =>
  weights.reduce((sum, weight, unit) => sum + weight * result[unit], 0);

/** Describe a sample and all samples. */
export function inWords({ p, units, dropped, least, most, samples, mean, still, warning }) {
  const factor = least.toFixed(2) === most.toFixed(2) ? "" : `${least.toFixed(2)} to `;
  const others = dropped < units ? `, the others times ${factor}${most.toFixed(2)}` : "";
  return (
    `p = ${p.toFixed(1)}: ${dropped} of ${units} units dropped${others}; mean over ` +
    `${samples} samples ${mean.toFixed(2)}, in evaluation ${still.toFixed(2)}. ${warning}`
  ).trim();
}

/** A round distance between ticks, for about `count` ticks. */
export function spacing(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * [1, 2, 5, 10].find((times) => (power * times * count) / span >= 0.99);
}

function render({ model, el }) {
  const view = open({ model, el });
  const sent = arrays(model);
  const { samples, low, high, warnings } = model.get("options");
  const [, stored, units] = sent.results.shape;
  const [x, weights] = [sent.x.data, sent.weights.data];
  slider(view, { name: "p", label: "p", min: 0, max: 0.9, step: 0.1, text: (p) => p.toFixed(1) });
  button(view, "resample", () => view.set({ sample: (view.state.sample + 1) % stored }));
  const which = make("output");
  view.controls.append(which);

  const at = (state) => {
    const tenth = Math.round(10 * state.p);
    const start = (tenth * stored + state.sample) * units;
    const cut = (array) => array.data.subarray(start, start + units);
    const [result, mask] = [cut(sent.results), cut(sent.masks)];
    const [mean, still] = [sent.means.data[tenth], sent.evaluation.data[tenth]];
    const counts = sent.counts.data.subarray(tenth * BINS(sent), (tenth + 1) * BINS(sent));
    const one = { p: state.p, units, samples, result, mask, mean, still, counts };
    return { ...one, warning: warnings[tenth], ...became(x, result), sum: output(weights, result) };
  };
  network(view, { x, weights, units, at });
  histogram(view, { low, high, at });
  const rows = Array.from({ length: units }, (_, unit) => `unit ${unit}`);
  table(view, rows, ["x", "after dropout", "weight"], (unit, column, state) =>
    [x, at(state).result, weights][column][unit].toFixed(2),
  );
  view.draws.push((state) => {
    which.textContent = `sample ${state.sample + 1} of ${stored}`;
    const words = inWords(at(state));
    if (view.told.textContent !== words) view.say(words);
  });
  return view.close;
}

const BINS = ({ counts }) => counts.shape[1];

function network(view, { x, weights, units, at }) {
  const row = units > 14 ? 19 : 26;
  const [top, node, right] = [46, 160, 316];
  const middle = top + (row * (units - 1)) / 2;
  const heaviest = Math.max(...weights.map(Math.abs));
  canvas(view, {
    width: 372,
    height: top + row * units,
    label: "the units of one sample, and the lines of those that are kept to the linear unit",
    draw(context, state) {
      const { result, mask, sum } = at(state);
      context.textAlign = "right";
      context.fillText("x", 42, 16);
      context.fillText("after dropout", 142, 16);
      context.fillText("line width: weight", 364, 16);
      context.textBaseline = "middle";
      for (let unit = 0; unit < units; unit++) {
        const y = top + row * unit;
        context.fillStyle = context.ink;
        context.font = "12px system-ui, sans-serif";
        context.fillText(x[unit].toFixed(2), 42, y);
        context.fillText("→", 74, y);
        if (mask[unit]) context.font = "bold 12px system-ui, sans-serif";
        context.fillText(mask[unit] ? result[unit].toFixed(2) : "0", 142, y);
        if (mask[unit]) {
          context.lineWidth = 1 + (5 * Math.abs(weights[unit])) / heaviest;
          line(context, BAR, node, y, right - 28, middle + (y - middle) * 0.12);
        }
        unitAt(context, node, y, Math.min(10, row / 2 - 1.5), mask[unit]);
      }
      context.textAlign = "center";
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = context.strokeStyle = context.ink;
      context.lineWidth = 2;
      context.strokeRect(right - 28, middle - 24, 76, 48);
      context.fillText("linear unit", right + 10, middle - 36);
      context.font = "bold 16px system-ui, sans-serif";
      context.fillText(sum.toFixed(2), right + 10, middle);
      context.textBaseline = "alphabetic";
    },
  });
}

// a filled circle for a kept unit, an empty one with a cross for a dropped unit
function unitAt(context, x, y, radius, kept) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = BAR;
  context.lineWidth = 1;
  context.strokeStyle = context.ink;
  if (kept) return context.fill();
  context.stroke();
  context.lineWidth = 3;
  line(context, MEAN, x - radius, y - radius, x + radius, y + radius);
  return line(context, MEAN, x - radius, y + radius, x + radius, y - radius);
}

function line(context, style, fromX, fromY, toX, toY) {
  context.strokeStyle = style;
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

function histogram(view, { low, high, at }) {
  const { left, top, width, height } = PLOT;
  const bottom = top + height;
  const across = (value) => left + ((value - low) / (high - low)) * width;
  canvas(view, {
    width: left + width + 24,
    height: bottom + 58,
    label: "how often the linear unit gave what, its mean, and its output in evaluation",
    draw(context, state) {
      const { counts, mean, still, sum, samples, warning } = at(state);
      const most = Math.max(...counts);
      const wide = width / counts.length;
      context.fillStyle = BAR;
      counts.forEach((count, bin) => {
        const tall = (height * count) / most;
        context.fillRect(left + bin * wide, bottom - tall, wide - 1, tall);
      });
      scales(context, { low, high, most, across });
      marked(context, STILL, 9, across(still), top - 26, []);
      marked(context, MEAN, 2.5, across(mean), top - 48, [8, 4]);
      const lower = mean < still;
      const average = `mean over ${samples} samples ${mean.toFixed(2)}`;
      beside(context, across(mean), top - 54, average, lower);
      beside(context, across(still), top - 32, `in evaluation ${still.toFixed(2)}`, !lower);
      if (warning.includes("gap")) gap(context, across(mean), across(still), mean - still);
      triangle(context, across(sum), bottom + 2, `this sample ${sum.toFixed(2)}`);
    },
  });
}

function scales(context, { low, high, most, across }) {
  const { left, top, width, height } = PLOT;
  const bottom = top + height;
  context.fillStyle = context.ink;
  context.lineWidth = 1;
  line(context, context.ink, left, bottom, left + width, bottom);
  line(context, context.ink, left, top, left, bottom);
  context.textAlign = "center";
  const apart = spacing(high - low, 8);
  for (let mark = Math.ceil(low / apart); mark * apart <= high; mark++) {
    const value = mark * apart;
    context.fillText(Number(value.toPrecision(6)), across(value), bottom + 32);
  }
  context.fillText("output of the linear unit", left + width / 2, bottom + 52);
  context.textAlign = "right";
  context.fillText("0", left - 6, bottom);
  context.fillText(most, left - 6, top + 10);
  context.save();
  context.translate(left - 26, top + height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText("samples", 0, 0);
  context.restore();
}

// a line down to the axis, outlined so that it is visible on bars and other lines
function marked(context, style, wide, x, from, dash) {
  const bottom = PLOT.top + PLOT.height;
  context.lineWidth = wide + 2.5;
  line(context, "white", x, from, x, bottom);
  context.lineWidth = wide;
  context.setLineDash(dash);
  line(context, style, x, from, x, bottom);
  context.setLineDash([]);
}

// a text at the end of a line, on its left if requested and if it fits
function beside(context, x, y, text, left) {
  const wide = context.measureText(text).width;
  const end = PLOT.left + PLOT.width + 20;
  const before = x + wide + 8 > end || (left && x - wide > 4);
  context.textAlign = "left";
  const from = before ? x - wide : x;
  context.clearRect(from - 4, y - 11, wide + 8, 15);
  context.fillStyle = context.ink;
  context.fillText(text, from, y);
}

function gap(context, from, to, size) {
  const y = PLOT.top - 14;
  context.lineWidth = 2;
  line(context, context.ink, from, y, to, y);
  for (const [x, turn] of [[from, to > from ? 1 : -1], [to, to > from ? -1 : 1]]) {
    line(context, context.ink, x, y, x + 7 * turn, y - 5);
    line(context, context.ink, x, y, x + 7 * turn, y + 5);
  }
  context.font = "bold 13px system-ui, sans-serif";
  const text = `gap ${size.toFixed(2)}`;
  const wide = context.measureText(text).width;
  const fits = Math.abs(from - to) > wide + 30;
  beside(context, fits ? (from + to - wide) / 2 : Math.max(from, to) + 10, y + 4, text, false);
  context.font = "12px system-ui, sans-serif";
}

function triangle(context, x, y, text) {
  context.fillStyle = context.ink;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 6, y + 11);
  context.lineTo(x + 6, y + 11);
  context.fill();
  context.textAlign = x > PLOT.left + PLOT.width - 110 ? "right" : "left";
  context.fillText(text, x + (context.textAlign === "left" ? 10 : -10), y + 12);
}

export default { render };
