// Causal against cached: a grid of calls by positions each, and the totals.
const [BLUE, ORANGE] = ["#0072b2", "#d55e00"];
const SIDE = [280, 280]; // maximum width and height of a grid, in CSS pixels
const LETTERS = "12px system-ui, sans-serif";
const [ABSENT, FIRST, AGAIN, READ] = [0, 1, 2, 3]; // what a call does with a position
const CURVE = { x: 56, y: 46, width: 190, height: 190 }; // beside the grids, if it fits

/** How many positions a call computes for the first time, computes again, and reads. */
export function counts({ data, shape }, call) {
  const found = [0, 0, 0, 0];
  for (const what of data.subarray(call * shape[1], (call + 1) * shape[1])) found[what]++;
  return { first: found[FIRST], again: found[AGAIN], read: found[READ] };
}

/** The positions computed up to each call, in all. */
export function totals(grid) {
  let sum = 0;
  return Array.from({ length: grid.shape[0] }, (_, call) => {
    const { first, again } = counts(grid, call);
    return (sum += first + again);
  });
}

/** How often a position has been computed, up to a call. */
export function times({ data, shape }, call, position) {
  let sum = 0;
  for (let row = 0; row <= Math.min(call, shape[0] - 1); row++) {
    const what = data[row * shape[1] + position];
    if (what === FIRST || what === AGAIN) sum++;
  }
  return sum;
}

/** The stretches of equal cells in a row, [from, to, what]; `single`: each cell by itself. */
export function runs(row, single) {
  const found = [];
  row.forEach((what, i) => {
    const last = found.at(-1);
    if (!single && last?.[2] === what) last[1] = i + 1;
    else found.push([i, i + 1, what]);
  });
  return found;
}

const written = (count) => count.toLocaleString("en");
const plural = (count) => `${written(count)} position${count === 1 ? "" : "s"}`;

function render({ model, el }) {
  const view = open({ model, el });
  const sent = arrays(model);
  const { tokens, names } = model.get("options");
  const kinds = { without: sent.without, with: sent.with };
  const sums = { without: totals(sent.without), with: totals(sent.with) };
  const steps = Math.max(sums.without.length, sums.with.length);
  const nth = (value) => `${value + 1} of ${steps}`;
  slider(view, { name: "step", label: "call", min: 0, max: steps - 1, text: nth });
  legend(view, names);
  const upTo = (kind, step) => sums[kind][Math.min(step, sums[kind].length - 1)];
  const doing = (kind, { step, position }) => {
    const grid = kinds[kind];
    if (step >= grid.shape[0]) return "there is no such call";
    const what = grid.data[step * tokens.length + position];
    const often = times(grid, step, position);
    if (what === ABSENT) return often ? "left out of this call" : "not there yet";
    return what === AGAIN ? `${names[what]}, the ${ordinal(often)} time` : names[what];
  };
  const tell = (state) =>
    `Call ${nth(state.step)}, position ${state.position} “${tokens[state.position]}”. ` +
    `Without a cache: ${doing("without", state)}; with a cache: ${doing("with", state)}. ` +
    `So far, ${plural(upTo("without", state.step))} computed without, ` +
    `${written(upTo("with", state.step))} with a cache.`;
  for (const kind in kinds) panel(view, { kind, grid: kinds[kind], tokens, steps, upTo, tell });
  curves(view, sums, steps);
  view.draws.push((state) => {
    if (view.told.textContent !== tell(state)) view.say(tell(state));
  });
  if (steps <= 40) numbers(view, kinds, upTo, steps);
  return view.close;
}

/** 2nd, 3rd, 4th, … */
export function ordinal(number) {
  const ending = Math.floor(number / 10) % 10 === 1 ? "th" : ["th", "st", "nd", "rd"][number % 10];
  return `${number}${ending ?? "th"}`;
}

// the colours, in words that wrap
function legend(view, names) {
  const line = make("div");
  Object.assign(line.style, { display: "flex", flexWrap: "wrap", gap: "2px 18px", marginBottom: "8px" });
  for (const what of [FIRST, AGAIN, READ, ABSENT]) {
    const item = make("span");
    Object.assign(item.style, { display: "inline-flex", gap: "6px", alignItems: "center" });
    line.append(item);
    canvas(view, {
      width: 18, height: 14, into: item, label: "",
      draw: (context) => painted(context, 1, 1, 16, 12, what, true),
    }).setAttribute("aria-hidden", "true");
    item.append(names[what]);
  }
  view.stage.before(line);
}

function painted(context, x, y, wide, high, what, large) {
  context.save();
  context.fillStyle = context.strokeStyle = what === READ ? BLUE : ORANGE;
  context.beginPath();
  context.rect(x, y, wide, high);
  if (what === ABSENT) {
    context.strokeStyle = context.ink;
    context.globalAlpha *= 0.3;
    if (large) context.stroke();
    context.restore();
    return;
  }
  const alpha = context.globalAlpha;
  context.globalAlpha = what === AGAIN ? alpha * 0.3 : alpha;
  context.fill();
  context.globalAlpha = alpha;
  context.clip();
  if (what === AGAIN && large) {
    context.lineWidth = 1.5;
    context.beginPath();
    for (let shift = -high; shift < wide; shift += 5) {
      context.moveTo(x + shift, y + high);
      context.lineTo(x + shift + high, y);
    }
    context.stroke();
  }
  context.restore();
}

