// Which entries of a (batch, length, channel) block share a mean: a slice for each sequence.
const BLUE = "#0072b2";
const ORANGE = "#d55e00";
const GAP = 44; // CSS pixels between two slices

const ofToken = ({ sequence, token }) => `all channels of token ${token} of sequence ${sequence}`;

/** What a mean is taken over, as text; `real` is used when padding is excluded. */
export const KINDS = {
  "batch norm": {
    over: ["sequence", "token"],
    told: ({ channel }, real) => `channel ${channel} of all ${real}tokens of all sequences`,
    each: "channel",
  },
  "layer norm": { over: ["channel"], told: ofToken, each: "token" },
  "RMS norm": { over: ["channel"], told: ofToken, each: "token" },
  "instance norm": {
    over: ["token"],
    told: ({ sequence, channel }, real) =>
      `channel ${channel} of all ${real}tokens of sequence ${sequence}`,
    each: "channel of each sequence",
  },
};

/** Whether an entry counts; excluded padding does not. */
export const counts = ({ sequence, token }, lengths, out) => !out || token < lengths[sequence];

/** Whether `entry` shares its mean with `chosen`. */
export function shares(kind, entry, chosen, lengths, out) {
  if (!counts(chosen, lengths, out) || !counts(entry, lengths, out)) return false;
  const { over } = KINDS[kind];
  return Object.keys(entry).every((axis) => over.includes(axis) || entry[axis] === chosen[axis]);
}

/** All entries of the block, each as { sequence, token, channel }. */
export function entries([batch, length, channels]) {
  return Array.from({ length: batch * length * channels }, (_, i) => ({
    sequence: Math.floor(i / (length * channels)),
    token: Math.floor(i / channels) % length,
    channel: i % channels,
  }));
}

/** The number of means. */
export function means(kind, shape, lengths, out) {
  const kept = ["sequence", "token", "channel"].filter((axis) => !KINDS[kind].over.includes(axis));
  const groups = entries(shape)
    .filter((entry) => counts(entry, lengths, out))
    .map((entry) => kept.map((axis) => entry[axis]).join());
  return new Set(groups).size;
}

/** Mean, population standard deviation and root mean square. */
export function statistics(values) {
  const average = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const mean = average(values);
  const deviation = Math.sqrt(average(values.map((one) => (one - mean) ** 2)));
  return { mean, deviation, root: Math.sqrt(average(values.map((one) => one ** 2))) };
}

/** Describe how many numbers share a mean, which ones, and how many means there are. */
export function sentence(kind, shape, chosen, lengths, out) {
  const { over, told, each } = KINDS[kind];
  if (!counts(chosen, lengths, out))
    return `token ${chosen.token} of sequence ${chosen.sequence} is padding: it shares no mean.`;
  const group = entries(shape).filter((entry) => shares(kind, entry, chosen, lengths, out)).length;
  const many = group === 1 ? "1 number has" : `${group} numbers share`;
  const mean = kind === "RMS norm" ? "mean of squares (no mean is taken off)" : "mean";
  const padded = over.includes("token") && Math.min(...lengths) < shape[1];
  const [real, too] = padded ? (out ? ["real ", ""] : ["", ", padding too"]) : ["", ""];
  const counted = `${means(kind, shape, lengths, out)} in all, one for each ${each}.`;
  return `${kind}: ${many} one ${mean}: ${told(chosen, real)}${too}. ${counted}`;
}

