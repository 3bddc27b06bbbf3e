import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { captionOf, changing, chosen, described, weightsOf } = await import(address("caption"));

const array = (shape, numbers) => ({ shape, value: (i) => numbers[i] });
const WORDS = ["<begin>", "red", "blue", "<end>"];
// one scene, two cells (so three covers), two words
const DATA = {
  tokens: array([1, 3, 2], [1, 2, 1, 3, 1, 2]),
  counts: array([1, 3], [2, 1, 2]),
  weights: array([1, 3, 2, 1, 2], [0.9, 0.1, 0.2, 0.8, 0.5, 0.5, 0.4, 0.6, 0.7, 0.3, 0, 1]),
};
const STATE = { scene: 0, line: 0, word: 1, row: 0, column: 0, covered: -1 };

test("a caption ends at its count", () => {
  assert.deepEqual(captionOf(DATA, WORDS, 0, 0), ["red", "blue"]);
  assert.deepEqual(captionOf(DATA, WORDS, 0, 1), ["red"]);
});

test("weights are those of the scene, the cover and the word", () => {
  assert.deepEqual([...weightsOf(DATA, 0, 0, 1)], [0.2, 0.8]);
  assert.deepEqual([...weightsOf(DATA, 0, 2, 0)], [0.7, 0.3]);
});

test("without a cover there is one caption, and its word is chosen", () => {
  const { captions, line, word, name, weights } = chosen(DATA, WORDS, { ...STATE, line: 1 });
  assert.deepEqual([captions.length, line, word, name], [1, 0, 1, "blue"]);
  assert.deepEqual([...weights], [0.2, 0.8]);
});

test("a word beyond the end of a shorter caption is its last one", () => {
  const { line, word, name, weights } = chosen(DATA, WORDS, { ...STATE, line: 1, covered: 0 });
  assert.deepEqual([line, word, name], [1, 0, "red"]);
  assert.deepEqual([...weights], [0.5, 0.5]);
});

test("the covers that change a caption are counted", () => {
  assert.equal(changing(DATA, WORDS, 0), 1);
});

test("a description says what a cover changes", () => {
  assert.match(described(DATA, WORDS, STATE), /weight of “blue” 0.200, its largest 0.800; click/);
  const covered = described(DATA, WORDS, { ...STATE, covered: 0 });
  assert.match(covered, /row 0, column 0 is covered: the caption becomes “red”$/);
  assert.match(described(DATA, WORDS, { ...STATE, covered: 1 }), /is covered: the caption stays$/);
});
