// What a Vision Transformer sees and attends to, as canvases. Each draws `read(state)`:
// { image, answers, weights, silent, rollout }. Follows vit.forward.js.
const CHOSEN = "#d55e00";
const GRID = "#56b4e9";
const MAP = 154; // CSS pixels of a large map's longer side
const TOP = 3; // outlined patches
const STILL = 6; // CSS pixels: a pointer that moves farther does not choose

/** The indices of the largest values, in descending order. */
export function ranking(values, count) {
  return [...values.keys()].sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}

/** The weights of one head on the patches, from the source that the state names. */
export function headOnPatches({ weights }, shape, state, block = state.block, head = state.head) {
  const size = (shape.rows * shape.columns + shape.classToken) ** 2;
  const matrix = weights[block].subarray(head * size, (head + 1) * size);
  return onPatches(matrix, shape, state.source);
}

/** The patches with the TOP largest weights, if above twice the uniform weight. */
export function outstanding(values, shape) {
  return ranking(values, TOP).filter((one) => values[one] > 2 * uniform(shape));
}

/** The weight of each token if all were equal. */
export function uniform({ rows, columns, classToken }) {
  return 1 / (rows * columns + classToken);
}

// call `act(x, y)`, in pixels of the canvas, for a click or tap that does not move or scroll
function clicked(view, made, width, act) {
  let start = [0, 0];
  const down = ({ clientX, clientY }) => (start = [clientX, clientY]);
  const click = ({ clientX, clientY, offsetX, offsetY }) => {
    if (Math.hypot(clientX - start[0], clientY - start[1]) > STILL) return;
    const scale = width / made.getBoundingClientRect().width;
    act(offsetX * scale, offsetY * scale);
  };
  made.style.cursor = "pointer";
  made.addEventListener("pointerdown", down, { signal: view.signal });
  made.addEventListener("click", click, { signal: view.signal });
}

// call a function for Space or Enter
function pressed(view, made, act) {
  const press = (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    act();
  };
  made.addEventListener("keydown", press, { signal: view.signal });
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
const SOURCE = [["#000", 4], ["#fff", 2]];

// the scale of an image in a box of this size, and its sides
function scaled({ rows, columns, patch }, size) {
  const scale = size / (Math.max(rows, columns) * patch);
  return { scale, side: scale * patch, wide: columns * patch * scale, high: rows * patch * scale };
}

/**
 * The image as the model sees it, cut into numbered patches. Arrow keys move between them; a click,
 * Space or Enter makes one the source of the attention: `choose(number)`.
 */
export function seenImage(view, shape, read, { tell, choose }) {
  const { rows, columns, patch } = shape;
  const { side, wide, high } = scaled(shape, 236);
  const gap = side > 30 ? 14 : Math.min(4, side / 8); // with room for a number
  const box = { x: 2, y: 22, width: wide, height: high, rows, columns };
  const grid = { place: ["row", "column"], rows, columns, at: () => null, tell };
  const size = [side - gap, side - gap];
  const corner = (row, column) => [box.x + column * side + gap / 2, box.y + row * side + gap];
  const onePatch = (context, image, row, column) => {
    const number = row * columns + column;
    const place = [...corner(row, column), ...size];
    context.drawImage(image, column * patch, row * patch, patch, patch, ...place);
    framed(context, place, [[GRID, 1]]);
    context.fillStyle = context.ink;
    if (side > 30) context.fillText(number, place[0], place[1] - 4);
  };
  const draw = (context, state) => {
    context.fillText(`the model sees ${rows * columns} patches of ${patch} × ${patch}`, 2, 13);
    const image = greys(read(state).image, columns * patch);
    context.imageSmoothingEnabled = false;
    context.font = "10px system-ui, sans-serif";
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) onePatch(context, image, row, column);
    const from = [Math.floor(state.source / columns), state.source % columns];
    const inner = ([x, y]) => [x + 6, y + 6, side - gap - 12, side - gap - 12];
    if (state.source !== READER) framed(context, inner(corner(...from)), SOURCE);
    framed(context, [...corner(state.row, state.column), ...size], AROUND);
  };
  const label =
    "what the model sees, in patches: arrow keys choose one, Enter shows the attention from it";
  const width = wide + 6;
  const made = canvas(view, { width, height: box.y + high + 6, label, draw, grid });
  clicked(view, made, width, (x, y) => {
    const cell = cellAt(box, x, y);
    if (!cell) return;
    view.set(cell);
    choose(cell.row * columns + cell.column);
  });
  pressed(view, made, () => choose(view.state.row * columns + view.state.column));
}

