// What a Vision Transformer sees, attends to and answers, as canvases. Each draws `read(state)`:
// { image, answers, weights, rollout }. Follows vit.forward.js.
const CHOSEN = "#d55e00";
const BAR = "#0072b2";
const GRID = "#56b4e9";
const MAP = 154; // CSS pixels of a large map's longer side
const TOP = 3; // outlined patches

/** The indices of the largest values, in descending order. */
export function ranking(values, count) {
  return [...values.keys()].sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}

/** The weights of one head on the patches, from the source that the state names. */
export function headOnPatches({ weights }, shape, state, block = state.block, head = state.head) {
  const size = (shape.rows * shape.columns + shape.classToken) ** 2;
  const matrix = weights[block].subarray(head * size, (head + 1) * size);
  return onPatches(matrix, shape, sourceOf(shape, state));
}

/** The number of the patch that attends; null for what the head reads. */
export function sourceOf({ columns }, { source, row, column }) {
  return source === "patch" ? row * columns + column : null;
}

/** Grey values from 0 to 1 as a canvas with one pixel for each. */
export function greys(values, wide) {
  const cells = new ImageData(wide, values.length / wide);
  values.forEach((value, i) => {
    const grey = 255 * value;
    cells.data.set([grey, grey, grey, 255], 4 * i);
  });
  const made = new OffscreenCanvas(wide, values.length / wide);
  made.getContext("2d").putImageData(cells, 0, 0);
  return made;
}

function framed(context, [x, y, width, height], colours) {
  colours.forEach(([colour, line]) => {
    Object.assign(context, { strokeStyle: colour, lineWidth: line });
    context.strokeRect(x, y, width, height);
  });
}

const AROUND = [["#000", 5], [CHOSEN, 3]];

// the scale of an image in a box of this size, and its sides
function scaled({ rows, columns, patch }, size) {
  const scale = size / (Math.max(rows, columns) * patch);
  return { scale, side: scale * patch, wide: columns * patch * scale, high: rows * patch * scale };
}

/** The image as the model sees it, cut into patches; arrow keys choose one. */
export function seenImage(view, shape, read, tell) {
  const { rows, columns, patch } = shape;
  const { side, wide, high } = scaled(shape, 212);
  const gap = Math.min(4, side / 8);
  const box = { x: 4, y: 22, width: wide, height: high, rows, columns };
  const grid = { place: ["row", "column"], rows, columns, at: (x, y) => cellAt(box, x, y), tell };
  const draw = (context, state) => {
    context.fillText(`the model sees ${rows * columns} patches of ${patch} × ${patch}`, 2, 13);
    const image = greys(read(state).image, columns * patch);
    context.imageSmoothingEnabled = false;
    const corner = (row, column) => [box.x + column * side + gap / 2, box.y + row * side + gap / 2];
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const place = [...corner(row, column), side - gap, side - gap];
        context.drawImage(image, column * patch, row * patch, patch, patch, ...place);
        framed(context, place, [[GRID, 1]]);
      }
    framed(context, [...corner(state.row, state.column), side - gap, side - gap], AROUND);
  };
  const label = "what the model sees, in patches: arrow keys choose a patch";
  canvas(view, { width: wide + 8, height: high + 26, label, draw, grid });
}

// each patch in the colour of its weight, relative to the largest; the ink as squares upon it
function overlaid(context, [x, y, size], image, shape, values) {
  const { rows, columns, patch } = shape;
  const { scale, wide, high } = scaled(shape, size);
  const most = Math.max(...values) || 1;
  const share = (row, column) => values[row * columns + column] / most;
  heatmap(context, { x, y, width: wide, height: high }, rows, columns, share);
  Object.assign(context, { fillStyle: "#fff", strokeStyle: "#000", lineWidth: 0.5 });
  image.forEach((value, i) => {
    const ink = 0.6 * scale * Math.sqrt(value);
    if (ink < 1) return;
    const [column, row] = [i % (columns * patch), Math.floor(i / (columns * patch))];
    const corner = [x + (column + 0.5) * scale - ink / 2, y + (row + 0.5) * scale - ink / 2];
    context.fillRect(...corner, ink, ink);
    context.strokeRect(...corner, ink, ink);
  });
}

/** A small map for each head of each block; arrow keys choose a head. */
export function headMaps(view, shape, read, tell) {
  const { blocks, heads } = shape;
  const size = Math.min(92, 270 / heads);
  const { wide, high } = scaled(shape, size);
  const [across, down] = [wide + 8, high + 8];
  const box = { x: 58, y: 40, width: heads * across, height: blocks * down };
  Object.assign(box, { rows: blocks, columns: heads });
  const place = ["block", "head"];
  const grid = { place, rows: blocks, columns: heads, at: (x, y) => cellAt(box, x, y), tell };
  const draw = (context, state) => {
    const found = read(state);
    context.fillText(`attention from ${sourceName(shape, state)}`, 2, 13);
    for (let head = 0; head < heads; head++)
      context.fillText(size > 50 ? `head ${head}` : head, box.x + head * across + 4, 34);
    for (let block = 0; block < blocks; block++) {
      context.fillStyle = context.ink;
      context.fillText(`block ${block + 1}`, 4, box.y + (block + 0.5) * down + 4);
      for (let head = 0; head < heads; head++) {
        const [x, y] = [box.x + head * across + 4, box.y + block * down + 4];
        overlaid(context, [x, y, size], found.image, shape,
          headOnPatches(found, shape, state, block, head));
        if (state.off.includes(block * heads + head)) crossed(context, [x, y, wide, high]);
        const here = block === state.block && head === state.head;
        if (here) framed(context, [x, y, wide, high], AROUND);
      }
    }
  };
  const label = "the attention of every head: arrow keys choose block and head";
  const width = Math.max(box.x + box.width + 4, 210);
  canvas(view, { width, height: box.y + box.height + 4, label, draw, grid });
}

