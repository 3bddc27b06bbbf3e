// Rotary embeddings: a dial for each pair of dimensions, and dot products by offset.
const FIRST = "#0072b2"; // the chosen position: solid lines
const OTHER = "#cc79a7"; // the position at the offset from it: dashed lines
const AGAIN = "#d55e00"; // the same curve from a second position: dashed lines
const ALONE = "#009e73"; // the contribution of one pair to the dot product: dotted
const TOP = 40; // CSS pixels above the dials
const TRAIL = 16; // earlier positions with visible marks
const NEAR = 2e-3; // tolerance for float32 and rounding in the student's code
const degrees = (angle) => (angle * 180) / Math.PI;

/** The dot products of a position with each position, over all or some dimensions. */
export function scores(data, width, position, from = 0, to = width) {
  return Array.from({ length: data.length / width }, (_, other) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += data[position * width + i] * data[other * width + i];
    return sum;
  });
}

/** A pair at a position: the end of its arrow, its length, and its angle in degrees. */
export function arrow(data, width, position, pair) {
  const [x, y] = data.subarray(position * width + 2 * pair, position * width + 2 * pair + 2);
  return { x, y, length: Math.hypot(x, y), angle: degrees(Math.atan2(y, x)) };
}

/** The rotation of a pair per position, in degrees; `even` if constant, `broken` if not length 1. */
export function turning(data, width, pair) {
  const arrows = Array.from({ length: data.length / width }, (_, position) =>
    arrow(data, width, position, pair),
  );
  const turns = arrows.slice(1).map(({ angle }, i) => around(angle - arrows[i].angle));
  const even = turns.every((turn) => Math.abs(around(turn - turns[0])) < degrees(NEAR));
  const [{ x, y }] = arrows;
  const still = arrows.every((one) => Math.abs(one.x - x) + Math.abs(one.y - y) < 1e-6);
  const broken = arrows.some(({ length }) => Math.abs(length - 1) > NEAR);
  return { turn: turns[0], even, still, broken };
}

// normalise an angle to -180..180 degrees
const around = (angle) => angle - 360 * Math.round(angle / 360);

/** Describe what is wrong with the rotated pairs; empty if nothing is. */
export function faults(turns) {
  const found = [];
  const listed = (what, is) => {
    const pairs = turns.flatMap((one, pair) => (is(one) ? [pair] : []));
    if (pairs.length === 0) return;
    const which = pairs.length === 1 ? `pair ${pairs}` : `pairs ${pairs.join(", ")}`;
    found.push(`${pairs.length === turns.length ? "all pairs" : which}: ${what}`);
  };
  listed("the arrow's length is not 1, but a rotation keeps lengths", (one) => one.broken);
  listed("no turn at all", (one) => one.still && !one.broken);
  listed("the turn differs from step to step", (one) => !one.even && !one.broken);
  return found.join("; ");
}

/** The position of the second curve: ten further, or ten back near the end. */
export function second(position, count) {
  const shift = Math.min(10, Math.floor(count / 2));
  return position + shift < count ? position + shift : position - shift;
}

/** The maximum distance between two curves, one of them shifted by `shift` positions. */
export function difference(here, there, shift) {
  const apart = here.map((score, i) => Math.abs(score - there[i + shift]));
  return Math.max(0, ...apart.filter((one) => !Number.isNaN(one)));
}

