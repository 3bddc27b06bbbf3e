// The prompt, the buttons that go on from it, and what is said of that.
const PAUSE = 250; // milliseconds between two generated tokens

/** Generation, a token at a time: { one, toggle, typed, running }. */
export function generation(view, now) {
  let timer = 0;
  let wrote = ""; // the text as this view left it
  const written = () => JSON.stringify([view.state.typed, view.state.generated]);
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    view.redraw();
  };
  const append = () => {
    const { ids, next, row } = now();
    if (!ids.length || next === null) return false;
    const follows = row === ids.length - 1; // another position stays chosen
    view.set({ generated: [...view.state.generated, next], row: follows ? ids.length : row });
    return true;
  };
  const go = () => {
    timer = 0;
    if (!append() || now().next === null) return view.redraw();
    wrote = written();
    timer = setTimeout(tick, PAUSE);
  };
  // another view of the same state, or the kernel, may have changed the text
  const tick = () => (written() === wrote ? go() : stop());
  view.signal.addEventListener("abort", () => clearTimeout(timer));
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const toggle = () => {
    if (timer) stop();
    else if (still.matches) while (append());
    else go();
  };
  const typed = (text) => {
    stop();
    view.set({ typed: text, generated: [] });
    view.set({ row: Math.max(0, now().ids.length - 1), column: 0 });
  };
  const one = () => {
    stop();
    append();
  };
  return { one, toggle, typed, running: () => timer !== 0 };
}

/** The top of the view: the prompt, the buttons, the status line, the text, its tokens. */
export function writing(view, top, now, { vocabulary, context }) {
  const made = generation(view, now);
  top.append(make("p", { textContent: about(vocabulary, context) }));
  promptField(view, top, made.typed, made.one);
  buttons(view, top, now, made, context);
  const remark = make("p", { className: "gpt-remark", textContent: now().said });
  remark.setAttribute("role", "status");
  top.append(view.told, remark);
  view.draws.push(() => {
    if (remark.textContent !== now().said) remark.textContent = now().said; // said when it changes
  });
  plainText(view, top, now, vocabulary);
  chips(view, top, now);
  telling(view, now, made);
}

/** What the view is, in a line. */
export function about(vocabulary, context) {
  const single = vocabulary.every((token) => [...token].length === 1);
  const kind = single ? ", each a single character" : "";
  return (
    `A GPT that reads up to ${counted(context, "token")}${kind}, and predicts the next one. ` +
    "Type a prompt, or press Next token (in the prompt: Ctrl+Enter)."
  );
}

function buttons(view, top, now, made, context) {
  const controls = make("div", { className: "controls" });
  top.append(controls);
  const inside = Object.assign(Object.create(view), { controls });
  const next = button(inside, "Next token", made.one);
  const run = button(inside, "Generate", made.toggle);
  const back = button(inside, "Back to the prompt", () => made.typed(view.state.typed));
  const count = make("span", { className: "gpt-count" });
  controls.append(count);
  view.draws.push(() => {
    const { ids } = now();
    count.textContent = `${ids.length} of ${counted(context, "token")}`;
    run.textContent = made.running() ? "Stop" : "Generate";
    const reason = blocked(now(), context);
    // a button that goes grey would lose the focus to the page
    if (reason && [next, run].some((one) => one.matches(":focus"))) back.focus();
    for (const one of [next, run]) Object.assign(one, { disabled: reason !== "", title: reason });
  });
}

// nothing on load; while tokens come, each alone; then the summary, once
function telling(view, now, made) {
  let [told, length] = [null, 0];
  view.draws.push(({ on, temperature, top_k, seed }) => {
    const { ids, name } = now();
    const key = String([ids, on, temperature, top_k, seed]);
    told ??= key;
    if (made.running() && ids.length > length) view.say(`“${name(ids.at(-1))}”`);
    else if (!made.running() && key !== told) {
      view.say(summary(now()));
      told = key;
    }
    length = ids.length;
  });
}

/** One line on the text and its next token. */
export function summary({ ids, chances: likely, whole, next, name, allOn, read }) {
  if (!ids.length) return "";
  const [first, before] = [ranked(likely)[0], ranked(whole)[0]];
  const lines = [
    `${counted(ids.length, "token")}, ${read.reused} read from the cache.`,
    `Likeliest: “${name(first)}” ${percent(likely[first])}.`,
    allOn ? "" : `“${name(before)}”: ${percent(whole[before])} → ${percent(likely[before])}.`,
    next === null ? "" : `Drawn next: “${name(next)}”.`,
  ];
  return lines.filter(Boolean).join(" ");
}
