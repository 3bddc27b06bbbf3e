// The text: what is typed, split into tokens; the prompt's field; tokens as chips with their ids.
const WHITE = { " ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍" };

/** A text with its white space made visible. */
export function visible(text) {
  return text.replace(/[ \n\t\r]/g, (letter) => WHITE[letter]);
}

/** The name of each token: its text, or its id if it has none. */
export function namesOf(vocabulary) {
  return vocabulary.map((token, id) => visible(token) || `‹${id}›`);
}

/** A count with its noun, in the plural if it must be. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * A function that splits a text by the longest match over the vocabulary.
 *
 * It returns { ids, unknown }, with the characters that are left out.
 */
export function splitter(vocabulary) {
  const idOf = new Map(vocabulary.map((token, id) => [token, id]).reverse()); // the first stays
  const longest = vocabulary.reduce((most, token) => Math.max(most, token.length), 1);
  return (text) => tokenised(text, idOf, longest);
}

function tokenised(text, idOf, longest) {
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
export function textOf({ typed, generated }, split, context) {
  const { ids, unknown } = split(typed);
  const kept = ids.slice(-context);
  const room = context - kept.length;
  const all = [...kept, ...generated.slice(0, room)];
  return { ids: all, prompt: kept.length, unknown, cut: ids.length - kept.length };
}

/** Why no token can follow; empty if one can. */
export function blocked({ ids, prompt }, context) {
  if (!ids.length) return "Type at least one token.";
  if (ids.length < context) return "";
  const fix = ids.length > prompt ? "Go back to the prompt." : "Shorten the prompt.";
  return `The context is full: ${counted(context, "token")}. ${fix}`;
}

/** What a reader must know of the text; empty if nothing. */
export function remarks({ ids, prompt, unknown, cut }, { same, longer }, context) {
  const said = [];
  const left = unknown.map(visible).join(" ");
  if (left) said.push(`Not in the vocabulary, so left out: ${left}`);
  if (cut) said.push(`Left out at the start, since it does not fit: ${counted(cut, "token")}.`);
  const reason = blocked({ ids, prompt }, context);
  if (reason) said.push(reason);
  if (longer && ids.length === context) said.push("The model could read more than this page does.");
  if (!same) said.push("Typed text is split by the longest match, not by your encode.");
  return said.join(" ");
}

/** The field for the prompt: `typed(text)` is called when it changes, `go` for Ctrl+Enter. */
export function promptField(view, into, typed, go) {
  const field = make("textarea", { rows: 2, maxLength: 2000, tabIndex: 0, spellcheck: false });
  const label = make("label", { className: "gpt-prompt" });
  label.append("prompt", own(view, field));
  into.append(label);
  field.addEventListener("input", () => typed(field.value), { signal: view.signal });
  const keys = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    go();
  };
  field.addEventListener("keydown", keys, { signal: view.signal });
  view.draws.push((state) => {
    if (field.value !== state.typed) field.value = state.typed;
  });
}

/** The prompt and its continuation as plain text, as soon as there is one. */
export function plainText(view, into, now, vocabulary) {
  const line = make("p", { className: "gpt-text" });
  const [typed, made] = [make("span"), make("strong", { title: "generated" })];
  line.append(typed, made);
  into.append(line);
  const text = (ids) => ids.map((id) => vocabulary[id]).join("");
  view.draws.push(() => {
    const { ids, prompt } = now();
    line.hidden = ids.length === prompt;
    const parts = [text(ids.slice(0, prompt)), text(ids.slice(prompt))];
    if (typed.textContent === parts[0] && made.textContent === parts[1]) return; // keep a selection
    [typed.textContent, made.textContent] = parts;
  });
}

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
  const name = `gpt-chips-${Math.random().toString(36).slice(2)}`; // the page may hold others
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
