import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { entries, means, sentence, shares, statistics } = await import(address("norm_axes"));
const SHAPE = [3, 4, 5];
const LENGTHS = [4, 2, 3];
const CHOSEN = { sequence: 1, token: 1, channel: 3 };
const sharing = (kind, out, chosen = CHOSEN) =>
  entries(SHAPE).filter((entry) => shares(kind, entry, chosen, LENGTHS, out));

test("the entries stand in the order of the block's numbers", () => {
  assert.equal(entries(SHAPE).length, 60);
  assert.deepEqual(entries(SHAPE)[20 + 5 + 3], CHOSEN);
});

test("each kind takes its mean over its own axes", () => {
  const count = (kind) => sharing(kind, false).length;
  assert.equal(count("batch norm"), 3 * 4);
  assert.equal(count("layer norm"), 5);
  assert.equal(count("RMS norm"), 5);
  assert.equal(count("instance norm"), 4);
  assert.ok(sharing("batch norm", false).every(({ channel }) => channel === 3));
  assert.ok(sharing("layer norm", false).every((one) => one.sequence === 1 && one.token === 1));
  assert.ok(sharing("instance norm", false).every((one) => one.sequence === 1 && one.channel === 3));
});

test("padding shares no mean where it is left out", () => {
  assert.equal(sharing("batch norm", true).length, 4 + 2 + 3);
  assert.equal(sharing("instance norm", true).length, 2);
  assert.deepEqual(sharing("layer norm", true, { ...CHOSEN, token: 2 }), []);
});

test("the means of all groups are counted", () => {
  const all = (kind, out) => means(kind, SHAPE, LENGTHS, out);
  assert.deepEqual([all("batch norm", true), all("batch norm", false)], [5, 5]);
  assert.deepEqual([all("layer norm", true), all("RMS norm", false)], [9, 12]);
  assert.deepEqual([all("instance norm", true), all("instance norm", false)], [15, 15]);
});

test("the standard deviation divides by the count", () => {
  assert.deepEqual(statistics([1, 3]), { mean: 2, deviation: 1, root: Math.sqrt(5) });
});

test("a sentence says which numbers, and how many means", () => {
  const said = (kind, out, chosen = CHOSEN) => sentence(kind, SHAPE, chosen, LENGTHS, out);
  assert.equal(
    said("layer norm", false),
    "layer norm: 5 numbers share one mean: all channels of token 1 of sequence 1. " +
      "12 in all, one for each token.",
  );
  assert.match(said("RMS norm", true), /share one mean of squares \(no mean is taken off\): all/);
  assert.match(said("batch norm", true), /9 numbers .* channel 3 of all real tokens of all seq/);
  assert.match(said("instance norm", false), /4 numbers .* sequence 1, padding too\. 15 in all/);
  assert.match(said("batch norm", true, { ...CHOSEN, token: 3 }), /is padding: it shares no mean/);
  assert.match(sentence("layer norm", [1, 1, 1], { sequence: 0, token: 0, channel: 0 }, [1], true),
    /^layer norm: 1 number has one mean/);
});
