// Attention: every head of every block as a small map, and one enlarged, with a cell cursor.
const ENLARGED = { width: 400, side: 280 }; // in CSS pixels
const NAMED = 33; // positions, at most, that are named beside the map

/** The position of a small map: { block, head } at a point, or null. */
export function mapAt({ size, left, top, depth, heads }, x, y) {
  const [block, head] = [Math.floor((y - top) / size), Math.floor((x - left) / size)];
  return block >= 0 && head >= 0 && block < depth && head < heads ? { block, head } : null;
}

/**
 * A head's weights as shares of the largest in their row; NaN for keys in the future.
 *
 * Of many keys each has a small weight: on one scale for all rows, most rows would be dark.
 */
export function rowShares(weight, length) {
  const found = new Float32Array(length * length).fill(NaN);
  for (let row = 0; row < length; row++) {
    let most = 0;
    for (let column = 0; column <= row; column++) most = Math.max(most, weight(row, column));
    for (let column = 0; column <= row; column++)
      found[row * length + column] = weight(row, column) / most;
  }
  return found;
}

/** Whether a head adds nothing, by its own switch or by that of its block's attention. */
export function headOff(on, block, head, heads) {
  const off = partsOff(on, block, heads);
  return off.attention || off.heads.has(head);
}

function paintHead(context, box, { read, ids, heads }, { on }, block, head) {
  const weight = (row, column) => read.weight(block, head, row, column);
  const off = headOff(on, block, head, heads);
  context.save();
  if (off) context.globalAlpha = 0.25;
  shareMap(context, box, ids.length, ids.length, rowShares(weight, ids.length));
  context.restore();
  if (!off) return;
  context.save();
  Object.assign(context, { textAlign: "center", textBaseline: "middle" });
  context.font = `bold ${Math.min(28, Math.max(10, box.width / 4))}px system-ui, sans-serif`;
  context.fillText("off", box.x + box.width / 2, box.y + box.height / 2, box.width);
  context.restore();
}

/** All heads of all blocks, small: a click chooses one. */
export function allMaps(view, into, now, { depth, heads }) {
  const size = Math.max(24, Math.min(72, Math.floor((ENLARGED.width - 56) / heads)));
  const grid = { size, left: 56, top: 18, depth, heads };
  const width = 56 + heads * size;
  const made = canvas(view, {
    width,
    height: 18 + depth * size,
    label: `attention of all ${heads} heads of ${depth} blocks, small; a click chooses one`,
    into,
    draw(context, state) {
      if (!now().ids.length) return;
      for (let head = 0; head < heads; head++)
        context.fillText(size < 50 ? head : `head ${head}`, 56 + head * size, 12);
      for (let block = 0; block < depth; block++) {
        context.fillText(`block ${block}`, 0, 18 + (block + 0.5) * size);
        for (let head = 0; head < heads; head++) {
          const [x, y, width] = [56 + head * size, 18 + block * size, size - 6];
          const box = { x, y, width, height: width };
          paintHead(context, box, now(), state, block, head);
          const chosen = block === state.block && head === state.head;
          if (chosen) outline(context, { ...box, rows: 1, columns: 1 }, {}, "#d55e00");
        }
      }
    },
  });
  const choose = ({ offsetX, offsetY }) => {
    const scale = width / made.getBoundingClientRect().width;
    const found = mapAt(grid, offsetX * scale, offsetY * scale);
    if (found) view.set(found);
  };
  made.addEventListener("click", choose, { signal: view.signal });
}

/** One head enlarged: rows are queries, columns are keys. */
export function oneMap(view, into, now) {
  const left = Math.min(90, 14 + 7 * now().longest);
  const side = Math.min(ENLARGED.side, ENLARGED.width - left - 4);
  const boxOf = () => {
    const rows = now().ids.length;
    return { x: left, y: left, width: side, height: side, rows, columns: rows };
  };
  const length = () => now().ids.length;
  const chosen = () => ({ row: now().row, column: Math.min(view.state.column, length() - 1) });
  const tell = () => cellTold(now(), view.state, chosen());
  let over = null; // the cell under the pointer
  const made = canvas(view, {
    width: ENLARGED.width,
    height: left + side + 44,
    label: "the chosen head's attention weights, a row for each query: arrow keys move the cell",
    into,
    grid: {
      place: ["row", "column"],
      get rows() {
        return length();
      },
      get columns() {
        return length();
      },
      at: () => null, // a pointer that moves over the map chooses no cell
      tell,
    },
    draw(context, state) {
      const { ids, name, heads } = now();
      if (!ids.length) return;
      const box = boxOf();
      paintHead(context, box, now(), state, state.block, state.head);
      const names = ids.map(name);
      if (ids.length <= NAMED) cellNames(context, box, names, names);
      outline(context, box, chosen(), "#d55e00", 2);
      const cell = over && over.row < ids.length && over.column < ids.length ? over : chosen();
      context.fillText(cellTold(now(), state, cell), 4, box.y + side + 20, ENLARGED.width - 8);
      if (headOff(state.on, state.block, state.head, heads))
        context.fillText("This head is off: computed, but not used.", 4, box.y + side + 38);
    },
  });
  const cellOf = ({ offsetX, offsetY }) => {
    const scale = ENLARGED.width / made.getBoundingClientRect().width;
    return length() ? cellAt(boxOf(), offsetX * scale, offsetY * scale) : null;
  };
  const hover = (cell) => {
    if (String([cell?.row, cell?.column]) === String([over?.row, over?.column])) return;
    over = cell;
    view.redraw();
  };
  const choose = (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    view.set(cell);
    view.say(tell());
  };
  const listen = (event, act) => made.addEventListener(event, act, { signal: view.signal });
  listen("pointermove", (event) => hover(cellOf(event)));
  listen("pointerleave", () => hover(null));
  listen("click", choose);
  sayChosenHead(view, now, tell);
}

/** What is said of a cell of a head's map. */
export function cellTold({ ids, name, read }, { block, head }, { row, column }) {
  const said = `query ${row} “${name(ids[row])}”, key ${column} “${name(ids[column])}”`;
  if (column > row) return `${said}: masked, it comes later`;
  return `${said}: ${brief(read.weight(block, head, row, column))}`;
}

// when another head is chosen: its weight in the cell
function sayChosenHead(view, now, tell) {
  let last = null;
  view.draws.push(({ block, head }) => {
    const key = `block ${block}, head ${head}`;
    if (last !== null && last !== key && now().ids.length) view.say(`${key}: ${tell()}`);
    last = key;
  });
}
