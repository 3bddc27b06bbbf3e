// Takes the place of Jupyter's model on a page without a kernel.

/** A model as a live view wants it, of what Python showed and the data in base64. */
function pageModel(shown, data) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const values = { ...shown, data: new DataView(bytes.buffer) };
  const told = new EventTarget();
  const heard = new Map();
  return {
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
}
