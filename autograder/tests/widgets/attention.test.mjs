import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { brief, heated, headAt, step } = await import(address("attention"));
const WEIGHTS = Uint8Array.from([0, 0, 255, 0, 51, 204, 0, 255, 102, 153, 0, 0]);

test("a head begins after the heads and layers before it", () => {
  assert.equal(headAt([2, 3, 4, 5], 1, 2), (3 + 2) * 20);
});

test("at temperature 1 the weights are those that were sent", () => {
  const rows = [...heated(WEIGHTS, 6, 2, 3, 1, 0, 1)].map((value) => value.toFixed(2));
  assert.deepEqual(rows, ["0.00", "1.00", "0.40", "0.60", "0.00", "0.00"]);
});

test("a higher temperature evens a row out, and it sums to 1", () => {
  const [, small, large] = heated(WEIGHTS, 3, 1, 3, 2, 0, 1);
  // 0.2 and 0.8 to the power 1/2 are as 1 to 2
  assert.ok(Math.abs(small - 1 / 3) < 1e-6 && Math.abs(large - 2 / 3) < 1e-6);
});

test("a row without weights stays empty at any temperature", () => {
  assert.deepEqual([...heated(new Uint8Array(3), 0, 1, 3, 0.5, 0, 1)], [0, 0, 0]);
});

test("of many cells each second is kept, of rows that sum to 1 with those between", () => {
  const bytes = Uint8Array.from({ length: 15 }, (_, i) => 17 * i);
  const [all, half] = [1, 2].map((every) => heated(bytes, 0, 3, 5, 0.5, 0, 1, every));
  assert.deepEqual([...half], [0, 2, 4, 10, 12, 14].map((i) => all[i]));
});

test("arrow keys stay inside the grid, other keys do nothing", () => {
  const here = { row: 1, column: 2 };
  assert.deepEqual(step("ArrowRight", here, 2, 3), here);
  assert.deepEqual(step("ArrowUp", here, 2, 3), { row: 0, column: 2 });
  assert.deepEqual(step("Home", here, 2, 3), { row: 1, column: 0 });
  assert.equal(step("d", here, 2, 3), null);
});

test("numbers are as people read them", () => {
  assert.deepEqual([3, 0.25, 0.00001, 0].map(brief), ["3", "0.250", "1.0e-5", "0"]);
});
