// Drawing: a fine bitmap, and the image that is counted from it, as scikit-learn's digits were.
const FINE = 4; // drawn pixels along a side of one pixel of the image
const LEVELS = FINE * FINE;
const LARGEST = 3; // a drawing is enlarged at most so many times

/** The height and width of the bitmap: the image without its margin, 4 by 4 for each pixel. */
export function canvasSize({ rows, columns, patch, margin }) {
  const side = (patches) => FINE * (patches * patch - 2 * margin);
  return [side(rows), side(columns)];
}

/** A bitmap of 0 and 1 as hexadecimal digits, four pixels each, for the state. */
export function toHex(bits) {
  let text = "";
  for (let i = 0; i < bits.length; i += 4)
    text += (8 * bits[i] + 4 * bits[i + 1] + 2 * bits[i + 2] + bits[i + 3]).toString(16);
  return text;
}

/** The bitmap of such digits. */
export function fromHex(text) {
  const bits = new Uint8Array(4 * text.length);
  for (let i = 0; i < bits.length; i++)
    bits[i] = (Number.parseInt(text[Math.floor(i / 4)], 16) >> (3 - (i % 4))) & 1;
  return bits;
}

/** Set the pixels under a round pen at these cells to `one`; returns a new bitmap. */
export function stamped(bits, wide, cells, pen, one) {
  const near = ({ row, column }, i) =>
    (Math.floor(i / wide) - row) ** 2 + ((i % wide) - column) ** 2 <= (pen / 2) ** 2;
  return bits.map((bit, i) => (cells.some((cell) => near(cell, i)) ? one : bit));
}

/** The cells from one to another, both included. */
export function path(from, to) {
  const [down, right] = [to.row - from.row, to.column - from.column];
  const steps = Math.max(Math.abs(down), Math.abs(right), 1);
  return Array.from({ length: steps + 1 }, (_, i) => ({
    row: Math.round(from.row + (i / steps) * down),
    column: Math.round(from.column + (i / steps) * right),
  }));
}

/** The smallest box around the ink, [top, left, height, width]; null without ink. */
export function inkBox(bits, wide) {
  const inked = [...bits.keys()].filter((i) => bits[i]);
  if (!inked.length) return null;
  const extent = (values) => [Math.min(...values), Math.max(...values)];
  const [top, bottom] = extent(inked.map((i) => Math.floor(i / wide)));
  const [left, right] = extent(inked.map((i) => i % wide));
  return [top, left, bottom - top + 1, right - left + 1];
}

/** The bitmap with its ink enlarged to the whole height or width, and centred. */
export function fitted(bits, wide) {
  const box = inkBox(bits, wide);
  if (!box) return bits;
  const high = bits.length / wide;
  const scale = Math.min(high / box[2], wide / box[3], LARGEST);
  const [middle, centre] = [box[0] + box[2] / 2, box[1] + box[3] / 2];
  return bits.map((_, i) => {
    const y = Math.floor(middle + (Math.floor(i / wide) + 0.5 - high / 2) / scale);
    const x = Math.floor(centre + ((i % wide) + 0.5 - wide / 2) / scale);
    return x >= 0 && x < wide && y >= 0 && y < high ? bits[y * wide + x] : 0;
  });
}

/** The image (height · width, 0 to 1): the share of ink in each 4 by 4 pixels, margin around. */
export function counted(bits, { rows, columns, patch, margin }) {
  const [height, width] = [rows * patch, columns * patch];
  const across = FINE * (width - 2 * margin);
  const image = new Float32Array(height * width);
  bits.forEach((bit, i) => {
    const y = margin + Math.floor(Math.floor(i / across) / FINE);
    const x = margin + Math.floor((i % across) / FINE);
    image[y * width + x] += bit / LEVELS;
  });
  return image;
}

/**
 * A bitmap from which the image would be counted: in each pixel's 4 by 4, as many as its level,
 * those that are nearest to bright neighbours.
 */
export function drawnBack(image, { rows, columns, patch, margin }) {
  const [height, width] = [rows * patch, columns * patch];
  const [down, across] = [height - 2 * margin, width - 2 * margin];
  const level = (y, x) => (y >= 0 && x >= 0 && y < height && x < width ? image[y * width + x] : 0);
  const bits = new Uint8Array(down * across * LEVELS);
  for (let cell = 0; cell < down * across; cell++) {
    const [y, x] = [margin + Math.floor(cell / across), margin + (cell % across)];
    const bright = (one) => {
      const [dy, dx] = [Math.floor(one / FINE), one % FINE].map((at) => (at + 0.5) / FINE - 0.5);
      const [ny, nx] = [y + Math.sign(dy), x + Math.sign(dx)];
      const [fy, fx] = [Math.abs(dy), Math.abs(dx)];
      return fy * (1 - fx) * level(ny, x) + (1 - fy) * fx * level(y, nx) + fy * fx * level(ny, nx);
    };
    const order = Array.from({ length: LEVELS }, (_, one) => one);
    order.sort((a, b) => bright(b) - bright(a) || a - b);
    for (const one of order.slice(0, Math.round(LEVELS * level(y, x)))) {
      const fine = FINE * (y - margin) + Math.floor(one / FINE);
      bits[fine * FINE * across + FINE * (x - margin) + (one % FINE)] = 1;
    }
  }
  return bits;
}
