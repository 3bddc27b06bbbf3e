import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const gpt = await import(address("gpt"));
const floats = (...values) => Float32Array.from(values);
const near = (found, wanted, by = 1e-6) => {
  assert.equal(found.length, wanted.length);
  found.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < by, `${found} ${wanted}`));
};

test("float16: one, a third, the smallest, the largest, minus two, infinity", () => {
  const bits = [0x3c00, 0x3555, 0x0001, 0x7bff, 0xc000, 0xfc00];
  const bytes = Uint8Array.from([0, ...bits.flatMap((one) => [one & 255, one >> 8])]);
  const found = gpt.unpackHalf(bytes, 6, 1);
  assert.deepEqual([...found], [1, 0.333251953125, 2 ** -24, 65504, -2, -Infinity]);
});

test("a linear layer: two rows of three features, two outputs", () => {
  const found = gpt.affine(floats(1, 2, 3, 0, 0, 1), floats(1, 0, 0, 1, 1, 1), floats(10, 20));
  assert.deepEqual([...found], [11, 26, 10, 21]);
});

test("LayerNorm: mean 0 and variance 1, then weight and bias", () => {
  near(gpt.normed(floats(1, 3, 5, 5), floats(2, 2), floats(0, 1)), [-2, 3, 0, 1], 1e-4);
});

test("LayerNorm: where the variance is small, its eps matters", () => {
  // variance 1e-6 and eps 1e-5: 1e-3 / sqrt(1.1e-5)
  near(gpt.normed(floats(-1e-3, 1e-3), floats(1, 1), floats(0, 0)), [-0.301511, 0.301511], 1e-5);
});

test("the exact GELU, to 3e-7 of each value", () => {
  // x · Φ(x) in 10 digits; compared by ratio, since those of large negative numbers are tiny
  const wanted = [-1.4332578597e-6, -0.1586552539, 0.3457312306, 1.9544997361, 6];
  const found = gpt.gelu(floats(-5, -1, 0.5, 2, 6));
  near(found.map((value, i) => value / wanted[i]), [1, 1, 1, 1, 1], 3e-7);
  assert.deepEqual([...gpt.gelu(floats(0))], [0]);
});

test("softmax: large scores do not overflow", () => {
  near(gpt.softened(floats(1000, 1000 + Math.log(3))), [0.25, 0.75], 1e-4);
});

test("attention: causal queries are the last; a head that is off adds nothing", () => {
  const [key, value] = [floats(0, 0, 0, 0), floats(1, 10, 3, 30)];
  const how = { width: 2, heads: 2, causal: true };
  const last = gpt.attended(floats(1, 1), key, value, how);
  near(last.weights, [0.5, 0.5, 0.5, 0.5]);
  near(last.mixed, [2, 20]);
  const both = gpt.attended(floats(1, 1, 1, 1), key, value, { ...how, off: new Set([1]) });
  near(both.weights, [1, 0, 0.5, 0.5, 1, 0, 0.5, 0.5]);
  near(both.mixed, [1, 0, 2, 0]);
});

test("a text is split by the longest match; the first of two equal tokens is taken", () => {
  const split = gpt.splitter(["a", "b", "ab", "abc", "a", ""]);
  assert.deepEqual(split("abcaba"), { ids: [3, 2, 0], unknown: [] });
  assert.deepEqual(split("a?b😀?"), { ids: [0, 1], unknown: ["?", "😀"] });
  assert.deepEqual(split(""), { ids: [], unknown: [] });
});

test("the text is what fits into the context: the prompt's end, then generated tokens", () => {
  const text = (typed, generated) => {
    const { ids, prompt, cut } = gpt.textOf({ typed, generated }, gpt.splitter(["a", "b", "c"]), 3);
    return [ids, prompt, cut];
  };
  assert.deepEqual(text("ab", [2, 2]), [[0, 1, 2], 2, 0]);
  assert.deepEqual(text("aabbc", [0]), [[1, 1, 2], 3, 2]);
});

test("what must be known of the text is said", () => {
  const as = { prompt: 1, unknown: [], cut: 0 };
  const said = (text) => gpt.remarks({ ...as, ...text }, { same: true }, 3);
  assert.equal(said({ ids: [1] }), "");
  assert.match(said({ ids: [1], unknown: ["?", "\t"] }), /Not in the vocabulary.*: \? ⇥$/);
  assert.match(said({ ids: [1, 1, 1] }), /context is full: 3 tokens\. Go back to the prompt\./);
  assert.match(said({ ids: [1, 1, 1], prompt: 3, cut: 2 }), /full: 3 tokens\. Shorten the/);
  assert.match(said({ ids: [1, 1, 1], cut: 2 }), /does not fit: 2 tokens\./);
  assert.match(said({ ids: [1, 1, 1], cut: 1 }), /does not fit: 1 token\./);
  assert.match(said({ ids: [] }), /at least one token/);
  const split = gpt.remarks({ ...as, ids: [1] }, { same: false }, 3);
  assert.match(split, /longest match, not by your encode/);
});

