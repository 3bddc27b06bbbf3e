import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { products, shared, short, spelled, unequal } = await import(address("attention_steps"));
const rounded = (values) => [...values].map((value) => Number(value.toFixed(3)));

test("a score is the dot product of its query and its key", () => {
  // queries [1, 2], [0, 1]; keys [3, 4], [5, 6], [7, 8]
  const found = products([1, 2, 0, 1], [3, 4, 5, 6, 7, 8], 2, 3, 2);
  assert.deepEqual([...found], [11, 17, 23, 4, 6, 8]);
});

test("each row of weights is softmax over the keys, not over the queries", () => {
  const scores = [0, Math.log(3), 0, 0].map((score) => score + 1000);
  assert.deepEqual(rounded(shared(scores, 2, 2, () => true)), [0.25, 0.75, 0.5, 0.5]);
});

test("a masked key has no weight, and a row without a key stays empty", () => {
  const may = (i) => i === 1;
  assert.deepEqual([...shared([5, 0, 1, 1], 2, 2, may)], [0, 1, 0, 0]);
});

test("weights differ where two decimals would show it", () => {
  assert.deepEqual(unequal([0.5, 0.5], [0.501, 0.49]), [false, true]);
});

test("numbers have at most two decimals, and zero no sign", () => {
  assert.deepEqual([1.4142, 2, -0.7071, -0.001, 12345].map(short), ["1.41", "2", "−0.71", "0", "1.2e+4"]);
});

test("a sum of products is spelled out, negative numbers in brackets", () => {
  assert.equal(spelled([1, 0.5], [2, -1]), "1·2 + 0.5·(−1)");
});

test("of many products, the first four and the last are spelled out", () => {
  const ones = Array(8).fill(1);
  assert.equal(spelled(ones, [1, 2, 3, 4, 5, 6, 7, 8]), "1·1 + 1·2 + 1·3 + 1·4 + … + 1·8");
});
