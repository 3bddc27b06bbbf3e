import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "./kind.mjs";

const { arrow, difference, faults, scores, second, turning } = await import(address("rotary"));

// positions × pairs: a pair is turned by `turns[pair](position)` degrees
function turned(count, turns, length = 1) {
  const numbers = Array.from({ length: count }, (_, position) =>
    turns.flatMap((turn) => {
      const angle = (turn(position) * Math.PI) / 180;
      return [length * Math.cos(angle), length * Math.sin(angle)];
    }),
  );
  return Float32Array.from(numbers.flat());
}
const close = (one, other, by = 1e-4) => assert.ok(Math.abs(one - other) < by, `${one}, ${other}`);
const EVEN = turned(40, [(p) => 100 * p, (p) => -5 * p]);

test("dot products depend on the offset alone, where pairs turn evenly", () => {
  const [here, there] = [scores(EVEN, 4, 3), scores(EVEN, 4, 13)];
  close(here[3], 2);
  close(here[5], Math.cos((200 * Math.PI) / 180) + Math.cos((10 * Math.PI) / 180));
  close(difference(here, there, 10), 0);
  assert.ok(difference(here, there, 9) > 0.5, "another shift does not fit");
});

test("one pair's part of a dot product", () => {
  close(scores(EVEN, 4, 0, 2, 4)[18], 0);
  close(scores(EVEN, 4, 0, 0, 2)[9], Math.cos((900 * Math.PI) / 180));
});

test("an arrow's end, length and angle", () => {
  const { x, y, length, angle } = arrow(EVEN, 4, 2, 1);
  close(Math.hypot(x, y), length);
  close(angle, -10);
});

test("a pair that turns by the same at each position", () => {
  const fast = turning(EVEN, 4, 0);
  close(fast.turn, 100, 1e-2);
  assert.deepEqual([fast.even, fast.still, fast.broken], [true, false, false]);
  close(turning(EVEN, 4, 1).turn, -5, 1e-2);
  assert.equal(faults([fast, turning(EVEN, 4, 1)]), "");
});

test("what is wrong is said, with the pairs it is wrong for", () => {
  const each = (data, width) =>
    Array.from({ length: width / 2 }, (_, pair) => turning(data, width, pair));
  const long = turned(9, [(p) => p, (p) => 2 * p], 1.5);
  assert.match(faults(each(long, 4)), /^all pairs: the arrow's length is not 1/);
  const still = turned(9, [(p) => 90 * p, () => 0, () => 0]);
  assert.equal(faults(each(still, 6)), "pairs 1, 2: no turn at all");
  const uneven = turned(9, [(p) => p * p, (p) => p]);
  assert.equal(faults(each(uneven, 4)), "pair 0: the turn differs from step to step");
});

test("a turn past 180 degrees is no jump back", () => {
  close(turning(turned(9, [(p) => 170 + 20 * p]), 2, 0).turn, 20, 1e-2);
});

test("a slow pair still turns", () => {
  const slow = turning(turned(64, [(p) => 0.0057 * p]), 2, 0);
  assert.deepEqual([slow.even, slow.still], [true, false]);
});

test("the second curve starts ten positions off, within the range", () => {
  assert.deepEqual([0, 53, 54, 63].map((one) => second(one, 64)), [10, 63, 44, 53]);
  assert.deepEqual([0, 1, 2].map((one) => second(one, 3)), [1, 2, 1]);
});
