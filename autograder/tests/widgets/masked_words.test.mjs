import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { answerAt, answers, described, laidOut, percent, shownAt, toggled } = await import(
  address("masked_words")
);

test("a word is masked, and shown again; of three the oldest is shown", () => {
  assert.deepEqual(toggled([], 4), [4]);
  assert.deepEqual(toggled([4], 2), [4, 2]);
  assert.deepEqual(toggled([4, 2], 4), [2]);
  assert.deepEqual(toggled([4, 2], 7), [2, 7]);
  assert.deepEqual(toggled([4], 2, 1), [2]);
});

test("answers stand in the order of Python: each word alone, then two by two", () => {
  const words = [1, 2, 5, 6];
  const expected = words.map((word) => [[word], word]);
  for (let low = 0; low < 4; low++)
    for (let high = low + 1; high < 4; high++)
      for (const at of [low, high]) expected.push([[words[low], words[high]], words[at]]);
  expected.forEach(([masked, position], at) => {
    assert.equal(answerAt(words, masked, position), at);
    assert.equal(answerAt(words, masked.toReversed(), position), at);
  });
  assert.equal(answers(4, true), expected.length);
  assert.equal(answers(4, false), 4);
});

test("the bars are those of the chosen word if it is masked, else of the last that was", () => {
  assert.equal(shownAt({ masked: [3, 1], position: 3 }), 3);
  assert.equal(shownAt({ masked: [3, 1], position: 2 }), 1);
  assert.equal(shownAt({ masked: [], position: 2 }), null);
});

test("a second sentence begins a new line, and so does a full one", () => {
  const token = (name, segment) => ({ name, segment });
  const pair = [token("[CLS]", 0), token("it", 0), token("[SEP]", 0), token("ok", 1), token("[SEP]", 1)];
  assert.deepEqual(laidOut(pair, 400).map(({ line }) => line), [0, 0, 0, 1, 1]);
  assert.deepEqual(laidOut(pair, 120).map(({ line }) => line), [0, 0, 1, 2, 2]);
  assert.ok(laidOut(pair, 400).every(({ x, width }) => x >= 0 && x + width <= 400));
});

test("a description names the word, whether it is masked, and what is predicted", () => {
  const row = { tokens: [{ name: "[CLS]", word: false }, { name: "good", word: true }], words: [1] };
  const likeliest = [{ name: "bad", share: 0.6 }, { name: "good", share: 0.25 }];
  const all = { rows: [row], vocab: 9, predicted: () => ({ own: 0.25, rank: 1, likeliest }) };
  const state = { row: 0, position: 1, rank: 0, masked: [1] };
  assert.match(described(all, state), /^position 1 “good”, masked. At position 1: “bad” has 60.0\u00a0%, rank 1 of 9/);
  assert.match(described(all, state), /the word itself, “good”, has 25.0\u00a0%, rank 2.$/);
  assert.match(described(all, { ...state, masked: [] }), /Nothing is masked/);
  assert.match(described(all, { ...state, position: 0 }), /is no word and cannot be masked. At position 1/);
});

test("percentages do not round a small share to nothing", () => {
  assert.equal(percent(0), "0\u00a0%");
  assert.equal(percent(0.0001), "<\u00a00.1\u00a0%");
  assert.equal(percent(1), "100\u00a0%");
});
