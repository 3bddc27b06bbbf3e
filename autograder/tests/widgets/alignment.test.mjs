import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { described, mapped, pairName, placed, ranked } = await import(address("alignment"));

// 1 layer, 2 heads, 2 outputs, 3 sources; then a smaller pair
const pair = (shape, numbers, outputs, sources) => ({ shape, value: (i) => numbers[i], outputs, sources });
const PAIRS = [
  pair([1, 2, 2, 3], [1, 0, 0, 0.2, 0.3, 0.5, 0, 1, 0, 0.6, 0.1, 0.2], ["le", "chat"], ["a", "b", "c"]),
  pair([1, 2, 1, 1], [0.9, 1], ["x"], ["y"]),
];
const STATE = { pair: 0, layer: 0, head: 0, row: 1, column: 2 };

test("a head's weights begin where the heads before it end", () => {
  assert.equal(mapped(PAIRS, STATE).weight(1, 2), 0.5);
  assert.equal(mapped(PAIRS, { ...STATE, head: 1 }).weight(1, 0), 0.6);
});

test("what is chosen lies within a smaller pair, too", () => {
  const { row, column, rows } = mapped(PAIRS, { ...STATE, pair: 1 });
  assert.deepEqual([row, column, rows], [0, 0, 1]);
});

test("sources are ranked by their weights", () => {
  const found = ranked(mapped(PAIRS, STATE), 1);
  assert.deepEqual(found.map(({ name, weight }) => [name, weight]), [["c", 0.5], ["b", 0.3], ["a", 0.2]]);
});

test("a description names the largest weights, the chosen one, and a sum that is not 1", () => {
  const said = described(mapped(PAIRS, STATE), true);
  assert.match(said, /^output 1 “chat” attends most to “c” 0.50, “b” 0.30, “a” 0.20; /);
  assert.match(said, /weight on source 2 “c”: 0.500; all its weights sum to 1.00$/);
  assert.match(described(mapped(PAIRS, { ...STATE, head: 1 }), true), /; ⚠ all its weights sum to 0.90$/);
  assert.doesNotMatch(described(mapped(PAIRS, STATE), false), /sum/);
});

test("a pair is named by its tokens: characters without spaces, long ones cut", () => {
  assert.equal(pairName(PAIRS[0], 3), "3: abc → le chat");
  const long = { outputs: Array(40).fill("a"), sources: ["b"] };
  assert.equal(pairName(long, 0), `0: b → ${"a".repeat(27)}…`);
});

test("the room is that of the largest pair", () => {
  const { rows, columns, cell } = placed(PAIRS);
  assert.deepEqual([rows, columns, cell], [2, 3, 24]);
  const many = { outputs: Array(64).fill("a"), sources: ["b"] };
  assert.equal(placed([PAIRS[0], many]).cell, 10);
});
