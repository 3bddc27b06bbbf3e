// Axes, ticks and lines. Follows paint.js in every live view.

/** About `most` round numbers between two ends: the ticks of an axis. */
export function marks(one, other, most = 5, least = 0) {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  const rough = Math.max((high - low) / most, least) || 1;
  const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  const size = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  const [first, last] = [Math.ceil(low / size - 1e-9), Math.floor(high / size + 1e-9)];
  const count = Math.max(0, last - first + 1);
  return Array.from({ length: count }, (_, i) => Number(((first + i) * size).toPrecision(9)));
}

/**
 * Draw two axes around a box: `across` and `up` are { from, to, name, whole }, whole for integers;
 * `up` may have its own ticks as `marks`, with a `text` for each.
 * `across.text(value)` is the label of a tick, if it is not the number itself.
 *
 * Returns `x(value)` and `y(value)`, which map values to pixels, and
 * `line(xs, ys, colour, width, dash)`, in which NaN leaves a gap.
 */
export function chart(context, box, across, up) {
  const place = (axis, start, size) => (value) =>
    start + ((value - axis.from) / (axis.to - axis.from || 1)) * size;
  const [x, y] = [place(across, box.x, box.width), place(up, box.y + box.height, -box.height)];
  const bottom = box.y + box.height;
  const listed = (axis, size) => axis.marks ?? marks(axis.from, axis.to, size, axis.whole ? 1 : 0);
  context.save();
  context.fillStyle = context.strokeStyle = context.ink;
  context.textAlign = "center";
  context.lineWidth = 1;
  context.beginPath();
  for (const value of listed(across, box.width / 45)) {
    context.fillText(across.text ? across.text(value) : value, x(value), bottom + 15);
    context.moveTo(x(value), box.y);
    context.lineTo(x(value), bottom + 3);
  }
  context.fillText(across.name, box.x + box.width / 2, bottom + 31);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of listed(up, box.height / 26)) {
    context.fillText(up.text?.(value) ?? value, box.x - 6, y(value));
    context.moveTo(box.x - 3, y(value));
    context.lineTo(box.x + box.width, y(value));
  }
  context.rect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 0.25;
  context.stroke();
  context.globalAlpha = 1;
  context.translate(box.x - 47, box.y + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(up.name, 0, 0);
  context.restore();
  const line = (xs, ys, colour, width = 2, dash = []) => {
    context.save();
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: "round" });
    context.setLineDash(dash);
    context.beginPath();
    let drawing = false;
    ys.forEach((value, i) => {
      const known = value !== null && Number.isFinite(value);
      if (known) context[drawing ? "lineTo" : "moveTo"](x(xs[i]), y(value));
      drawing = known;
    });
    context.stroke();
    context.restore();
  };
  return { x, y, line };
}

/** A legend entry at (x, y): a short piece of the line with `text` beside it. */
export function explained(context, { x, y }, text, colour, width = 2, dash = []) {
  context.save();
  Object.assign(context, { textAlign: "left", fillStyle: context.ink });
  Object.assign(context, { strokeStyle: colour, lineWidth: width });
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x, y - 4);
  context.lineTo(x + 28, y - 4);
  context.stroke();
  context.globalAlpha = 1;
  context.fillText(text, x + 34, y);
  context.restore();
}

