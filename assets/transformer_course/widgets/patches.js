// Patches: the image with its grid, one patch as a vector, and an overlay of attention.
const SIDE = 320; // maximum size of the image in CSS pixels
const [SMALL, WIDE] = [72, 256]; // sizes of a head and of a vector
const [MEAN, ROLLOUT] = [-1, -2]; // choices besides the heads
const TOP = 3; // number of outlined patches
const CHOSEN = "#d55e00";

/** The number of tokens for a patch size, and the cost of attention between them. */
export function counted([channels, height, width], size, classToken) {
  const patches = (height / size) * (width / size);
  const tokens = patches + (classToken ? 1 : 0);
  const also = classToken ? ", and the class token" : "";
  const pairs = `attention compares ${tokens}·${tokens} = ${tokens * tokens} pairs`;
  return `${patches} patches of ${channels * size * size} numbers each${also}; ${pairs}.`;
}

/** The positions of a patch's numbers in the image: channel by channel, row by row. */
export function places([channels, height, width], size, row, column) {
  const found = [];
  for (let channel = 0; channel < channels; channel++)
    for (let y = row * size; y < (row + 1) * size; y++)
      for (let x = column * size; x < (column + 1) * size; x++)
        found.push((channel * height + y) * width + x);
  return found;
}

/** A query's weights over the keys; without a head, the mean of all heads. */
export function looked({ shape, value }, layer, head, query) {
  const [heads, tokens] = [shape.at(-3) ?? 1, shape.at(-1)];
  const found = new Float64Array(tokens);
  const among = head === MEAN ? [...Array(heads).keys()] : [head];
  for (const one of among) {
    const start = ((layer * heads + one) * tokens + query) * tokens;
    found.forEach((_, key) => (found[key] += value(start + key) / among.length));
  }
  return found;
}

/** The indices of the largest values, in descending order. */
export function largest(values, count) {
  return [...values.keys()].sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}

function render({ model, el }) {
  const view = open({ model, el });
  const { image, back, weights, rollout } = arrays(model);
  const { sizes, class_token: classToken, differ } = model.get("options");
  const attends = Boolean(weights || rollout);
  const chosen = ({ size: which, row, column }) => {
    const size = sizes[which];
    const [rows, columns] = [image.shape[1] / size, image.shape[2] / size];
    const at = { row: Math.min(row, rows - 1), column: Math.min(column, columns - 1) };
    return { size, rows, columns, ...at, number: at.row * columns + at.column };
  };
  const byClass = (state) => state.source === "class token";
  const over = (state, head = state.head) => {
    const query = byClass(state) ? 0 : chosen(state).number + (classToken ? 1 : 0);
    const from = head === ROLLOUT ? [rollout, 0, 0] : [weights, state.layer, head];
    return looked(...from, query).slice(classToken ? 1 : 0);
  };
  const names = controls(view, { sizes, weights, rollout, classToken });
  const words = make("div");
  const tell = (state) => {
    const { number, row, column, size } = chosen(state);
    const length = image.shape[0] * size * size;
    const told = `patch ${number} (row ${row}, column ${column}): a vector of ${length} numbers`;
    if (!attends) return told;
    const values = over(state);
    const most = largest(values, TOP).map((one) => `${one} (${brief(values[one])})`).join(", ");
    return byClass(state)
      ? `${told}; the class token gives it ${brief(values[number])}, the most to ${most}`
      : `${told}; it attends most to ${most}`;
  };
  view.draws.push((state) => {
    const missed = differ ? `differ from the image in ${differ} pixels` : "are the image";
    words.textContent = counted(image.shape, chosen(state).size, classToken);
    if (back) words.textContent += ` Your patches, drawn back, ${missed}.`;
    if (view.told.textContent) view.say(tell(state)); // only in the view that was used
  });
  const pixels = painted(image, image.value);
  const shown = (label, pixels, over) => picture({ view, chosen, tell, label, pixels, over });
  shown("the image", pixels, attends && over);
  if (back) shown("your patches, drawn back", painted(image, back.value));
  enlarged({ view, image, back, chosen });
  view.stage.before(words);
  if (names.length > 1) thumbnails({ view, pixels, chosen, over, names });
  return view.close;
}