function render({ model, el }) {
  const view = open({ model, el });
  const { x } = arrays(model);
  const { shape, lengths, padded } = model.get("options");
  const [batch, length, channels] = shape;
  const all = entries(shape);
  const group = (state) =>
    all.map((entry) => shares(state.kind, entry, state, lengths, state.leave_out));
  const place = (sequence, token, channel) => (sequence * length + token) * channels + channel;
  const tell = (state) => {
    const { sequence, token, channel } = state;
    const value = x ? ` (${brief(x.value(place(sequence, token, channel)))})` : "";
    const words =
      `sequence ${sequence}, token ${token}, channel ${channel}${value}. ` +
      sentence(state.kind, shape, state, lengths, state.leave_out);
    const within = x ? group(state).flatMap((one, i) => (one ? [x.value(i)] : [])) : [];
    if (!within.length) return words;
    const { mean, deviation, root } = statistics(within);
    return state.kind === "RMS norm"
      ? `${words} The root of their mean square: ${brief(root)}.`
      : `${words} Their mean: ${brief(mean)}, standard deviation: ${brief(deviation)}.`;
  };
  const kinds = Object.keys(KINDS).map((kind) => [kind, kind]);
  choice(view, { name: "kind", label: "kind", options: kinds });
  if (batch > 1) slider(view, { name: "sequence", label: "sequence", min: 0, max: batch - 1 });
  if (padded) tick(view, { name: "leave_out", label: "leave padding out" });
  slices(view, { shape, lengths, all, x, group, tell });
  cube(view, { shape, all, group });
  view.draws.push((state) => {
    const words = tell(state); // after a change by any control
    if (view.told.textContent !== words) view.say(words);
  });
  const text = (row, column, state) => {
    const i = place(state.sequence, row, column);
    return `${x ? brief(x.value(i)) : ""}${group(state)[i] ? " ●" : ""}`;
  };
  const many = (count, name) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
  table(view, many(length, "token"), many(channels, "channel"), text);
  return view.close;
}

function slices(view, { shape, lengths, all, x, group, tell }) {
  const [batch, length, channels] = shape;
  const cell = Math.max(24, Math.min(40, 560 / (Math.min(batch, 3) * channels)));
  const [across, down] = [cell * channels + GAP, cell * length + 58];
  const wide = Math.max(1, Math.min(batch, Math.floor(700 / across)));
  const corner = (sequence) => ({
    x: GAP + (sequence % wide) * across,
    y: 46 + Math.floor(sequence / wide) * down,
  });
  const width = wide * across + 4;
  const place = ({ sequence, token, channel }) => {
    const { x: left, y: top } = corner(sequence);
    return [left + channel * cell, top + token * cell];
  };
  const at = (pointX, pointY) => {
    const under = all.find((entry) => {
      const [left, top] = place(entry);
      return pointX >= left && pointX < left + cell && pointY >= top && pointY < top + cell;
    });
    return under ? { ...under, row: under.token, column: under.channel } : null;
  };
  const square = (context, i, shared) => {
    const [left, top] = place(all[i]);
    const padding = all[i].token >= lengths[all[i].sequence];
    if (padding) hatchCell(context, left, top, cell, cell);
    context.fillStyle = shared ? `${BLUE}66` : "#8881";
    context.fillRect(left, top, cell, cell);
    context.strokeStyle = shared ? BLUE : "#8888";
    context.lineWidth = shared ? 2.5 : 1;
    context.strokeRect(left + 1, top + 1, cell - 2, cell - 2);
    context.fillStyle = "#bbb"; // a background that keeps numbers on hatches readable
    if (padding && x) context.fillRect(left + 4, top + cell / 2 - 8, cell - 8, 16);
    context.fillStyle = padding ? "#000" : context.ink;
    context.font = `${shared ? "bold " : ""}11px system-ui, sans-serif`;
    const text = x ? x.value(i).toFixed(1).replace(/^-(0.0$)?/, (_, zero) => zero ?? "−") : "●";
    if (x || shared) context.fillText(text, left + cell / 2, top + cell / 2 + 1, cell - 5);
  };
  const made = canvas(view, {
    width,
    height: corner(batch - 1).y + cell * length + 6,
    label: "a slice for each sequence: arrow keys move through its tokens and channels",
    grid: { place: ["token", "channel"], rows: length, columns: channels, at, tell },
    draw(context, state) {
      Object.assign(context, { textAlign: "center", textBaseline: "middle" });
      const shared = group(state);
      for (const wanted of [false, true]) // draw outlines of shared cells last
        shared.forEach((one, i) => one === wanted && square(context, i, one));
      for (let sequence = 0; sequence < batch; sequence++)
        named(context, corner(sequence), sequence, { length, channels, cell });
      context.strokeStyle = ORANGE;
      context.lineWidth = 4;
      context.strokeRect(...place(state), cell, cell);
      Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
    },
  });
  const point = (event) => {
    const scale = width / made.getBoundingClientRect().width;
    const cellAt = at(event.offsetX * scale, event.offsetY * scale);
    if (cellAt && cellAt.sequence !== view.state.sequence) view.set({ sequence: cellAt.sequence });
  };
  for (const event of ["pointermove", "pointerdown"])
    made.addEventListener(event, point, { signal: view.signal });
}

