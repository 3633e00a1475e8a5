// A part of a plane through a network, to pan and to zoom into beyond its samples.
"use strict";

const byId = (id) => document.getElementById(id);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
const short = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(4))) : "–");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Values of a network as bytes of a picture.
const COLOURS = {
  1: (v, at, out, to) => { out[to] = out[to + 1] = out[to + 2] = 255 * v[at]; out[to + 3] = 255; },
  2: (v, at, out, to) => { out[to] = out[to + 1] = out[to + 2] = 255 * v[at]; out[to + 3] = 255 * v[at + 1]; },
  3: (v, at, out, to) => { for (let i = 0; i < 3; i++) out[to + i] = 255 * v[at + i]; out[to + 3] = 255; },
  4: (v, at, out, to) => { for (let i = 0; i < 4; i++) out[to + i] = 255 * v[at + i]; },
};

function painter({ channels, magnitude, window: ends }) {
  if (ends) {
    const plain = painter({ channels, magnitude }), scaled = new Float32Array(channels);
    return (v, at, out, to) => {
      for (let i = 0; i < channels; i++) scaled[i] = (v[at + i] - ends[0]) / (ends[1] - ends[0]);
      plain(scaled, 0, out, to);
    };
  }
  if (!magnitude) return COLOURS[channels];
  return (v, at, out, to) => {
    let square = 0;
    for (let i = 0; i < channels; i++) square += v[at + i] ** 2;
    out[to] = out[to + 1] = out[to + 2] = 255 * Math.sqrt(square);
    out[to + 3] = 255;
  };
}

// Steps in pixels of a picture's passes: the first within `budget` ms, the last at 1.
function passes(points, pace, workers, budget = 70) {
  if (!pace) return [8, 2, 1];
  const ms = points / (pace * workers), first = Math.ceil(Math.sqrt(ms / budget));
  if (first <= 1) return [1];
  return first > 4 ? [Math.min(first, 16), 3, 1] : [first, 1];
}

// Drags, pinches, wheels and keys of an element as moves: onDrag(dx, dy, first, last),
// onZoom(factor, x, y), onReset(). Positions are in device pixels of the canvas.
function gestures(canvas, { onDrag, onZoom, onReset, onHover }) {
  const down = new Map();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * canvas.width / box.width,
      (event.clientY - box.top) * canvas.height / box.height];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), before = down.get(event.pointerId);
    if (!before) return onHover?.(...now);
    if (down.size === 1) onDrag(now[0] - before[0], now[1] - before[1], now);
    else {
      const other = [...down.entries()].find(([id]) => id !== event.pointerId)[1];
      const apart = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
      onZoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    down.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      const at = down.get(event.pointerId);
      down.delete(event.pointerId);
      if (at && !down.size) onDrag(0, 0, at, true);
    });
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    onZoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", () => onReset());
  const step = () => canvas.width / 10;
  const keys = {
    ArrowLeft: () => onDrag(step(), 0), ArrowRight: () => onDrag(-step(), 0),
    ArrowUp: () => onDrag(0, step()), ArrowDown: () => onDrag(0, -step()),
    "+": () => onZoom(1.5, canvas.width / 2, canvas.height / 2),
    "=": () => onZoom(1.5, canvas.width / 2, canvas.height / 2),
    "-": () => onZoom(1 / 1.5, canvas.width / 2, canvas.height / 2),
    0: () => onReset(), Home: () => onReset(),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
}

// Make a canvas as many device pixels as it has on the screen; true if that is new. What
// it showed is stretched until it is drawn again.
function fitCanvas(canvas, aspect, most = 1600) {
  const width = Math.round(clamp(canvas.clientWidth * (window.devicePixelRatio || 1), 64, most));
  const height = Math.max(1, Math.round(width / aspect));
  if (canvas.width === width && canvas.height === height) return false;
  const before = document.createElement("canvas");
  before.width = canvas.width;
  before.height = canvas.height;
  before.getContext("2d").drawImage(canvas, 0, 0);
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").drawImage(before, 0, 0, width, height);
  return true;
}

