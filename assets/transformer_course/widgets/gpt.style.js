// The explorer's own style rules, kept inside its element.
export const STYLE = `
.course-view .gpt-column { flex: 1 1 360px; min-width: 0; max-width: 100% }
.course-view .gpt-section {
  margin-bottom: 14px; padding-top: 6px; border-top: 1px solid var(--line);
}
.course-view .gpt-section p, .course-view .gpt-top p { margin: 2px 0 6px }
.course-view .gpt-prompt { display: flex; align-items: flex-start; margin-bottom: 6px }
.course-view .gpt-count { font-variant-numeric: tabular-nums }
.course-view .gpt-remark { min-height: 1.4em }
.course-view .gpt-text {
  font: 16px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
}
.course-view .gpt-text strong { text-decoration: underline; text-underline-offset: 3px }
.course-view textarea {
  flex: 1; min-width: 0; font: 16px/1.4 ui-monospace, monospace; color: inherit;
  background: color-mix(in srgb, var(--ink) 6%, transparent);
  border: 1px solid var(--line); border-radius: 4px;
}
.course-view .gpt-chips {
  display: flex; flex-wrap: wrap; gap: 3px; margin: 8px 0; padding: 2px; min-height: 44px;
  align-content: flex-start;
}
.course-view .gpt-chips span {
  min-width: 24px; padding: 1px 4px; text-align: center; cursor: pointer;
  box-sizing: border-box; overflow-wrap: anywhere;
  font: 14px/1.3 ui-monospace, monospace; border-radius: 4px; border: 2px solid transparent;
  background: color-mix(in srgb, var(--ink) 10%, transparent);
}
.course-view .gpt-chips .made { box-shadow: inset 0 -4px #0072b2; padding-bottom: 4px }
.course-view .gpt-chips [aria-selected="true"] { border-color: #d55e00 }
.course-view .gpt-chips small { display: block; font: 10px/1.2 system-ui, sans-serif }
.course-view .gpt-section table { width: 100%; table-layout: auto }
.course-view .gpt-section :is(th, td) { border: 0; padding: 2px 4px; white-space: nowrap }
.course-view .gpt-section tr { border-bottom: 1px solid var(--line) }
.course-view .gpt-next th { font-family: ui-monospace, monospace }
.course-view .gpt-next .gpt-bar { width: 50%; min-width: 80px }
.course-view .gpt-bar > div { position: relative; height: 18px }
.course-view .gpt-bar > div div { position: absolute; top: 2px; height: 14px; background: #0072b2 }
.course-view .gpt-bar .before {
  top: 0; height: 18px; box-sizing: border-box; background: none; border: 1.5px solid var(--ink);
}
.course-view .gpt-section .controls:empty { display: none }
.course-view .gpt-lens :is(td, tr:first-child th) { text-align: center }
.course-view .gpt-lens td { width: 19%; font-family: ui-monospace, monospace }
.course-view .gpt-lens td div { height: 4px; background: #0072b2 }
.course-view .gpt-lens small { display: block; font: 11px/1.2 system-ui, sans-serif }
.course-view .gpt-next .cut { opacity: 0.65 }
.course-view .gpt-switches {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(112px, 1fr)); gap: 2px 8px;
  align-items: center; margin-bottom: 6px;
}
.course-view .gpt-switches b { grid-column: 1 / -1 }
.course-view .gpt-switches label { min-height: 24px }
.course-view .gpt-switches input { width: 18px; height: 18px; margin: 0 }
.course-view .gpt-cache { display: flex; gap: 12px; align-items: center; margin-bottom: 6px }
.course-view .gpt-cache div {
  flex: 1; height: 18px; border: 1px solid var(--line);
  background:
    repeating-linear-gradient(
      to right, transparent 0 calc(var(--slot) - 1px), var(--line) 0 var(--slot)
    ),
    linear-gradient(to right, #0072b2 var(--read), #d55e00 0 var(--held), transparent 0);
  background-clip: padding-box;
}
.course-view .gpt-key { display: inline-block; width: 12px; height: 12px; margin-right: 4px }
.course-view .gpt-key.read { background: #0072b2 }
.course-view .gpt-key.new { background: #d55e00 }
.course-view .gpt-section input[type="range"] { min-height: 24px }
.course-view .gpt-top button:disabled { opacity: 0.55 }
/* colours that carry the meaning stay where the reader forces others */
.course-view :is(.gpt-bar div, .gpt-lens td div, .gpt-cache div, .gpt-key, .gpt-chips span) {
  forced-color-adjust: none;
}
@media (pointer: coarse) {
  .course-view :is(.gpt-top, .gpt-section) :is(button, select, input[type="range"]) {
    min-height: 44px;
  }
  .course-view .gpt-chips span { min-width: 44px; min-height: 44px }
  .course-view .gpt-switches label { min-height: 44px }
  .course-view .gpt-switches input { width: 24px; height: 24px }
}
`;
