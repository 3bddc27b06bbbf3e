// Windows: a pixel by partition, shift and mask; or what it depends on, block by block.
const [CHOSEN, BORDER, DARK] = ["#d55e00", "#555555", "#111"];
const CELL = 30; // CSS pixels of a cell of the map, at most
const MAP = 256; // of a whole map
const HEAD = 40; // above a map
const EDGE = 3;

/** Which window each pixel is in, and at which place: from windows (windows, M²) of pixels. */
export function placesOf({ data, shape }) {
  const found = Array(data.length);
  data.forEach((pixel, at) => {
    found[pixel] = { window: Math.floor(at / shape[1]), place: at % shape[1] };
  });
  return found;
}

/** The pixels that a pixel may attend to, and those of its window that are masked. */
export function attended(windows, mask, pixel) {
  const { window, place } = placesOf(windows)[pixel];
  const count = windows.shape[1];
  const keys = [...windows.data.subarray(window * count, (window + 1) * count)];
  const start = (window * count + place) * count;
  const may = keys.map((_, at) => mask.data[start + at] !== 0);
  return {
    window, place,
    keys: new Set(keys.filter((_, at) => may[at])),
    masked: new Set(keys.filter((_, at) => !may[at])),
  };
}

/** Where a pixel is after the map was rolled by -shift on both axes. */
export function rolledTo(pixel, side, shift) {
  const [row, column] = [Math.floor(pixel / side), pixel % side];
  const back = (at) => (at - shift + side) % side;
  return { row: back(row), column: back(column) };
}

/** The pairs of query and key: over all pixels, in windows, and of these the allowed ones. */
export function cost(side, size, mask) {
  const allowed = mask.data.reduce((sum, may) => sum + (may ? 1 : 0), 0);
  return { full: side ** 4, windows: side * side * size * size, allowed };
}

/** On how many pixels each pixel depends after a block: of (blocks, pixels, pixels). */
export function counts({ data, shape }, block) {
  const pixels = shape[1];
  return Array.from({ length: pixels }, (_, pixel) => {
    const start = (block * pixels + pixel) * pixels;
    return data.subarray(start, start + pixels).reduce((sum, one) => sum + (one ? 1 : 0), 0);
  });
}

const written = (count) => count.toLocaleString("en");

function render({ model, el }) {
  const view = open({ model, el });
  (model.get("options").mode === "reach" ? reach : windows)(view, arrays(model), model.get("options"));
  return view.close;
}

