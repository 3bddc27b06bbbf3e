// The text: what is typed, split into tokens; the prompt's field; tokens as chips with their ids.
const WHITE = { " ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍" };

/** The name of a token, with its white space made visible. */
export function visible(token) {
  return token.replace(/[ \n\t\r]/g, (letter) => WHITE[letter]) || "␣";
}

/** Split a text by the longest match: { ids, unknown }, with the characters that are left out. */
export function tokenised(text, vocabulary) {
  const idOf = new Map(vocabulary.map((token, id) => [token, id]).reverse()); // the first stays
  const longest = vocabulary.reduce((most, token) => Math.max(most, token.length), 1);
  const [ids, unknown] = [[], new Set()];
  for (let at = 0; at < text.length; ) {
    let size = Math.min(longest, text.length - at);
    while (size > 0 && !idOf.has(text.slice(at, at + size))) size--;
    if (size > 0) ids.push(idOf.get(text.slice(at, at + size)));
    else unknown.add(String.fromCodePoint(text.codePointAt(at)));
    at += size || String.fromCodePoint(text.codePointAt(at)).length;
  }
  return { ids, unknown: [...unknown] };
}

/**
 * The text that the network reads: the last tokens typed that fit, then those generated.
 *
 * Returns { ids, prompt, unknown, cut }: `prompt` tokens were typed, `cut` more did not fit.
 */
export function textOf({ typed, generated }, vocabulary, context) {
  const { ids, unknown } = tokenised(typed, vocabulary);
  const kept = ids.slice(-context);
  const room = context - kept.length;
  const all = [...kept, ...generated.slice(0, room)];
  return { ids: all, prompt: kept.length, unknown, cut: ids.length - kept.length };
}

/** What a reader must know of the text; empty if nothing. */
export function remarks({ ids, unknown, cut }, { same, longer }, context) {
  const said = [];
  if (!ids.length) said.push("Type at least one token.");
  if (unknown.length) said.push(`Not in the vocabulary, so left out: ${unknown.join(" ")}.`);
  if (cut) said.push(`The first ${cut} tokens do not fit into the context, and are left out.`);
  if (ids.length === context)
    said.push(`The context is full: ${context} tokens. Go back to the prompt, or shorten it.`);
  if (longer && ids.length === context) said.push("The model could read more than this page does.");
  if (!same) said.push("Typed text is split by the longest match, not by your encode.");
  return said.join(" ");
}

/** The field for the prompt; `typed(text)` is called when it changes. */
export function promptField(view, into, typed) {
  const field = make("textarea", { rows: 2, maxLength: 2000, tabIndex: 0, spellcheck: false });
  const label = make("label", { className: "gpt-prompt" });
  label.append("prompt", own(view, field));
  into.append(label);
  field.addEventListener("input", () => typed(field.value), { signal: view.signal });
  view.draws.push((state) => {
    if (field.value !== state.typed) field.value = state.typed;
  });
}

let lists = 0; // a number for each, so that no two elements have the same id

/** The tokens as chips; arrow keys and the pointer choose a position, the state's `row`. */
export function chips(view, into, now) {
  const list = make("div", { className: "gpt-chips", tabIndex: 0 });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "tokens: arrow keys choose a position");
  into.append(own(view, list));
  const choose = (row) => {
    view.set({ row, column: Math.min(view.state.column, row) });
    const { ids, name } = now();
    view.say(`position ${row}: “${name(ids[row])}”, id ${ids[row]}`);
  };
  const keys = (event) => {
    const { ids, row } = now();
    const cell = step(event.key, { row: 0, column: row }, 1, ids.length);
    if (!cell) return;
    event.preventDefault();
    choose(cell.column);
  };
  const point = ({ target }) => {
    const chip = target.closest("[data-position]");
    if (chip) choose(Number(chip.dataset.position));
  };
  list.addEventListener("keydown", keys, { signal: view.signal });
  list.addEventListener("click", point, { signal: view.signal });
  const name = `gpt-chips-${lists++}`;
  view.draws.push(() => {
    const { ids, row } = now();
    list.replaceChildren(...ids.map((id, position) => oneChip(id, position, now(), name)));
    list.setAttribute("aria-activedescendant", ids.length ? `${name}-${row}` : "");
  });
}

function oneChip(id, position, { name, prompt, row }, list) {
  const chip = make("span", { id: `${list}-${position}`, textContent: name(id) });
  chip.append(make("small", { textContent: id }));
  chip.dataset.position = position;
  chip.className = position < prompt ? "" : "made";
  chip.setAttribute("role", "option");
  chip.setAttribute("aria-selected", String(position === row));
  return chip;
}