// the controls that apply to this data; returns the heads that can be chosen
function controls(view, { sizes, weights, rollout, classToken }) {
  const [layers, heads] = weights ? weights.shape : [0, 0];
  const many = (count, name) => Array.from({ length: count }, (_, i) => [i, `${name} ${i}`]);
  const names = many(heads, "head");
  if (heads > 1) names.unshift([MEAN, "mean"]);
  if (rollout) names.push([ROLLOUT, "rollout"]);
  if (sizes.length > 1) {
    const text = (which) => `${sizes[which]} × ${sizes[which]}`;
    slider(view, { name: "size", label: "patch size", min: 0, max: sizes.length - 1, text });
  }
  if (layers > 1)
    choice(view, { name: "layer", label: "layer", options: many(layers, "layer") });
  if (names.length > 1) choice(view, { name: "head", label: "head", options: names });
  if (classToken) {
    const options = ["class token", "chosen patch"].map((name) => [name, `the ${name}`]);
    choice(view, { name: "source", label: "from", options });
  }
  const strength = { name: "strength", label: "overlay", min: 0, max: 1, step: 0.05 };
  if (names.length) slider(view, { ...strength, text: (value) => `${Math.round(100 * value)} %` });
  return names;
}

const shade = ({ low, high }, value) => Math.max(0, Math.min(1, (value - low) / (high - low || 1)));

// a canvas with one pixel per pixel of the image
function painted(image, value) {
  const [channels, height, width] = image.shape;
  const cells = new ImageData(width, height);
  for (let i = 0; i < height * width; i++) {
    const one = (channel) => 255 * shade(image, value((channel % channels) * height * width + i));
    cells.data.set([one(0), one(1), one(2), 255], 4 * i);
  }
  const made = new OffscreenCanvas(width, height);
  made.getContext("2d").putImageData(cells, 0, 0);
  return made;
}

function frame(context, x, y, width, height, colour, line) {
  Object.assign(context, { strokeStyle: colour, lineWidth: line });
  context.strokeRect(x, y, width, height);
}

// the image, overlaid by each patch's weight relative to the largest
function overlaid(context, { x, y, scale }, pixels, { columns, size }, values, strength) {
  const side = size * scale;
  const most = Math.max(...values) || 1;
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels, x, y, scale * pixels.width, scale * pixels.height);
  context.globalAlpha = strength;
  values.forEach((value, number) => {
    context.fillStyle = `rgb(${colour(value / most)})`;
    const down = y + Math.floor(number / columns) * side;
    context.fillRect(x + (number % columns) * side, down, side, side);
  });
  context.globalAlpha = 1;
}

function picture({ view, chosen, tell, label, pixels, over }) {
  const scale = SIDE / Math.max(pixels.width, pixels.height);
  const box = { x: 3, y: 20, scale };
  const [width, height] = [pixels.width, pixels.height].map((side) => side * scale);
  const grid = { place: ["row", "column"], tell };
  for (const name of ["rows", "columns"])
    Object.defineProperty(grid, name, { get: () => chosen(view.state)[name] });
  grid.at = (x, y) => {
    const side = chosen(view.state).size * scale;
    const [row, column] = [Math.floor((y - box.y) / side), Math.floor((x - box.x) / side)];
    return row >= 0 && row < grid.rows && column >= 0 && column < grid.columns && { row, column };
  };
  const draw = (context, state) => {
    const { number, rows, columns, size } = chosen(state);
    const side = size * scale;
    const values = over ? over(state) : [];
    const down = (one) => box.y + Math.floor(one / columns) * side;
    const corner = (one) => [box.x + (one % columns) * side, down(one)];
    context.fillText(label, box.x, 13);
    overlaid(context, box, pixels, { columns, size }, values, state.strength);
    for (let one = 0; one < rows * columns; one++)
      frame(context, ...corner(one), side, side, "#56b4e9", side > 12 ? 0.7 : 0.4);
    largest(values, TOP).forEach((one, rank) => ranked(context, ...corner(one), side, rank + 1));
    frame(context, ...corner(number), side, side, "#000", 5);
    frame(context, ...corner(number), side, side, CHOSEN, 3);
    if (!over) return;
    const bar = { x: box.x, y: box.y + height + 10, width, height: 8 };
    heatmap(context, bar, 1, 256, (_, i) => i / 255);
    const most = `attention weight from 0 to ${brief(Math.max(...values))}; 1, 2, 3: the most`;
    context.fillStyle = context.ink;
    context.fillText(most, box.x, bar.y + 22, width);
  };
  const size = { width: width + 6, height: height + (over ? 60 : 26) };
  canvas(view, { ...size, label: `${label}: arrow keys choose a patch`, grid, draw });
}

