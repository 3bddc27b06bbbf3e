// Draw an image: the student's Vision Transformer computes in the page what it is.
const SEEN = ["picture", "drawing", "fit"]; // on which the model's image depends

// the function of a state, computed again only when what it depends on has changed
function once(names, compute) {
  let [key, found] = [null, null];
  return (state) => {
    const now = keyOf(names, state);
    if (now !== key) [key, found] = [now, compute(state)];
    return found;
  };
}

const keyOf = (names, state) => names.map((name) => String(state[name])).join("|");

function render({ model, el }) {
  const view = open({ model, el });
  view.root.append(make("style", { textContent: STYLE }));
  const { images, weights } = arrays(model);
  const { shape, classes, names, targets } = model.get("options");
  const size = shape.rows * shape.columns * shape.patch ** 2;
  const pictures = names.map((_, i) => images.data.slice(i * size, (i + 1) * size));
  const net = network(weights.data, shape);
  const forward = once([...SEEN, "off"], (state) => {
    const image = imageOf(state, pictures, shape);
    return { image, ...answered(net, image, state.off) };
  });
  const read = once([...SEEN, "off", "source"], (state) => {
    const found = forward(state);
    return { ...found, rollout: rolledOnto(found, shape, state.source) };
  });
  const on = once(["picture", "drawing"], (state) => sheet(state, pictures, shape));
  const answer = (state) => {
    const last = read(state).answers.at(-1);
    const drawn = state.picture === DRAWN;
    const text = answerText(last, classes, drawn && !on(state).includes(1));
    const off = state.off.map((one) => headName(shape, one)).join("; ");
    const judgement = drawn ? "" : judged(last, targets?.[state.picture], classes);
    return text + judgement + (off && ` Switched off: ${off}.`);
  };
  const tell = telling(view);
  answerLine(view, classes, answer);
  drawingPanel(panel(view, "draw"), { shape, names, on, tell });
  const seen = panel(view, "seen");
  seenImage(seen, shape, read, {
    tell: () => tell((state) => patchText(shape, read(state), state)),
    choose: (number) => chooseSource(view, shape, tell, number),
  });
  const cells = "Each blue square of the sheet becomes one pixel;";
  note(seen, `${cells} ${shape.margin ? "the border is padding" : "nothing is added"}.`);
  note(seen, "Click a patch to see the attention from it.");
  answerBars(panel(view, "answer"), shape, classes, read);
  mapsPanel(panel(view, "maps"), shape, read, tell);
  answerTable(view, shape, classes, read);
  return view.close;
}

// the same view with controls and stage of its own
function panel(view, name) {
  const box = (className) => make("div", { className });
  const [root, controls, stage] = [`vit-${name}`, "controls", "vit-row"].map(box);
  root.append(controls, stage);
  view.stage.append(root);
  return Object.create(view, { controls: { value: controls }, stage: { value: stage } });
}

function note(view, textContent) {
  view.stage.after(make("p", { textContent }));
}

/**
 * A function that announces a fact of the state. A fact that is a text holds until the image, the
 * source or a switch changes; one that is a function is written anew at each change.
 */
function telling(view) {
  let fact = null;
  const tell = (given) => {
    const names = [...SEEN, "source", "off"];
    const key = keyOf(names, view.state);
    const holds = (state) => (keyOf(names, state) === key ? given : "");
    fact = typeof given === "string" ? holds : given;
    view.say(fact(view.state));
    return fact(view.state);
  };
  view.draws.push((state) => {
    const now = fact?.(state) ?? "";
    if (view.told.textContent !== now) view.say(now);
  });
  return tell;
}

function answerLine(view, classes, answer) {
  const words = make("p", { className: "vit-said" });
  words.setAttribute("aria-live", "polite");
  const always = `It always picks one of ${classes.length}: a high probability does not make it right.`;
  view.stage.before(words, make("p", { textContent: always }));
  view.draws.push((state) => {
    const now = answer(state);
    if (words.textContent !== now) words.textContent = now;
  });
}

function chooseSource(view, shape, tell, source) {
  view.set({ source });
  tell((state) => `attention from ${sourceName(shape, state)}`);
}

// the attention maps, and beside them their controls
function mapsPanel(view, shape, read, tell) {
  const told = () => tell((state) => headText(shape, read(state), state));
  const chosen = ({ block, head }) => block * shape.heads + head;
  const flip = () => {
    const { off } = view.state;
    const one = chosen(view.state);
    const others = off.filter((head) => head !== one);
    view.set({ off: off.includes(one) ? others : [...off, one].sort((a, b) => a - b) });
    told();
  };
  const made = button(view, "", flip);
  button(view, "all heads on", () => {
    view.set({ off: [] });
    tell("all heads are on");
  });
  const reader = sourceName(shape, { source: READER });
  const back = () => chooseSource(view, shape, tell, READER);
  button(view, `attention from ${reader}`, back);
  view.draws.push((state) => {
    const way = state.off.includes(chosen(state)) ? "on" : "off";
    made.textContent = `switch ${headName(shape, chosen(state))} ${way}`;
  });
  const choose = (cell) => {
    view.set(cell);
    told();
  };
  headMaps(view, shape, read, { tell: told, choose, flip });
  largeMaps(view, shape, read);
  const scale = "Each map is scaled to its own largest weight, which is printed below it";
  const even = `With uniform attention a head gives each token ${uniform(shape).toFixed(2)}`;
  const rest = shape.classToken ? " The class token’s own share is not drawn." : "";
  note(view, `${scale}. ${even}; 1, 2, 3 mark its largest weights above twice that.${rest}`);
}

// in a box that scrolls sideways, so that a page on a telephone does not
function answerTable(view, shape, classes, read) {
  const root = make("div", { className: "vit-table" });
  view.root.append(root);
  const lines = Array.from({ length: shape.blocks }, (_, block) => `after block ${block}`);
  const value = (row, column, state) => brief(read(state).answers[row][column]);
  table(Object.create(view, { root: { value: root } }), lines, classes, value);
}

export default { render };
