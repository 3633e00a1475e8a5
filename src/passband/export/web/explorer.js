// The explorer: a slider of sigma, the picture as the network has it, and the theory.
"use strict";

class Explorer {
  constructor(data) {
    this.data = data;
    this.engine = new Engine(data.networks, data.options ?? {});
    this.state = { family: "gaussian", layers: data.layers.includes(3) ? 3 : data.layers[0], place: {} };
    for (const family of data.families) this.state.place[family.name] = Math.floor(family.values.length / 2);
    this.state.place.gaussian = this.best("gaussian", this.state.layers);
    this.times = [];
    this.canvas = byId("picture");
    this.target = picture(data.target, data.side, data.channels);
    this.paint = painter({ channels: data.channels });
    this.listen();
    this.ready = this.engine.ready.then(async (backend) => {
      byId("backend").textContent = backend;
      await this.draw();
      await this.draw(); // the second time at full speed: what is compiled on the way is
      return backend;
    });
    this.describe();
    this.row = new RowStudy(data.row);
  }

  family(name = this.state.family) { return this.data.families.find((f) => f.name === name); }
  network(name, place, layers) {
    return this.data.networks[`${name} ${tidyKey(this.family(name).values[place])} ${layers}`];
  }
  get key() {
    const { family, layers, place } = this.state;
    return `${family} ${tidyKey(this.family().values[place[family]])} ${layers}`;
  }
  get current() { return this.data.networks[this.key]; }

  best(name, layers) {
    const scores = this.family(name).values.map((_, k) => this.network(name, k, layers).test);
    return scores.indexOf(Math.max(...scores));
  }

  listen() {
    const { data, state } = this, slider = byId("sigma");
    slider.addEventListener("input", () => this.move({ place: Number(slider.value) }));
    for (const input of document.querySelectorAll("input[name=family]")) {
      input.checked = input.value === state.family;
      input.addEventListener("change", () => this.move({ family: input.value }));
    }
    for (const input of document.querySelectorAll("input[name=layers]")) {
      input.checked = Number(input.value) === state.layers;
      input.addEventListener("change", () => this.move({ layers: Number(input.value) }));
    }
    const button = byId("original");
    button.addEventListener("click", () => {
      this.original = !this.original;
      button.setAttribute("aria-pressed", String(this.original));
      button.textContent = this.original ? "Show the network" : "Show the picture itself";
      this.draw();
    });
    this.canvas.width = this.canvas.height = data.side;
  }

  // A control has moved: the picture first, then all that is said of it.
  move({ place, family, layers }) {
    const { state } = this;
    if (family !== undefined) state.family = family;
    if (layers !== undefined) state.layers = layers;
    if (place !== undefined) state.place[state.family] = place;
    const drawn = this.draw();
    this.tell();
    clearTimeout(this.later); // plots can wait for the picture
    return drawn.then(() => { this.later = setTimeout(() => this.describe()); });
  }

  async draw() {
    const { data, canvas, engine } = this, context = canvas.getContext("2d"), began = performance.now();
    if (this.original) return context.putImageData(this.target, 0, 0);
    const n = data.side, image = new ImageData(n, n), name = this.key;
    const job = { type: "plane", columns: n, origin: [0, 0], across: [1 / n, 0], down: [0, 1 / n] };
    let left = n;
    await engine.start(tiles(job, n, n, 8192).map((part) => ({
      name, job: part, pass: 0, points: n * (part.to - part.from),
      then: (values) => {
        const c = data.channels, count = n * (part.to - part.from);
        for (let p = 0; p < count; p++) this.paint(values, p * c, image.data, 4 * (part.from * n + p));
        left -= part.to - part.from;
        if (left) return;
        context.putImageData(image, 0, 0);
        const ms = performance.now() - began;
        this.times.push(ms);
        byId("time").textContent = `${Math.round(ms)} ms`;
      },
    })));
    return undefined;
  }

  // The numbers that go with the network.
  tell() {
    const { state } = this, family = this.family(), place = state.place[state.family];
    const net = this.current, slider = byId("sigma"), value = family.values[place];
    slider.max = String(family.values.length - 1);
    slider.value = String(place);
    slider.disabled = family.values.length < 2;
    slider.setAttribute("aria-valuetext", `${family.scale} ${value} ${family.unit}`);
    byId("sigma-name").textContent = family.scale;
    byId("sigma-value").textContent = family.values.length < 2 ? "–" : `${short(value)} ${family.unit}`;
    byId("word").textContent = net.word;
    byId("train").textContent = `${net.train.toFixed(2)} dB`;
    byId("test").textContent = `${net.test.toFixed(2)} dB`;
    byId("verdict").textContent = this.verdict(family, place, net);
  }

