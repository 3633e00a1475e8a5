// A model in a page: what each kind of data looks like, and how one moves in it.
"use strict";

class PlaneViewer {
  constructor(view, engine, stage, say) {
    Object.assign(this, { view, engine, say });
    this.plane = { ...view };
    const paint = painter(view);
    this.panel = new Panel({ engine, plane: this.plane, paint, channels: view.channels, label: view.label });
    this.panel.changed = () => this.draw();
    this.panel.onHover = (column, row) => this.peek(column, row);
    stage.append(this.panel.canvas);
    if (view.frames) this.addTime(stage);
    new ResizeObserver(() => this.panel.resize()).observe(this.panel.canvas);
    this.panel.reset();
  }

  addTime(stage) {
    const slider = element("input", {
      type: "range", min: "0", max: String(this.view.frames - 1), step: "any", value: "0",
      id: "time", "aria-label": "time in frames",
    });
    const shown = element("output", { for: "time" }, "0");
    slider.addEventListener("input", () => this.setTime(Number(slider.value)));
    const play = element("button", { type: "button" }, "Play");
    play.addEventListener("click", () => {
      this.playing = !this.playing;
      play.textContent = this.playing ? "Stop" : "Play";
      if (this.playing) this.go(slider);
    });
    this.timeShown = shown;
    stage.append(element("div", { class: "control" }, element("label", { for: "time" }, "Frame"), slider, shown, play));
  }

  async go(slider) {
    while (this.playing) {
      const last = this.view.frames - 1, next = Number(slider.value) + 0.25;
      slider.value = String(next > last ? 0 : next);
      this.setTime(Number(slider.value));
      await Promise.all([this.engine.settled(), new Promise((done) => setTimeout(done, 30))]);
    }
  }

  setTime(frame) {
    this.plane.origin = this.view.origin.map((o, i) => o + frame * this.view.along[i]);
    this.timeShown.textContent = short(frame);
    return this.draw();
  }

  draw() {
    return this.engine.start(this.panel.tasks());
  }

  // The value under the pointer, in the units of the data.
  peek(column, row) {
    const { view, plane } = this;
    const point = plane.origin.map((o, i) => o + column * plane.across[i] + row * plane.down[i]);
    const values = [...valuesAt(point)].map((y) => view.low + (view.high - view.low) * y);
    const shown = view.magnitude ? [Math.hypot(...values)] : values;
    this.say(`column ${column.toFixed(2)}, row ${row.toFixed(2)}: ${shown.map(short).join(", ")}`);
  }

  // For whoever measures: the part (left, top) at `zoom` pixels a sample.
  look({ left, top, zoom }) {
    this.panel.scale = zoom;
    this.panel.move(left, top);
    return this.engine.settled();
  }
}

class VolumeViewer {
  constructor(view, engine, stage, say) {
    Object.assign(this, { view, engine, say });
    this.at = view.sides.map((n) => Math.floor(n / 2));
    const paint = painter(view), grid = element("div", { class: "planes" });
    // A plane shows two axes of the array; the third is its slider.
    this.panels = [[0, 1, 2], [0, 2, 1], [1, 2, 0]].map(([down, across, fixed]) => {
      const plane = {
        columns: view.sides[across], rows: view.sides[down], across: view.axes[across],
        down: view.axes[down], origin: [0, 0, 0],
        pixel: view.lengths[across] / view.lengths[down],
      };
      const label = `axes ${down} and ${across}, slice along axis ${fixed}`;
      const panel = new Panel({ engine, plane, paint, channels: view.channels, label });
      panel.onPick = (column, row) => this.go({ [across]: column, [down]: row });
      panel.onDrawn = () => this.cross(panel);
      panel.changed = () => this.draw();
      const slider = element("input", {
        type: "range", min: "0", max: String(view.sides[fixed] - 1), step: "any",
        value: String(this.at[fixed]), "aria-label": `slice along axis ${fixed}`,
      });
      slider.addEventListener("input", () => this.go({ [fixed]: Number(slider.value) }));
      const shown = element("output", {}, short(this.at[fixed]));
      Object.assign(panel, { slider, shown, fixed, across, down });
      grid.append(element("div", { class: "plane" }, panel.canvas,
        element("div", { class: "control" }, element("span", {}, `axis ${fixed}`), slider, shown)));
      return panel;
    });
    stage.append(grid);
    new ResizeObserver(() => this.panels.forEach((panel) => panel.resize())).observe(grid);
    this.quiet = true;
    this.panels.forEach((panel) => panel.reset());
    this.quiet = false;
    this.draw();
  }