function named(context, { x, y }, sequence, { length, channels, cell }) {
  context.fillStyle = context.ink;
  context.font = "bold 12px system-ui, sans-serif";
  context.fillText(`sequence ${sequence}`, x + (channels * cell) / 2, y - 34);
  context.font = "11px system-ui, sans-serif";
  context.fillText("channel", x + (channels * cell) / 2, y - 20);
  for (let channel = 0; channel < channels; channel++)
    context.fillText(channel, x + (channel + 0.5) * cell, y - 7);
  for (let token = 0; token < length; token++)
    context.fillText(token, x - 9, y + (token + 0.5) * cell);
  context.save();
  context.translate(x - 22, y + (length * cell) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText("token", 0, 0);
  context.restore();
}

// the block in perspective: only entries that share the mean are opaque
function cube(view, { shape, all, group }) {
  const [batch, length, channels] = shape;
  const size = Math.min(26, 130 / Math.max(channels, length, batch));
  const back = { x: 0.55 * size, y: -0.45 * size }; // offset of the next sequence
  const start = { x: 30, y: 46 - batch * back.y };
  const place = (sequence, token, channel) => [
    start.x + channel * size + sequence * back.x,
    start.y + token * size + sequence * back.y,
  ];
  const face = (context, corners, fill) => {
    context.beginPath();
    for (const corner of corners) context.lineTo(...place(...corner));
    context.closePath();
    context.fillStyle = fill;
    context.fill();
    context.stroke();
  };
  const faces = (s, t, c, [b, l, w] = [1, 1, 1]) => [
    [[s, t, c], [s, t, c + w], [s, t + l, c + w], [s, t + l, c]],
    [[s, t, c], [s, t, c + w], [s + b, t, c + w], [s + b, t, c]],
    [[s, t, c + w], [s + b, t, c + w], [s + b, t + l, c + w], [s, t + l, c + w]],
  ];
  canvas(view, {
    width: start.x + channels * size + batch * back.x + 10,
    height: start.y + length * size + 34,
    label: "the whole block in perspective: the entries that share the mean are filled",
    draw(context, state) {
      const shared = group(state);
      // from the back to the front
      all
        .filter((_, i) => shared[i])
        .sort((a, b) => b.sequence - a.sequence || b.token - a.token || a.channel - b.channel)
        .forEach((one) =>
          faces(one.sequence, one.token, one.channel).forEach((corners, side) =>
            face(context, corners, [BLUE, "#56a9dc", "#004f7d"][side]),
          ),
        );
      context.globalAlpha = 0.5;
      for (const corners of faces(0, 0, 0, shape)) face(context, corners, "transparent");
      context.globalAlpha = 1;
      context.fillStyle = context.ink;
      context.fillText("channel →", start.x, start.y + length * size + 16);
      context.save();
      context.translate(start.x - 8, start.y + length * size);
      context.rotate(-Math.PI / 2);
      context.fillText("← token", 0, 0);
      context.restore();
      context.fillText("sequence ↗", 2, start.y + batch * back.y - 8);
    },
  });
}

export default { render };