function ranked(context, x, y, side, rank) {
  const inside = [x + 3, y + 3, side - 6, side - 6];
  frame(context, ...inside, "#000", 2);
  context.setLineDash([4, 3]); // black and white, visible on any colour
  frame(context, ...inside, "#fff", 2);
  context.setLineDash([]);
  if (side < 26) return;
  context.fillStyle = "#000";
  context.fillRect(x + 4, y + 4, 15, 15);
  context.fillStyle = "#fff";
  context.fillText(rank, x + 8, y + 16);
}

// the chosen patch: its pixels, and the same numbers as a vector
function enlarged({ view, image, back, chosen }) {
  const [channels] = image.shape;
  const draw = (context, state) => {
    const { number, row, column, size } = chosen(state);
    const found = places(image.shape, size, row, column);
    const shapes = [[channels, size, size], [1, 1, found.length]];
    const [pixels, vector] = shapes.map((shape) => ({ ...image, shape }));
    const whose = back ? `row ${number} of yours` : "as a vector";
    context.fillText(`patch ${number}: row ${row}, column ${column}`, 3, 13);
    context.fillText(`${whose}: ${found.length} numbers`, 3, 243);
    numbered(context, pixels, found.map(image.value), [3, 20, 200, 200]);
    numbered(context, vector, found.map((back ?? image).value), [3, 250, WIDE, 26]);
    frame(context, 3, 20, 200, 200, CHOSEN, 3);
    context.fillStyle = context.ink;
    (channels > 1 ? ["red", "green", "blue"] : ["line after line"]).forEach((name, i) => {
      context.fillText(name, 5 + (i * WIDE) / channels, 290);
      frame(context, 3 + (i * WIDE) / channels, 250, WIDE / channels, 26, CHOSEN, 1);
    });
  };
  canvas(view, { width: WIDE + 6, height: 296, label: "the chosen patch, and its vector", draw });
}

// pixels, with their numbers if they fit
function numbered(context, part, values, [x, y, width, height]) {
  const [channels, rows, columns] = part.shape;
  context.imageSmoothingEnabled = false;
  context.drawImage(painted(part, (i) => values[i]), x, y, width, height);
  if (channels > 1 || width / columns < 28) return;
  context.textAlign = "center";
  values.forEach((value, i) => {
    const at = x + (((i % columns) + 0.5) * width) / columns;
    const line = y + ((Math.floor(i / columns) + 0.5) * height) / rows;
    context.fillStyle = shade(part, value) > 0.46 ? "#000" : "#fff"; // equal contrast
    context.fillText(Number(value.toPrecision(2)), at, line + 4);
  });
  context.textAlign = "left";
}

// a small image for each head; a click chooses it
function thumbnails({ view, pixels, chosen, over, names }) {
  const scale = SMALL / Math.max(pixels.width, pixels.height);
  for (const [head, name] of names) {
    const draw = (context, state) => {
      context.fillText(name, 3, 13);
      overlaid(context, { x: 3, y: 20, scale }, pixels, chosen(state), over(state, head), 0.75);
      if (head === state.head) frame(context, 2, 19, SMALL + 2, SMALL + 2, CHOSEN, 3);
    };
    const made = canvas(view, { width: SMALL + 6, height: SMALL + 24, label: name, draw });
    made.addEventListener("click", () => view.set({ head }), { signal: view.signal });
  }
}

export default { render };
