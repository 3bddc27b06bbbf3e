// The sections beside the maps: what comes next, switches for the parts, the logit lens, the cache.
const SHOWN = 8; // next tokens with a bar
const LENS = 4; // tokens of a row of the logit lens

/** A section with a heading; `view` with controls that go into it, and the place for the rest. */
export function section(view, into, heading, about = "") {
  const root = make("div", { className: "gpt-section" });
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", heading);
  const controls = make("div", { className: "controls" });
  const body = make("div");
  root.append(make("strong", { textContent: heading }));
  if (about) root.append(make("p", { textContent: about }));
  root.append(controls, body);
  into.append(root);
  return { inside: Object.assign(Object.create(view), { controls }), body };
}

/**
 * The tokens worth a bar, by their present probability: `count`, the likeliest by either of two
 * distributions, and the next. A token that both leave out has none.
 */
export function worthABar(now, whole, next, count = SHOWN) {
  const most = now.map((share, id) => Math.max(share, whole[id]));
  const likely = ranked(most).slice(0, count).filter((id) => most[id] > 0);
  const all = next === null || likely.includes(next) ? likely : [...likely, next];
  return all.sort((a, b) => now[b] - now[a]); // a stable sort
}

/** What comes next, as bars; an outline is what it was with all parts on. */
export function nextTokens(body, { chances: now, whole, next, name, allOn }, limited) {
  const said = (share) => (limited && share === 0 ? "cut" : percent(share));
  const rows = worthABar(now, whole, next).map((id) => {
    const row = make("tr", { className: limited && now[id] === 0 ? "cut" : "" });
    const shares = allOn ? [now[id]] : [now[id], whole[id]];
    row.append(make("th", { scope: "row", textContent: name(id) }), barOf(shares));
    for (const share of shares) row.append(make("td", { textContent: said(share) }));
    row.append(make("td", { textContent: id === next ? "◂ drawn next" : "" }));
    return row;
  });
  const heads = ["token", "", allOn ? "probability" : "now", ...(allOn ? [] : ["all on"]), ""];
  body.replaceChildren(tableOf(heads, rows));
}

// a filled bar for the first share, an outline for the second
function barOf(shares) {
  const cell = make("td", { className: "gpt-bar" });
  const track = make("div");
  for (const [i, share] of shares.entries()) {
    const bar = make("div", { className: i ? "before" : "" });
    bar.style.width = `${100 * share}%`;
    track.append(bar);
  }
  cell.append(track);
  return cell;
}

function tableOf(heads, rows) {
  const made = make("table");
  const top = make("tr");
  for (const text of heads) top.append(make(text ? "th" : "td", { textContent: text }));
  made.append(top, ...rows);
  return made;
}

/** A checkbox for each part: attention, its heads and the feed-forward network of each block. */
export function switches(view, body, { depth, heads }) {
  const each = Array.from({ length: heads }, (_, i) => `head ${i}`);
  const names = ["attention", "feed-forward", ...each];
  for (let block = 0; block < depth; block++) {
    const row = make("div", { className: "gpt-switches" });
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", `parts of block ${block}`);
    row.append(make("b", { textContent: `block ${block}` }));
    body.append(row);
    const inside = Object.assign(Object.create(view), { controls: row });
    const start = block * names.length;
    names.forEach((part, i) => oneSwitch(inside, part, start, i));
  }
}

function oneSwitch(view, name, start, i) {
  const input = make("input", { type: "checkbox" });
  const label = make("label");
  label.append(own(view, input), name);
  view.controls.append(label);
  const turn = () => {
    const all = [...view.state.on];
    all[start + i] = input.checked ? "1" : "0";
    view.set({ on: all.join("") });
  };
  input.addEventListener("change", turn, { signal: view.signal });
  view.draws.push(({ on }) => {
    input.checked = on[start + i] === "1";
    input.disabled = i > 1 && on[start] === "0"; // without attention, a head changes nothing
  });
}

/** The logit lens at a position: the likeliest tokens at each level of the residual stream. */
export function lens(body, { read, ids, row, name, depth }) {
  const rows = Array.from({ length: depth + 1 }, (_, level) => {
    const made = make("tr");
    const from = level ? `block ${level - 1}` : "embeddings";
    made.append(make("th", { scope: "row", textContent: from }));
    const shares = softened(read.logits(level, row));
    for (const id of ranked(shares).slice(0, LENS)) {
      const cell = make("td", { textContent: name(id) });
      cell.append(make("small", { textContent: percent(shares[id]) }));
      const bar = make("div");
      bar.style.width = `${100 * shares[id]}%`;
      cell.append(bar);
      made.append(cell);
    }
    return made;
  });
  const ranks = ["1st", "2nd", "3rd", "4th"].slice(0, LENS);
  const at = `At position ${row}, “${name(ids[row])}” (choose another among the tokens above):`;
  body.replaceChildren(make("p", { textContent: at }), tableOf(["read after", ...ranks], rows));
}

/** The cache: of each block, the positions read from it and those computed last. */
export function cached(body, { read, ids, depth, context, width }) {
  const computed = ids.length - read.reused;
  const rows = Array.from({ length: depth }, (_, block) => {
    const row = make("div", { className: "gpt-cache" });
    const bar = make("div");
    const share = (positions) => `${(100 * positions) / context}%`;
    bar.style.setProperty("--slot", share(1));
    bar.style.setProperty("--read", share(read.reused));
    bar.style.setProperty("--held", share(ids.length));
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", `${ids.length} of ${context} positions of block ${block}`);
    row.append(make("span", { textContent: `block ${block}` }), bar);
    return row;
  });
  const numbers = 2 * depth * ids.length * width;
  const said =
    `${ids.length} of ${counted(context, "position")} cached: the last call read ` +
    `${read.reused} and computed ${computed}. Keys and values: ` +
    `${numbers.toLocaleString("en")} numbers.`;
  const key = make("p");
  for (const [what, text] of [["read", "read from the cache"], ["new", "computed now"]])
    key.append(make("i", { className: `gpt-key ${what}` }), `${text} \u2003`);
  body.replaceChildren(make("p", { textContent: said }), ...rows, key);
}
