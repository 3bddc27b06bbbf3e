// A query that is moved, and its output among the values.
const MADE = "#d55e00"; // the query and its output
const GIVEN = "#0072b2"; // keys and values
const NEARLY = 1e-3; // of the values' size, as in Python

/** The corners of the convex hull of points [x, y], counterclockwise. */
export function hull(points) {
  const seen = new Map(points.map((point) => [point.join(), point]));
  const ordered = [...seen.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (ordered.length < 3) return ordered;
  const chain = (through) => {
    const kept = [];
    for (const point of through) {
      while (kept.length > 1 && left(kept.at(-2), kept.at(-1), point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return [...chain(ordered), ...chain(ordered.toReversed())];
}

// positive if the third point lies to the left of the line through the first two
const left = ([x, y], [ahead, up], [other, above]) => (ahead - x) * (above - y) - (up - y) * (other - x);

/** Whether a point lies clearly outside the hull with these corners. */
export function isOutside(corners, point) {
  if (corners.length < 3) return false;
  const size = Math.max(...corners.flat().map(Math.abs));
  return corners.some((corner, i) => {
    const next = corners[(i + 1) % corners.length];
    const length = Math.hypot(next[0] - corner[0], next[1] - corner[1]);
    return left(corner, next, point) / length < -NEARLY * size;
  });
}

/** The pairs of numbers of an array (n, 2). */
export function pairs(data) {
  return Array.from({ length: data.length / 2 }, (_, i) => [data[2 * i], data[2 * i + 1]]);
}

function render({ model, el }) {
  const view = open({ model, el });
  const { words, reach } = model.get("options");
  const sent = arrays(model);
  const [keys, values] = [pairs(sent.key.data), pairs(sent.value.data)];
  const outputs = pairs(sent.output.data);
  const side = Math.sqrt(outputs.length);
  const along = (at) => -reach + (2 * reach * at) / (side - 1);
  const corners = hull(values);
  const found = ({ row, column }) => {
    const at = row * side + column;
    const weights = words.map((_, i) => sent.weights.data[at * words.length + i]);
    return { query: [along(column), along(side - 1 - row)], output: outputs[at], weights };
  };
  const tell = (state) => {
    const { query, output, weights } = found(state);
    const listed = words.map((word, i) => `${word} ${weights[i].toFixed(2)}`).join(", ");
    const where = isOutside(corners, output) ? "⚠ outside" : "inside";
    const point = (pair) => `(${pair.map(short).join(", ")})`;
    return `query ${point(query)}: weights ${listed}; output ${point(output)}, ${where} the hull`;
  };
  plane(view, { keys, words, reach, side, found, tell });
  blend(view, { values, outputs, words, corners, found });
  view.draws.push((state) => view.say(tell(state)));
  table(view, words, ["score", "weight"], (row, column, state) => {
    const { query, weights } = found(state);
    const score = keys[row][0] * query[0] + keys[row][1] * query[1];
    return short(column ? weights[row] : score);
  });
  return view.close;
}

// the keys, and the query
function plane(view, { keys, words, reach, side, found, tell }) {
  const box = { x: 56, y: 26, width: 300, height: 300, rows: side, columns: side };
  canvas(view, {
    width: 372,
    height: 372,
    label: "keys, and a query: point to a place for it, or use the arrow keys",
    grid: {
      place: ["row", "column"],
      rows: side,
      columns: side,
      at: (x, y) => cellAt(box, x, y),
      tell,
    },
    draw(context, state) {
      context.fillText("keys, and the query", box.x, 16);
      const axis = { from: -reach, to: reach };
      const at = chart(context, box, { ...axis, name: "feature 0" }, { ...axis, name: "feature 1" });
      keys.forEach((key, i) => {
        context.strokeStyle = context.fillStyle = GIVEN;
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(at.x(0), at.y(0));
        context.lineTo(at.x(key[0]), at.y(key[1]));
        context.stroke();
        dot(context, at, key, GIVEN);
        named(context, at, key, words[i]);
      });
      diamond(context, at, found(state).query);
    },
  });
}

// the values, their hull, the output, and how much each value gives
function blend(view, { values, outputs, words, corners, found }) {
  const box = { x: 60, y: 26, width: 300, height: 300 };
  const span = (i) => {
    const all = [...values, ...outputs].map((point) => point[i]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const room = 0.2 * (high - low || 1);
    return { from: low - room, to: high + room, name: `feature ${i}` };
  };
  canvas(view, {
    width: 430, // names may stand beside the box
    height: 372,
    label: "values, their hull, and the output",
    draw(context, state) {
      context.fillText("values, their hull, and the output", box.x, 16);
      const at = chart(context, box, span(0), span(1));
      const { output, weights } = found(state);
      context.beginPath();
      for (const corner of corners) context.lineTo(at.x(corner[0]), at.y(corner[1]));
      context.closePath();
      context.strokeStyle = context.fillStyle = GIVEN;
      context.stroke();
      context.globalAlpha = 0.12;
      context.fill();
      context.globalAlpha = 1;
      values.forEach((value, i) => {
        context.strokeStyle = MADE;
        context.lineWidth = 0.5 + 6 * Math.max(0, weights[i]);
        context.beginPath();
        context.moveTo(at.x(value[0]), at.y(value[1]));
        context.lineTo(at.x(output[0]), at.y(output[1]));
        context.stroke();
        dot(context, at, value, GIVEN);
        named(context, at, value, `${words[i]} ${weights[i].toFixed(2)}`);
      });
      diamond(context, at, output);
    },
  });
}

function dot(context, at, [x, y], colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(at.x(x), at.y(y), 5, 0, 2 * Math.PI);
  context.fill();
}

function diamond(context, at, [x, y]) {
  const [middle, level] = [at.x(x), at.y(y)];
  context.fillStyle = MADE;
  context.strokeStyle = context.ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(middle, level - 8);
  context.lineTo(middle + 8, level);
  context.lineTo(middle, level + 8);
  context.lineTo(middle - 8, level);
  context.closePath();
  context.fill();
  context.stroke();
}

function named(context, at, [x, y], text) {
  context.fillStyle = context.ink;
  context.fillText(text, at.x(x) + 7, at.y(y) - 7);
}

export default { render };
