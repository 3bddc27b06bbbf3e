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

function paintHead(context, box, { read, ids }, block, head) {
  const weight = (row, column) => read.weight(block, head, row, column);
  shareMap(context, box, ids.length, ids.length, rowShares(weight, ids.length));
}

/** All heads of all blocks, small: a click chooses one. */
export function allMaps(view, into, now, { depth, heads }) {
  const size = Math.max(22, Math.min(72, Math.floor((ENLARGED.width - 56) / heads)));
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
          paintHead(context, box, now(), block, head);
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
  const tell = (state) => {
    const { ids, name, read, row } = now();
    const column = Math.min(state.column, ids.length - 1);
    const said = `query ${row} “${name(ids[row])}”, key ${column} “${name(ids[column])}”`;
    if (column > row) return `${said}: masked, it comes later`;
    return `${said}: ${brief(read.weight(state.block, state.head, row, column))}`;
  };
  canvas(view, {
    width: ENLARGED.width,
    height: left + side + 28,
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
      at: (x, y) => cellAt(boxOf(), x, y),
      tell,
    },
    draw(context, state) {
      const { ids, name, row } = now();
      if (!ids.length) return;
      const box = boxOf();
      paintHead(context, box, now(), state.block, state.head);
      const names = ids.map(name);
      if (ids.length <= NAMED) cellNames(context, box, names, names);
      const column = Math.min(state.column, ids.length - 1);
      outline(context, box, { row, column }, "#d55e00", 2);
      context.fillText(tell(state), box.x, box.y + side + 20);
    },
  });
}
