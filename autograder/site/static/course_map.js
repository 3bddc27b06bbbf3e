// Where a student stands on the course map: read from the progress file, kept in this browser only.
"use strict";
{
  const KEY = "transformer-course-progress";
  const MOST_BYTES = 1_000_000; // a real file has some 20,000
  const LONGEST_NAME = 60; // characters of a file's name that are shown
  const HALF = 0.5;
  const CHOOSE = "Choose progress.json in the folder .transformer_course of your home folder.";

  const isRecord = (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value);

  /** The passed checks of each lesson in a progress file's text; null for any other text. */
  function passedChecks(text, course) {
    let stored;
    try {
      stored = JSON.parse(text);
    } catch {
      return null; // no JSON, or nested too deep
    }
    if (!isRecord(stored)) return null;
    const names = Object.keys(course).filter((name) => Object.hasOwn(stored, name));
    if (!names.length || !names.every((name) => isRecord(stored[name]))) return null;
    const passed = (name, check) =>
      Object.hasOwn(stored[name], check) && stored[name][check] === "passed";
    return Object.fromEntries(
      names.map((name) => {
        const checks = Object.keys(course[name].points).filter((check) => passed(name, check));
        return [name, Object.fromEntries(checks.map((check) => [check, "passed"]))];
      }),
    );
  }

  /** The points of each lesson: those of the checks that passed, and of all. */
  function standing(course, passed) {
    const sum = (points) => Math.round(100 * points.reduce((a, b) => a + b, 0)) / 100;
    return Object.fromEntries(
      Object.entries(course).map(([name, { points }]) => {
        const own = Object.entries(points).filter(([check]) => passed[name]?.[check]);
        const all = sum(Object.values(points));
        const got = sum(own.map(([, worth]) => worth));
        return [name, { got, all, share: all ? got / all : 1 }];
      }),
    );
  }

  /**
   * The lessons that can be taken now: less than half of their points, and half of the points of
   * all that they need. The next is the first of them that is begun, or the first; where there is
   * none, the first lesson that lacks a point.
   */
  function ahead(course, stands) {
    const names = Object.keys(course);
    const half = (name) => stands[name].share >= HALF;
    const ready = names.filter((name) => !half(name) && course[name].needs.every(half));
    const next =
      ready.find((name) => stands[name].got > 0) ??
      ready[0] ??
      names.find((name) => stands[name].share < 1);
    return { ready, next };
  }

  /** What is told when a file was read. */
  function summary(course, stands, next) {
    const all = Object.values(stands);
    const total = (key) => Math.round(100 * all.reduce((sum, one) => sum + one[key], 0)) / 100;
    const points = `You have ${total("got")} of ${total("all")} points.`;
    if (!next) return `${points} You have finished the course.`;
    return `${points} Next: lesson ${course[next].number}, ${course[next].title}.`;
  }

  function mark(item, { got, all, share }, badge) {
    const link = item.querySelector("a");
    link.dataset.name ??= link.getAttribute("aria-label");
    const told = [link.dataset.name, `${got} of ${all} points`, badge].filter(Boolean);
    link.setAttribute("aria-label", told.join(", "));
    item.dataset.share = share;
    item.style.setProperty("--share", share);
    const points = item.querySelector(".course-map-points");
    points.textContent = `${share === 1 ? "✓ " : ""}${got}/${all}`;
    item.querySelector(".course-map-badge").textContent = badge;
    if (badge) item.dataset.badge = badge;
    else delete item.dataset.badge;
  }

  function unmark(item) {
    const link = item.querySelector("a");
    if (link.dataset.name) link.setAttribute("aria-label", link.dataset.name);
    delete item.dataset.share;
    item.style.removeProperty("--share");
    delete item.dataset.badge;
    for (const part of item.querySelectorAll(".course-map-points, .course-map-badge"))
      part.textContent = "";
  }

  // a browser may keep nothing for a page, and says so by an error
  function stored(act) {
    try {
      return act(window.localStorage);
    } catch {
      return undefined;
    }
  }

  // a name that somebody else gave: no longer than a line, and no say in the direction of the rest
  const quoted = (name) =>
    `“\u2068${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}\u2069”`;

  /** The text of a chosen file; empty for one that is too large or cannot be read. */
  async function textOf(file) {
    if (file.size > MOST_BYTES) return "";
    return file.text().catch(() => "");
  }

  function begin(map) {
    const course = JSON.parse(map.querySelector(".course-map-data").textContent);
    const items = [...map.querySelectorAll("li[data-lesson]")];
    const stand = map.querySelector(".course-map-stand");
    const [input, forget, told] = ["input", "button", ".course-map-told"].map((what) =>
      stand.querySelector(what),
    );

    const show = (passed) => {
      const stands = standing(course, passed);
      const { ready, next } = ahead(course, stands);
      const badge = (name) => (name === next ? "next" : ready.includes(name) ? "ready" : "");
      for (const item of items)
        mark(item, stands[item.dataset.lesson], badge(item.dataset.lesson));
      told.textContent = summary(course, stands, next);
      forget.hidden = false;
    };

    input.addEventListener("click", () => (input.value = "")); // the same file may be chosen again
    input.addEventListener("change", async () => {
      const [file] = input.files;
      if (!file) return;
      const passed = passedChecks(await textOf(file), course);
      if (input.files[0] !== file) return; // another was chosen meanwhile
      if (!passed) {
        told.textContent = `${quoted(file.name)} is not a progress file. ${CHOOSE}`;
        return;
      }
      show(passed);
      const text = JSON.stringify(passed);
      if (stored((storage) => (storage.setItem(KEY, text), true))) return;
      told.textContent += " This browser does not keep it: choose the file again next time.";
    });
    forget.addEventListener("click", () => {
      stored((storage) => storage.removeItem(KEY));
      items.forEach(unmark);
      told.textContent = "Forgotten: this browser keeps nothing of your progress.";
      input.value = "";
      forget.hidden = true;
      input.focus(); // the button that had it is gone
    });

    stand.hidden = false;
    const before = passedChecks(stored((storage) => storage.getItem(KEY)) ?? "", course);
    if (before) show(before);
    light(map, items);
  }

  // the arrows to and from the lesson that has the focus or the pointer
  function light(map, items) {
    const lit = (number, on) => {
      const arrows = `path[data-from="${number}"], path[data-to="${number}"]`;
      for (const path of map.querySelectorAll(arrows)) path.toggleAttribute("data-lit", on);
    };
    for (const item of items) {
      const number = Number(item.dataset.lesson.split("_")[0]);
      for (const event of ["focusin", "pointerenter"])
        item.addEventListener(event, () => lit(number, true));
      for (const event of ["focusout", "pointerleave"])
        item.addEventListener(event, () => lit(number, false));
    }
  }

  for (const map of document.querySelectorAll(".course-map")) begin(map);
}