test("each token has a name that can be seen", () => {
  assert.deepEqual(gpt.namesOf(["a", " \n", "", "\t\r"]), ["a", "␣↵", "‹2›", "⇥␍"]);
});

test("the view says what it is", () => {
  assert.match(gpt.about(["a", "😀"], 32), /up to 32 tokens, each a single character, and/);
  assert.match(gpt.about(["a", "the"], 1), /up to 1 token, and/);
});

test("temperature and top-k", () => {
  const logits = [0, Math.log(2), Math.log(5)];
  near(gpt.chances(logits, 1, null), [1 / 8, 2 / 8, 5 / 8]);
  near(gpt.chances(logits, 1, 2), [0, 2 / 7, 5 / 7]);
  near(gpt.chances(logits, 0.5, null), [1 / 30, 4 / 30, 25 / 30]);
  near(gpt.chances(logits, 0, 2), [0, 0, 1]);
});

test("draws follow the probabilities, and depend on the seed and the position", () => {
  const draws = [0, 0.49, 0.51, 0.81].map((point) => gpt.drawn([0.3, 0.5, 0.2], point));
  assert.deepEqual(draws, [1, 1, 0, 2]);
  const points = Array.from({ length: 2000 }, (_, i) => gpt.randomAt(i % 10, Math.floor(i / 10)));
  assert.deepEqual(points, points.map((_, i) => gpt.randomAt(i % 10, Math.floor(i / 10))));
  assert.equal(new Set(points).size, 2000);
  const within = (part) => points.filter((point) => Math.floor(4 * point) === part);
  const counts = [0, 1, 2, 3].map((part) => within(part).length);
  for (const count of counts) assert.ok(Math.abs(count - 500) < 80, `${counts}`);
});

test("each part has its switch", () => {
  const off = gpt.partsOff("1111" + "0010", 1, 2);
  assert.deepEqual(off, { attention: true, feedForward: true, heads: new Set([1]) });
  assert.deepEqual(gpt.partsOff("11110010", 0, 2).heads, new Set());
});

test("a token is worth a bar if it is likely by either of two distributions, or the next", () => {
  const bars = (next) => gpt.worthABar(floats(0.1, 0.7, 0.2, 0), floats(0.1, 0, 0.1, 0.8), next, 2);
  assert.deepEqual([bars(null), bars(1), bars(0)], [[1, 3], [1, 3], [1, 0, 3]]);
  const cut = gpt.worthABar(floats(0, 1, 0, 0), floats(0, 0.6, 0, 0.4), null);
  assert.deepEqual(cut, [1, 3], "of tokens that are cut, those with a share before stay");
});

test("each row of a map is a share of its largest weight, and the future is masked", () => {
  const weights = [[1], [0.2, 0.8], [0.25, 0.5, 0.25]];
  const found = gpt.rowShares((row, column) => weights[row][column], 3);
  assert.deepEqual([...found], [1, NaN, NaN, 0.25, 1, NaN, 0.5, 1, 0.5]);
});

test("a small share is not 0 %, and only all is 100 %", () => {
  const shares = [0, 0.0002, 0.5, 0.9994, 0.9995, 0.99999, 1];
  const said = shares.map((share) => gpt.percent(share).replaceAll("\u00a0", " "));
  const high = ["99.9 %", "> 99.9 %", "> 99.9 %", "100 %"];
  assert.deepEqual(said, ["0 %", "< 0.1 %", "50.0 %", ...high]);
});

test("a head is off by its switch or by its block's attention", () => {
  const off = (on) => [0, 1].map((head) => gpt.headOff(on, 0, head, 2));
  const found = [off("1111"), off("1110"), off("0111")];
  assert.deepEqual(found, [[false, false], [false, true], [true, true]]);
});

test("a click in the overview finds its head", () => {
  const grid = { size: 50, left: 56, top: 18, depth: 2, heads: 3 };
  assert.deepEqual(gpt.mapAt(grid, 57, 19), { block: 0, head: 0 });
  assert.deepEqual(gpt.mapAt(grid, 56 + 149, 18 + 99), { block: 1, head: 2 });
  for (const [x, y] of [[10, 30], [210, 30], [60, 10], [60, 120]])
    assert.equal(gpt.mapAt(grid, x, y), null);
});