function windows(view, sent, { side, sizes, tints }) {
  const cell = Math.min(CELL, Math.floor(MAP / side));
  const size = slider(view, { name: "size", label: "window size M", among: sizes, text: String });
  const shift = slider(view, { name: "shift", label: "shift s", min: 0, max: Math.max(...sizes) - 1, text: String });
  size.addEventListener("input", () => view.set({ shift: Math.min(view.state.shift, view.state.size - 1) }),
    { signal: view.signal });
  view.draws.push((state) => (shift.max = state.size - 1));
  const now = (state) => {
    const at = `${state.size} ${Math.min(state.shift, state.size - 1)}`;
    return { windows: sent[`windows ${at}`], mask: sent[`mask ${at}`], shift: Math.min(state.shift, state.size - 1) };
  };
  const pixelOf = (state) => state.row * side + state.column;
  const tell = (state) => {
    const { windows, mask, shift } = now(state);
    const { window, keys, masked } = attended(windows, mask, pixelOf(state));
    const to = rolledTo(pixelOf(state), side, shift);
    const pairs = cost(side, state.size, mask);
    const share = pairs.windows === pairs.full ? "as many as" : `1/${Math.round(pairs.full / pairs.windows)} of`;
    return (
      `Pixel (${state.row}, ${state.column}) is at (${to.row}, ${to.column}) of the rolled map, in window ${window}. ` +
      `It may attend to ${keys.size} of ${keys.size + masked.size} pixels. ` +
      `Cost: ${written(pairs.windows)} pairs in windows, ${written(pairs.allowed)} of them allowed: ` +
      `${share} the ${written(pairs.full)} pairs of full attention.`
    );
  };
  const grid = (at) => ({ place: ["row", "column"], rows: side, columns: side, tell, at });
  const drawn = (context, state, box, position) => {
    const { windows, mask } = now(state);
    const of = placesOf(windows);
    const { keys, masked } = attended(windows, mask, pixelOf(state));
    for (let pixel = 0; pixel < side * side; pixel++) {
      const { row, column } = position(pixel, state);
      const [x, y] = [box.x + column * cell, box.y + row * cell];
      context.fillStyle = tints[of[pixel].window % tints.length];
      context.fillRect(x, y, cell - 1, cell - 1);
      if (keys.has(pixel)) dot(context, x + cell / 2, y + cell / 2, cell / 5);
      if (masked.has(pixel)) cross(context, x + cell / 2, y + cell / 2, cell / 5);
    }
    outline(context, box, position(pixelOf(state), state), CHOSEN, 3);
  };
  map(view, { side, cell, grid, label: "the map; arrow keys choose a pixel",
    names: () => ["map", "● attended to, × masked"], paint: (context, state, box) =>
      drawn(context, state, box, (pixel) => ({ row: Math.floor(pixel / side), column: pixel % side })),
    find: (at) => at });
  map(view, { side, cell, grid, label: "the rolled map, cut into windows",
    names: (state) => [`rolled by −${now(state).shift}, cut`, "thick lines: windows"],
    paint: (context, state, box) => {
      drawn(context, state, box, (pixel) => rolledTo(pixel, side, now(state).shift));
      borders(context, box, side, cell, state.size);
    },
    find: ({ row, column }, state) => {
      const { shift } = now(state);
      return { row: (row + shift) % side, column: (column + shift) % side };
    } });
  masks(view, now, pixelOf);
  if (sent.merged) merging(view, sent.merged, side, cell, pixelOf);
  view.draws.push((state) => view.told.textContent !== tell(state) && view.say(tell(state)));
}

// a square map with two lines above it; `find` turns a cell of it into a pixel
function map(view, { side, cell, grid, label, names, paint, find }) {
  const box = { x: EDGE, y: HEAD, width: side * cell, height: side * cell, rows: side, columns: side };
  const at = (x, y) => {
    const found = cellAt(box, x, y);
    return found && find(found, view.state);
  };
  canvas(view, {
    width: Math.max(side * cell, 190) + 2 * EDGE, height: HEAD + side * cell + EDGE, label,
    grid: grid(at),
    draw(context, state) {
      headed(context, names(state));
      paint(context, state, box);
    },
  });
}

function headed(context, [name, below]) {
  context.font = "bold 13px system-ui, sans-serif";
  context.fillText(name, EDGE, 14);
  context.font = "11px system-ui, sans-serif";
  context.fillText(below, EDGE, 31);
  context.font = "12px system-ui, sans-serif";
}

function masks(view, now, pixelOf) {
  canvas(view, {
    width: MAP + 2 * EDGE, height: HEAD + MAP + EDGE,
    label: "the mask of the pixel's window: a row for each query, a column for each key",
    draw(context, state) {
      const { windows, mask } = now(state);
      const { window, place } = attended(windows, mask, pixelOf(state));
      const count = windows.shape[1];
      headed(context, [`mask of window ${window}`, "query ↓, key →, hatched: masked"]);
      const box = { x: EDGE, y: HEAD, width: MAP, height: MAP, rows: count, columns: count };
      const start = window * count * count;
      heatmap(context, box, count, count, (row, column) =>
        (mask.data[start + row * count + column] ? 0.85 : null));
      outline(context, box, { row: place }, CHOSEN, 3);
    },
  });
}

