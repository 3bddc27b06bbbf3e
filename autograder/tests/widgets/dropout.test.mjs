import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { became, inWords, output, spacing } = await import(address("dropout"));

test("what became of x: how many are dropped, and the factors of the others", () => {
  const x = [1, 2, 4, 8];
  assert.deepEqual(became(x, Float32Array.of(2, 0, 8, 0)), { dropped: 2, least: 2, most: 2 });
  assert.deepEqual(became(x, [1, 2, 12, 4]), { dropped: 0, least: 0.5, most: 3 });
});

test("the unit's output is a weighted sum", () => {
  assert.equal(output(Float32Array.of(0.5, 1, 2), [2, 0, 3]), 7);
});

const SAMPLE = {
  p: 0.5, units: 12, dropped: 6, least: 2, most: 2, samples: 400, mean: 3.017, still: 3, warning: "",
};

test("a sample in words", () => {
  assert.equal(
    inWords(SAMPLE),
    "p = 0.5: 6 of 12 units dropped, the others times 2.00; " +
      "mean over 400 samples 3.02, in evaluation 3.00.",
  );
});

test("other factors, no factor, and a warning in words", () => {
  assert.match(inWords({ ...SAMPLE, least: 1.5 }), /the others times 1\.50 to 2\.00;/);
  assert.match(inWords({ ...SAMPLE, dropped: 12 }), /: 12 of 12 units dropped; mean/);
  assert.match(inWords({ ...SAMPLE, warning: "A gap." }), /in evaluation 3\.00\. A gap\.$/);
});

test("marks on an axis are a round distance apart", () => {
  const apart = [14, 3, 0.8, 31].map((span) => spacing(span, 8));
  assert.deepEqual(apart.map((one) => Number(one.toPrecision(3))), [2, 0.5, 0.1, 5]);
});
