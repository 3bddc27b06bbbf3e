import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { counts, ordinal, runs, times, totals } = await import(address("cached"));

// 1: computed first, 2: computed again, 3: read
const GRID = {
  shape: [3, 4],
  data: Uint8Array.from([1, 1, 0, 0, 2, 2, 1, 0, 3, 3, 3, 1]),
};

test("what a call computes for the first time, again, and reads", () => {
  assert.deepEqual(counts(GRID, 0), { first: 2, again: 0, read: 0 });
  assert.deepEqual(counts(GRID, 1), { first: 1, again: 2, read: 0 });
  assert.deepEqual(counts(GRID, 2), { first: 1, again: 0, read: 3 });
});

test("the totals count what is computed, and not what is read", () => {
  assert.deepEqual(totals(GRID), [2, 5, 6]);
});

test("how often a position was computed, up to a call, and past the last", () => {
  assert.deepEqual([0, 1, 2, 9].map((call) => times(GRID, call, 0)), [1, 2, 2, 2]);
  assert.deepEqual([0, 1, 2].map((call) => times(GRID, call, 3)), [0, 0, 1]);
});

test("equal neighbours are one stretch, or cells by themselves", () => {
  const row = Uint8Array.from([3, 3, 1, 0, 0]);
  assert.deepEqual(runs(row, false), [[0, 2, 3], [2, 3, 1], [3, 5, 0]]);
  assert.deepEqual(runs(row, true).length, 5);
});

test("ordinal numbers", () => {
  const numbers = [1, 2, 3, 4, 11, 12, 13, 21, 22, 111, 123];
  const words = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "111th", "123rd"];
  assert.deepEqual(numbers.map(ordinal), words);
});
