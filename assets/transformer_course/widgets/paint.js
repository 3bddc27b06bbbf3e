// Drawing: colours, maps, canvases, tables. Concatenated after view.js, before the view's own file.
const CIVIDIS = Uint8Array.from(
  atob(
    "ACJOACNPACRRACVTACVUACZWACdYAChZAChbACldACpfACphACtiACxkACxmAC1oAC5qAC5sAC9tADBvADBwADFwADFxATJxBTNxCDNwDDRwDzVwEjVwFDZwFjdwGDdvGjhvHDlvHjpvIDpvITtuIzxuJDxuJj1uJz5uKT9uKj9tK0BtLUFtLkFtL0JtMUNtMkNtM0RtNEVsNUVsNkZsOEdsOUhsOkhsO0lsPEpsPUpsPktsP0xsQExsQU1sQk5sQ05sRE9sRVBsRlFsR1FsSFJsSVNsSlNsS1RsTFVsTVVsTlZsT1dsUFdsUVhtUlltU1ptVFptVVttVVxtVlxtV11tWF5tWV5uWl9uW2BuXGFuXWFuXmJuXmNvX2NvYGRvYWVvYmVvY2ZwZGdwZWhwZWhwZmlwZ2pxaGpxaWtxamxxa21ybG1ybG5ybW9ybm9zb3BzcHFzcXJ0cnJ0cnN0c3R1dHR1dXV1dnZ2d3d2d3d3eHh3eXl3enp4e3p4fHt4fXx4fnx4fn14f354gH94gX94goB5g4F5hIJ5hYJ5hoN5h4R4iIV4iYV4ioZ4i4d4jIh4jYh4jol4j4p4kIt4kYt4kox4ko14k454lI53lY93lpB3l5F3mJJ3mZJ3mpN2m5R2nJV2nZV2npZ2n5d1oJh1oZl1opl1o5p0pJt0pZx0ppx0p51zqJ5zqZ9zqqBzq6ByrKFyraJyrqNxr6RxsKVxsaVws6ZwtKdvtahvtqlvt6luuKpuuattuqxtu61tvK5sva5svq9rv7BrwLFqwbJqwrNpw7NpxLRoxbVoxrZnx7dnyLhmyblly7llzLpkzbtjzrxjz71i0L5i0b9h0sBg08Bf1MFf1cJe1sNd18Rc2cVc2sZb28da3MhZ3chY3slY38pX4MtW4cxV4s1U5M5T5c9S5tBR59FQ6NJP6dNO6tNM69RL7dVK7tZJ79dI8NhG8dlF8tpE89tC9dxB9t0/994++N88+eA6++E4/OI2/eM0/uQ0/uU1/uY2/ug4",
  ),
  (c) => c.charCodeAt(0),
);
const MASKED = [136, 136, 136];
// the same as packed pixels, since a map of all heads has hundreds of thousands of cells
const pixel = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
const level = (share) => Math.max(0, Math.min(255, Math.round(255 * share)));
const PIXELS = Uint32Array.from({ length: 256 }, (_, i) => pixel(colour(i / 255)));

/** The colour of a share from 0 to 1, as [red, green, blue]. */
export function colour(share) {
  const at = 3 * level(share);
  return [CIVIDIS[at], CIVIDIS[at + 1], CIVIDIS[at + 2]];
}

/**
 * A canvas of this size in CSS pixels; `draw(context, state)` paints it in `context.ink`.
 *
 * With `grid` = { place: [names of the row's and the column's state], rows, columns, at(x, y),
 * tell(state) }, a cell is chosen by pointer or arrow keys, and announced to screen readers. `rows`
 * and `columns` may be getters, which are read at each key.
 */
export function canvas(view, { width, height, label, draw, grid, into = view.stage }) {
  const made = make("canvas");
  const ratio = window.devicePixelRatio || 1;
  Object.assign(made, { width: width * ratio, height: height * ratio });
  Object.assign(made.style, { width: `${width}px`, aspectRatio: `${width} / ${height}` });
  made.setAttribute("role", grid ? "application" : "img");
  made.setAttribute("aria-label", label);
  into.append(made);
  view.draws.push((state) => {
    const context = made.getContext("2d");
    context.save(); // each frame starts with the same context settings
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.ink = getComputedStyle(view.root).color;
    context.fillStyle = context.strokeStyle = context.ink;
    context.font = "12px system-ui, sans-serif";
    draw(context, state);
    context.restore();
  });
  if (grid) choosable(view, made, grid, width);
  return made;
}

