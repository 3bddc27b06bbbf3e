import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const page = await import(address("vit"));
const { counted, drawnBack, fitted, fromHex, inkBox, path, stamped, toHex } = page;
const { answerText, imageOf, judged, meanRow, network, onPatches, painted, patchRows } = page;
const { outstanding, rolledOut, sheet, undoing } = page;

const SHAPE = { rows: 2, columns: 2, patch: 3, margin: 1, classToken: 1, pool: "cls" };
const lines = (bits, wide) =>
  Array.from({ length: bits.length / wide }, (_, y) => bits.slice(y * wide, (y + 1) * wide).join(""));

test("a bitmap is the same after its way through the state", () => {
  const bits = Uint8Array.from({ length: 64 }, (_, i) => Number(i % 3 === 0));
  assert.deepEqual(fromHex(toHex(bits)), bits);
  assert.equal(toHex(Uint8Array.from([1, 0, 1, 0, 0, 0, 0, 1])), "a1");
});

test("a pen of 2 is a plus, one of 3 a square, and neither crosses to the other side", () => {
  const empty = new Uint8Array(16);
  const at = (place, pen) => lines(stamped(empty, 4, [{ row: place, column: place }], pen, 1), 4);
  assert.deepEqual(at(1, 2), ["0100", "1110", "0100", "0000"]);
  assert.deepEqual(at(3, 3), ["0000", "0000", "0011", "0011"]);
});

test("erasing leaves the rest", () => {
  const left = stamped(new Uint8Array(16).fill(1), 4, [{ row: 0, column: 0 }], 2, 0);
  assert.deepEqual(lines(left, 4), ["0011", "0111", "1111", "1111"]);
});

test("a fast pointer leaves no gaps", () => {
  const cells = path({ row: 0, column: 0 }, { row: 4, column: -2 });
  assert.deepEqual(cells.map(({ row }) => row), [0, 1, 2, 3, 4]);
  assert.equal(cells.at(-1).column, -2);
});

test("each 4 by 4 pixels are counted, and the margin stays empty", () => {
  const bits = new Uint8Array(16 * 16);
  bits.fill(1, 0, 8); // the upper row of the first two pixels
  const image = counted(bits, SHAPE);
  assert.equal(image.length, 36);
  assert.deepEqual([...image.slice(6, 12)], [0, 0.25, 0.25, 0, 0, 0]);
  assert.equal(image.reduce((sum, value) => sum + value, 0), 0.5);
});

test("a picture that is drawn back is counted as itself", () => {
  const image = new Float32Array(36);
  for (const y of [1, 2, 3, 4])
    for (const x of [1, 2, 3, 4]) image[6 * y + x] = ((5 * y + 7 * x) % 17) / 16;
  assert.deepEqual(counted(drawnBack(image, SHAPE), SHAPE), image);
});

test("ink lies where a neighbour is bright", () => {
  const image = new Float32Array(36);
  image[8] = 0.5;
  image[9] = 1; // to its right
  const drawn = lines(drawnBack(image, SHAPE), 16);
  assert.deepEqual(drawn.slice(0, 5), [...Array(4).fill("0000001111110000"), "0".repeat(16)]);
});

test("a small drawing is enlarged and centred, one that fills the sheet stays", () => {
  const bits = new Uint8Array(64);
  for (const at of [0, 1, 2, 8, 9, 10, 16, 17, 18, 24, 25, 26]) bits[at] = 1; // 4 high, 3 wide
  assert.deepEqual(inkBox(bits, 8), [0, 0, 4, 3]);
  assert.deepEqual(lines(fitted(bits, 8), 8), Array(8).fill("01111110"));
  assert.deepEqual(fitted(fitted(bits, 8), 8), fitted(bits, 8));
  assert.deepEqual(fitted(new Uint8Array(64), 8), new Uint8Array(64));
});

test("the model gets the picture itself, or what is counted from the drawing", () => {
  const picture = new Float32Array(36).fill(0.3);
  assert.equal(imageOf({ picture: 0, drawing: "" }, [picture], SHAPE), picture);
  const drawn = (drawing, fit) => imageOf({ picture: -1, drawing, fit }, [picture], SHAPE);
  assert.deepEqual(drawn("", true), new Float32Array(36));
  const dot = toHex(stamped(new Uint8Array(256), 16, [{ row: 0, column: 0 }], 4, 1));
  assert.ok(drawn(dot, false)[7] > 0 && drawn(dot, false)[14] === 0, "where it was drawn");
  assert.ok(drawn(dot, true)[14] > 0, "in the middle");
});

test("patches come row by row, and so do their pixels", () => {
  const image = Float32Array.from({ length: 36 }, (_, i) => i);
  const found = patchRows(image, SHAPE);
  assert.deepEqual([...found.slice(9, 18)], [3, 4, 5, 9, 10, 11, 15, 16, 17]);
  assert.deepEqual([...found.slice(18, 20)], [18, 19]);
});

