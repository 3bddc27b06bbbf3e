import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { descend, lossAt, pointOf, slopeAt } = await import(address("landscape"));

// losses of λ₁ α² / 2 + λ₂ β² / 2 on a grid from -reach to reach
function bowl(count, reach, first, second) {
  const at = (i) => -reach + (2 * reach * i) / (count - 1);
  const data = Array.from({ length: count * count }, (_, k) => {
    const [alpha, beta] = [at(Math.floor(k / count)), at(k % count)];
    return (first * alpha ** 2 + second * beta ** 2) / 2;
  });
  return { data: Float32Array.from(data), shape: [count, count] };
}
const close = (one, other, by = 1e-3) => assert.ok(Math.abs(one - other) < by, `${one}, ${other}`);
const BOWL = bowl(21, 2, 4, 1);

test("the loss between the grid's points is that of the parabola", () => {
  close(lossAt(BOWL, 2, 0, 0), 0);
  close(lossAt(BOWL, 2, 0.2, -0.4), (4 * 0.04 + 0.16) / 2);
  close(lossAt(BOWL, 2, 0.33, 0.71), (4 * 0.33 ** 2 + 0.71 ** 2) / 2, 1e-2);
});

test("the slope is the curvature times the distance", () => {
  const [byAlpha, byBeta] = slopeAt(BOWL, 2, 0.5, -0.9);
  close(byAlpha, 2, 1e-2);
  close(byBeta, -0.9, 1e-2);
});

test("α is the row, counted from below, β the column", () => {
  assert.deepEqual(pointOf({ row: 0, column: 0 }, 5, 2), [2, -2]);
  assert.deepEqual(pointOf({ row: 4, column: 3 }, 5, 2), [-2, 1]);
});

test("below 2 / λ the ball comes to rest, above it leaves", () => {
  const from = (rate) => descend(BOWL, 2, [0.4, 0], rate / 4);
  assert.equal(from(0.5).end, "rest");
  assert.equal(from(1.5).end, "rest");
  const left = from(2.5);
  assert.equal(left.end, "left");
  assert.ok(left.along.at(-1) > left.along[0], "the loss grows");
  assert.equal(left.path.length, left.along.length + 1, "no loss outside of the slice");
});

test("at 2 / λ it jumps from side to side", () => {
  const { path, end } = descend(BOWL, 2, [0.4, 0], 2 / 4, 6);
  assert.equal(end, "moving");
  close(path[1][0], -0.4, 2e-2);
  close(path[2][0], 0.4, 4e-2);
});

test("on a flat slice it rests where it is", () => {
  const flat = { data: new Float32Array(25).fill(3), shape: [5, 5] };
  const { path, along, end } = descend(flat, 1, [0.5, 0.5], 10, 3);
  assert.equal(end, "rest");
  assert.deepEqual(path.at(-1), [0.5, 0.5]);
  assert.deepEqual(along, [3, 3, 3, 3]);
});
