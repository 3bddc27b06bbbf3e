// Opens a live view where a reader comes near it. Follows page.js of the course kit.
const NEAR = "600px"; // before it scrolls into sight

async function open(place) {
  const [answer, program] = await Promise.all([
    fetch(place.dataset.live),
    import(new URL(place.dataset.source, location.href)),
  ]);
  if (!answer.ok) throw new Error(`${answer.status}: ${answer.url}`);
  const told = await answer.json();
  const model = pageModel({ options: told.options, state: told.state }, told.data);
  program.default.render({ model, el: place });
}

const watching = new IntersectionObserver(
  (entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      watching.unobserve(target);
      // the picture beside it stays where the view does not open
      open(target).catch((error) => console.error(error));
    }
  },
  { rootMargin: NEAR },
);
const watch = () => {
  for (const place of document.querySelectorAll("[data-live]:empty")) watching.observe(place);
};
// on paper there are the pictures alone
addEventListener("beforeprint", () => watching.disconnect());
addEventListener("afterprint", watch);
watch();

// what is wider than the page scrolls by itself, so a keyboard must reach it
const reach = () => {
  for (const place of document.querySelectorAll("pre, .formula, .shown"))
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
};
// what is folded has no width yet
document.addEventListener("toggle", reach, true);
addEventListener("resize", reach);
reach();
