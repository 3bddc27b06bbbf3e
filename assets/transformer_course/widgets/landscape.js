// A slice of a loss landscape: gradient descent from a chosen start, with a chosen learning rate.
const [BALL, PATH] = ["#d55e00", "#ffffff"];
const SIDE = 336; // CSS pixels of the map
const HEAD = 40; // above it
const EDGE = 14;
const STEPS = 40;
const STILL = 1e-3; // of the reach: a ball whose last step is shorter is at rest
const CURVE = { x: 58, y: HEAD, width: 340, height: SIDE - 44 };

// a cubic through four values, between the middle two
const cubic = (a, b, c, d, t) =>
  b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));

/** The loss at a point of the slice, between the grid's points, from losses (alphas, betas). */
export function lossAt({ data, shape }, reach, alpha, beta) {
  const last = shape[0] - 1;
  const place = (value) => ((value + reach) / (2 * reach)) * last;
  const [row, column] = [place(alpha), place(beta)];
  const [i, j] = [row, column].map((at) => Math.max(0, Math.min(last - 1, Math.floor(at))));
  const within = (at) => Math.max(0, Math.min(last, at));
  const get = (r, c) => data[within(r) * shape[1] + within(c)];
  const along = (r) =>
    cubic(get(r, j - 1), get(r, j), get(r, j + 1), get(r, j + 2), column - j);
  return cubic(along(i - 1), along(i), along(i + 1), along(i + 2), row - i);
}

/** The slope of the loss at a point, [by α, by β]. */
export function slopeAt(losses, reach, alpha, beta) {
  const by = (2 * reach * 1e-3) / (losses.shape[0] - 1);
  const loss = (a, b) => lossAt(losses, reach, a, b);
  return [
    (loss(alpha + by, beta) - loss(alpha - by, beta)) / (2 * by),
    (loss(alpha, beta + by) - loss(alpha, beta - by)) / (2 * by),
  ];
}

/** Gradient descent on the slice: its points and losses, and how it ends: rest, moving or left. */
export function descend(losses, reach, start, rate, steps = STEPS) {
  const path = [start];
  const along = [lossAt(losses, reach, ...start)];
  let moved = Infinity;
  for (let step = 0; step < steps; step++) {
    const [alpha, beta] = path.at(-1);
    const [byAlpha, byBeta] = slopeAt(losses, reach, alpha, beta);
    const next = [alpha - rate * byAlpha, beta - rate * byBeta];
    path.push(next);
    if (Math.max(...next.map(Math.abs)) > reach) return { path, along, end: "left" };
    along.push(lossAt(losses, reach, ...next));
    moved = Math.hypot(next[0] - alpha, next[1] - beta);
  }
  return { path, along, end: moved < STILL * reach ? "rest" : "moving" };
}

/** The point of a cell: the first row is the largest α. */
export function pointOf({ row, column }, count, reach) {
  const at = (index) => -reach + (2 * reach * index) / (count - 1);
  return [at(count - 1 - row), at(column)];
}

const ENDS = { rest: "it is at rest", moving: "it still moves", left: "it has left the slice" };
const plain = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");

function render({ model, el }) {
  const view = open({ model, el });
  const { curvature, reach } = model.get("options");
  const { losses } = arrays(model);
  const count = losses.shape[0];
  const logs = Float32Array.from(losses.data, (loss) => Math.log(Math.max(loss, 1e-3)));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const share = (row, column) =>
    high > low ? (logs[(count - 1 - row) * count + column] - low) / (high - low) : 0.5;
  slider(view, { name: "rate", label: "learning rate η", min: 0.1, max: 4, step: 0.1,
    text: (rate) => `${rate.toFixed(1)} / λ = ${plain(rate / curvature)}` });
  let last = {};
  const walk = (state) => {
    const same = ["row", "column", "rate"].every((name) => last.state?.[name] === state[name]);
    if (!same) last = { state, ...descend(losses, reach, pointOf(state, count, reach), state.rate / curvature) };
    return last;
  };
  const tell = (state) => {
    const [alpha, beta] = pointOf(state, count, reach);
    const { along, path, end } = walk(state);
    return (
      `From α = ${plain(alpha)}, β = ${plain(beta)} (loss ${plain(along[0])}) at η = ${state.rate.toFixed(1)} / λ: ` +
      `after ${path.length - 1} steps ${ENDS[end]}; last loss ${plain(along.at(-1))}.`
    );
  };
  slice(view, { count, reach, share, walk, tell });
  course(view, { losses, walk });
  view.draws.push((state) => view.told.textContent !== tell(state) && view.say(tell(state)));
  return view.close;
}

function slice(view, { count, reach, share, walk, tell }) {
  const box = { x: EDGE + 18, y: HEAD, width: SIDE, height: SIDE, rows: count, columns: count };
  const cell = SIDE / count;
  const place = ([alpha, beta]) => {
    const at = (value) => ((value + reach) / (2 * reach)) * (count - 1) * cell + cell / 2;
    return [box.x + at(beta), box.y + SIDE - at(alpha)];
  };
  canvas(view, {
    width: SIDE + 2 * EDGE + 18, height: HEAD + SIDE + 34,
    label: "the slice; arrow keys choose the ball's start",
    grid: { place: ["row", "column"], rows: count, columns: count, tell, at: (x, y) => cellAt(box, x, y) },
    draw(context, state) {
      context.font = "bold 13px system-ui, sans-serif";
      context.fillText("loss: dark is low", box.x, 14);
      context.font = "12px system-ui, sans-serif";
      context.fillText("● start, lines: steps; framed: the start's cell", box.x, 31);
      heatmap(context, box, count, count, share);
      outline(context, box, state, BALL, 2);
      const { path } = walk(state);
      context.save();
      context.beginPath();
      context.rect(box.x, box.y, SIDE, SIDE);
      context.clip();
      steps(context, path.map(place));
      context.restore();
      context.fillText(`β from ${plain(-reach)} to ${plain(reach)} →`, box.x, box.y + SIDE + 18);
      context.translate(box.x - 8, box.y + SIDE);
      context.rotate(-Math.PI / 2);
      context.fillText(`α from ${plain(-reach)} to ${plain(reach)} →`, 0, 0);
    },
  });
}

// lines between the ball's places, white on black so that they are seen on every colour
function steps(context, places) {
  for (const [colour, width] of [["#000000", 4], [PATH, 2]]) {
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
    context.beginPath();
    places.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  }
  places.forEach(([x, y], i) => {
    context.fillStyle = i ? PATH : BALL;
    context.strokeStyle = "#000000";
    context.lineWidth = 1;
    context.beginPath();
    context.arc(x, y, i ? 3 : 7, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  });
}

function course(view, { losses, walk }) {
  canvas(view, {
    width: CURVE.x + CURVE.width + 14, height: CURVE.y + CURVE.height + 50,
    label: "the loss after each step",
    draw(context, state) {
      const { along, end } = walk(state);
      explained(context, { x: CURVE.x, y: 31 }, `loss of the ball: ${ENDS[end]}`, BALL, 2.5);
      const across = { from: 0, to: STEPS, name: "step", whole: true };
      const up = { from: 0, to: Math.max(...along, losses.low) * 1.05 || 1, name: "loss" };
      const { x, y, line } = chart(context, CURVE, across, up);
      line(along.map((_, i) => i), along, BALL, 2.5);
      context.fillStyle = BALL;
      along.forEach((loss, i) => {
        context.beginPath();
        context.arc(x(i), y(loss), 3, 0, 2 * Math.PI);
        context.fill();
      });
    },
  });
}

export default { render };