  // The plots.
  describe() {
    this.tell();
    const { data, state } = this, family = this.family(), place = state.place[state.family];
    const net = this.current, value = family.values[place];
    const scores = family.values.map((_, k) => this.network(family.name, k, state.layers));
    const all = scores.flatMap((s) => [s.train, s.test]), many = family.values.length > 1;
    const ends = many ? { from: family.values[0], to: family.values[family.values.length - 1] } : { from: 0.5, to: 2 };
    drawPlot(byId("curve"), {
      title: "PSNR of trained and of held-out pixels against the scale", mark: value,
      x: { ...ends, log: family.name === "gaussian", label: `${family.scale}, ${family.unit}` },
      y: { from: Math.floor(Math.min(...all) / 5) * 5, to: Math.ceil(Math.max(...all) / 5) * 5, label: "PSNR, dB" },
      lines: [
        { points: scores.map((s, k) => [family.values[k], s.train]), ink: "--second", dots: many ? undefined : 4 },
        { points: scores.map((s, k) => [family.values[k], s.test]), ink: "--accent", dots: many ? undefined : 4 },
      ],
      notes: [
        { at: [0.98, 0.07], text: "trained pixels", anchor: "end", ink: "--second" },
        { at: [0.98, 0.15], text: "pixels between", anchor: "end", ink: "--accent" },
        ...(many ? [{ at: [0.02, 0.96], text: "← too smooth" }, { at: [0.98, 0.96], text: "noise →", anchor: "end" }] : []),
      ],
    });
    this.frequencies(net, value);
    this.kernel(net.kernel);
    const bins = (list) => list.map((p, k) => [k + 1, p]);
    drawPlot(byId("spectra"), {
      title: "power of the kernel and of the picture by frequency",
      x: { from: 1, to: data.side / 4, log: true, label: "frequency, cycles per side" },
      y: { from: 1e-6, to: 10, log: true, label: "power" },
      lines: [
        { points: bins(data.spectrum), ink: "--muted" },
        { points: bins(net.kernel.power), ink: "--accent" },
      ],
      notes: [
        { at: [0.03, 0.88], text: "the picture", ink: "--muted" },
        { at: [0.03, 0.96], text: "the kernel", ink: "--accent" },
      ],
    });
  }

  verdict(family, place, net) {
    const best = this.best(family.name, this.state.layers), top = this.network(family.name, best, this.state.layers);
    if (family.values.length < 2) {
      return `Without more frequencies the network stays smooth: ${net.test.toFixed(1)} dB between the trained pixels.`;
    }
    if (place === best) return "The best of these scales: it shows the most of the pixels it has not seen.";
    const lost = (top.test - net.test).toFixed(1);
    return place < best
      ? `Too low: the network is too smooth, ${lost} dB below the best scale on pixels it has not seen.`
      : `Too high: it has learned the trained pixels to ${net.train.toFixed(1)} dB and invents what lies between, ${lost} dB below the best scale.`;
  }

  // The rows of B as points of the frequency plane.
  frequencies(net, value) {
    const { data } = this, e = net.spec.encoding, reach = data.side / 4 * 1.5, lines = [];
    const span = { from: -reach, to: reach };
    if (e.type === "fourier") {
      net.numbers ??= numbersOf(net.weights);
      const B = net.numbers.subarray(0, 2 * e.m), points = [];
      for (let j = 0; j < e.m; j++) points.push([B[2 * j], B[2 * j + 1]], [-B[2 * j], -B[2 * j + 1]]);
      lines.push({ points, ink: "--accent", dots: 2.2 });
    }
    const ring = (r) => Array.from({ length: 65 }, (_, k) => [r * Math.cos(k * Math.PI / 32), r * Math.sin(k * Math.PI / 32)]);
    lines.unshift({ points: ring(data.side / 4), ink: "--muted", dashes: "4 3" });
    if (this.state.family === "gaussian") lines.push({ points: ring(value), ink: "--second" });
    drawPlot(byId("drawn"), {
      title: "the frequencies that were drawn", x: { ...span, label: "cycles per side, across" },
      y: { ...span, label: "down" }, lines, square: true,
      notes: [{ at: [0.02, 0.07], text: e.type === "fourier" ? `${e.m} rows of B, mirrored` : "none: the coordinates themselves" },
        { at: [0.02, 0.97], text: "dashed: Nyquist of what trains" }],
    });
  }

