import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { attended, cost, counts, placesOf, rolledTo } = await import(address("windows"));

// a map of 2 × 4 pixels in two windows, rolled by -1: the last row and the last column wrapped
const WINDOWS = { data: Float32Array.from([5, 6, 1, 2, 7, 4, 3, 0]), shape: [2, 4] };
const ROWS = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1];
const ALONE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const MASK = { data: Uint8Array.from([...ROWS, ...ALONE]), shape: [2, 4, 4] };

test("each pixel is found in its window", () => {
  assert.deepEqual(placesOf(WINDOWS)[6], { window: 0, place: 1 });
  assert.deepEqual(placesOf(WINDOWS)[0], { window: 1, place: 3 });
});

test("the pixels of a window are attended to, or masked", () => {
  const found = attended(WINDOWS, MASK, 6);
  assert.deepEqual([[...found.keys], [...found.masked]], [[5, 6], [1, 2]]);
  assert.deepEqual([...attended(WINDOWS, MASK, 0).keys], [0]);
});

test("a roll by -shift wraps around", () => {
  assert.deepEqual(rolledTo(0, 8, 2), { row: 6, column: 6 });
  assert.deepEqual(rolledTo(27, 8, 2), { row: 1, column: 1 });
});

test("pairs are counted: all, in windows, allowed", () => {
  assert.deepEqual(cost(8, 4, MASK), { full: 4096, windows: 1024, allowed: 12 });
});

test("a pixel's dependences are counted after each block", () => {
  const depths = { data: Uint8Array.from([1, 0, 0, 1, 1, 1, 0, 1]), shape: [2, 2, 2] };
  assert.deepEqual([counts(depths, 0), counts(depths, 1)], [[1, 1], [2, 1]]);
});
