import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { PRESETS, between, counted, painted, preset, weights } = await import(address("mask"));
const rounded = (rows) => rows.map((row) => row.map((value) => Number(value.toFixed(4))));

test("each row is the softmax of what is allowed", () => {
  const scores = [[0, Math.log(3), 50], [Math.log(4), 0, 0]];
  assert.deepEqual(rounded(weights(scores, ["110", "111"])), [
    [0.25, 0.75, 0],
    [0.6667, 0.1667, 0.1667],
  ]);
});

test("a row without any allowed column has zeros", () => {
  assert.deepEqual(weights([[1, 2], [3, 4]], ["00", "01"]), [[0, 0], [0, 1]]);
});

test("large scores do not overflow", () => {
  assert.deepEqual(rounded(weights([[1000, 1000, -1000]], ["111"])), [[0.5, 0.5, 0]]);
});

test("the presets are the masks of their names", () => {
  assert.deepEqual(preset("everything", 2, 3), ["111", "111"]);
  assert.deepEqual(preset("causal", 3, 3), ["100", "110", "111"]);
  assert.deepEqual(preset("causal, window of 3", 4, 4), ["1000", "1100", "1110", "0111"]);
  assert.deepEqual(preset("padding: last 2 keys", 2, 5), ["11100", "11100"]);
  assert.deepEqual(preset("only itself", 3, 3), ["100", "010", "001"]);
  assert.deepEqual(preset("two segments", 5, 2), ["10", "10", "10", "01", "01"]);
  assert.equal(Object.keys(PRESETS).length, 6);
});

test("painting changes those cells alone, in a new mask", () => {
  const mask = ["11", "11"];
  assert.deepEqual(painted(mask, [{ row: 1, column: 0 }], "0"), ["11", "01"]);
  assert.deepEqual(mask, ["11", "11"]);
});

test("a quick pointer leaves no gap", () => {
  const cells = between({ row: 0, column: 0 }, { row: 4, column: 2 });
  assert.deepEqual(cells.map(({ row }) => row), [0, 1, 2, 3, 4]);
  assert.deepEqual(cells.at(-1), { row: 4, column: 2 });
  assert.deepEqual(between({ row: 1, column: 1 }, { row: 1, column: 1 })[0], { row: 1, column: 1 });
});

test("pairs, and queries that are left with none, are counted in words", () => {
  assert.equal(counted(["10", "11"]), "3 of 4 pairs are allowed");
  assert.equal(counted(["00", "11"]), "2 of 4 pairs are allowed; 1 query may attend to no key");
  assert.equal(counted(["00", "00"]), "0 of 4 pairs are allowed; 2 queries may attend to no key");
});
