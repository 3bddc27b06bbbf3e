// A Vision Transformer, from an image to the answer. Follows layers.js.
const READER = -1; // instead of a patch's number: what the classifier reads

/** The network's parts: slices of the weights, in the order in which Python sent them. */
export function network(weights, shape) {
  const { patch, width, hidden, rows, columns, classToken, classes } = shape;
  let at = 0;
  const take = (size) => weights.subarray(at, (at += size));
  const layer = (outputs, inputs) => ({ weight: take(outputs * inputs), bias: take(outputs) });
  const norm = () => ({ weight: take(width), bias: take(width) });
  const embedding = take(width * patch * patch);
  const first = take((rows * columns + classToken) * width);
  const blocks = Array.from({ length: shape.blocks }, () => ({
    norm1: norm(),
    projections: joint(take(3 * width * width), take(3 * width), width),
    output: layer(width, width),
    norm2: norm(),
    linear1: layer(hidden, width),
    linear2: layer(width, hidden),
  }));
  const net = { shape, embedding, first, blocks, norm: norm(), head: layer(classes, width) };
  if (at !== weights.length) throw new Error(`${weights.length} weights were sent, ${at} read`);
  return net;
}

// the projections to query, key and value, which PyTorch keeps in one matrix
function joint(weight, bias, width) {
  return [0, 1, 2].map((which) => ({
    weight: weight.subarray(which * width * width, (which + 1) * width * width),
    bias: bias.subarray(which * width, (which + 1) * width),
  }));
}

/** An image (height · width numbers) as patches, row by row: (patches, patch²). */
export function patchRows(image, { rows, columns, patch }) {
  const found = new Float32Array(image.length);
  const wide = columns * patch;
  for (let i = 0; i < image.length; i++) {
    const [y, x] = [Math.floor(i / wide), i % wide];
    const which = Math.floor(y / patch) * columns + Math.floor(x / patch);
    found[which * patch * patch + (y % patch) * patch + (x % patch)] = image[i];
  }
  return found;
}

/**
 * What the network makes of an image: `answers`, the probabilities of the classes if the
 * classifier read the tokens after each block; `weights` of each block (heads, tokens, tokens);
 * and `silent`, a Set of the heads that are off in each block. `off` lists them, as
 * block · heads + head.
 */
export function answered(net, image, off = []) {
  const { width, heads, classToken } = net.shape;
  const apply = (x, { weight, bias }) => affine(x, weight, bias);
  const norm = (x, { weight, bias }) => normed(x, weight, bias);
  const nothing = new Float32Array(width); // the embedding's bias is in `first`
  const tokens = affine(patchRows(image, net.shape), net.embedding, nothing);
  let x = net.first.slice();
  tokens.forEach((value, i) => (x[classToken * width + i] += value));
  const [answers, weights, silent] = [[], [], []];
  net.blocks.forEach((block, number) => {
    const own = off.filter((head) => Math.floor(head / heads) === number);
    silent.push(new Set(own.map((head) => head % heads)));
    const before = norm(x, block.norm1);
    const [query, key, value] = block.projections.map((part) => apply(before, part));
    const found = attended(query, key, value, { width, heads, off: silent[number] });
    weights.push(found.weights);
    x = added(x, apply(found.mixed, block.output));
    const inner = apply(norm(x, block.norm2), block.linear1);
    x = added(x, apply(activated(inner, net.shape), block.linear2));
    answers.push(softened(apply(pooled(net, x), net.head)));
  });
  return { answers, weights, silent };
}

const activated = (x, { activation }) =>
  activation === "relu" ? x.map((value) => Math.max(0, value)) : gelu(x);

// what the classifier reads: the normed class token, or the mean of the patches
function pooled({ shape: { pool, width, classToken }, norm: { weight, bias } }, x) {
  if (pool === "cls") return normed(x.subarray(0, width), weight, bias);
  const patches = x.subarray(classToken * width);
  if (pool === "mean") return meanRow(normed(patches, weight, bias), width);
  return normed(meanRow(patches, width), weight, bias);
}

/** The mean of the rows of a matrix of this width. */
export function meanRow(x, width) {
  const mean = new Float32Array(width);
  x.forEach((value, i) => (mean[i % width] += (value * width) / x.length));
  return mean;
}

/**
 * Attention rollout: half of each token is kept, half is the mean of the heads that are not in the
 * block's Set of `silent` ones. Of the tokens in the shares `start` (tokens), after the last block:
 * returns what of each input token is in them (tokens).
 */
export function rolledOut({ weights, silent }, start) {
  const tokens = start.length;
  let shares = start;
  for (let block = weights.length - 1; block >= 0; block--) {
    const heads = weights[block].length / tokens ** 2;
    const on = [...Array(heads).keys()].filter((head) => !silent[block].has(head));
    if (!on.length) continue; // each token is kept whole
    const before = shares.map((share) => share / 2);
    for (const head of on) {
      const matrix = weights[block].subarray(head * tokens ** 2, (head + 1) * tokens ** 2);
      passed(matrix, shares).forEach((share, key) => (before[key] += share / (2 * on.length)));
    }
    shares = before;
  }
  return shares;
}

/**
 * The tokens that a source stands for, as shares (tokens): a patch's number, or READER for what the
 * classifier reads, which is the class token or the mean of the patches.
 */
export function sourceShares({ classToken, pool, rows, columns }, source) {
  const shares = new Float32Array(rows * columns + classToken);
  if (source !== READER) shares[source + classToken] = 1;
  else if (pool === "cls") shares[0] = 1;
  else shares.fill(1 / (rows * columns), classToken);
  return shares;
}

/** What of each patch is in a source after the last block, by rollout. */
export function rolledOnto(found, shape, source) {
  return rolledOut(found, sourceShares(shape, source)).subarray(shape.classToken);
}

/** A matrix's (tokens, tokens) weights on the patches, from a source. */
export function onPatches(matrix, shape, source) {
  return passed(matrix, sourceShares(shape, source)).subarray(shape.classToken);
}

// shares · matrix: what of each key is in the queries that have these shares
function passed(matrix, shares) {
  const found = new Float32Array(shares.length);
  shares.forEach((share, query) => {
    const at = query * shares.length;
    for (let key = 0; share && key < shares.length; key++) found[key] += share * matrix[at + key];
  });
  return found;
}
