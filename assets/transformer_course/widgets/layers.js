// The layers of a Transformer, computed in the page. Follows chart.js in the views that need them.
// A matrix is a Float32Array, row by row; its number of rows is its length / its width.
const NORM_EPS = 1e-5; // as in nn.LayerNorm
const ERF_IS_ONE = 4; // beyond it, erf differs from 1 by less than 2e-8

/** Little-endian IEEE float16 numbers in a Uint8Array: `count` of them from byte `at`. */
export function unpackHalf(bytes, count, at = 0) {
  return Float32Array.from({ length: count }, (_, i) =>
    half(bytes[at + 2 * i] + 256 * bytes[at + 2 * i + 1]));
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24; // subnormal
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A linear layer: x (rows, inputs) · weightᵀ + bias, with weight (outputs, inputs). */
export function affine(x, weight, bias) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const rows = x.length / inputs;
  const found = new Float32Array(rows * outputs);
  for (let row = 0; row < rows; row++)
    for (let output = 0; output < outputs; output++)
      found[row * outputs + output] =
        bias[output] + product(x, row * inputs, weight, output * inputs, inputs);
  return found;
}

// the dot product of `size` numbers of each; two sums, so that one need not wait for the other
function product(x, from, y, start, size) {
  let [even, odd] = [0, 0];
  let i = 0;
  for (; i + 1 < size; i += 2) {
    even += x[from + i] * y[start + i];
    odd += x[from + i + 1] * y[start + i + 1];
  }
  return i < size ? even + odd + x[from + i] * y[start + i] : even + odd;
}

/** LayerNorm of each row; weight and bias have the row's width. */
export function normed(x, weight, bias) {
  const width = weight.length;
  const found = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    const row = x.subarray(at, at + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    const scale = 1 / Math.sqrt(variance + NORM_EPS);
    for (let i = 0; i < width; i++) found[at + i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
  return found;
}

/** The exact GELU of each number: x · Φ(x). */
export function gelu(x) {
  return x.map((value) => 0.5 * value * (1 + erf(value * Math.SQRT1_2)));
}

// a series whose terms have one sign, so that none cancel
function erf(x) {
  if (Math.abs(x) > ERF_IS_ONE) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-9; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** The softmax of one row. */
export function softened(scores) {
  let most = -Infinity;
  for (const score of scores) most = Math.max(most, score);
  const found = Float32Array.from(scores, (score) => Math.exp(score - most));
  const sum = found.reduce((total, value) => total + value, 0);
  return found.map((value) => value / sum);
}

/**
 * Multi-head attention: query (Q, width), key and value (K, width), each head a slice of the width.
 *
 * Returns { weights (heads, Q, K), mixed (Q, width) }. With `causal`, the queries are the last Q of
 * the K positions. The heads in the Set `off` add nothing to `mixed`; their weights are returned.
 */
export function attended(query, key, value, { width, heads, causal = false, off = new Set() }) {
  const [queries, keys, size] = [query.length / width, key.length / width, width / heads];
  const weights = new Float32Array(heads * queries * keys);
  const mixed = new Float32Array(queries * width);
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < queries; row++) {
      const from = head * size; // the first feature of this head
      const at = row * width + from;
      const scores = new Float32Array(causal ? keys - queries + row + 1 : keys);
      for (let i = 0; i < scores.length; i++)
        scores[i] = product(query, at, key, i * width + from, size) / Math.sqrt(size);
      const shares = softened(scores);
      weights.set(shares, (head * queries + row) * keys);
      if (!off.has(head)) mix(mixed.subarray(at, at + size), shares, value, width, from);
    }
  return { weights, mixed };
}

// add each row's features from `from` on, times its share, to `into`
function mix(into, shares, value, width, from) {
  for (let row = 0; row < shares.length; row++)
    for (let i = 0; i < into.length; i++) into[i] += shares[row] * value[row * width + from + i];
}

/** The sum of two matrices of the same shape. */
export function added(x, y) {
  return x.map((value, i) => value + y[i]);
}