function choosable(view, made, grid, width) {
  const { at, tell } = grid;
  const [row, column] = grid.place;
  own(view, made).tabIndex = 0;
  const choose = (cell) => {
    view.set({ [row]: cell.row, [column]: cell.column });
    view.say(tell(view.state));
  };
  const keys = (event) => {
    const here = { row: view.state[row], column: view.state[column] };
    const cell = step(event.key, here, grid.rows, grid.columns);
    if (!cell) return;
    event.preventDefault();
    choose(cell);
  };
  const point = (event) => {
    const scale = width / made.getBoundingClientRect().width;
    const cell = at(event.offsetX * scale, event.offsetY * scale);
    if (cell && (cell.row !== view.state[row] || cell.column !== view.state[column])) choose(cell);
  };
  made.addEventListener("keydown", keys, { signal: view.signal });
  made.addEventListener("pointermove", point, { signal: view.signal });
  made.addEventListener("pointerdown", point, { signal: view.signal });
}

/** Paint cells of a grid into a box: `value(row, column)` is a share from 0 to 1, null if masked. */
export function heatmap(context, box, rows, columns, value) {
  const shares = new Float32Array(rows * columns);
  for (let at = 0; at < shares.length; at++)
    shares[at] = value(Math.floor(at / columns), at % columns) ?? NaN;
  shareMap(context, box, rows, columns, shares);
}

let small; // reused canvas with a pixel per cell: filling it is cheaper than creating one

/**
 * The same for an array of shares, row by row; NaN is a masked cell.
 *
 * Masked cells are hatched grey, which is not a colour of the map.
 */
export function shareMap(context, box, rows, columns, shares) {
  const cells = new ImageData(columns, rows);
  const pixels = new Uint32Array(cells.data.buffer);
  const masked = [];
  const levels = new Uint8ClampedArray(1); // rounds and clamps to 0..255
  for (let at = 0; at < pixels.length; at++) {
    const share = shares[at];
    levels[0] = 255 * share;
    pixels[at] = PIXELS[levels[0]];
    if (share === share) continue;
    pixels[at] = pixel(MASKED);
    masked.push(at);
  }
  small ??= new OffscreenCanvas(1, 1);
  Object.assign(small, { width: columns, height: rows });
  small.getContext("2d").putImageData(cells, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, box.x, box.y, box.width, box.height);
  const [wide, high] = [box.width / columns, box.height / rows];
  if (Math.min(wide, high) < 6) return;
  for (const at of masked) {
    const [row, column] = [Math.floor(at / columns), at % columns];
    hatchCell(context, box.x + column * wide, box.y + row * high, wide, high);
  }
}

/** Paint a masked cell: hatched grey in every theme. */
export function hatchCell(context, x, y, wide, high) {
  context.save();
  context.fillStyle = `rgb(${MASKED})`;
  context.fillRect(x, y, wide, high);
  context.strokeStyle = "#444";
  context.lineWidth = 1;
  context.beginPath();
  context.rect(x, y, wide, high);
  context.clip();
  context.beginPath();
  for (let shift = -high; shift < wide; shift += 5) {
    context.moveTo(x + shift, y + high);
    context.lineTo(x + shift + high, y);
  }
  context.stroke();
  context.restore();
}

const luminance = ([red, green, blue]) => {
  const light = (part) => ((part / 255 + 0.055) / 1.055) ** 2.4; // relative luminance as in WCAG
  return 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
};

/**
 * A heatmap with numbers in a box of `rows` and `columns`: `value(row, column)` is a number, or
 * null if masked; colours range from `low` to `high`. Shows as many decimals as fit;
 * `marked[i]` marks the corner of a cell.
 */