// As wide as there is room for, and no higher than a window.
function shaped(canvas, aspect) {
  canvas.style.aspectRatio = String(aspect);
  canvas.style.maxWidth = `${(75 * aspect).toFixed(2)}vh`;
}

class Panel {
  // `plane`: {columns, rows, origin, across, down, aspect?}: field coordinates of sample
  // (column, row) are origin + column * across + row * down.
  constructor({ engine, name = "model", plane, paint, channels, label, onPick, onDrawn }) {
    Object.assign(this, { engine, name, plane, paint, channels, onPick, onDrawn });
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": label });
    shaped(this.canvas, this.aspect);
    this.layer = document.createElement("canvas");
    this.values = null;
    gestures(this.canvas, {
      onDrag: (dx, dy, at, last) => {
        if (this.onPick && at) return this.onPick(this.left + at[0] / this.zoom, this.top + at[1] / this.zoomDown);
        if (!last) this.move(this.left - dx / this.zoom, this.top - dy / this.zoomDown);
      },
      onZoom: (factor, x, y) => this.zoomAt(factor, x, y),
      onReset: () => this.reset(),
      onHover: (x, y) => this.onHover?.(this.left + x / this.zoom, this.top + y / this.zoomDown),
    });
  }

  get aspect() {
    return (this.plane.columns * (this.plane.pixel ?? 1)) / this.plane.rows;
  }

  // Device pixels of a sample, across and down.
  get zoom() { return this.scale; }
  get zoomDown() { return this.scale / (this.plane.pixel ?? 1); }

  reset() {
    fitCanvas(this.canvas, this.aspect);
    this.scale = this.canvas.width / this.plane.columns;
    this.move(0, 0);
  }

  resize() {
    const share = this.scale * this.plane.columns / this.canvas.width;
    if (!fitCanvas(this.canvas, this.aspect)) return;
    this.scale = share * this.canvas.width / this.plane.columns;
    this.move(this.left, this.top);
  }

  zoomAt(factor, x, y) {
    const least = this.canvas.width / this.plane.columns;
    const scale = clamp(this.scale * factor, least, 512 * least);
    const column = this.left + x / this.zoom, row = this.top + y / this.zoomDown;
    this.scale = scale;
    this.move(column - x / this.zoom, row - y / this.zoomDown);
  }

  move(left, top) {
    this.left = clamp(left, 0, Math.max(0, this.plane.columns - this.canvas.width / this.zoom));
    this.top = clamp(top, 0, Math.max(0, this.plane.rows - this.canvas.height / this.zoomDown));
    this.changed?.();
  }

  // What has to be evaluated to show what is in sight, coarse first.
  tasks(budget) {
    const { canvas, plane, engine } = this, { width, height } = canvas;
    const steps = passes(width * height, engine.pace, engine.workers.length, budget);
    return steps.flatMap((step, pass) => {
      const columns = Math.ceil(width / step), rows = Math.ceil(height / step);
      const off = (step - 1) / 2, picture = new ImageData(columns, rows);
      const at = (c, r) => plane.origin.map((o, i) =>
        o + (this.left + c / this.zoom) * plane.across[i] + (this.top + r / this.zoomDown) * plane.down[i]);
      const job = {
        type: "plane", columns, origin: at(off, off),
        across: plane.across.map((x) => x * step / this.zoom),
        down: plane.down.map((x) => x * step / this.zoomDown),
      };
      return tiles(job, rows, columns, engine.tile).map((part) => ({
        name: this.name, job: part, pass, points: columns * (part.to - part.from),
        then: (values) => this.show(values, part, picture, step),
      }));
    });
  }

  show(values, { columns, from, to }, picture, step) {
    const n = (to - from) * columns;
    for (let p = 0; p < n; p++) this.paint(values, p * this.channels, picture.data, 4 * (from * columns + p));
    const { layer, canvas } = this, context = canvas.getContext("2d");
    layer.width = columns;
    layer.height = to - from;
    layer.getContext("2d").putImageData(picture, 0, -from);
    context.imageSmoothingEnabled = step > 1;
    context.clearRect(0, from * step, columns * step, (to - from) * step);
    context.drawImage(layer, 0, from * step, columns * step, (to - from) * step);
    this.onDrawn?.(this);
  }
}
