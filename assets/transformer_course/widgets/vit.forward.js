// A Vision Transformer, from an image to the answer. Follows layers.js.

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
  return { shape, embedding, first, blocks, norm: norm(), head: layer(classes, width) };
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
 * What the network makes of an image: `answers`, the probabilities of the classes if the head
 * read the tokens after each block; `weights` of each block (heads, tokens, tokens); and the
 * `rollout` (tokens, tokens). `off` lists heads that add nothing, as block · heads + head.
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
  return { answers, weights, rollout: rolledOut(weights, silent, x.length / width) };
}

const activated = (x, { activation }) =>
  activation === "relu" ? x.map((value) => Math.max(0, value)) : gelu(x);

// what the head reads: the normed class token, or the mean of the patches, normed before or after
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
 * block's Set of `silent` ones. Returns (tokens, tokens): what of each input token is in an output.
 */
export function rolledOut(weights, silent, tokens) {
  let whole = new Float32Array(tokens * tokens);
  for (let i = 0; i < tokens; i++) whole[i * (tokens + 1)] = 1;
  weights.forEach((of, block) => {
    const heads = of.length / tokens ** 2;
    const on = [...Array(heads).keys()].filter((head) => !silent[block].has(head));
    const step = new Float32Array(tokens * tokens);
    for (const head of on)
      step.forEach((_, i) => (step[i] += of[head * step.length + i] / (2 * on.length)));
    for (let i = 0; i < tokens; i++) step[i * (tokens + 1)] += on.length ? 0.5 : 1;
    const before = whole;
    whole = new Float32Array(step.length);
    for (let row = 0; row < tokens; row++)
      for (let middle = 0; middle < tokens; middle++)
        for (let column = 0; column < tokens; column++)
          whole[row * tokens + column] +=
            step[row * tokens + middle] * before[middle * tokens + column];
  });
  return whole;
}

/**
 * A matrix's (tokens, tokens) weights on the patches, seen from a `source`: null for what the head
 * reads (the class token, or the mean of the patches), else the number of a patch.
 */
export function onPatches(matrix, { classToken, pool, rows, columns }, source) {
  const tokens = rows * columns + classToken;
  const row = (query) => matrix.subarray(query * tokens, (query + 1) * tokens);
  if (source !== null) return row(source + classToken).subarray(classToken);
  if (pool === "cls") return row(0).subarray(classToken);
  return meanRow(matrix.subarray(classToken * tokens), tokens).subarray(classToken);
}