function render({ model, el }) {
  const view = open({ model, el });
  const { shape, data } = arrays(model).turned;
  const [count, width] = shape;
  const pairs = width / 2;
  const turns = Array.from({ length: pairs }, (_, pair) => turning(data, width, pair));
  const all = { data, count, width, pairs, turns };
  const last = count - 1;
  slider(view, { name: "position", label: "position", min: 0, max: last, text: String });
  const signed = (value) => (value > 0 ? `+${value}` : String(value));
  const offset = { name: "offset", label: "offset to the other position", text: signed };
  slider(view, { ...offset, min: -last, max: last });
  const wrong = faults(turns);
  if (wrong) view.told.before(make("strong", { textContent: `⚠ ${wrong}` }));

  const tell = ({ position, offset, pair }) => {
    const { length, angle } = arrow(data, width, position, pair);
    const said = `pair ${pair} at position ${position}: ${angle.toFixed(1)}°, length `;
    const from = (one) => {
      const value = scores(data, width, one)[one + offset];
      return value === undefined ? [] : [`${value.toFixed(3)} from position ${one}`];
    };
    const found = [position, second(position, count)].flatMap(from).join(", ");
    const product = found || `no position ${position + offset}`;
    const off = Math.abs(length - 1) > NEAR ? ", not 1" : "";
    return `${said}${length.toFixed(3)}${off}; dot product at offset ${signed(offset)}: ${product}`;
  };
  const left = 948 - dials(view, all, tell); // beside the dials, if it fits
  curve(view, all, left < 420 ? 620 : left);
  view.draws.push((state) => view.say(tell(state)));
  const columns = ["turn per position", "positions for a full turn", "angle", "length"];
  table(view, turns.map((_, pair) => `pair ${pair}`), columns, (pair, column, { position }) => {
    const { angle, length } = arrow(data, width, position, pair);
    const turn = speed(turns[pair]);
    const round = turn.endsWith("°") ? Math.abs(360 / turns[pair].turn).toFixed(1) : "–";
    return [turn, round, `${angle.toFixed(1)}°`, length.toFixed(3)][column];
  });
  return view.close;
}

const speed = ({ turn, even, still, broken }) =>
  still ? "none" : even && !broken ? `${Number(turn.toPrecision(3))}°` : "uneven";

// a dial for each pair; returns their total width
function dials(view, all, tell) {
  const { count, pairs } = all;
  const across = pairs <= 4 ? Math.min(2, pairs) : pairs <= 16 ? 4 : 8;
  const [wide, high] = pairs <= 4 ? [170, 186] : [116, 140];
  canvas(view, {
    width: across * wide,
    height: TOP + Math.ceil(pairs / across) * high,
    label: "a dial for each pair of dimensions",
    grid: {
      place: ["position", "pair"],
      rows: count,
      columns: pairs,
      at(x, y) {
        const pair = Math.floor((y - TOP) / high) * across + Math.floor(x / wide);
        return y >= TOP && pair < pairs ? { row: view.state.position, column: pair } : null;
      },
      tell,
    },
    draw(context, state) {
      const { position, offset } = state;
      explained(context, { x: 4, y: 14 }, `position ${position}; dots: those before`, FIRST, 2.5);
      const there = position + offset >= 0 && position + offset < count;
      const other = `position ${position + offset}: ${there ? "at the offset" : "there is none"}`;
      explained(context, { x: 4, y: 31 }, other, OTHER, 2.5, [4, 3]);
      for (let pair = 0; pair < pairs; pair++) {
        const middle = { x: ((pair % across) + 0.5) * wide };
        middle.y = TOP + (Math.floor(pair / across) + 0.5) * high;
        dial(context, middle, wide * 0.34, { ...all, state, pair });
      }
    },
  });
  return across * wide;
}

