import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { counted, largest, looked, places } = await import(address("patches"));

test("a patch size says what attention will cost", () => {
  const said = "49 patches of 16 numbers each; attention compares 49·49 = 2401 pairs.";
  assert.equal(counted([1, 28, 28], 4, false), said);
});

test("a class token is one more to compare, and colours are three numbers each", () => {
  const said = "6 patches of 12 numbers each, and the class token; attention compares 7·7 = 49 pairs.";
  assert.equal(counted([3, 4, 6], 2, true), said);
});

test("a patch's numbers go channel after channel, line after line", () => {
  assert.deepEqual(places([1, 4, 6], 2, 1, 2), [16, 17, 22, 23]);
  assert.deepEqual(places([2, 2, 4], 2, 0, 1), [2, 3, 6, 7, 10, 11, 14, 15]);
});

test("together, the patches hold each number of the image once", () => {
  const all = [0, 1].flatMap((row) => [0, 1, 2].flatMap((column) => places([3, 4, 6], 2, row, column)));
  assert.deepEqual(all.sort((a, b) => a - b), [...Array(72).keys()]);
});

test("a query's row is found in its layer and head", () => {
  const weights = { shape: [2, 3, 4, 4], value: (i) => i };
  assert.deepEqual([...looked(weights, 1, 2, 3)], [92, 93, 94, 95]);
});

test("instead of a head, the mean of all", () => {
  const weights = { shape: [2, 3, 2, 2], value: (i) => i };
  // heads of layer 1 begin at 12, 16 and 20
  assert.deepEqual([...looked(weights, 1, -1, 1)], [18, 19]);
});

test("a rollout is one matrix", () => {
  const rollout = { shape: [3, 3], value: (i) => i };
  assert.deepEqual([...looked(rollout, 0, 0, 2)], [6, 7, 8]);
});

test("the largest come first, and of equals the earlier", () => {
  assert.deepEqual(largest(Float64Array.from([1, 5, 2, 5]), 3), [1, 3, 2]);
  assert.deepEqual(largest([], 3), []);
});
