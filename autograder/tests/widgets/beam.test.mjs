import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { chosenIn, columns, described, firstShown, places, read, summary } = await import(address("beam"));

const [DROPPED, OPEN, ENDED] = [0, 1, 2];
// step, parent, log-probability, score, fate, path
const ROWS = [
  [0, -1, 0, 0, OPEN, 1],
  [1, 0, -0.5, -0.5, OPEN, 1],
  [1, 0, -1.5, -1.5, DROPPED, 0],
  [2, 1, -0.75, -0.375, ENDED, 1],
  [2, 1, -1.25, -0.625, OPEN, 0],
  [2, 1, -3, -1.5, DROPPED, 0],
];
const NAMES = ["<s>", "the", "a", "</s>", "cat", "dog"];
const NODES = read({ shape: [6, 6], data: Float32Array.from(ROWS.flat()) }, NAMES);
const OPTIONS = { vocab: 9, max_length: 2, alpha: 1, end: "</s>" };

test("a node knows its hypothesis, without the first token", () => {
  assert.deepEqual(NODES.map(({ text }) => text), ["<s>", "the", "a", "the </s>", "the cat", "the dog"]);
  assert.deepEqual([NODES[3].sum, NODES[3].score, NODES[3].path], [-0.75, -0.375, true]);
});

test("the tree grows step by step, with or without what was dropped", () => {
  const names = (state) => columns(NODES, state).map((several) => several.map(({ name }) => name));
  assert.deepEqual(names({ step: 1, dropped: true }), [["<s>"], ["the", "a"]]);
  assert.deepEqual(names({ step: 2, dropped: false }), [["<s>"], ["the"], ["</s>", "cat"]]);
});

test("the last steps are drawn where not all fit", () => {
  assert.deepEqual([firstShown(2, 5), firstShown(4, 5), firstShown(9, 5)], [0, 0, 5]);
  const found = columns(NODES, { step: 2, dropped: true });
  assert.deepEqual([...places(found, 1, 200).keys()], [1, 2, 3, 4, 5]);
  assert.equal(places(found, 1, 200).get(1).x, places(found, 0, 200).get(0).x);
});

test("nodes of a step stand around the middle", () => {
  const at = places(columns(NODES, { step: 2, dropped: true }), 0, 300);
  assert.equal((at.get(1).y + at.get(2).y) / 2, at.get(0).y);
  assert.equal(at.get(4).y, at.get(0).y);
});

test("what is chosen is among what is drawn", () => {
  const found = columns(NODES, { step: 1, dropped: true });
  assert.deepEqual(chosenIn(found, { column: 2, row: 2 }, 0), { column: 1, row: 1 });
  assert.deepEqual(chosenIn(found, { column: 0, row: 0 }, 1), { column: 1, row: 0 });
});

test("a node is described with both scores", () => {
  const said = "step 2, “the </s>”: kept, ended with </s>; log-probability −0.75, to which “</s>” adds −0.25";
  assert.equal(described(NODES[3], NODES, OPTIONS), `${said}; score −0.75 / 2^1 = −0.38`);
  assert.equal(described(NODES[3], NODES, { ...OPTIONS, alpha: 0 }), said);
  assert.match(described(NODES[5], NODES, OPTIONS), /: dropped; /);
});

test("a step is described: what competes, what is kept, and at last what is returned", () => {
  const one = "Step 1: 1 open hypothesis × 9 tokens = 9 continuations; kept: 1, of which 0 ended and 1 stays open.";
  assert.equal(summary(NODES, 1, OPTIONS), one);
  const last = summary(NODES, 2, OPTIONS);
  assert.match(last, /kept: 2, of which 1 ended and 1 stays open\. Of 2 ended or open hypotheses, “the <\/s>” is returned: score −0\.38\.$/);
  const ended = NODES.map((node) => (node.name === "cat" ? { ...node, fate: DROPPED } : node));
  assert.match(summary(ended, 2, OPTIONS), /^Step 2: 1 open hypothesis .* kept: 1, of which 1 ended and 0 stay open/);
  assert.match(summary(NODES, 2, { ...OPTIONS, max_length: 3 }), /The search stops before step 3\./);
});