// a head that is switched off
function crossed(context, [x, y, width, height]) {
  framed(context, [x, y, width, height], [["#000", 4], ["#fff", 2]]);
  for (const [tint, line] of [["#000", 5], ["#fff", 2.5]]) {
    Object.assign(context, { strokeStyle: tint, lineWidth: line });
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + width, y + height);
    context.moveTo(x + width, y);
    context.lineTo(x, y + height);
    context.stroke();
  }
}

/** Who attends, in words. */
export function sourceName(shape, state) {
  const patch = sourceOf(shape, state);
  if (patch !== null) return `patch ${patch}`;
  return shape.pool === "cls" ? "the class token" : "all patches, on average";
}

/** The chosen head's attention and the rollout, large, each with its three largest weights. */
export function largeMaps(view, shape, read) {
  const { wide, high } = scaled(shape, MAP);
  const draw = (context, state) => {
    const found = read(state);
    const onto = onPatches(found.rollout, shape, sourceOf(shape, state));
    const maps = [
      [`block ${state.block + 1}, head ${state.head}`, headOnPatches(found, shape, state)],
      [`rollout of ${shape.blocks} ${shape.blocks === 1 ? "block" : "blocks"}`, onto],
    ];
    maps.forEach(([name, values], i) => {
      const x = 4 + i * (wide + 18);
      context.fillStyle = context.ink;
      context.fillText(name, x, 13);
      overlaid(context, [x, 22, MAP], found.image, shape, values);
      ranking(values, TOP).forEach((one, rank) => ranked(context, [x, 22], shape, one, rank + 1));
      heatmap(context, { x, y: high + 30, width: wide, height: 8 }, 1, 256, (_, at) => at / 255);
      context.fillStyle = context.ink;
      context.fillText(`0 to ${brief(Math.max(...values))}; 1, 2, 3: the most`, x, high + 54, wide);
    });
  };
  const label = "the chosen head's attention on the image, and the rollout";
  canvas(view, { width: 2 * wide + 26, height: high + 62, label, draw });
}

function ranked(context, [left, top], shape, number, rank) {
  const { side } = scaled(shape, MAP);
  const x = left + (number % shape.columns) * side;
  const y = top + Math.floor(number / shape.columns) * side;
  framed(context, [x + 2, y + 2, side - 4, side - 4], [["#000", 3], ["#fff", 1]]);
  if (side < 30) return;
  context.fillStyle = "#000";
  context.fillRect(x + 3, y + 3, 13, 14);
  context.fillStyle = "#fff";
  context.fillText(rank, x + 6, y + 14);
}

/** The probabilities as bars, and below them what the head would answer after each block. */
export function answerBars(view, shape, classes, read) {
  const { blocks } = shape;
  const line = blocks > 6 ? 15 : 24;
  const left = 84;
  const box = { x: left, y: 26, width: 270, height: 130 };
  const below = { x: left, y: 196, width: 270, height: blocks * line };
  Object.assign(below, { rows: blocks, columns: classes.length });
  const wide = box.width / classes.length;
  const draw = (context, state) => {
    const { answers } = read(state);
    const last = answers[blocks - 1];
    const [best] = ranking(last, 1);
    context.fillText("the answer: a probability for each class, in %", 2, 13);
    context.fillText("100", left - 28, box.y + 9);
    context.fillText("0", left - 14, box.y + box.height);
    context.fillRect(left, box.y + box.height, box.width, 1);
    context.textAlign = "center";
    last.forEach((value, i) => {
      const x = left + (i + 0.5) * wide;
      context.fillStyle = i === best ? CHOSEN : BAR;
      const high = box.height * value;
      context.fillRect(x - 0.38 * wide, box.y + box.height - high, 0.76 * wide, high);
      context.fillStyle = context.ink;
      context.fillText(classes[i], x, box.y + box.height + 16, wide);
    });
    context.textAlign = "left";
    context.fillText("what the head would answer after", 2, below.y - 6);
    const percent = (row, column) => Math.round(100 * answers[row][column]);
    numberMap(context, below, percent, { low: 0, high: 100 });
    context.fillStyle = context.ink;
    for (let row = 0; row < blocks; row++)
      context.fillText(`block ${row + 1}`, 30, below.y + (row + 0.5) * line + 4);
    outline(context, below, { row: state.block }, CHOSEN);
  };
  const label = "probabilities of the classes, after each block";
  canvas(view, { width: left + 274, height: below.y + below.height + 6, label, draw });
}
