import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { found, indices, letter, places, viewed, way } = await import(address("reshape"));
const [SHAPE, WHOLE] = [[1, 3, 4, 2], [1, 4, 6]];
const X = Float32Array.from({ length: 24 }, (_, at) => at);
// head h, position p, feature f is x[p, 2 h + f]
const HEADS = X.map((at) => {
  const [, head, position, feature] = indices(at, SHAPE);
  return 6 * position + 2 * head + feature;
});

test("an element's indices, and a head's letter", () => {
  assert.deepEqual(indices(16, WHOLE), [0, 2, 4]);
  assert.deepEqual(indices(59, [2, 3, 5, 2]), [1, 2, 4, 1]);
  assert.deepEqual([0, 2, 23].map(letter), ["A", "C", "X"]);
});

test("where each number stands", () => {
  assert.deepEqual([...places(Float32Array.of(2, 0, 1))], [1, 2, 0]);
});

test("one number's way in words", () => {
  assert.equal(
    way(16, HEADS, X, SHAPE, WHOLE),
    "x[0, 2, 4] → head 2 (C), position 2, feature 0 → merged[0, 2, 4]",
  );
  const many = X.map((at) => (at < 12 ? at : 35 - at));
  assert.equal(
    way(13, many, X, [2, 1, 4, 3], [2, 4, 3]),
    "x[1, 0, 1] → head 0 (A) of entry 1, position 3, feature 1 → merged[1, 0, 1]",
  );
});

test("a right split and merge leave nothing to say but that", () => {
  assert.equal(found(HEADS, X, SHAPE, WHOLE), "merge gives x back");
});

test("view without transpose keeps the order, and the same merge puts numbers elsewhere", () => {
  const { heads, merged } = viewed(HEADS, X);
  assert.deepEqual([...heads], [...X]);
  // x[0, 0, 2] is head 1, position 0, feature 0: the element 8 of the heads
  assert.deepEqual([...merged.slice(0, 6)], [0, 1, 8, 9, 16, 17]);
  const strange = "tokens mixed: heads[0, 0, 1] has numbers of x[0, 0], not of x[0, 1]; ";
  const lost = "merge does not give x back at [0, 0, 2] and at 19 more";
  assert.equal(found(heads, merged, SHAPE, WHOLE), strange + lost);
});

test("two numbers that changed places are both counted", () => {
  const merged = Float32Array.from(X);
  [merged[3], merged[5]] = [5, 3];
  const said = "merge does not give x back at [0, 0, 3] and at 1 more";
  assert.equal(found(HEADS, merged, SHAPE, WHOLE), said);
});

test("numbers of another entry are mixed too", () => {
  const [x, shape, whole] = [Float32Array.of(0, 1, 2, 3), [2, 1, 1, 2], [2, 1, 2]];
  assert.equal(found(x, x, shape, whole), "merge gives x back");
  const said = found(Float32Array.of(2, 3, 0, 1), x, shape, whole);
  assert.equal(
    said,
    "tokens mixed: heads[0, 0, 0] has numbers of x[1, 0], not of x[0, 0]; merge gives x back",
  );
});