test("rollout multiplies the later block from the left", () => {
  const first = Float32Array.from([0, 1, 0, 1]); // both tokens attend to token 1
  const second = Float32Array.from([1, 0, 1, 0]); // both to token 0
  const silent = [new Set(), new Set()];
  const reached = (...start) =>
    [...rolledOut({ weights: [first, second], silent }, Float32Array.from(start))];
  assert.deepEqual(reached(1, 0), [0.5, 0.5]);
  assert.deepEqual(reached(0, 1), [0.25, 0.75]);
  assert.deepEqual(reached(0.5, 0.5), [0.375, 0.625]);
});

test("rollout leaves out the heads that are off, and a block without heads keeps its tokens", () => {
  const two = Float32Array.from([0, 1, 0, 1, 1, 0, 1, 0]);
  const reached = (...off) =>
    [...rolledOut({ weights: [two], silent: [new Set(off)] }, Float32Array.from([1, 0]))];
  assert.deepEqual(reached(1), [0.5, 0.5]);
  assert.deepEqual(reached(0), [1, 0]);
  assert.deepEqual(reached(0, 1), [1, 0]);
});

test("what attends is the class token, the mean of the patches, or one patch", () => {
  const weights = Float32Array.from({ length: 25 }, (_, i) => i);
  assert.deepEqual([...onPatches(weights, SHAPE, -1)], [1, 2, 3, 4]);
  assert.deepEqual([...onPatches(weights, SHAPE, 2)], [16, 17, 18, 19]);
  const mean = { ...SHAPE, pool: "mean" };
  assert.deepEqual([...onPatches(weights, mean, -1)], [13.5, 14.5, 15.5, 16.5]);
});

test("a mean is taken over the rows", () => {
  assert.deepEqual([...meanRow(Float32Array.from([1, 2, 3, 6]), 2)], [2, 4]);
});

test("the answer comes with its runner-up, if that has a percent", () => {
  const classes = ["a", "b", "c"];
  assert.equal(answerText([0.2, 0.7, 0.1], classes), "The model answers b (70 %), then a (20 %).");
  assert.equal(answerText([0.999, 0.001, 0], classes), "The model answers a (100 %).");
});

test("an empty sheet is named, though the model answers", () => {
  const must = "The model must still choose one of 3: b (70 %).";
  const expected = `Nothing is drawn: draw a digit. (${must})`;
  assert.equal(answerText([0.2, 0.7, 0.1], ["a", "b", "c"], true), expected);
});

test("an answer is right, wrong, or not known to be either", () => {
  const judge = (target) => judged([0.2, 0.7, 0.1], target, ["a", "b", "c"]);
  assert.deepEqual([1, 2, undefined].map(judge), [" Right.", " Wrong: it is c.", ""]);
});

test("erasing an empty cell of a picture leaves the model's image as it is", () => {
  const picture = new Float32Array(36);
  for (const y of [1, 2, 3])
    for (const x of [1, 2]) picture[6 * y + x] = ((5 * y + 7 * x) % 17) / 16; // not in the middle
  const given = { picture: 0, drawing: "", fit: true, pen: 4, brush: "erase" };
  const bits = sheet(given, [picture], SHAPE);
  const state = { ...given, ...painted(given, bits, 16, [{ row: 14, column: 14 }]) };
  assert.equal(state.picture, -1);
  assert.deepEqual(imageOf(state, [picture], SHAPE), picture);
  const fitting = { ...given, picture: -1 };
  assert.ok(painted(fitting, bits, 16, []).fit, "a drawing stays fitted");
});

test("undo brings back what was kept, the last first", () => {
  const { keep, undo } = undoing();
  const set = [];
  const view = { set: (changes) => set.push(changes) };
  keep({ picture: 3, drawing: "", fit: true, pen: 4 });
  keep({ picture: -1, drawing: "a", fit: false, pen: 5 });
  assert.deepEqual([undo(view), undo(view), undo(view)], [true, true, false]);
  const kept = [{ picture: -1, drawing: "a", fit: false }, { picture: 3, drawing: "", fit: true }];
  assert.deepEqual(set, kept);
});

test("the largest weights are marked only above twice the uniform one", () => {
  const shape = { rows: 2, columns: 2, classToken: 1 };
  assert.deepEqual(outstanding([0.1, 0.5, 0.39, 0.01], shape), [1]);
  assert.deepEqual(outstanding([0.2, 0.2, 0.2, 0.2], shape), []);
});

test("weights that are not all read are refused", () => {
  const shape = { ...SHAPE, width: 2, hidden: 3, classes: 2, blocks: 0 };
  const count = 2 * 9 + 5 * 2 + 4 + 6;
  assert.ok(network(new Float32Array(count), shape));
  const long = () => network(new Float32Array(count + 1), shape);
  assert.throws(long, { message: `${count + 1} weights were sent, ${count} read` });
});
