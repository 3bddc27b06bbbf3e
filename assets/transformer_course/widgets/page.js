// replaces the kernel's model on a page without a kernel
const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
const values = { ...shown, data: new DataView(bytes.buffer) };
const told = new EventTarget();
const heard = new Map();
const model = {
  get: (name) => values[name],
  set(name, value) {
    values[name] = value;
    told.dispatchEvent(new Event(`change:${name}`));
  },
  on(event, act) {
    if (!heard.has(act)) heard.set(act, () => act());
    told.addEventListener(event, heard.get(act));
  },
  off: (event, act) => told.removeEventListener(event, heard.get(act)),
  save_changes() {},
};
const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const { render } = (await import(address)).default;
render({ model, el: document.getElementById("view") });
