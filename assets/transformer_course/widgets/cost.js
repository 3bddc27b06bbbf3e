// The cost of a block: FLOPs and parameters by part, under length, width and window.
const COLOURS = ["#0072b2", "#d55e00", "#009e73"];
const BAR = { x: 168, width: 250, high: 24, gap: 14 };
const TOP = 44;
const CURVE = { x: 66, y: 58, width: 380, height: 214 };

/** The FLOPs of each part at one setting: of (windows, widths, lengths, parts). */
export function partsAt({ data, shape }, window, width, length) {
  const start = ((window * shape[1] + width) * shape[2] + length) * shape[3];
  return [...data.subarray(start, start + shape[3])];
}

/** The parameters of each part, without biases and norms. */
export function parametersOf(width) {
  return [4 * width ** 2, 0, 8 * width ** 2];
}

/** The first length at which scores and weighted sum cost more than the rest; undefined if none. */
export function crossing(flops, window, width, lengths) {
  return lengths.find((_, at) => {
    const [projections, attention, forward] = partsAt(flops, window, width, at);
    return attention > projections + forward;
  });
}

/** A large number for reading: 12.3 G. */
export function large(value) {
  const sizes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [size, unit] = sizes.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  const number = Number((value / size).toPrecision(3)).toString().replace("-", "−");
  return unit ? `${number} ${unit}` : number;
}

const percent = (part, all) => `${all ? Math.round((100 * part) / all) : 0} %`;
const sum = (values) => values.reduce((total, value) => total + value, 0);

function render({ model, el }) {
  const view = open({ model, el });
  const { lengths, widths, windows, parts } = model.get("options");
  const { flops } = arrays(model);
  const tokens = (count) => count.toLocaleString("en");
  slider(view, { name: "length", label: "length", among: lengths, text: tokens });
  slider(view, { name: "width", label: "width d", among: widths, text: tokens });
  slider(view, { name: "window", label: "keys", among: windows, text: (keys) => (keys ? `window of ${keys}` : "all") });
  const at = (state) => [windows.indexOf(state.window), widths.indexOf(state.width)];
  const found = (state) => partsAt(flops, ...at(state), lengths.indexOf(state.length));
  const tell = (state) => {
    const counted = found(state);
    const first = crossing(flops, ...at(state), lengths);
    const over = first ? `from a length of ${tokens(first)} on (of those on the slider)` : "at no length on the slider";
    return (
      `${large(sum(counted))} FLOPs; scores and weighted sum: ${percent(counted[1], sum(counted))}. ` +
      `They cost more than all the rest ${over}. Parameters: ${large(sum(parametersOf(state.width)))}.`
    );
  };
  bars(view, "FLOPs by part", parts, found);
  bars(view, "parameters by part", parts, (state) => parametersOf(state.width));
  lines(view, { flops, lengths, windows, parts, at });
  view.draws.push((state) => view.told.textContent !== tell(state) && view.say(tell(state)));
  table(view, parts, ["FLOPs", "share", "parameters"], (row, column, state) => {
    const counted = found(state);
    return [large(counted[row]), percent(counted[row], sum(counted)), large(parametersOf(state.width)[row])][column];
  });
  return view.close;
}

function bars(view, title, parts, valuesOf) {
  canvas(view, {
    width: BAR.x + BAR.width + 12, height: TOP + parts.length * (BAR.high + BAR.gap),
    label: title,
    draw(context, state) {
      const values = valuesOf(state);
      const most = Math.max(...values.map(Math.abs), 1);
      context.font = "bold 13px system-ui, sans-serif";
      context.fillText(`${title}: ${large(sum(values))} in all`, 4, 16);
      context.font = "12px system-ui, sans-serif";
      parts.forEach((name, i) => {
        const y = TOP + i * (BAR.high + BAR.gap);
        context.fillStyle = context.ink;
        context.fillText(name, 4, y + 16);
        context.fillStyle = COLOURS[i];
        const long = (Math.max(0, values[i]) / most) * (BAR.width - 110);
        context.fillRect(BAR.x, y, Math.max(long, 1), BAR.high);
        context.fillStyle = context.ink;
        context.fillText(`${large(values[i])}, ${percent(values[i], sum(values))}`, BAR.x + long + 6, y + 16);
      });
    },
  });
}

function lines(view, { flops, lengths, windows, parts, at }) {
  const dashes = [[], [6, 4], [2, 3]];
  canvas(view, {
    width: CURVE.x + CURVE.width + 26, height: CURVE.y + CURVE.height + 48,
    label: "FLOPs of each part over the length",
    draw(context, state) {
      const place = at(state);
      const all = lengths.map((_, i) => partsAt(flops, ...place, i));
      const log = (value) => (value > 0 ? Math.log10(value) : NaN);
      const known = all.flat().map(log).filter(Number.isFinite);
      const [low, high] = known.length ? [Math.floor(Math.min(...known)), Math.ceil(Math.max(...known))] : [0, 1];
      parts.forEach((name, i) =>
        explained(context, { x: CURVE.x, y: 12 + 16 * i }, name, COLOURS[i], 2.5, dashes[i]));
      const across = { from: Math.log2(lengths[0]), to: Math.log2(lengths.at(-1)), name: "length", whole: true, text: (power) => 2 ** power };
      const up = { from: low, to: Math.max(high, low + 1), name: "FLOPs", whole: true, text: (power) => large(10 ** power) };
      const { x, line } = chart(context, CURVE, across, up);
      const xs = lengths.map(Math.log2);
      parts.forEach((_, i) => line(xs, all.map((one) => log(one[i])), COLOURS[i], 2.5, dashes[i]));
      context.globalAlpha = 0.6;
      context.fillRect(x(Math.log2(state.length)) - 1, CURVE.y, 2, CURVE.height);
      context.globalAlpha = 1;
    },
  });
}

export default { render };