function merging(view, { data, shape }, side, cell, pixelOf) {
  const half = side / 2;
  canvas(view, {
    width: Math.max(half * cell, 190) + 2 * EDGE, height: HEAD + half * cell + EDGE,
    label: "the merged map: the pixel into which the chosen one goes",
    draw(context, state) {
      headed(context, ["merged map", "what the pixel goes into"]);
      const box = { x: EDGE, y: HEAD, width: half * cell, height: half * cell, rows: half, columns: half };
      for (let merged = 0; merged < shape[0]; merged++) {
        const [row, column] = [Math.floor(merged / half), merged % half];
        context.fillStyle = data[merged * shape[1] + pixelOf(state)] ? CHOSEN : "#dddddd";
        context.fillRect(box.x + column * cell, box.y + row * cell, cell - 1, cell - 1);
      }
    },
  });
}

function dot(context, x, y, radius) {
  context.fillStyle = DARK;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function cross(context, x, y, radius) {
  context.strokeStyle = DARK;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - radius, y - radius);
  context.lineTo(x + radius, y + radius);
  context.moveTo(x + radius, y - radius);
  context.lineTo(x - radius, y + radius);
  context.stroke();
}

function borders(context, box, side, cell, size) {
  context.strokeStyle = BORDER;
  context.lineWidth = 3;
  for (let at = 0; at <= side; at += size) {
    context.beginPath();
    context.moveTo(box.x + at * cell - 0.5, box.y);
    context.lineTo(box.x + at * cell - 0.5, box.y + box.height);
    context.moveTo(box.x, box.y + at * cell - 0.5);
    context.lineTo(box.x + box.width, box.y + at * cell - 0.5);
    context.stroke();
  }
}

function reach(view, sent, { side, size, paths, reached }) {
  const cell = Math.min(CELL, Math.floor(MAP / side));
  if (paths.length > 1)
    choice(view, { name: "path", label: "network", options: paths.map((name, i) => [i, name]) });
  tick(view, { name: "counts", label: "in each cell: on how many pixels it depends" });
  const depths = (state) => sent[state.path];
  const pixelOf = (state) => state.row * side + state.column;
  const most = Math.max(...paths.map((_, i) => sent[i].shape[0]));
  const tell = (state) => {
    const found = Array.from({ length: depths(state).shape[0] }, (_, block) =>
      `${counts(depths(state), block)[pixelOf(state)]} after block ${block + 1}`);
    return `${paths[state.path]}: pixel (${state.row}, ${state.column}) depends on this many of ` +
      `${side * side} pixels: ${found.join(", ")}.`;
  };
  const grid = (at) => ({ place: ["row", "column"], rows: side, columns: side, tell, at });
  for (let block = 0; block < most; block++)
    map(view, { side, cell, grid, label: `after block ${block + 1}; arrow keys choose a pixel`,
      names: (state) => [`block ${block + 1}`, block < depths(state).shape[0]
        ? `the framed pixel: ${counts(depths(state), block)[pixelOf(state)]} pixels` : "no such block"],
      find: (at) => at,
      paint(context, state, box) {
        if (block >= depths(state).shape[0]) return;
        const { data } = depths(state);
        const each = counts(depths(state), block);
        const start = (block * side * side + pixelOf(state)) * side * side;
        context.textAlign = "center";
        for (let pixel = 0; pixel < side * side; pixel++) {
          const [x, y] = [box.x + (pixel % side) * cell, box.y + Math.floor(pixel / side) * cell];
          context.fillStyle = data[start + pixel] ? reached : "#eeeeee";
          context.fillRect(x, y, cell - 1, cell - 1);
          context.fillStyle = DARK;
          if (state.counts) context.fillText(each[pixel], x + cell / 2, y + cell / 2 + 4);
        }
        borders(context, box, side, cell, size);
        outline(context, box, { row: state.row, column: state.column }, "#0072b2", 3);
      } });
  view.draws.push((state) => view.told.textContent !== tell(state) && view.say(tell(state)));
}

export default { render };
