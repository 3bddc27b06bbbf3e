// What the model answers, as a canvas. Precedes vit.drawing.js.
const BAR = "#0072b2";

/** The probabilities as bars, and below them what the classifier would answer after each block. */
export function answerBars(view, shape, classes, read) {
  const { blocks } = shape;
  const line = blocks > 6 ? 15 : 24;
  const left = 84;
  const box = { x: left, y: 38, width: 270, height: 130 };
  const below = { x: left, y: 208, width: 270, height: blocks * line };
  Object.assign(below, { rows: blocks, columns: classes.length });
  const wide = box.width / classes.length;
  const draw = (context, state) => {
    const { answers } = read(state);
    const last = answers[blocks - 1];
    const [best] = ranking(last, 1);
    context.fillText("the answer: a probability for each class, in %", 2, 13);
    context.fillText("100", left - 28, box.y + 9);
    context.fillText("0", left - 14, box.y + box.height);
    context.fillRect(left, box.y + box.height, box.width, 1);
    context.textAlign = "center";
    last.forEach((value, i) => {
      const x = left + (i + 0.5) * wide;
      context.fillStyle = i === best ? CHOSEN : BAR;
      const high = box.height * value;
      context.fillRect(x - 0.38 * wide, box.y + box.height - high, 0.76 * wide, high);
      context.fillStyle = context.ink;
      const percent = Math.round(100 * value);
      if (percent) context.fillText(`${percent} %`, x, box.y + box.height - high - 4, wide - 1);
      context.fillText(classes[i], x, box.y + box.height + 16, wide);
    });
    context.textAlign = "left";
    context.fillText("what the classifier would answer after each block, in %", 2, below.y - 6);
    const percent = (row, column) => Math.round(100 * answers[row][column]);
    numberMap(context, below, percent, { low: 0, high: 100 });
    context.fillStyle = context.ink;
    for (let row = 0; row < blocks; row++)
      context.fillText(`block ${row}`, 30, below.y + (row + 0.5) * line + 4);
    outline(context, below, { row: state.block }, CHOSEN);
  };
  const label = "probabilities of the classes, after each block";
  canvas(view, { width: left + 274, height: below.y + below.height + 6, label, draw });
}
