// a live view's program, as the kit puts it together, as an address that `import` takes
import { readdirSync, readFileSync } from "node:fs";

const kit = new URL("../../../assets/transformer_course/widgets/", import.meta.url);

export function address(kind) {
  const further = readdirSync(kit).filter((name) => name.startsWith(`${kind}.`) && name.split(".").length > 2);
  const layers = further.length ? ["layers.js"] : [];
  const files = ["view.js", "paint.js", "chart.js", ...layers, ...further.sort(), `${kind}.js`];
  const parts = files.map((name) => readFileSync(new URL(name, kit)));
  return `data:text/javascript;base64,${Buffer.concat(parts).toString("base64")}`;
}
