// Takes the place of the line that opens a view: a model as Jupyter's, and views of it that open and close.
const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
const values = { ...shown, data: new DataView(bytes.buffer) };
const heard = [];
const saved = []; // the states that went to the kernel
const model = {
  get: (name) => values[name],
  set(name, value) {
    // as Backbone: what is equal is no change
    if (JSON.stringify(values[name]) === JSON.stringify(value)) return;
    values[name] = value;
    for (const [event, act] of [...heard]) if (event === `change:${name}`) act();
  },
  on: (event, act) => heard.push([event, act]),
  off(event, act) {
    const at = heard.findIndex(([one, other]) => one === event && other === act);
    if (at >= 0) heard.splice(at, 1);
  },
  save_changes() {
    host.tried++;
    if (host.gone) throw new Error("no kernel");
    saved.push(values.state);
  },
};
const place = document.getElementById("view");
window.host = {
  gone: false,
  tried: 0,
  heard,
  saved,
  state: () => JSON.stringify(values.state),
  open() {
    const el = document.createElement("div");
    place.append(el);
    return render({ model, el });
  },
};
