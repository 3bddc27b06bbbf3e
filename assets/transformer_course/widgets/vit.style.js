// The explorer's own style rules, kept inside its element.
export const STYLE = `
.course-view :is(.vit-draw, .vit-seen, .vit-answer, .vit-maps) { min-width: 0; max-width: 100% }
.course-view .vit-maps { flex: 1 1 100%; padding-top: 8px; border-top: 1px solid var(--line) }
.course-view .vit-draw { width: 312px }
.course-view .vit-seen { width: 244px }
.course-view .vit-draw .controls { margin-bottom: 6px; gap: 6px 10px }
.course-view .controls:empty { display: none }
.course-view .vit-draw canvas { display: block }
.course-view .vit-row { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start }
.course-view p { margin: 2px 0 }
.course-view .vit-said { font-size: 15px; font-weight: 600; min-height: 1.4em }
.course-view .vit-keys { visibility: hidden }
.course-view .vit-draw canvas:focus ~ .vit-keys { visibility: visible }
.course-view .vit-table { max-width: 100%; overflow-x: auto }
.course-view .vit-table summary { padding: 4px 0 }
.course-view .vit-table :is(th, td) { white-space: nowrap }
.course-view input[type="range"] { height: 24px }
.course-view input[type="checkbox"] { width: 24px; height: 24px; margin: 0; flex: none }
.course-view label:has(input:disabled) { opacity: 0.6 }
@media (max-width: 600px) {
  .course-view :is(.vit-draw, .vit-seen) { width: 100% }
  .course-view .vit-draw canvas { width: 100% !important }
  .course-view .vit-said { min-height: 2.8em }
}
@media (pointer: coarse) {
  .course-view :is(select, button, input, summary) { min-height: 44px }
  .course-view button { min-width: 44px }
  .course-view input[type="checkbox"] { width: 44px; height: 44px }
  .course-view .vit-keys { display: none }
}
`;
