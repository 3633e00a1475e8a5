"""Pictures laid over each other in a page, to swipe and to blink between them.

Without its script, and on paper, they stand side by side.
"""

import io
from collections.abc import Mapping

import numpy as np

from passband.export import report_page as html

LONGEST = 1024
"""Pixels along the longer side of an embedded picture."""

CSS = """
.layers { display: grid; gap: 1rem; margin-top: 0.75rem;
  grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
.layers > figure { margin: 0; }
.layers img { image-rendering: auto; background: none; padding: 0; }
.layers .near img { image-rendering: pixelated; }
figcaption { color: var(--muted); font-size: 0.9rem; margin-top: 0.2rem; }
.layers.live { display: block; } .layers.live > figure { display: none; }
.controls { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center;
  margin-bottom: 0.5rem; font-size: 0.92rem; }
.controls select, .controls button { font: inherit; color: inherit; max-width: 12rem;
  background: var(--soft); border: 1px solid var(--muted); border-radius: 4px;
  padding: 0.15rem 0.5rem; }
.controls button[aria-pressed=true] { background: var(--accent); color: var(--paper);
  border-color: var(--accent); }
.view { overflow: auto; max-height: 85vh; max-width: 48rem; touch-action: pan-y; }
.stage { position: relative; cursor: ew-resize; }
.stage img { display: block; width: 100%; user-select: none; }
.stage img + img { position: absolute; inset: 0; }
.stage i { position: absolute; top: 0; bottom: 0; width: 0;
  border-left: 2px solid #fff; outline: 1px solid rgb(0 0 0 / 0.6); }
.names { display: flex; justify-content: space-between; gap: 1rem;
  max-width: 48rem; font-size: 0.9rem; color: var(--muted); }
.names span + span { text-align: right; }
.divide { width: 100%; max-width: 48rem; margin: 0.4rem 0 0; display: block;
  accent-color: var(--accent); }
@media print { .layers.live { display: grid; }
  .layers.live > figure { display: block; }
  .controls, .view, .names, .divide { display: none !important; } }
"""

SCRIPT = """
for (const box of document.querySelectorAll(".layers")) {
  const layers = [...box.querySelectorAll("figure")].map(f => ({
    name: f.querySelector("b").textContent, note: f.querySelector("small").textContent,
    src: f.querySelector("img").src }));
  if (layers.length < 2) continue;
  const add = (parent, tag, more = {}) =>
    parent.appendChild(Object.assign(document.createElement(tag), more));
  const controls = add(box, "div", { className: "controls" });
  const pick = (label, names, start) => {
    const l = add(controls, "label", { textContent: label + " " });
    const s = add(l, "select");
    names.forEach((n, k) => add(s, "option", { value: k, textContent: n }));
    s.value = start;
    return s;
  };
  const names = layers.map(l => l.name);
  const left = pick("Left", names, 0), right = pick("Right", names, 1);
  const zoom = pick("Zoom", ["1 x", "2 x", "4 x", "8 x"], 0);
  const blink = add(controls, "button", { type: "button", textContent: "Blink" });
  const view = add(box, "div", { className: "view", tabIndex: 0 });
  view.setAttribute("aria-label", "Two pictures, one over the other");
  view.setAttribute("role", "group");
  const stage = add(view, "div", { className: "stage" });
  const under = add(stage, "img"), over = add(stage, "img"), line = add(stage, "i");
  const labels = add(box, "div", { className: "names" });
  const leftName = add(labels, "span"), rightName = add(labels, "span");
  const divide = add(box, "input", { type: "range", min: 0, max: 1000, value: 500,
    className: "divide" });
  divide.setAttribute("aria-label", "Where the left picture ends and the right begins");
  let timer = 0, second = false;
  const text = l => l.note ? l.name + ", " + l.note : l.name;
  const draw = () => {
    const a = layers[left.value], b = layers[right.value];
    const times = 2 ** zoom.value;
    if (under.src !== a.src) under.src = a.src;
    if (over.src !== b.src) over.src = b.src;
    under.alt = text(a); over.alt = text(b);
    leftName.textContent = timer && second ? "" : text(a);
    rightName.textContent = timer && !second ? "" : text(b);
    stage.style.width = 100 * times + "%";
    const wide = under.naturalWidth || 1;
    stage.className = stage.clientWidth > 1.9 * wide ? "stage near" : "stage";
    const at = view.scrollLeft + view.clientWidth * divide.value / 1000;
    line.style.display = timer ? "none" : "block";
    line.style.left = at + "px";
    over.style.clipPath = timer ? "none" : "inset(0 0 0 " + at + "px)";
    over.style.visibility = timer && !second ? "hidden" : "visible";
    blink.setAttribute("aria-pressed", timer ? "true" : "false");
  };
  blink.onclick = () => {
    if (timer) { clearInterval(timer); timer = 0; }
    else timer = setInterval(() => { second = !second; draw(); }, 600);
    draw();
  };
  const move = e => {
    if (e.buttons === 0) return;
    const r = view.getBoundingClientRect();
    divide.value = 1000 * (e.clientX - r.left) / r.width;
    draw();
  };
  stage.addEventListener("pointerdown", move);
  stage.addEventListener("pointermove", move);
  stage.addEventListener("dragstart", e => e.preventDefault());
  zoom.oninput = () => {
    const x = (view.scrollLeft + view.clientWidth / 2) / stage.clientWidth;
    const y = (view.scrollTop + view.clientHeight / 2) / stage.clientHeight;
    draw();
    view.scrollLeft = x * stage.clientWidth - view.clientWidth / 2;
    view.scrollTop = y * stage.clientHeight - view.clientHeight / 2;
    draw();
  };
  for (const s of [left, right, divide]) s.oninput = draw;
  view.onscroll = draw;
  under.onload = over.onload = draw;
  addEventListener("resize", draw);
  box.classList.add("live");
  draw();
}
"""


def swipe(layers: Mapping[str, np.ndarray], notes: Mapping[str, str]) -> str:
    """Pictures of one shape to be looked at in one place.

    One range of values serves all: that of the first, or 0 to 1 where it lies inside.

    Args:
        layers: (rows, cols) or (rows, cols, 3), by name; two or more.
        notes: what to say of each beside its name.
    """
    low, high = _range(next(iter(layers.values())))
    parts = []
    for name, values in layers.items():
        note = notes.get(name, "")
        data = html.data_address(png_of(values, low, high))
        alt = html.escape(f"{name}, {note}" if note else name)
        parts.append(
            f'<figure><img alt="{alt}" src="{data}"><figcaption>'
            f"<b>{html.escape(name)}</b> <small>{html.escape(note)}</small>"
            "</figcaption></figure>"
        )
    return f'<div class="layers">{"".join(parts)}</div>'


def png_of(values: np.ndarray, low: float, high: float) -> bytes:
    """A picture as a PNG file, with `low` black and `high` white."""
    from PIL import Image

    share = (np.nan_to_num(np.asarray(values, np.float32)) - low) / (high - low)
    image = Image.fromarray(np.round(255 * np.clip(share, 0, 1)).astype(np.uint8))
    longest = max(image.size)
    if longest > LONGEST:
        wide, tall = (max(1, round(n * LONGEST / longest)) for n in image.size)
        image = image.resize((wide, tall), Image.Resampling.BOX)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def _range(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if finite.size == 0 or not finite.max() > finite.min():
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low >= 0 and 0.5 < high <= 1:
        return 0.0, 1.0
    return (0.0, high) if 0 < low < 0.1 * high else (low, high)
