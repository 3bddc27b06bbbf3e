import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { decades, ends, marked, nearest } = await import(address("training"));
const STEPS = Float32Array.from([1, 3, 5, 9]);

test("the nearest point of a series, and of two as near the earlier", () => {
  assert.deepEqual([0, 1, 2, 3, 4.5, 7, 7.5, 99].map((step) => nearest(STEPS, step)), [
    0, 0, 0, 1, 2, 2, 3, 3,
  ]);
  assert.equal(nearest([], 4), 0);
});

test("an axis ends at the finite numbers", () => {
  assert.deepEqual(ends([[3, NaN, -1], [Infinity, 7]]), { low: -1, high: 7 });
  assert.equal(ends([[NaN], []]), null);
});

test("a logarithmic axis ends at the numbers above zero", () => {
  assert.deepEqual(ends([[0, 0.5, -3, 2]], true), { low: 0.5, high: 2 });
  assert.equal(ends([[0, -1]], true), null);
});

test("a logarithmic axis is marked at 1, 2 and 5", () => {
  assert.deepEqual(decades(0.04, 3), [0.05, 0.1, 0.2, 0.5, 1, 2]);
});

test("over many powers of ten, only these are marked", () => {
  assert.deepEqual(decades(0.0009, 30), [0.001, 0.01, 0.1, 1, 10]);
});

test("a short line is marked at each point, a long one at some", () => {
  assert.deepEqual(marked([1, NaN, 3]), [0, 2]);
  const few = marked(new Float32Array(300));
  assert.deepEqual(few.slice(0, 3), [0, 30, 60]);
});

test("a point between two gaps is marked, or nobody would see it", () => {
  const values = new Float32Array(300).fill(1);
  values[100] = values[102] = NaN;
  assert.ok(marked(values).includes(101));
  assert.ok(!marked(values).includes(100));
});
