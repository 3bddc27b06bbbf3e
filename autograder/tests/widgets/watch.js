// Runs before a page's own scripts, and counts what they begin and must end.
window.watched = (() => {
  const listening = new Set();
  const observing = new Map();
  const timers = new Set();
  const frames = new Set();
  const names = new Map();
  const number = (thing) => {
    if (!names.has(thing)) names.set(thing, names.size);
    return names.get(thing);
  };
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const key = (target, type, act, options) => {
    const capture = typeof options === "boolean" ? options : !!options?.capture;
    return `${target.constructor.name} ${number(target)} ${type} ${number(act)} ${capture}`;
  };
  EventTarget.prototype.addEventListener = function (type, act, options) {
    const target = this ?? window;
    addEventListener.call(target, type, act, options);
    // what is inside a view goes away with it
    if (!act || target instanceof AbortSignal || target.closest?.(".course-view")) return;
    if (options?.signal?.aborted) return;
    const one = key(target, type, act, options);
    listening.add(one);
    const end = () => listening.delete(one);
    if (options?.signal) addEventListener.call(options.signal, "abort", end);
    if (options?.once) addEventListener.call(target, type, end, { once: true });
  };
  EventTarget.prototype.removeEventListener = function (type, act, options) {
    const target = this ?? window;
    removeEventListener.call(target, type, act, options);
    listening.delete(key(target, type, act, options));
  };
  for (const name of ["MutationObserver", "ResizeObserver", "IntersectionObserver"]) {
    const { observe, disconnect } = window[name].prototype;
    window[name].prototype.observe = function (...given) {
      observing.set(this, `${name} ${number(this)}`);
      return observe.apply(this, given);
    };
    window[name].prototype.disconnect = function () {
      observing.delete(this);
      return disconnect.call(this);
    };
  }
  const counted = (begin, end, open, repeats) => {
    const [really, stop] = [window[begin], window[end]];
    window[begin] = (act, ...rest) => {
      const id = really((...given) => {
        if (!repeats) open.delete(id);
        return act(...given);
      }, ...rest);
      open.add(id);
      return id;
    };
    window[end] = (id) => {
      open.delete(id);
      stop(id);
    };
  };
  counted("setTimeout", "clearTimeout", timers, false);
  counted("setInterval", "clearInterval", timers, true);
  counted("requestAnimationFrame", "cancelAnimationFrame", frames, false);
  return {
    /** All that is still open, as text. */
    left: () => [
      ...listening,
      ...observing.values(),
      ...[...timers].map((id) => `timer ${id}`),
      ...[...frames].map((id) => `frame ${id}`),
    ],
  };
})();

// How well each text on a canvas can be read: [text, contrast with what is below it].
window.written = [];
{
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = ([red, green, blue]) =>
    0.2126 * linear(red / 255) + 0.7152 * linear(green / 255) + 0.0722 * linear(blue / 255);
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const over = (upper, alpha, lower) => upper.map((part, i) => alpha * part + (1 - alpha) * lower[i]);
  const spot = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parsed = (style) => {
    spot.clearRect(0, 0, 1, 1);
    spot.fillStyle = style;
    spot.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = spot.getImageData(0, 0, 1, 1).data;
    return [[red, green, blue], alpha / 255];
  };
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [colour, alpha] = parsed(getComputedStyle(at).backgroundColor);
      if (alpha > 0.99) return colour;
    }
    const probe = document.createElement("div");
    probe.style.background = "Canvas";
    document.documentElement.append(probe);
    const [colour] = parsed(getComputedStyle(probe).backgroundColor);
    probe.remove();
    return colour;
  };
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    // what is faded is not yet, or no longer, to be read
    if (window.reading && this.globalAlpha === 1 && this.canvas.isConnected) {
      const size = this.measureText(text);
      const left = x - size.actualBoundingBoxLeft;
      const top = y - size.actualBoundingBoxAscent;
      const ends = [
        [left, top],
        [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent],
      ].map(([a, b]) => new DOMPoint(a, b).matrixTransform(this.getTransform()));
      const [a, b] = [Math.min(ends[0].x, ends[1].x), Math.min(ends[0].y, ends[1].y)];
      const wide = Math.max(1, Math.abs(ends[1].x - ends[0].x));
      const high = Math.max(1, Math.abs(ends[1].y - ends[0].y));
      const under = paper(this.canvas);
      const { data } = this.getImageData(a, b, wide, high);
      const [ink, alpha] = parsed(this.fillStyle);
      const found = [];
      for (let i = 0; i < data.length; i += 4) {
        const below = over([...data.slice(i, i + 3)], data[i + 3] / 255, under);
        found.push(contrast(over(ink, alpha, below), below));
      }
      found.sort((one, other) => one - other);
      // the middle one: lines may cross a text
      window.written.push([String(text), found[found.length >> 1]]);
    }
    return fillText.call(this, text, x, y, ...rest);
  };
}
