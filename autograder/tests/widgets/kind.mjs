// a live view's program, as the kit puts it together, as an address that `import` takes
import { readFileSync } from "node:fs";

const kit = new URL("../../../assets/transformer_course/widgets/", import.meta.url);

export function address(kind) {
  const parts = ["view", "paint", "chart", kind].map((part) => readFileSync(new URL(`${part}.js`, kit)));
  return `data:text/javascript;base64,${Buffer.concat(parts).toString("base64")}`;
}