function dial(context, { x, y }, radius, { data, count, width, turns, state, pair }) {
  const chosen = state.pair === pair;
  context.fillStyle = context.strokeStyle = context.ink;
  context.textAlign = "center";
  context.font = `${chosen ? "bold " : ""}12px system-ui, sans-serif`;
  const name = `pair ${pair} (${2 * pair}, ${2 * pair + 1})`;
  context.fillText(chosen ? `▸ ${name}` : name, x, y - radius - 10);
  context.font = "12px system-ui, sans-serif";
  const { length } = arrow(data, width, state.position, pair);
  const said = speed(turns[pair]);
  const turn = said.endsWith("°") ? `${said} per position` : `⚠ turn: ${said}`;
  const under = turns[pair].broken ? `⚠ length ${length.toFixed(2)}` : turn;
  context.fillText(under, x, y + radius + 20);
  context.globalAlpha = chosen ? 1 : 0.5;
  context.lineWidth = chosen ? 2 : 1;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
  const at = (position) => {
    const { x: right, y: up, length } = arrow(data, width, position, pair);
    const reach = radius * Math.min(1, 1.4 / (length || 1)); // clip long arrows at the edge
    return [x + right * reach, y - up * reach];
  };
  context.fillStyle = FIRST;
  for (let back = Math.min(TRAIL, state.position); back > 0; back--) {
    context.globalAlpha = 0.75 * (1 - back / (TRAIL + 1));
    context.beginPath();
    context.arc(...at(state.position - back), 3, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  const other = state.position + state.offset;
  if (other >= 0 && other < count) pointing(context, [x, y], at(other), OTHER, [4, 3]);
  pointing(context, [x, y], at(state.position), FIRST, []);
}

function pointing(context, [x, y], [toX, toY], colour, dash) {
  const angle = Math.atan2(toY - y, toX - x);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 2.5;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
  context.setLineDash([]);
  context.beginPath(); // the arrow's head
  context.moveTo(toX, toY);
  for (const side of [-0.4, 0.4])
    context.lineTo(toX - 11 * Math.cos(angle + side), toY - 11 * Math.sin(angle + side));
  context.fill();
}

// dot products by offset, from the chosen position and from another one
function curve(view, { data, count, width }, wide) {
  const box = { x: 60, y: 66, width: wide - 76, height: 260 };
  const last = count - 1;
  let [least, most] = [-1, 1]; // the range for a single pair
  for (let i = 0; i < count; i++)
    for (const score of scores(data, width, i))
      [least, most] = [Math.min(least, score), Math.max(most, score)];
  const room = 0.05 * (most - least);
  const made = canvas(view, {
    width: wide,
    height: box.y + box.height + 40,
    label: "dot product over the offset, from two positions",
    draw(context, { position, offset, pair }) {
      const axes = chart(
        context, box,
        { from: -last, to: last, name: "offset: other position − position", whole: true },
        { from: least - room, to: most + room, name: "dot product" },
      );
      const tell = (y, ...about) => explained(context, { x: box.x, y }, ...about);
      const from = (one) => Array.from({ length: count }, (_, i) => i - one);
      const other = second(position, count);
      const [here, there] = [scores(data, width, position), scores(data, width, other)];
      axes.line([offset, offset], [least - room, most + room], OTHER, 2, [4, 3]);
      const alone = scores(data, width, position, 2 * pair, 2 * pair + 2);
      axes.line(from(position), alone, ALONE, 2, [2, 3]);
      context.globalAlpha = 0.5;
      axes.line(from(position), here, FIRST, 6);
      tell(14, `dot product from position ${position}, all pairs`, FIRST, 6);
      context.globalAlpha = 1;
      axes.line(from(other), there, AGAIN, 2, [6, 4]);
      const apart = difference(here, there, other - position);
      const said = apart < NEAR * most ? "coincides" : `differs by up to ${apart.toFixed(2)}`;
      tell(31, `from position ${other}: ${said}`, AGAIN, 2, [6, 4]);
      tell(48, `from position ${position}, pair ${pair} alone`, ALONE, 2, [2, 3]);
      if (here[position + offset] === undefined) return;
      context.fillStyle = OTHER;
      context.fillRect(axes.x(offset) - 5, axes.y(here[position + offset]) - 5, 10, 10);
    },
  });
  const point = (event) => {
    const x = (event.offsetX * wide) / made.getBoundingClientRect().width;
    const offset = Math.round(((x - box.x) / box.width) * 2 * last) - last;
    if (Math.abs(offset) <= last && event.buttons) view.set({ offset });
  };
  for (const kind of ["pointerdown", "pointermove"])
    made.addEventListener(kind, point, { signal: view.signal });
}

export default { render };
