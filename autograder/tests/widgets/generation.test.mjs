import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { caseAt, cell, fault, pairs, percent } = await import(address("generation"));

test("two bytes are a number, the higher one first", () => {
  assert.deepEqual(pairs({ data: Uint8Array.from([0, 7, 1, 0, 255, 255]) }), [7, 256, 65535]);
});

test("a case is counted by step, then temperature, then top-k", () => {
  const options = { temperatures: [0, 0.5, 1], top_k: [1, null] };
  const at = (step, temperature, top_k) => caseAt({ step, temperature, top_k }, options);
  assert.deepEqual([at(0, 0, 1), at(0, 0, null), at(0, 1, 1), at(2, 0.5, null)], [0, 1, 4, 15]);
});

test("a small share is not 0 %, and only all is 100 %", () => {
  const said = [0, 0.0002, 0.0234, 0.5, 1].map((share) => percent(share).replaceAll("\u00a0", " "));
  assert.deepEqual(said, ["0 %", "< 0.1 %", "2.3 %", "50.0 %", "100 %"]);
});

test("the first call computes the prompt, each later one a position", () => {
  const row = (step) => [0, 1, 2, 3, 4].map((position) => cell(position, step, 2));
  assert.deepEqual(row(0), ["new", "new", "taken", "later", "later"]);
  assert.deepEqual(row(1), ["read", "read", "new", "taken", "later"]);
  assert.deepEqual(row(2), ["read", "read", "read", "new", "taken"]);
});

test("right probabilities have no fault", () => {
  assert.equal(fault({ sum: 1, possible: 90 }, { temperature: 1, top_k: null }), "");
  assert.equal(fault({ sum: 1.001, possible: 3 }, { temperature: 2, top_k: 3 }), "");
  assert.equal(fault({ sum: 1, possible: 1 }, { temperature: 0, top_k: null }), "");
});

test("a sum other than 1, and too many tokens, are said", () => {
  const said = (sum, possible, temperature, top_k) => fault({ sum, possible }, { temperature, top_k });
  assert.equal(said(0.69, 9, 1, 3), "these probabilities sum to 0.69, not to 1");
  assert.equal(said(1, 9, 1, 3), "9 tokens can be drawn, with top-k 3");
  assert.equal(said(1, 2, 0, null), "2 tokens can be drawn, with temperature 0");
});
