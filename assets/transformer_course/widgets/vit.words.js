// What is said of the sheet, the patches, the heads and the answer. Follows vit.pictures.js.

/** What the model answers, in words, with the runner-up; for an `empty` sheet, that it must. */
export function answerText(probabilities, classes, empty = false) {
  const [first, second] = ranking(probabilities, 2);
  const percent = (one) => Math.round(100 * probabilities[one]);
  const best = `${classes[first]} (${percent(first)} %)`;
  const must = `The model must still choose one of ${classes.length}: ${best}.`;
  if (empty) return `Nothing is drawn: draw a digit. (${must})`;
  const then = percent(second) ? `, then ${classes[second]} (${percent(second)} %)` : "";
  return `The model answers ${best}${then}.`;
}

/** Whether the answer is the image's class; nothing where that is not known. */
export function judged(probabilities, target, classes) {
  if (target === undefined) return "";
  return ranking(probabilities, 1)[0] === target ? " Right." : ` Wrong: it is ${classes[target]}.`;
}

/** The name of a head, as block · heads + head. */
export function headName({ heads }, one) {
  return `block ${Math.floor(one / heads)}, head ${one % heads}`;
}

/** Which tokens attend, in words. */
export function sourceName({ pool }, { source }) {
  if (source !== READER) return `patch ${source}`;
  return pool === "cls" ? "the class token" : "all patches, on average";
}

/** A chosen patch, in words: its ink, and what of it reaches what the classifier reads. */
export function patchText(shape, found, { row, column }) {
  const { rows, columns, patch } = shape;
  const number = row * columns + column;
  const size = patch * patch;
  const pixels = patchRows(found.image, shape).subarray(number * size, (number + 1) * size);
  const ink = meanRow(pixels, 1)[0];
  const share = rolledOnto(found, shape, READER)[number];
  const where = `patch ${number} of ${rows * columns} (row ${row}, column ${column})`;
  return `${where}: mean pixel ${brief(ink)}, share in the rollout ${brief(share)}`;
}

/** A chosen head, in words: the patches to which it attends most. */
export function headText(shape, found, state) {
  const values = headOnPatches(found, shape, state);
  const most = ranking(values, 3).map((one) => `${one} (${brief(values[one])})`).join(", ");
  const one = state.block * shape.heads + state.head;
  const off = state.off.includes(one) ? ", switched off" : "";
  const attends = `${sourceName(shape, state)} attends most to patches ${most}`;
  return `${headName(shape, one)}${off}: ${attends}`;
}
