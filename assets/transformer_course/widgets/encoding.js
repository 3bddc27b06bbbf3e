// Positional encodings: a map, two dimensions as waves, and the similarities of a position.
const [WIDE, HIGH] = [330, 290]; // minimum size of a map in CSS pixels: at least one per cell
const PANEL = 470; // maximum width of a panel when two are side by side
const FRONT = "#0072b2"; // the chosen dimension, and the similarity
const BESIDE = "#d55e00"; // its neighbour, and the chosen position

const counted = (size) => Array.from({ length: size }, (_, i) => i);

function product(value, columns, one, other) {
  let sum = 0;
  for (let i = 0; i < columns; i++) sum += value(one * columns + i) * value(other * columns + i);
  return sum;
}

/** The dot product or cosine of row `row` with each row; `value(i)` is the i-th number. */
export function similarity(value, rows, columns, row, cosine) {
  const length = (one) => (cosine && Math.sqrt(product(value, columns, one, one))) || 1;
  const own = length(row);
  return counted(rows).map((one) => product(value, columns, row, one) / own / length(one));
}

/** The other dimension of the pair: 0 and 1, 2 and 3; an odd last one has the one before. */
export function neighbour(dimension, columns) {
  const other = dimension ^ 1;
  return other < columns ? other : dimension - 1;
}

/** Format a number with enough decimals that the largest one has three digits. */
export function rounded(value, most) {
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(most) + 0.05)));
  return (Math.round(value * 10 ** digits) / 10 ** digits).toFixed(digits);
}

/** The index of the chosen setting; without settings, of the kind. */
export function chosen(settings, { length, d_model, base, kind }) {
  if (settings.length === 0) return kind;
  return settings.findIndex((one) => one[0] === length && one[1] === d_model && one[2] === base);
}

// the previous encoding may have had more positions and dimensions
const here = ({ position, dimension }, { shape: [rows, columns] }) => ({
  position: Math.min(position, rows - 1),
  dimension: Math.min(dimension, columns - 1),
});

function render({ model, el }) {
  const view = open({ model, el });
  const options = model.get("options");
  const tables = Object.values(arrays(model)).map(prepared);
  const { kinds, settings } = options;
  const at = (state) => chosen(settings, state);
  if (settings.length > 0)
    sliders(view, options, () => view.set(here(view.state, tables[at(view.state)])));
  const several = settings.length === 0 && kinds.length > 1;
  const listed = kinds.map((name, i) => [i, name]);
  if (several) {
    choice(view, { name: "kind", label: "kind", options: listed });
    const others = [[-1, "nothing"], ...listed];
    choice(view, { name: "compare", label: "compare with", options: others });
  }
  tick(view, { name: "cosine", label: "cosine instead of dot product" });

  const tell = (state) => {
    const table = tables[at(state)];
    const { position, dimension } = here(state, table);
    const [rows, columns] = table.shape;
    const number = rounded(table.value(position * columns + dimension), table.most);
    const alike = table.alike(position, state.cosine);
    const most = state.cosine ? 1 : table.longest;
    const others = [...new Set([position, position + 1, 0])].filter((other) => other < rows);
    const similar = others.map((other) => `position ${other} = ${rounded(alike[other], most)}`);
    const measure = state.cosine ? "cosine" : "dot product";
    const cell = `position ${position}, dimension ${dimension}: ${number}`;
    return `${cell}; ${measure} with ${similar.join(", ")}`;
  };
  const second = (state) => (!several || state.compare === state.kind ? -1 : state.compare);
  const shared = { kinds, tables, tell, second };
  panel(view, { ...shared, at, name: "" });
  if (several) panel(view, { ...shared, at: second, name: "compared " });
  view.draws.push((state) => view.say(tell(state)));
  const [rows, columns] = tables[0].shape;
  if (settings.length === 0 && rows * columns <= 400)
    table(view, counted(rows).map(String), counted(columns).map(String), (row, column, state) =>
      rounded(tables[at(state)].value(row * columns + column), tables[at(state)].most),
    );
  return view.close;
}

function sliders(view, options, settle) {
  for (const name of ["length", "d_model", "base"]) {
    const among = options[name];
    if (among.length === 1) continue;
    const label = `${name} (${among.join(", ")})`;
    const input = slider(view, { name, label, among, text: String });
    input.addEventListener("input", settle, { signal: view.signal });
  }
}

// cached for each table: its largest number, its image and its similarities
function prepared({ shape, value, low, high }) {
  const [rows, columns] = shape;
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const squares = counted(rows).map((row) => product(value, columns, row, row));
  const image = new OffscreenCanvas(columns, rows);
  const whole = { x: 0, y: 0, width: columns, height: rows };
  const share = (row, column) => 0.5 + value(row * columns + column) / (2 * most);
  heatmap(image.getContext("2d"), whole, rows, columns, share);
  let [kept, last] = ["", null];
  const alike = (row, cosine) => {
    if (kept !== `${row}/${cosine}`) last = similarity(value, rows, columns, row, cosine);
    kept = `${row}/${cosine}`;
    return last;
  };
  return { shape, value, most, longest: Math.max(...squares) || 1, image, alike };
}