export function numberMap(context, box, value, { low, high: up }, marked = []) {
  const { rows, columns } = box;
  const share = (number) => (up > low ? (number - low) / (up - low) : 0.5);
  const shade = (number) => (number === null ? null : share(number));
  heatmap(context, box, rows, columns, (row, column) => shade(value(row, column)));
  const [wide, high] = [box.width / columns, box.height / rows];
  const cells = Array.from({ length: rows * columns }, (_, i) =>
    value(Math.floor(i / columns), i % columns));
  const numbers = cells.filter((number) => number !== null);
  // no negative zero
  const written = (number, digits) =>
    number.toFixed(digits).replace(/^-(?=.*[1-9])/, "−").replace("-", "");
  context.save();
  context.font = "11px system-ui, sans-serif";
  Object.assign(context, { textAlign: "center", textBaseline: "middle", lineWidth: 1 });
  const fits = (digits) =>
    numbers.every((number) => context.measureText(written(number, digits)).width <= wide - 4);
  const decimals = numbers.every(Number.isInteger) ? [0] : [2, 1, 0];
  const digits = high < 12 ? undefined : decimals.find(fits);
  cells.forEach((number, i) => {
    const [x, y] = [box.x + (i % columns) * wide, box.y + Math.floor(i / columns) * high];
    context.strokeStyle = "rgba(255, 255, 255, 0.6)";
    context.strokeRect(x, y, wide, high);
    context.fillStyle = luminance(colour(share(number))) < 0.179 ? "white" : "black";
    if (number !== null && digits !== undefined)
      context.fillText(written(number, digits), x + wide / 2, y + high / 2 + 1);
    if (!marked[i]) return;
    context.beginPath();
    context.moveTo(x + wide - 10, y);
    context.lineTo(x + wide, y);
    context.lineTo(x + wide, y + 10);
    context.closePath();
    context.fillStyle = "#d55e00";
    context.strokeStyle = "white";
    context.fill();
    context.stroke();
  });
  context.restore();
}

/** The cell at a point in a box of `rows` and `columns`; null outside. */
export function cellAt(box, x, y) {
  const row = Math.floor(((y - box.y) / box.height) * box.rows);
  const column = Math.floor(((x - box.x) / box.width) * box.columns);
  const within = row >= 0 && column >= 0 && row < box.rows && column < box.columns;
  return within ? { row, column } : null;
}

/** Outline a cell of such a box; without `row` or `column`, a whole column, row or box. */
export function outline(context, box, { row, column }, colour, line = 3, dash = []) {
  const [wide, high] = [box.width / box.columns, box.height / box.rows];
  const [x, width] = column === undefined ? [box.x, box.width] : [box.x + column * wide, wide];
  const [y, height] = row === undefined ? [box.y, box.height] : [box.y + row * high, high];
  context.save();
  Object.assign(context, { strokeStyle: colour, lineWidth: line });
  context.setLineDash(dash);
  context.strokeRect(x, y, width, height);
  context.restore();
}

/** Write row names beside a grid's box and column names above it: rotated, or `flat`. */
export function cellNames(context, box, rows, columns, flat = false) {
  const [wide, high] = [box.width / columns.length, box.height / rows.length];
  context.save();
  context.fillStyle = context.ink;
  const letters = (room) => `${Math.max(8, Math.min(12, room))}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.font = letters(high);
  rows.forEach((name, row) => context.fillText(name, box.x - 4, box.y + (row + 0.5) * high, 84));
  context.textAlign = "left";
  context.font = letters(wide);
  columns.forEach((name, column) => {
    context.save();
    context.translate(box.x + (column + 0.5) * wide, box.y - (flat ? 10 : 4));
    if (flat) context.textAlign = "center";
    else context.rotate(-Math.PI / 2);
    context.fillText(name, 0, 0, 84);
    context.restore();
  });
  context.restore();
}

/** A collapsed table of the same numbers: `value(row, column)` is the text of a cell. */
export function table(view, rows, columns, value) {
  const folded = make("details");
  folded.append(own(view, make("summary", { textContent: "as a table" })));
  const made = make("table");
  folded.append(made);
  view.root.append(folded);
  view.draws.push((state) => {
    if (!folded.open) return;
    const heading = `<tr><td></td>${columns.map((name) => `<th>${escaped(name)}</th>`).join("")}</tr>`;
    const lines = rows.map((name, row) => {
      const cells = columns.map((_, column) => `<td>${value(row, column, state)}</td>`);
      return `<tr><th>${escaped(name)}</th>${cells.join("")}</tr>`;
    });
    made.innerHTML = heading + lines.join("");
  });
  folded.addEventListener("toggle", view.redraw, { signal: view.signal });
}

function escaped(text) {
  return make("span", { textContent: text }).innerHTML;
}