// each patch in the colour of its weight, relative to the largest; the ink as squares upon it
function overlaid(context, [x, y, size], image, shape, values, faded = false) {
  const { rows, columns, patch } = shape;
  const { scale, wide, high } = scaled(shape, size);
  const most = Math.max(...values) || 1;
  const share = (row, column) => values[row * columns + column] / most;
  context.globalAlpha = faded ? 0.25 : 1;
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
  context.globalAlpha = 1;
}

/**
 * A small map for each head of each block. Arrow keys or a click choose a head; Space or Enter
 * switches it off or on: `flip()`.
 */
export function headMaps(view, shape, read, { tell, choose, flip }) {
  const { blocks, heads } = shape;
  const size = Math.min(92, 270 / heads);
  const roomy = size > 50;
  const { wide, high } = scaled(shape, size);
  const [across, down] = [wide + 8, high + (roomy ? 24 : 8)];
  const box = { x: 58, y: 40, width: heads * across, height: blocks * down };
  Object.assign(box, { rows: blocks, columns: heads });
  const grid = { place: ["block", "head"], rows: blocks, columns: heads, at: () => null, tell };
  const oneMap = (context, state, block, head) => {
    const [x, y] = [box.x + head * across + 4, box.y + block * down + 4];
    const found = read(state);
    const values = headOnPatches(found, shape, state, block, head);
    const off = state.off.includes(block * heads + head);
    overlaid(context, [x, y, size], found.image, shape, values, off);
    if (off) switchedOff(context, [x, y, wide, high]);
    context.fillStyle = context.ink;
    if (roomy) context.fillText(`max ${Math.max(...values).toFixed(2)}`, x, y + high + 14);
    const here = block === state.block && head === state.head;
    if (here) framed(context, [x, y, wide, high], AROUND);
  };
  const draw = (context, state) => {
    context.fillText(`attention from ${sourceName(shape, state)}`, 2, 13);
    for (let head = 0; head < heads; head++)
      context.fillText(roomy ? `head ${head}` : head, box.x + head * across + 4, 34);
    for (let block = 0; block < blocks; block++) {
      context.fillStyle = context.ink;
      context.fillText(`block ${block}`, 4, box.y + block * down + high / 2 + 8);
      for (let head = 0; head < heads; head++) oneMap(context, state, block, head);
    }
  };
  const label = "the attention of every head: arrow keys choose one, Enter switches it off or on";
  const width = Math.max(box.x + box.width + 4, 210);
  const made = canvas(view, { width, height: box.y + box.height + 4, label, draw, grid });
  clicked(view, made, width, (x, y) => {
    const cell = cellAt(box, x, y);
    if (cell) choose({ block: cell.row, head: cell.column });
  });
  pressed(view, made, flip);
}

// a head that is switched off is computed, but not used
function switchedOff(context, [x, y, width, height]) {
  framed(context, [x, y, width, height], [["#000", 3], ["#fff", 1]]);
  context.fillStyle = "#000";
  context.fillRect(x + width / 2 - 14, y + height / 2 - 9, 28, 18);
  context.fillStyle = "#fff";
  context.fillText("off", x + width / 2 - 8, y + height / 2 + 4);
}

/** The chosen head's attention, with its three largest weights, and the rollout, both large. */
export function largeMaps(view, shape, read) {
  const { wide, high } = scaled(shape, MAP);
  const draw = (context, state) => {
    const found = read(state);
    const maps = [
      [`block ${state.block}, head ${state.head}`, headOnPatches(found, shape, state)],
      [`rollout of ${shape.blocks} ${shape.blocks === 1 ? "block" : "blocks"}`, found.rollout],
    ];
    maps.forEach(([name, values], i) => {
      const x = 4 + i * (wide + 18);
      context.fillStyle = context.ink;
      context.fillText(name, x, 13);
      overlaid(context, [x, 22, MAP], found.image, shape, values);
      // the uniform weight is that of a head, not of the rollout
      const most = values === found.rollout ? [] : outstanding(values, shape);
      most.forEach((one, rank) => ranked(context, [x, 22], shape, one, rank + 1));
      heatmap(context, { x, y: high + 30, width: wide, height: 8 }, 1, 256, (_, at) => at / 255);
      context.fillStyle = context.ink;
      context.fillText(`0 to ${brief(Math.max(...values))}`, x, high + 54, wide);
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