  go(places) {
    for (const [axis, place] of Object.entries(places)) {
      this.at[axis] = clamp(place, 0, this.view.sides[axis] - 1);
    }
    return this.draw();
  }

  draw() {
    if (this.quiet) return undefined;
    for (const panel of this.panels) {
      const index = this.at[panel.fixed];
      panel.plane.origin = this.view.axes[panel.fixed].map((x) => x * index);
      panel.slider.value = String(index);
      panel.shown.textContent = short(index);
    }
    const { view } = this, point = [0, 1, 2].map((i) => this.at.reduce((sum, k, a) => sum + k * view.axes[a][i], 0));
    const values = [...valuesAt(point)].map((y) => view.low + (view.high - view.low) * y);
    const shown = view.magnitude ? [Math.hypot(...values)] : values;
    this.say(`voxel ${this.at.map(short).join(", ")}: ${shown.map(short).join(", ")}`);
    // Coarse passes of all three before the fine ones of any.
    const tasks = this.panels.flatMap((panel) => panel.tasks(40));
    return this.engine.start(tasks.sort((a, b) => a.pass - b.pass));
  }

  // The place of the other two slices, outside of the picture's middle.
  cross(panel) {
    if (!this.crosshair) return;
    const context = panel.canvas.getContext("2d"), { width, height } = panel.canvas;
    const x = (this.at[panel.across] - panel.left) * panel.zoom, y = (this.at[panel.down] - panel.top) * panel.zoomDown;
    context.fillStyle = "#d55e00";
    context.fillRect(x, 0, 1, height / 20);
    context.fillRect(0, y, width / 20, 1);
  }
}

class SeriesViewer {
  constructor(view, engine, stage, say) {
    Object.assign(this, { view, engine, say });
    this.canvas = element("canvas", { tabindex: "0", role: "img", class: "plot", "aria-label": view.label });
    stage.append(this.canvas);
    if (view.rate) {
      const play = element("button", { type: "button", id: "listen" }, "Listen");
      play.addEventListener("click", () => this.listen(play));
      stage.append(element("div", { class: "control" }, play, element("span", {},
        `${short(view.n / view.rate)} s at ${short(view.rate)} Hz`)));
    }
    gestures(this.canvas, {
      onDrag: (dx) => this.move(this.from - dx * this.span / this.canvas.width, this.span),
      onZoom: (factor, x) => {
        const at = this.from + x * this.span / this.canvas.width, span = this.span / factor;
        this.move(at - x * span / this.canvas.width, span);
      },
      onReset: () => this.move(0, view.n),
      onHover: (x) => this.peek(this.from + x * this.span / this.canvas.width),
    });
    new ResizeObserver(() => { if (fitCanvas(this.canvas, 3)) this.draw(); }).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    fitCanvas(this.canvas, 3);
    this.move(0, view.n);
  }

  move(from, span) {
    this.span = clamp(span, Math.min(8, this.view.n), this.view.n);
    this.from = clamp(from, 0, this.view.n - this.span);
    this.draw();
  }

  peek(k) {
    const { view } = this, values = [...valuesAt([k * view.step])];
    const time = view.rate ? ` (${short(k / view.rate)} s)` : "";
    this.say(`sample ${k.toFixed(2)}${time}: ${values.map((y) => short(view.low + (view.high - view.low) * y)).join(", ")}`);
  }

  // Values of `count` points from sample `from` on.
  async sample(from, span, count) {
    const { view } = this, c = view.channels, out = new Float32Array(count * c);
    const job = { type: "plane", columns: 1, origin: [from * view.step], across: [0], down: [span * view.step / count] };
    await this.engine.start(tiles(job, count, 1, this.engine.tile).map((part) => ({
      name: "model", job: part, pass: 0, points: part.to - part.from,
      then: (values) => out.set(values, part.from * c),
    })));
    return out;
  }