// one encoding: its map, then its waves above its similarities; two panels are side by side
function panel(view, shared) {
  const place = make("div");
  Object.assign(place.style, { display: "flex", flexWrap: "wrap", gap: "12px" });
  const parts = { ...shared, place };
  view.draws.push((state) => {
    parts.shown = shared.at(state);
    place.style.display = parts.shown < 0 ? "none" : "flex";
    place.style.maxWidth = shared.second(state) < 0 ? "none" : `${PANEL}px`;
  });
  const plots = make("div");
  Object.assign(plots.style, { display: "flex", flexDirection: "column" });
  map(view, parts);
  place.append(plots);
  view.stage.append(place);
  curve(view, parts, plots, "two dimensions over the position", waves);
  curve(view, parts, plots, "similarity of the chosen position to all positions", similar);
}

function map(view, parts) {
  const { tables, kinds, tell } = parts;
  const most = (axis) => Math.max(...tables.map(({ shape }) => shape[axis]));
  const box = { x: 60, y: 36 };
  Object.assign(box, { width: Math.max(WIDE, most(1)), height: Math.max(HIGH, most(0)) });
  const size = () => tables[Math.max(0, parts.at(view.state))].shape;
  canvas(view, {
    width: box.x + box.width + 80,
    height: box.y + box.height + 36,
    label: `${parts.name}encoding, position down, dimension across`,
    into: parts.place,
    grid: {
      place: ["position", "dimension"],
      get rows() { return size()[0]; },
      get columns() { return size()[1]; },
      at(x, y) {
        const [rows, columns] = size();
        const row = Math.floor(((y - box.y) / box.height) * rows);
        const column = Math.floor(((x - box.x) / box.width) * columns);
        const within = row >= 0 && row < rows && column >= 0 && column < columns;
        return within ? { row, column } : null;
      },
      tell,
    },
    draw(context, state) {
      if (parts.shown < 0) return;
      const table = tables[parts.shown];
      const [rows, columns] = table.shape;
      const axes = chart(
        context, box,
        { from: -0.5, to: columns - 0.5, name: "dimension", whole: true },
        { from: rows - 0.5, to: -0.5, name: "position", whole: true },
      );
      context.imageSmoothingEnabled = false;
      context.drawImage(table.image, box.x, box.y, box.width, box.height);
      context.fillText(kinds[parts.shown], box.x, 14, box.width);
      bar(context, { x: box.x + box.width + 15, y: box.y, width: 12, height: box.height }, table);
      const { position, dimension } = here(state, table);
      pointed(context, box, axes, position, dimension, neighbour(dimension, columns));
      const [wide, high] = [Math.max(4, box.width / columns), Math.max(4, box.height / rows)];
      context.lineWidth = 2;
      context.strokeStyle = BESIDE;
      context.strokeRect(axes.x(dimension) - wide / 2, axes.y(position) - high / 2, wide, high);
    },
  });
}

// the colour scale, symmetric around zero
function bar(context, box, { most }) {
  heatmap(context, box, 128, 1, (row) => 1 - row / 127);
  const [x, y] = [box.x + 16, box.y + 4];
  context.fillText(rounded(most, most), x, y);
  context.fillText("0", x, y + box.height / 2);
  context.fillText(rounded(-most, most), x, y + box.height);
  context.fillText("value", box.x - 4, box.y - 8);
}

// marks at the edge: the columns drawn as waves, and the compared row
function pointed(context, box, axes, position, dimension, other) {
  context.textAlign = "center";
  context.fillText("◀", box.x + box.width + 7, axes.y(position) + 4);
  context.fillStyle = BESIDE;
  if (other >= 0) context.fillText("▼", axes.x(other), box.y - 3);
  context.fillStyle = FRONT;
  context.fillText("▼", axes.x(dimension), box.y - 3);
  context.textAlign = "left";
}

function curve(view, parts, into, about, draw) {
  const box = { x: 60, y: 24, width: 380, height: 121 };
  const drawn = (context, state) => {
    if (parts.shown < 0) return;
    const table = parts.tables[parts.shown];
    draw(context, box, table, { ...here(state, table), cosine: state.cosine });
  };
  canvas(view, { width: 456, height: 181, label: parts.name + about, into, draw: drawn });
}

const over = (rows) => ({ from: 0, to: rows - 1, name: "position", whole: true });

function waves(context, box, { shape: [rows, columns], value, most }, { position, dimension }) {
  const axes = chart(context, box, over(rows), { from: -most, to: most, name: "value" });
  const positions = counted(rows);
  const other = neighbour(dimension, columns);
  const wave = (column) => positions.map((row) => value(row * columns + column));
  axes.line([position, position], [-most, most], context.ink, 1, [2, 3]);
  if (other >= 0) axes.line(positions, wave(other), BESIDE, 2, [6, 4]);
  axes.line(positions, wave(dimension), FRONT);
  explained(context, { x: box.x, y: 14 }, `dimension ${dimension}`, FRONT);
  if (other < 0) return;
  explained(context, { x: box.x + 150, y: 14 }, `dimension ${other}, beside it`, BESIDE, 2, [6, 4]);
}

function similar(context, box, table, { position, cosine }) {
  const alike = table.alike(position, cosine);
  const top = cosine ? 1 : table.longest;
  const low = Math.min(0, ...alike);
  const name = cosine ? "cosine" : "dot product";
  // in quarters, so that the axis stays while the position moves a little
  const from = (Math.floor((4 * low) / top) * top) / 4;
  const axes = chart(context, box, over(alike.length), { from, to: top * 1.05, name });
  axes.line(counted(alike.length), alike, FRONT);
  context.fillStyle = BESIDE;
  context.fillRect(axes.x(position) - 4, axes.y(alike[position]) - 4, 8, 8);
  context.fillStyle = context.ink;
  context.fillText(`similarity to position ${position}: ${name}`, box.x, 14);
}

export default { render };
