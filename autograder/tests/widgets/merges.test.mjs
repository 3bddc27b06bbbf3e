import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { described, integers, laidOut, lastMerge, stateAt } = await import(address("merges"));

test("two bytes are an integer, the higher one first", () => {
  assert.deepEqual(integers([0, 97, 1, 0, 1, 44]), [97, 256, 300]);
  assert.deepEqual(integers([]), []);
});

test("the tokens of a word touch, and a line is broken between words", () => {
  const placed = laidOut([["a", "b"], ["cd"], ["e", "f"]], 70);
  assert.deepEqual(placed.map(({ word }) => word), [0, 0, 1, 2, 2]);
  assert.deepEqual(placed.map(({ line }) => line), [0, 0, 0, 1, 1]);
  assert.equal(placed[1].x, placed[0].x + placed[0].width);
  assert.ok(placed[2].x > placed[1].x + placed[1].width);
  assert.equal(placed[3].x, 0);
});

test("a word that is longer than a line is broken inside", () => {
  const placed = laidOut([Array(10).fill("a")], 70);
  assert.ok(placed.at(-1).line > 0);
  assert.ok(placed.every(({ x, width }) => x + width <= 70));
});

test("the width of a box counts characters, not code units", () => {
  const [one, two] = laidOut([["🙂"], ["a"]], 200);
  assert.equal(one.width, two.width);
});

test("between two states the slider stands at the earlier one", () => {
  assert.equal(stateAt([0, 1, 4, 9], 0), 0);
  assert.equal(stateAt([0, 1, 4, 9], 3), 1);
  assert.equal(stateAt([0, 1, 4, 9], 4), 2);
  assert.equal(stateAt([0, 1, 4, 9], 99), 3);
});

const all = {
  counts: [0, 1],
  learned: [[97, 98]],
  names: { 97: "a", 98: "b", 256: "ab" },
  bytes: { 97: "61", 98: "62", 256: "61 62" },
  words: ["ab"],
  states: [
    { tokens: [97, 98], words: 1, boxes: [{ word: 0 }, { word: 0 }] },
    { tokens: [256], words: 1, boxes: [{ word: 0 }] },
  ],
};

test("the last merge is told by its pair and its new token", () => {
  assert.match(lastMerge(all, 0), /no merge yet/);
  assert.equal(lastMerge(all, 1), "merge 1: a + b → ab");
});

test("a description names the token, its id, its bytes and its word", () => {
  const told = described(all, { merges: 0, token: 1 });
  assert.equal(told, "0 merges: 2 tokens in 1 word, 2 per word. Token 2 is “b”, id 98, bytes 62, in “ab”.");
  // fewer tokens than before: the last one is chosen
  assert.match(described(all, { merges: 1, token: 1 }), /Token 1 is “ab”, id 256, bytes 61 62/);
});
