import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { described, percent, stateOf, turned } = await import(address("switches"));

test("head i is bit i of a state", () => {
  assert.equal(stateOf("000"), 0);
  assert.equal(stateOf("100"), 1);
  assert.equal(stateOf("011"), 6);
});

test("one switch is turned over, there and back", () => {
  assert.equal(turned("1011", 1), "1111");
  assert.equal(turned(turned("1011", 3), 3), "1011");
});

test("shares are told in percent", () => {
  assert.equal(percent(0.9985), "99.9\u00a0%");
  assert.equal(percent(1), "100.0\u00a0%");
});

test("the chosen switch and the shares are described", () => {
  const all = { layers: 2, heads: 2, names: ["left"], sharesOf: (open) => [stateOf(open) / 16] };
  const told = described(all, { open: "1101", row: 1, column: 0 });
  assert.equal(told, "layer 1, head 0: shut. 3 of 4 heads are open: left 68.8\u00a0%.");
});
