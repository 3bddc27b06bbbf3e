import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { chosen, marks, neighbour, rounded, similarity } = await import(address("encoding"));
const TABLE = [3, 4, 0, 2, -6, -8];
const value = (i) => TABLE[i];

test("the dot product of a row with each row", () => {
  assert.deepEqual([...similarity(value, 3, 2, 0, false)], [25, 8, -50]);
  assert.deepEqual([...similarity(value, 3, 2, 2, false)], [-50, -16, 100]);
});

test("the cosine forgets the lengths", () => {
  assert.deepEqual([...similarity(value, 3, 2, 0, true)], [1, 0.8, -1]);
});

test("a row of zeros is like nothing, not NaN", () => {
  assert.deepEqual([...similarity((i) => [0, 0, 1, 0][i], 2, 2, 0, true)], [0, 0]);
});

test("dimensions stand in pairs, and a last one alone has the one before", () => {
  assert.deepEqual([0, 1, 2, 3].map((one) => neighbour(one, 4)), [1, 0, 3, 2]);
  assert.equal(neighbour(4, 5), 3);
  assert.equal(neighbour(0, 1), -1);
});

test("the largest number has three digits, and zero no sign", () => {
  assert.equal(rounded(0.8415, 1), "0.84");
  assert.equal(rounded(-0.0039, 1), "0.00");
  assert.equal(rounded(0.8415, 0.998), "0.84");
  assert.equal(rounded(31.97, 32), "32.0");
  assert.equal(rounded(0.0123, 0.05), "0.0123");
});

test("a setting is found by its numbers, a kind by its place", () => {
  const settings = [[8, 4, 10], [8, 4, 100], [16, 4, 10]];
  assert.equal(chosen(settings, { length: 8, d_model: 4, base: 100 }), 1);
  assert.equal(chosen([], { kind: 2 }), 2);
});

test("an axis has round marks, whichever end is first", () => {
  assert.deepEqual(marks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(marks(63.5, -0.5, 6), [0, 20, 40, 60]);
  assert.deepEqual(marks(-0.5, 1.5, 8, 1), [0, 1]);
  assert.deepEqual(marks(0, 0, 5, 1), [0]);
});
