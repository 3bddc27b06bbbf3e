import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { saturation, setting, verdict } = await import(address("softmax"));

test("saturation: the largest weight, its place, the largest w(1 - w), the sum", () => {
  assert.deepEqual(saturation([0.25, 0.5, 0.25]), {
    largest: 0.5, place: 1, gradient: 0.25, sum: 1,
  });
});

test("one weight that takes all is saturated, even ones are almost even", () => {
  assert.match(verdict(saturation([0.995, 0.005]), 2), /^saturated/);
  assert.match(verdict(saturation([0.26, 0.24, 0.25, 0.25]), 4), /^almost even/);
  assert.match(verdict(saturation([0.7, 0.2, 0.1]), 3), /^in between/);
});

test("weights that do not sum to 1 are said before anything else", () => {
  assert.equal(verdict(saturation([0.01, 0.02]), 2), "these weights sum to 0.03, not to 1");
});

test("a temperature of 10 to the power 0 is the middle row, in the only plane", () => {
  const state = { experiment: "temperature", divided: true, log2_d_k: 3 };
  const at = (log10_temperature) => setting({ ...state, log10_temperature });
  assert.deepEqual([-1, -0.05, 0, 1].map((log) => at(log).at), [0, 19, 20, 40]);
  assert.equal(at(0).plane, 0);
});

test("the width is its row, and the scale chooses the plane", () => {
  const state = { experiment: "d_k", log2_d_k: 6, log10_temperature: 1 };
  assert.deepEqual(setting({ ...state, divided: false }), { at: 6, plane: 0 });
  assert.deepEqual(setting({ ...state, divided: true }), { at: 6, plane: 1 });
});