  async draw() {
    const width = this.canvas.width, each = clamp(Math.ceil(this.span / width), 1, 8), count = width * each;
    const shown = `${this.from} ${this.span} ${width}`;
    this.wanted = shown;
    const values = await this.sample(this.from, this.span, count);
    if (this.wanted !== shown) return;
    this.plot(values, each);
  }

  plot(values, each) {
    const { canvas, view } = this, { width, height } = canvas, c = view.channels;
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const [least, most] = view.window ?? [0, 1], pad = 8;
    const low = values.reduce((a, b) => Math.min(a, b), least), high = values.reduce((a, b) => Math.max(a, b), most);
    const y = (v) => height - pad - (v - low) / (high - low) * (height - 2 * pad);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = style.getPropertyValue("--rule");
    context.lineWidth = 1;
    for (const v of [least, (least + most) / 2, most]) {
      context.beginPath();
      context.moveTo(0, y(v));
      context.lineTo(width, y(v));
      context.stroke();
    }
    const ratio = window.devicePixelRatio || 1, inks = ["--accent", "--second", "--muted"];
    for (let k = 0; k < c; k++) {
      context.strokeStyle = style.getPropertyValue(inks[k % inks.length]);
      context.lineWidth = 1.5 * ratio;
      context.beginPath();
      for (let p = 0; p < values.length / c; p++) context.lineTo(p / each, y(values[p * c + k]));
      context.stroke();
    }
    context.fillStyle = style.getPropertyValue("--muted");
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    const unit = (v) => short(view.low + (view.high - view.low) * v);
    context.fillText(unit(most), 4, y(most) + 12 * ratio);
    context.fillText(unit(least), 4, y(least) - 4 * ratio);
    this.shown = values;
  }

  async listen(button) {
    if (this.source) return this.source.stop();
    const { view } = this, c = view.channels;
    button.textContent = "Evaluating…";
    const context = new AudioContext();
    const values = await this.sample(0, view.n, view.n), buffer = context.createBuffer(c, view.n, view.rate);
    for (let k = 0; k < c; k++) {
      const channel = buffer.getChannelData(k);
      for (let p = 0; p < view.n; p++) channel[p] = view.low + (view.high - view.low) * values[p * c + k];
      const most = channel.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      if (most > 1) for (let p = 0; p < view.n; p++) channel[p] /= most;
    }
    this.audio = buffer;
    const source = context.createBufferSource();
    Object.assign(source, { buffer });
    source.connect(context.destination);
    source.onended = () => { this.source = null; button.textContent = "Listen"; };
    source.start();
    this.source = source;
    button.textContent = "Stop";
    this.draw();
    return undefined;
  }
}

// What one turns: coarse while it moves, fine when it stands still.
class Turned {
  constructor(view, engine, stage, say, { aspect, label, most = 640 }) {
    Object.assign(this, { view, engine, say, aspect, most });
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": label, class: "turned" });
    shaped(this.canvas, aspect);
    this.layer = document.createElement("canvas");
    this.under = document.createElement("canvas");
    stage.append(this.canvas);
    fitCanvas(this.canvas, aspect, most);
    gestures(this.canvas, {
      onDrag: (dx, dy, at, last) => {
        this.turn(dx / this.canvas.width, dy / this.canvas.height);
        this.draw(at && !last);
      },
      onZoom: (factor) => {
        this.dolly(factor);
        this.draw(true);
        clearTimeout(this.rest);
        this.rest = setTimeout(() => this.draw(false), 250);
      },
      onReset: () => { this.reset(); this.draw(false); },
    });
    new ResizeObserver(() => { if (fitCanvas(this.canvas, aspect, most)) this.draw(false); }).observe(this.canvas);
    this.reset();
    this.draw(false);
  }

  get finest() { return Math.min(this.canvas.width, 320); }

  // Columns of the passes: what a fifth of a second has time for, then all there are.
  columns(moving) {
    const { pace, workers } = this.engine, { work } = this.job(16, 16, true);
    const rays = 200 * pace * workers.length / work;
    const first = clamp(Math.round(Math.sqrt(rays * this.aspect)), 24, this.finest);
    if (moving || first === this.finest) return [first];
    return 3 * first < this.finest ? [first, Math.round(this.finest / 2), this.finest] : [first, this.finest];
  }