// one grid, calls by positions, with its numbers below
function panel(view, { kind, grid, tokens, steps, upTo, tell }) {
  const [rows, columns] = grid.shape;
  const named = SIDE[0] / columns >= 11;
  const most = named ? Math.max(...tokens.map((name) => name.length)) : 3;
  const [wide, high] = [Math.min(22, SIDE[0] / columns), Math.min(22, SIDE[1] / steps)];
  const flat = named && most <= 2;
  const top = named && !flat ? 40 + Math.min(84, 8 + 7 * most) : 62;
  const box = { x: 44, y: top, width: wide * columns, height: high * rows, rows, columns };
  canvas(view, {
    width: Math.max(box.x + box.width + 12, 300),
    height: top + high * steps + 50,
    label: `${kind} a cache: what each call does with each position`,
    grid: {
      place: ["step", "position"], rows: steps, columns, tell,
      at: (x, y) => cellAt(box, x, y),
    },
    draw(context, { step, position }) {
      context.font = `bold 13px system-ui, sans-serif`;
      context.fillText(`${kind} a cache`, 2, 13);
      context.font = `italic ${LETTERS}`;
      context.fillText("position →", box.x, 30);
      context.fillText("call ↓", 2, box.y - 6);
      context.font = LETTERS;
      ticks(context, box);
      if (named) cellNames(context, box, [], tokens, flat);
      context.font = LETTERS;
      const large = Math.min(wide, high) >= 6;
      const gap = large ? 1 : 0;
      for (let row = 0; row < rows; row++) {
        context.globalAlpha = row <= step ? 1 : 0.15;
        for (const [from, to, what] of runs(grid.data.subarray(row * columns, (row + 1) * columns), large))
          painted(
            context, box.x + from * wide, box.y + row * high,
            (to - from) * wide - gap, high - gap, what, large,
          );
      }
      context.globalAlpha = 1;
      if (step < rows) {
        outline(context, box, { row: step }, context.ink, large ? 2 : 1);
        outline(context, box, { row: step, column: position }, context.ink, large ? 4 : 2);
      }
      context.fillStyle = context.ink;
      said(context, { grid, step, y: box.y + high * steps + 20, total: upTo(kind, step) });
    },
  });
}

// the numbers of calls, and of positions that are too many to be named
function ticks(context, box) {
  const { x, y, width, height, rows, columns } = box;
  Object.assign(context, { textAlign: "right", textBaseline: "middle" });
  for (const call of rows > 1 ? marks(1, rows, height / 16, 1) : [1])
    context.fillText(call, x - 6, y + ((call - 0.5) / rows) * height);
  Object.assign(context, { textAlign: "center", textBaseline: "alphabetic" });
  const numbered = SIDE[0] / columns < 11 ? marks(0, columns - 1, width / 34, 1) : [];
  for (const at of numbered) context.fillText(at, x + ((at + 0.5) / columns) * width, y - 6);
  context.textAlign = "left";
}

function said(context, { grid, step, y, total }) {
  const { first, again, read } = counts(grid, Math.min(step, grid.shape[0] - 1));
  const more = [again && `${written(again)} of them again`, read && `reads ${written(read)}`].filter(Boolean).join(", ");
  const line = `call ${step + 1} computes ${plural(first + again)}${more && `, ${more}`}`;
  context.fillText(step < grid.shape[0] ? line : `no call ${step + 1}`, 2, y);
  context.font = `bold ${LETTERS}`;
  context.fillText(`so far: ${plural(total)} computed`, 2, y + 18);
}

function curves(view, sums, steps) {
  const most = Math.max(...sums.without, ...sums.with);
  canvas(view, {
    width: CURVE.x + CURVE.width + 14,
    height: CURVE.y + CURVE.height + 38,
    label: "the positions computed so far, by call, without and with a cache",
    draw(context, { step }) {
      const across = { from: 1, to: Math.max(2, steps), name: "call", whole: true };
      const up = { from: 0, to: 1.05 * most, name: "computed so far", whole: true };
      up.text = (value) => (value >= 1000 ? `${value / 1000}k` : String(value));
      const { x, y, line } = chart(context, CURVE, across, up);
      const styles = [["without", ORANGE, []], ["with", BLUE, [6, 4]]];
      styles.forEach(([kind, colour, dash], i) => {
        const values = sums[kind];
        line(values.map((_, call) => call + 1), values, colour, 2.5, dash);
        const at = Math.min(step, values.length - 1);
        context.fillStyle = colour;
        context.fillRect(x(at + 1) - 4, y(values[at]) - 4, 8, 8);
        const text = `${kind} a cache: ${written(values[at])}`;
        explained(context, { x: CURVE.x, y: 14 + 17 * i }, text, colour, 2.5, dash);
      });
    },
  });
}

// the same numbers as a table
function numbers(view, kinds, upTo, steps) {
  const columns = Object.keys(kinds).flatMap((kind) =>
    ["computed", "of these again", "read", "so far"].map((what) => `${kind}: ${what}`));
  const calls = Array.from({ length: steps }, (_, i) => `call ${i + 1}`);
  table(view, calls, columns, (call, column) => {
    const kind = Object.keys(kinds)[Math.floor(column / 4)];
    if (call >= kinds[kind].shape[0]) return "–";
    const { first, again, read } = counts(kinds[kind], call);
    return [first + again, again, read, upTo(kind, call)][column % 4];
  });
}

export default { render };
