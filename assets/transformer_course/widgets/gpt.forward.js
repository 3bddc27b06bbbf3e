// The student's GPT in the page: its parameters, its blocks with a cache, the readings of a text.

/** The parameters by name, from one array: tables, blocks and final norm, in `gpt.py`'s order. */
export function network(sizes, values) {
  const { vocab, positions, width, hidden, depth } = sizes;
  let at = 0;
  const take = (size) => values.subarray(at, (at += size));
  const linear = (outputs, inputs) => ({ weight: take(outputs * inputs), bias: take(outputs) });
  const norm = () => linear(width, 1);
  const tables = { tokens: take(vocab * width), positions: take(positions * width) };
  const block = () => ({
    norm1: norm(), query: linear(width, width), key: linear(width, width),
    value: linear(width, width), output: linear(width, width),
    norm2: norm(), linear1: linear(hidden, width), linear2: linear(width, hidden),
  });
  const blocks = Array.from({ length: depth }, block);
  return { ...sizes, ...tables, blocks, norm: norm(), none: new Float32Array(vocab) };
}

/** Which parts of a block are off: `on` has 2 + heads characters for each, "1" for a part on. */
export function partsOff(on, block, heads) {
  const start = block * (heads + 2);
  const [attention, feedForward, ...each] = on.slice(start, start + heads + 2);
  const shut = each.flatMap((one, head) => (one === "0" ? [head] : []));
  return { attention: attention === "0", feedForward: feedForward === "0", heads: new Set(shut) };
}

/** How many tokens two texts begin with in common. */
export function inCommon(one, other) {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs < 0 ? one.length : differs;
}

/**
 * A function `read(ids, on)` that runs the network on a text, with parts off as `on` says.
 *
 * The keys and values of each position are cached: only positions that the last call's text does
 * not begin with are computed. Returns { ids, reused, weight(block, head, query, key),
 * logits(level, position) }: how many positions were cached; attention weights; and the logits
 * that the final norm and the table of tokens make of the residual stream at a level, which is the
 * number of blocks before it. They are good until the next call.
 */
export function reader(net) {
  const { context, width, heads } = net;
  const slots = (size) => new Float32Array(context * size);
  const caches = net.blocks.map(() => ({ key: slots(width), value: slots(width) }));
  const maps = net.blocks.map(() => slots(heads * context));
  const levels = [slots(width), ...net.blocks.map(() => slots(width))];
  let last = { ids: [], on: "" };
  return (ids, on) => {
    if (on === last.on && String(ids) === String(last.ids)) return last;
    const reused = on === last.on ? inCommon(ids, last.ids) : 0;
    if (reused < ids.length) {
      let x = embedded(net, ids, reused);
      levels[0].set(x, reused * width);
      net.blocks.forEach((block, i) => {
        const ran = runBlock(net, block, x, caches[i], reused, partsOff(on, i, heads));
        levels[i + 1].set((x = ran.x), reused * width);
        keep(maps[i], ran.weights, net, reused, ids.length);
      });
    }
    const weight = (block, head, query, key) =>
      maps[block][(head * context + query) * context + key];
    last = { ids, on, reused, weight, logits: readings(net, levels) };
    return last;
  };
}

function embedded({ tokens, positions, width }, ids, from) {
  const rows = new Float32Array((ids.length - from) * width);
  for (let at = 0; at < rows.length; at++) {
    const [position, feature] = [from + Math.floor(at / width), at % width];
    rows[at] = tokens[ids[position] * width + feature] + positions[position * width + feature];
  }
  return rows;
}

// the rows of x are those of the positions `from` and later; their keys and values are cached
function runBlock({ width, heads }, block, x, cache, from, off) {
  const through = (rows, { weight, bias }) => affine(rows, weight, bias);
  const read = normed(x, block.norm1.weight, block.norm1.bias);
  const end = from * width + x.length;
  for (const name of ["key", "value"]) cache[name].set(through(read, block[name]), from * width);
  const [key, value] = [cache.key.subarray(0, end), cache.value.subarray(0, end)];
  const how = { width, heads, causal: true, off: off.heads };
  const { weights, mixed } = attended(through(read, block.query), key, value, how);
  if (!off.attention) x = added(x, through(mixed, block.output));
  if (off.feedForward) return { x, weights };
  const inner = gelu(through(normed(x, block.norm2.weight, block.norm2.bias), block.linear1));
  return { x: added(x, through(inner, block.linear2)), weights };
}

// weights (heads, end − from, end) into a map (heads, context, context)
function keep(map, weights, { heads, context }, from, end) {
  for (let head = 0; head < heads; head++)
    for (let row = from; row < end; row++) {
      const start = (head * (end - from) + row - from) * end;
      map.set(weights.subarray(start, start + end), (head * context + row) * context);
    }
}

function readings({ width, norm, tokens, none }, levels) {
  const found = new Map();
  return (level, position) => {
    const name = `${level} ${position}`;
    if (!found.has(name)) {
      const row = levels[level].subarray(position * width, (position + 1) * width);
      found.set(name, affine(normed(row, norm.weight, norm.bias), tokens, none));
    }
    return found.get(name);
  };
}