  draw(moving) {
    const tasks = this.columns(moving).flatMap((columns, pass) => {
      const rows = Math.max(1, Math.round(columns / this.aspect));
      const still = columns === this.finest, picture = new ImageData(columns, rows);
      const { job, work } = this.job(columns, rows, !still);
      return tiles({ ...job, columns }, rows, columns * work, 2 * this.engine.tile).map((part) => ({
        name: "model", job: part, pass, points: columns * (part.to - part.from) * work,
        then: (values) => this.show(values, part, picture),
      }));
    });
    return this.engine.start(tasks);
  }

  // What is done of a pass, smoothly, over what the pass before has left below it.
  show(values, { columns, from, to }, picture) {
    this.paint(values, picture.data.subarray(4 * from * columns, 4 * to * columns));
    const { layer, canvas, under } = this, context = canvas.getContext("2d");
    if (this.picture !== picture) {
      Object.assign(this, { picture, done: new Set() });
      under.width = canvas.width;
      under.height = canvas.height;
      under.getContext("2d").drawImage(canvas, 0, 0);
    }
    for (let r = from; r < to; r++) this.done.add(r);
    let ready = 0;
    while (this.done.has(ready)) ready++;
    if (!ready) return;
    layer.width = columns;
    layer.height = ready;
    layer.getContext("2d").putImageData(picture, 0, 0);
    const bottom = ready * canvas.height / picture.height;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.drawImage(under, 0, 0);
    context.clearRect(0, 0, canvas.width, bottom);
    context.imageSmoothingEnabled = true;
    context.drawImage(layer, 0, 0, canvas.width, bottom);
  }
}

const cross3 = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm3 = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };

class SurfaceViewer extends Turned {
  constructor(view, engine, stage, say) {
    super(view, engine, stage, say, { aspect: 1, label: view.label });
  }

  reset() {
    this.azimuth = 145;
    this.elevation = 30;
    const { low, high } = this.view;
    this.middle = low.map((x, i) => 0.5 * (x + high[i]));
    this.radius = 0.95 * Math.hypot(...high.map((x, i) => x - low[i]));
  }

  turn(dx, dy) {
    this.azimuth -= 180 * dx;
    this.elevation = clamp(this.elevation + 120 * dy, -89, 89);
  }

  dolly(factor) { this.radius = clamp(this.radius / factor, 0.2, 6); }

  axes() {
    const a = this.azimuth * Math.PI / 180, e = this.elevation * Math.PI / 180;
    const back = [-Math.sin(a) * Math.cos(e), Math.sin(e), Math.cos(a) * Math.cos(e)];
    const right = norm3(cross3([0, 1, 0], back));
    return [...right, ...cross3(back, right), ...back];
  }

  job(columns, rows, moving) {
    const axes = this.axes(), { low, high, distance, longest, level } = this.view, steps = moving ? 48 : 128;
    const job = {
      type: "surface", axes, position: this.middle.map((m, i) => m + this.radius * axes[6 + i]),
      focal: 1.1 * columns, centre: [(columns - 1) / 2, (rows - 1) / 2], low, high, distance, longest, level: level ?? 0, steps,
    };
    return { job, work: steps / 3 };
  }

  paint(values, out) {
    const axes = this.axes(), light = norm3([0, 1, 2].map((i) => 0.5 * axes[i] + 0.7 * axes[3 + i] + axes[6 + i]));
    for (let p = 0; p < values.length / 4; p++) {
      if (!values[4 * p]) { out[4 * p + 3] = 0; continue; }
      const lit = values[4 * p + 1] * light[0] + values[4 * p + 2] * light[1] + values[4 * p + 3] * light[2];
      const shade = 0.25 + 0.75 * Math.max(0, lit);
      out.set([224 * shade, 214 * shade, 200 * shade, 255], 4 * p);
    }
  }
}

class SceneViewer extends Turned {
  constructor(view, engine, stage, say) {
    super(view, engine, stage, say, { aspect: view.size[1] / view.size[0], label: view.label });
  }

  get finest() {
    const { server } = this.engine.options, own = Math.min(this.canvas.width, this.view.size[1]);
    return server ? (server.gpu ? this.canvas.width : own) : Math.min(own, 200);
  }

