import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { boxes, naming, role, size, way } = await import(address("block"));

const NODES = [
  { name: "x", reads: [], on_stream: true },
  { name: "attention", reads: [0], on_stream: false },
  { name: "+", reads: [0, 1], on_stream: true },
  { name: "norm", reads: [], on_stream: true },
  { name: "+", reads: [2, 3], on_stream: true },
];

test("the size is the root mean square of some of the numbers", () => {
  assert.equal(size(Float32Array.of(9, 3, -4, 9), 1, 2), Math.sqrt(12.5));
});

test("branches stand above the stream, without overlap, and within the width", () => {
  const { placed, height } = boxes(NODES, 4, 500);
  const [x, attention, sum] = placed;
  assert.ok(attention.y + attention.height < x.y);
  assert.equal(sum.y, x.y);
  assert.equal(height, x.y + x.height);
  placed.slice(1).forEach((box, i) => assert.ok(placed[i].x + placed[i].width < box.x));
  assert.ok(placed.at(-1).x + placed.at(-1).width <= 500);
  assert.equal(boxes(NODES.slice(2), 4, 500).placed[0].y, 0);
});

test("ways are straight on a level, and turn once between levels", () => {
  const [x, attention, sum] = boxes(NODES, 4, 500).placed;
  assert.equal(way(x, sum).length, 2);
  const [start, corner, end] = way(x, attention);
  assert.equal(start[0], corner[0]);
  assert.equal(corner[1], end[1]);
  assert.deepEqual(way(attention, sum).at(-1)[1], sum.y);
});

test("sums are counted, and each node says what it does", () => {
  assert.equal(naming(NODES, 1), "attention");
  assert.equal(naming(NODES, 4), "sum 2");
  assert.equal(role(NODES, 1), "reads x");
  assert.equal(role(NODES, 4), "adds sum 1 and norm");
  assert.match(role(NODES, 3), /no part gave/);
});
