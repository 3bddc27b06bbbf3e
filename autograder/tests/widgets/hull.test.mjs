import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { hull, isOutside, pairs } = await import(address("hull"));

const SQUARE = [[0, 0], [2, 0], [2, 2], [0, 2]];

test("the hull keeps the corners, counterclockwise, and nothing between them", () => {
  assert.deepEqual(hull([...SQUARE, [1, 1], [1, 0], [2, 1], [0, 0]]), SQUARE);
});

test("points on a line, or one point, have no inside", () => {
  assert.equal(isOutside(hull([[1, 1], [1, 1]]), [9, 9]), false);
  assert.equal(isOutside(hull([[0, 0], [1, 1]]), [5, 0]), false);
});

test("a point beside the hull is outside; one on its edge, but for rounding, is not", () => {
  assert.equal(isOutside(SQUARE, [1, 1]), false);
  assert.equal(isOutside(SQUARE, [2.0005, 1]), false);
  assert.equal(isOutside(SQUARE, [2.1, 1]), true);
  assert.equal(isOutside(SQUARE, [-1, -1]), true);
});

test("numbers in pairs", () => {
  assert.deepEqual(pairs(Float32Array.of(1, 2, 3, 4)), [[1, 2], [3, 4]]);
});
