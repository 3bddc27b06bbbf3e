import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { crossing, large, parametersOf, partsAt } = await import(address("cost"));

// 2 windows, 3 widths, 2 lengths, 3 parts: each number says where it is
const shape = [2, 3, 2, 3];
const data = Float32Array.from({ length: 36 }, (_, i) => i);

test("the parts of one setting", () => {
  assert.deepEqual(partsAt({ data, shape }, 0, 0, 0), [0, 1, 2]);
  assert.deepEqual(partsAt({ data, shape }, 0, 1, 0), [6, 7, 8]);
  assert.deepEqual(partsAt({ data, shape }, 1, 2, 1), [33, 34, 35]);
});

test("a block's parameters: four projections, none for the scores, two layers", () => {
  assert.deepEqual(parametersOf(3), [36, 0, 72]);
});

test("the first length at which attention costs more than the rest", () => {
  const flops = { shape: [1, 1, 3, 3], data: Float32Array.of(4, 1, 8, 8, 24, 16, 16, 64, 32) };
  assert.equal(crossing(flops, 0, 0, [10, 20, 40]), 40);
  assert.equal(crossing(flops, 0, 0, [10, 20]), undefined);
});

test("large numbers have a unit", () => {
  assert.equal(large(0), "0");
  assert.equal(large(999), "999");
  assert.equal(large(1536), "1.54 k");
  assert.equal(large(2.5e9), "2.5 G");
  assert.equal(large(-3e6), "−3 M");
});
