// Small plots as SVG, in the inks of the page.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const tidy = (x) => String(Number(x.toPrecision(3)));

// Ticks of an axis: powers of ten or two where it is logarithmic, round numbers else.
function ticksOf({ from, to, log }) {
  if (log) {
    const base = to / from > 300 ? 10 : 2, out = [];
    for (let k = Math.ceil(Math.log(from) / Math.log(base) - 1e-9); base ** k <= to * 1.0001; k++) out.push(base ** k);
    return out.length > 8 ? out.filter((_, k) => k % Math.ceil(out.length / 7) === 0) : out;
  }
  const rough = (to - from) / 5, ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * ten >= rough) * ten, out = [];
  for (let t = Math.ceil(from / step - 1e-9) * step; t <= to + 1e-9 * step; t += step) out.push(Math.abs(t) < 1e-12 ? 0 : t);
  return out;
}

const power = (x) => {
  const k = Math.round(Math.log10(x));
  return x >= 1e4 || x < 1e-2 ? `1e${k}` : tidy(x);
};

// `lines`: [{points: [[x, y], ...], ink, dashes?, dots?, label}]; `mark`: x of a rule.
function drawPlot(svg, { x, y, lines, mark, notes = [], title, square }) {
  const W = square ? 300 : 360, H = square ? 282 : 230, left = 52, right = 10, top = 12, bottom = 40;
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  const scale = ({ from, to, log }, low, high) => (value) => {
    const share = log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
    return low + clamp(share, -0.5, 1.5) * (high - low);
  };
  const px = scale(x, left, W - right), py = scale(y, H - bottom, top), parts = [];
  for (const t of ticksOf(x)) {
    parts.push(shape("line", { x1: px(t), x2: px(t), y1: top, y2: H - bottom, class: "grid" }));
    parts.push(shape("text", { x: px(t), y: H - bottom + 14, class: "tick", "text-anchor": "middle" }, x.log ? power(t) : tidy(t)));
  }
  for (const t of ticksOf(y)) {
    parts.push(shape("line", { x1: left, x2: W - right, y1: py(t), y2: py(t), class: "grid" }));
    parts.push(shape("text", { x: left - 5, y: py(t) + 4, class: "tick", "text-anchor": "end" }, y.log ? power(t) : tidy(t)));
  }
  parts.push(shape("text", { x: (left + W - right) / 2, y: H - 6, class: "axis", "text-anchor": "middle" }, x.label));
  parts.push(shape("text", { x: 11, y: (top + H - bottom) / 2, class: "axis", "text-anchor": "middle",
    transform: `rotate(-90 11 ${(top + H - bottom) / 2})` }, y.label));
  if (mark !== undefined) parts.push(shape("line", { x1: px(mark), x2: px(mark), y1: top, y2: H - bottom, class: "mark" }));
  const clip = `clip-${svg.id}`;
  const defs = shape("defs", {}), path = shape("clipPath", { id: clip });
  path.append(shape("rect", { x: left, y: top, width: W - left - right, height: H - top - bottom }));
  defs.append(path);
  parts.push(defs);
  for (const { points, ink, dashes, dots } of lines) {
    const kept = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && !(x.log && a <= 0) && !(y.log && b <= 0));
    if (dots) {
      for (const [a, b] of kept) parts.push(shape("circle", { cx: px(a), cy: py(b), r: dots, fill: `var(${ink})`, "clip-path": `url(#${clip})` }));
    } else {
      const d = kept.map(([a, b], k) => `${k ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
      const line = { d, fill: "none", stroke: `var(${ink})`, "stroke-width": dashes ? 1.5 : 2, "clip-path": `url(#${clip})` };
      if (dashes) line["stroke-dasharray"] = dashes;
      parts.push(shape("path", line));
    }
  }
  for (const { at, text, anchor = "start", ink = "--muted" } of notes) {
    parts.push(shape("text", { x: left + at[0] * (W - left - right), y: top + at[1] * (H - top - bottom), class: "label",
      "text-anchor": anchor, style: `fill: var(${ink})` }, text));
  }
  svg.replaceChildren(...parts);
}