  reset() {
    this.pose = this.view.poses[0].map((row) => [...row]);
    this.moved = [0, 0, 0];
  }

  // Around the scene; before a forward-facing one, from side to side.
  turn(dx, dy) {
    const { orbit, ndc } = this.view;
    if (ndc) {
      this.moved[0] = clamp(this.moved[0] - 4 * dx, -1.5, 1.5);
      this.moved[1] = clamp(this.moved[1] + 4 * dy, -1.5, 1.5);
      const [x, y] = [this.moved[0] * orbit.radii[0], this.moved[1] * orbit.radii[1]];
      const back = norm3([x, y, orbit.depth]), right = norm3(cross3([0, 1, 0], back)), up = cross3(back, right);
      this.pose = [0, 1, 2].map((i) => [right[i], up[i], back[i], [x, y, this.moved[2]][i]]);
      return;
    }
    const up = norm3(orbit.up);
    this.spin(up, -Math.PI * dx);
    const back = this.pose.map((row) => row[2]), high = back.reduce((sum, b, i) => sum + b * up[i], 0);
    const angle = -2 * dy;
    if (Math.abs(Math.asin(clamp(high, -1, 1)) - angle) < 1.45) this.spin(norm3(this.pose.map((row) => row[0])), angle);
  }

  // Rodrigues' rotation of the camera about the centre of the scene.
  spin(axis, angle) {
    const c = Math.cos(angle), s = Math.sin(angle), centre = this.view.orbit.centre;
    const turned = (v) => {
      const along = v.reduce((sum, x, i) => sum + x * axis[i], 0), side = cross3(axis, v);
      return v.map((x, i) => x * c + side[i] * s + axis[i] * along * (1 - c));
    };
    const columns = [0, 1, 2].map((k) => turned(this.pose.map((row) => row[k])));
    const place = turned(this.pose.map((row, i) => row[3] - centre[i]));
    this.pose = [0, 1, 2].map((i) => [columns[0][i], columns[1][i], columns[2][i], place[i] + centre[i]]);
  }

  dolly(factor) {
    const { orbit, ndc } = this.view;
    if (ndc) {
      this.moved[2] = clamp(this.moved[2] - 0.3 * Math.log(factor) * orbit.depth, -0.2 * orbit.depth, 0.5 * orbit.depth);
      return this.turn(0, 0);
    }
    this.pose.forEach((row, i) => { row[3] = orbit.centre[i] + (row[3] - orbit.centre[i]) / factor; });
    return undefined;
  }

  // The camera in the field's coordinates.
  placed() {
    const { low, side, stretch } = this.view;
    if (this.view.ndc) return this.pose.flat();
    return this.pose.flatMap((row, i) => [...row.slice(0, 3).map((x) => x / (side * stretch)), (row[3] - low[i]) / side]);
  }

  job(columns, rows, moving) {
    const { view } = this, samples = moving ? Math.min(32, view.samples) : view.samples;
    return { work: samples, job: {
      type: "scene", pose: this.placed(), lens: view.lens, ndc: view.ndc, step: view.size[1] / columns,
      samples, ends: view.ends, background: view.background,
    } };
  }

  paint(values, out) {
    for (let p = 0; p < values.length / 3; p++) {
      for (let i = 0; i < 3; i++) out[4 * p + i] = 255 * values[3 * p + i];
      out[4 * p + 3] = 255;
    }
  }
}

const VIEWERS = {
  plane: PlaneViewer, volume: VolumeViewer, series: SeriesViewer, surface: SurfaceViewer, scene: SceneViewer,
};

// One point, evaluated on this thread.
let nearby = null;
function valuesAt(point) {
  nearby ??= new Evaluator(window.passband.engine.networks.model, ["script"]);
  return nearby.values(Float32Array.from(point), 1);
}

function openModel() {
  const data = JSON.parse(byId("data").textContent);
  const engine = new Engine({ model: data.network }, data.options ?? {});
  window.passband = { data, engine };
  const say = (text) => { byId("readout").textContent = text; };
  engine.ready.then((backend) => {
    byId("backend").textContent = backend;
    window.passband.viewer = new VIEWERS[data.view.type](data.view, engine, byId("stage"), say);
  });
}
openModel();
