// Opens a live view where a reader comes near it. Follows page.js of the course kit.
const NEAR = "600px"; // before it scrolls into sight

async function open(place) {
  const source = new URL(place.dataset.source, location.href);
  const [told, program] = await Promise.all([
    fetch(place.dataset.live).then((answer) => answer.json()),
    import(source),
  ]);
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
for (const place of document.querySelectorAll("[data-live]")) watching.observe(place);
// what is wider than the page scrolls by itself, so a keyboard must reach it
for (const place of document.querySelectorAll("pre, .formula, .shown"))
  if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
// on paper there are the pictures alone
addEventListener("beforeprint", () => watching.disconnect());