  kernel({ picture: bytes, cut }) {
    const canvas = byId("kernel"), raw = new Uint8Array(bytesOf(bytes)), n = Math.sqrt(raw.length);
    canvas.width = canvas.height = n;
    const image = new ImageData(n, n);
    raw.forEach((v, k) => image.data.set([v, v, v, 255], 4 * k));
    canvas.getContext("2d").putImageData(image, 0, 0);
    drawPlot(byId("cut"), {
      title: "the kernel across the middle", x: { from: -0.5, to: 0.5, label: "distance from the middle, sides" },
      y: { from: Math.min(0, ...cut), to: 1.05, label: "kernel" },
      lines: [{ points: cut.map((v, k) => [k / (cut.length - 1) - 0.5, v]), ink: "--accent" }],
    });
  }
}

const tidyKey = (value) => String(Number(value.toPrecision(6)));

// Raw bytes as a picture.
function picture(text, side, channels) {
  const raw = new Uint8Array(bytesOf(text)), image = new ImageData(side, side);
  for (let p = 0; p < side * side; p++) {
    for (let i = 0; i < 3; i++) image.data[4 * p + i] = raw[p * channels + Math.min(i, channels - 1)];
    image.data[4 * p + 3] = 255;
  }
  return image;
}

// One row of the picture by plain gradient descent, and what the kernel predicts.
class RowStudy {
  constructor(data) {
    this.data = data;
    this.kind = "p";
    this.place = { p: 2, sigma: 2, none: 0 };
    const slider = byId("power");
    slider.addEventListener("input", () => { this.place[this.kind] = Number(slider.value); this.draw(); });
    for (const input of document.querySelectorAll("input[name=row]")) {
      input.checked = input.value === this.kind;
      input.addEventListener("change", () => { this.kind = input.value; this.draw(); });
    }
    this.draw();
  }

  draw() {
    const { data, kind } = this, place = this.place[kind], word = data.words[kind][place], net = data.networks[word];
    const values = { p: data.powers, sigma: data.scales, none: ["–"] }[kind], slider = byId("power");
    slider.max = String(values.length - 1);
    slider.value = String(place);
    slider.disabled = values.length < 2;
    byId("power-name").textContent = { p: "p", sigma: "sigma", none: "no mapping" }[kind];
    byId("power-value").textContent = `${values[place]}${kind === "sigma" ? " cycles" : ""}`;
    slider.setAttribute("aria-valuetext", `${kind}: ${values[place]}`);
    byId("row-word").textContent = word;
    byId("row-train").textContent = net.train.toPrecision(3);
    byId("row-test").textContent = net.test.toPrecision(3);
    const n = data.signal.length, at = (list) => list.map((v, k) => [k / n, v]);
    const most = Math.max(...data.signal.map(Math.abs)) * 1.3;
    drawPlot(byId("signal"), {
      title: "the row, its trained points and what the network has learned",
      x: { from: 0, to: 1, label: "place in the row" }, y: { from: -most, to: most, label: "grey, about its mean" },
      lines: [
        { points: at(data.signal), ink: "--muted", dashes: "4 3" },
        { points: at(net.learned), ink: "--accent" },
        { points: at(data.signal).filter((_, k) => k % data.every === 0), ink: "--second", dots: 2.5 },
      ],
    });
    const inks = ["--second", "--third", "--accent"], bands = ["measured", "predicted"];
    const all = Object.values(data.networks).flatMap((m) => bands.flatMap((b) => m[b].flat())).filter((v) => v > 0);
    drawPlot(byId("bands"), {
      title: "what is left of each band of frequencies over the steps, measured and predicted",
      x: { from: 0, to: data.steps[data.steps.length - 1], label: "steps of gradient descent" },
      y: { from: Math.max(1e-3, Math.min(...all)), to: Math.max(...all) * 1.3, log: true, label: "error of the band" },
      lines: data.bands.flatMap((_, b) => bands.map((which) => ({
        points: net[which][b].map((v, k) => [data.steps[k], v]), ink: inks[b], dashes: which === "predicted" ? "5 4" : undefined,
      }))),
      notes: data.bands.map((f, b) => ({ at: [0.98, 0.07 + 0.08 * b], anchor: "end", ink: inks[b], text: `${f} cycle${f > 1 ? "s" : ""}` })),
    });
    drawPlot(byId("row-spectra"), {
      title: "power of the kernel and of the row by frequency",
      x: { from: 1, to: data.spectrum.length - 1, log: true, label: "frequency, cycles per row" },
      y: { from: 1e-6, to: 10, log: true, label: "power" },
      lines: [
        { points: data.spectrum.map((p, k) => [k, p]).slice(1), ink: "--muted" },
        { points: net.power.map((p, k) => [k, p]).slice(1), ink: "--accent" },
      ],
      notes: [{ at: [0.03, 0.88], text: "the row", ink: "--muted" }, { at: [0.03, 0.96], text: "the kernel", ink: "--accent" }],
    });
  }
}

window.passband = { explorer: new Explorer(JSON.parse(byId("data").textContent)) };
