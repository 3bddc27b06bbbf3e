// From logits to a next token: probabilities, and a seeded draw.

/** The probabilities of logits under a temperature and a top-k (null for all). */
export function chances(logits, temperature, topK) {
  const order = ranked(logits);
  const found = new Float32Array(logits.length);
  if (temperature === 0) {
    found[order[0]] = 1;
    return found;
  }
  const kept = order.slice(0, topK ?? order.length);
  const shares = softened(kept.map((id) => logits[id] / temperature));
  kept.forEach((id, i) => (found[id] = shares[i]));
  return found;
}

/** The ids from the largest value to the smallest; equal ones in their order. */
export function ranked(values) {
  return Array.from(values, (_, id) => id).sort((a, b) => values[b] - values[a] || a - b);
}

/** A number from 0 to 1 that depends on a seed and a position only. */
export function randomAt(seed, position) {
  let bits = (seed * 0x9e3779b1 + position * 0x85ebca6b + 0x6d2b79f5) | 0;
  for (const shift of [16, 13]) bits = Math.imul(bits ^ (bits >>> shift), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

/** The token drawn: the likeliest come first on a line from 0 to 1, and `point` falls on one. */
export function drawn(probabilities, point) {
  const order = ranked(probabilities);
  let sum = 0;
  return order.find((id) => (sum += probabilities[id]) > point) ?? order[0];
}

/** A share as a percentage; small ones are not rounded to 0, nor large ones to 100. */
export function percent(share) {
  if (share > 0 && share < 0.0005) return "<\u00a00.1\u00a0%";
  if (share < 1 && share >= 0.9995) return ">\u00a099.9\u00a0%";
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)}\u00a0%`;
}
