// Evaluates a coordinate network: y = output(W_L act(... act(W_1 gamma(v) + b_1) ...)).
//
// Three ways give the same numbers: WebGL2 where there is a GPU, WebAssembly with vectors
// of four, and plain loops, which the other two are checked against before they are used.
// Points go in blocks of 8: unit u of a block lies at [u * 8, u * 8 + 8), so that a vector
// holds one unit of four points.
"use strict";

const BLOCK = 8;
const TURN = [6.283185280261416, -41.34168066806313, 81.6024807428703,
  -76.58128455955777, 39.760722077962036];

// cos 2 pi t: whole turns are taken off while that is exact.
function cosTurns(t) {
  const r = 0.25 - Math.abs(t - Math.round(t)), u = r * r;
  return r * (TURN[0] + u * (TURN[1] + u * (TURN[2] + u * (TURN[3] + u * TURN[4]))));
}

const ACTIVATIONS = {
  relu: () => (y) => Math.max(y, 0),
  sine: (omega = 30) => (y) => Math.sin(omega * y),
  finer: (omega = 30) => (y) => Math.sin(omega * (Math.abs(y) + 1) * y),
  gauss: (s = 30) => (y) => Math.exp(-(s * y) * (s * y)),
  wire: (omega = 20, s = 10) => (y) => Math.cos(omega * y) * Math.exp(-(s * y) * (s * y)),
};
const SHADER_ACTIVATIONS = {
  relu: () => "max(y, 0.0)",
  sine: (omega = 30) => `sin(${omega.toFixed(8)} * y)`,
  finer: (omega = 30) => `sin(${omega.toFixed(8)} * (abs(y) + 1.0) * y)`,
  gauss: (s = 30) => `exp(-(${s.toFixed(8)} * y) * (${s.toFixed(8)} * y))`,
  wire: (omega = 20, s = 10) =>
    `cos(${omega.toFixed(8)} * y) * exp(-(${s.toFixed(8)} * y) * (${s.toFixed(8)} * y))`,
};
const OUTPUTS = {
  identity: (y) => y,
  sigmoid: (y) => 1 / (1 + Math.exp(-y)),
  tanh: Math.tanh,
};

function bytesOf(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return bytes.buffer;
}

// float16 numbers as float32.
function widened(halves) {
  const out = new Float32Array(halves.length);
  for (let k = 0; k < halves.length; k++) {
    const h = halves[k], e = (h >> 10) & 31, f = h & 1023, s = h & 0x8000 ? -1 : 1;
    out[k] = s * (e ? 2 ** (e - 15) * (1 + f / 1024) : 2 ** -14 * (f / 1024));
  }
  return out;
}

// {type: "float32"|"float16", data: base64} -> Float32Array
function numbersOf(packed) {
  const buffer = bytesOf(packed.data);
  return packed.type === "float16"
    ? widened(new Uint16Array(buffer)) : new Float32Array(buffer);
}

const up4 = (n) => Math.ceil(n / 4) * 4;

// One network as plain arrays, layers padded to outputs in fours.
// `spec`: {d, activation, scales, output, encoding: {type, ...}, layers: [[in, out], ...]};
// `take(n)` gives the next n numbers of the packed weights.
function readNetwork(spec, take) {
  const e = spec.encoding, net = { ...spec, encoding: { ...e }, layers: [] };
  if (e.type === "fourier") {
    net.encoding.B = take(e.m * spec.d);
    net.encoding.a = take(e.m);
    net.features = 2 * e.m;
  } else if (e.type === "identity") {
    net.encoding.scale = take(spec.d);
    net.encoding.shift = take(spec.d);
    net.features = spec.d;
  } else {
    net.encoding.levels = e.levels.map(([side, f]) => ({
      side, f, values: take(side ** spec.d * f),
    }));
    net.features = e.levels.reduce((sum, [, f]) => sum + f, 0);
  }
  let rows = net.features;
  for (const [fanIn, fanOut] of spec.layers) {
    const W = take(fanIn * fanOut), b = take(fanOut), wide = up4(fanOut);
    // Panels of four outputs: [wide / 4][rows][4].
    const panels = new Float32Array(rows * wide), bias = new Float32Array(wide);
    for (let i = 0; i < fanIn; i++) {
      for (let o = 0; o < fanOut; o++) {
        panels[((o >> 2) * rows + i) * 4 + (o & 3)] = W[i * fanOut + o];
      }
    }
    bias.set(b);
    net.layers.push({ rows, wide, fanOut, W: panels, b: bias });
    rows = wide;
  }
  net.channels = spec.layers[spec.layers.length - 1][1];
  net.act = ACTIVATIONS[spec.activation](...spec.scales);
  net.out = OUTPUTS[spec.output];
  net.widest = Math.max(net.features, ...net.layers.map((l) => l.wide));
  return net;
}

function readNetworks(data) {
  const numbers = data.numbers ?? numbersOf(data.weights);
  let at = 0;
  const take = (n) => numbers.subarray(at, (at += n));
  return data.members.map(() => readNetwork(data.spec, take));
}

// ---- features, in blocks ------------------------------------------------------------

function plainFeatures(net, points, x, first, blocks) {
  const e = net.encoding, d = net.d, F = net.features;
  for (let b = 0; b < blocks; b++) {
    const base = b * F * BLOCK;
    for (let q = 0; q < BLOCK; q++) {
      const p = (first + b * BLOCK + q) * d;
      if (e.type === "fourier") {
        for (let j = 0; j < e.m; j++) {
          let t = 0;
          for (let i = 0; i < d; i++) t = Math.fround(t + Math.fround(e.B[j * d + i] * points[p + i]));
          x[base + j * BLOCK + q] = e.a[j] * cosTurns(t - 0.25);
          x[base + (e.m + j) * BLOCK + q] = e.a[j] * cosTurns(t);
        }
      } else if (e.type === "identity") {
        for (let i = 0; i < d; i++) {
          x[base + i * BLOCK + q] = e.scale[i] * points[p + i] + e.shift[i];
        }
      } else {
        gridFeatures(e.levels, points.subarray(p, p + d), x, base + q);
      }
    }
  }
}

// Values on grids over the unit cube, linear along each axis.
function gridFeatures(levels, v, x, at) {
  const d = v.length;
  for (const { side, f, values } of levels) {
    const below = [], part = [];
    for (let i = 0; i < d; i++) {
      const place = Math.min(Math.max(v[i], 0), 1) * (side - 1);
      below[i] = Math.min(Math.floor(place), side - 2);
      part[i] = place - below[i];
    }
    for (let k = 0; k < f; k++) x[at + k * BLOCK] = 0;
    for (let corner = 0; corner < 1 << d; corner++) {
      let weight = 1, index = 0;
      for (let i = 0; i < d; i++) {
        const up = (corner >> i) & 1;
        weight *= up ? part[i] : 1 - part[i];
        index = index * side + below[i] + up;
      }
      if (!weight) continue;
      for (let k = 0; k < f; k++) x[at + k * BLOCK] += weight * values[index * f + k];
    }
    at += f * BLOCK;
  }
}

// ---- plain loops --------------------------------------------------------------------

function plainDense(layer, x, y, blocks, act) {
  const { rows, wide, W, b } = layer, sum = new Float64Array(4);
  for (let k = 0; k < blocks; k++) {
    for (let o = 0; o < wide; o += 4) {
      for (let q = 0; q < BLOCK; q++) {
        sum.set(b.subarray(o, o + 4));
        let w = o * rows, xi = k * rows * BLOCK + q;
        for (let i = 0; i < rows; i++, w += 4, xi += BLOCK) {
          const v = x[xi];
          if (v === 0) continue;
          sum[0] += v * W[w]; sum[1] += v * W[w + 1];
          sum[2] += v * W[w + 2]; sum[3] += v * W[w + 3];
        }
        const at = (k * wide + o) * BLOCK + q;
        for (let c = 0; c < 4; c++) y[at + c * BLOCK] = act ? act(sum[c]) : sum[c];
      }
    }
  }
}

function plainBackend(net) {
  const blocks = 4, size = blocks * net.widest * BLOCK;
  const buffers = [new Float32Array(size), new Float32Array(size)];
  return {
    name: "script",
    points: blocks * BLOCK,
    logits(points, first, out) {
      let [x, y] = buffers;
      plainFeatures(net, points, x, first, blocks);
      net.layers.forEach((layer, k) => {
        plainDense(layer, x, y, blocks, k < net.layers.length - 1 ? net.act : null);
        [x, y] = [y, x];
      });
      unblock(net, x, blocks, out, first);
    },
  };
}

function unblock(net, x, blocks, out, first) {
  const c = net.channels, wide = net.layers[net.layers.length - 1].wide;
  for (let b = 0; b < blocks; b++) {
    for (let q = 0; q < BLOCK; q++) {
      const at = (first + b * BLOCK + q) * c;
      for (let k = 0; k < c; k++) out[at + k] = x[(b * wide + k) * BLOCK + q];
    }
  }
}

// ---- WebAssembly: a module of two loops, assembled here ------------------------------

const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;

function leb(n) {
  const out = [];
  do {
    const byte = n & 127;
    n >>>= 7;
    out.push(n ? byte | 128 : byte);
  } while (n);
  return out;
}

// A signed constant needs the sign bit of its last byte to be right.
function sleb(n) {
  const out = [];
  for (;;) {
    const byte = n & 127;
    n >>= 7;
    if ((n === 0 && !(byte & 64)) || (n === -1 && byte & 64)) return [...out, byte];
    out.push(byte | 128);
  }
}

const get = (k) => [0x20, ...leb(k)];
const set = (k) => [0x21, ...leb(k)];
const i32 = (n) => [0x41, ...sleb(n)];
const add = [0x6a], mul = [0x6c];
const simd = (op) => [0xfd, ...leb(op)];
const memory = (op, offset) => [...simd(op), 2, ...leb(offset)];
const load = (at, offset) => [...get(at), ...memory(0x00, offset)];
const splat = (at, offset) => [...get(at), ...memory(0x09, offset)];
const store = (at, offset, value) => [...get(at), ...value, ...memory(0x0b, offset)];
const bump = (k, bytes) => [...get(k), ...bytes, ...add, ...set(k)];
const constant = (f) => {
  const four = new Uint8Array(new Float32Array([f, f, f, f]).buffer);
  return [...simd(0x0c), ...four];
};
const vadd = simd(0xe4), vsub = simd(0xe5), vmul = simd(0xe6), vmax = simd(0xe9);
const vabs = simd(0xe0), vnearest = simd(0x6a);
// loop { body; if (a < b) again }
const loop = (body, a, b) => [0x03, 0x40, ...body, ...get(a), ...get(b), 0x49, 0x0d, 0, 0x0b];

// dense(x, W, b, y, blocks, rows, wide, floor): y = max(x W + b, floor)
function denseCode(fused) {
  const [X, W, B, Y, N, ROWS, WIDE, FLOOR] = [0, 1, 2, 3, 4, 5, 6, 7];
  const [wp, bp, xp, end, bend, yend] = [8, 9, 10, 11, 12, 13], acc = 14;
  const [x0, x1, s, low] = [22, 23, 24, 25];
  const step = [];
  for (let k = 0; k < 4; k++) {
    step.push(...splat(wp, 4 * k), ...set(s));
    [x0, x1].forEach((x, h) => {
      const a = acc + 2 * k + h;
      step.push(...(fused
        ? [...get(x), ...get(s), ...get(a), ...simd(0x105)]
        : [...get(x), ...get(s), ...vmul, ...get(a), ...vadd]), ...set(a));
    });
  }
  const start = [], finish = [];
  for (let k = 0; k < 4; k++) {
    start.push(...splat(bp, 4 * k), ...set(acc + 2 * k), ...get(acc + 2 * k), ...set(acc + 2 * k + 1));
    for (const h of [0, 1]) {
      finish.push(...store(Y, 32 * k + 16 * h, [...get(acc + 2 * k + h), ...get(low), ...vmax]));
    }
  }
  const inner = loop([
    ...load(xp, 0), ...set(x0), ...load(xp, 16), ...set(x1), ...step,
    ...bump(xp, i32(32)), ...bump(wp, i32(16)),
  ], xp, end);
  const outputs = loop([
    ...get(X), ...set(xp), ...start, ...inner, ...finish,
    ...bump(Y, i32(128)), ...bump(bp, i32(16)),
  ], bp, bend);
  const body = [
    ...get(FLOOR), ...simd(0x13), ...set(low),
    ...get(Y), ...get(N), ...get(WIDE), ...mul, ...i32(32), ...mul, ...add, ...set(yend),
    ...loop([
      ...get(W), ...set(wp), ...get(B), ...set(bp),
      ...get(B), ...get(WIDE), ...i32(4), ...mul, ...add, ...set(bend),
      ...get(X), ...get(ROWS), ...i32(32), ...mul, ...add, ...set(end),
      ...outputs, ...get(end), ...set(X),
    ], Y, yend),
  ];
  return [2, 6, I32, 12, V128, ...body, 0x0b];
}

// features(v, Ba, out, blocks, m): out = [a sin 2 pi B v, a cos 2 pi B v]; Ba has, for
// each of m, its d frequencies and its amplitude.
function featuresCode(d) {
  const [V, BA, OUT, N, M] = [0, 1, 2, 3, 4];
  const [bp, bend, cosine, vend] = [5, 6, 7, 8], [t, r, u, a] = [9, 10, 11, 12];
  const turned = (shift) => [
    ...get(t), ...(shift ? [...constant(shift), ...vsub] : []), ...set(r),
    ...constant(0.25), ...get(r), ...get(r), ...vnearest, ...vsub, ...vabs, ...vsub, ...set(r),
    ...get(r), ...get(r), ...vmul, ...set(u), ...constant(TURN[4]),
    ...[3, 2, 1, 0].flatMap((k) => [...get(u), ...vmul, ...constant(TURN[k]), ...vadd]),
    ...get(r), ...vmul, ...get(a), ...vmul,
  ];
  const half = (h) => {
    const phase = [];
    for (let i = 0; i < d; i++) {
      phase.push(...splat(bp, 4 * i), ...load(V, 32 * i + 16 * h), ...vmul, ...(i ? vadd : []));
    }
    return [...phase, ...set(t),
      ...store(OUT, 16 * h, turned(0.25)), ...store(cosine, 16 * h, turned(0))];
  };
  const body = [
    ...get(V), ...get(N), ...i32(32 * d), ...mul, ...add, ...set(vend),
    ...loop([
      ...get(BA), ...set(bp),
      ...get(BA), ...get(M), ...i32(4 * (d + 1)), ...mul, ...add, ...set(bend),
      ...get(OUT), ...get(M), ...i32(32), ...mul, ...add, ...set(cosine),
      ...loop([
        ...splat(bp, 4 * d), ...set(a), ...half(0), ...half(1),
        ...bump(OUT, i32(32)), ...bump(cosine, i32(32)), ...bump(bp, i32(4 * (d + 1))),
      ], bp, bend),
      ...get(cosine), ...set(OUT), ...bump(V, i32(32 * d)),
    ], V, vend),
  ];
  return [2, 4, I32, 4, V128, ...body, 0x0b];
}

function wasmModule(d, fused) {
  const section = (id, body) => [id, ...leb(body.length), ...body];
  const vec = (items) => [...leb(items.length), ...items.flat()];
  const sized = (bytes) => [...leb(bytes.length), ...bytes];
  const name = (text) => sized([...text].map((c) => c.charCodeAt(0)));
  const type = (args) => [0x60, ...vec(args.map((a) => [a])), 0];
  return new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vec([
      type([I32, I32, I32, I32, I32, I32, I32, F32]), type([I32, I32, I32, I32, I32]),
    ])),
    ...section(2, vec([[...name("e"), ...name("m"), 2, 0, 1]])),
    ...section(3, vec([[0], [1]])),
    ...section(7, vec([[...name("dense"), 0, 0], [...name("features"), 0, 1]])),
    ...section(10, vec([sized(denseCode(fused)), sized(featuresCode(d))])),
  ]);
}

// One module for all networks of d coordinates: it is optimised once, while it runs.
const modules = new Map();
function compiled(d) {
  if (!modules.has(d)) {
    const bytes = [true, false].map((fused) => wasmModule(d, fused)).find((b) => WebAssembly.validate(b));
    modules.set(d, bytes ? new WebAssembly.Module(bytes) : null);
  }
  return modules.get(d);
}

function wasmBackend(net) {
  const module = typeof WebAssembly === "undefined" ? null : compiled(net.d);
  if (!module) return null;
  const blocks = 8, size = blocks * net.widest * BLOCK;
  const fourier = net.encoding.type === "fourier";
  const need = 2 * size + blocks * BLOCK * net.d + 64 + (fourier ? net.encoding.m * (net.d + 1) : 0)
    + net.layers.reduce((sum, l) => sum + l.W.length + l.b.length, 0);
  const memory = new WebAssembly.Memory({ initial: Math.ceil((need * 4 + 64) / 65536) + 1 });
  const run = new WebAssembly.Instance(module, { e: { m: memory } }).exports;
  const heap = new Float32Array(memory.buffer);
  let at = 0;
  const place = (n) => { const here = at; at += up4(n); return here; };
  const put = (array) => { const here = place(array.length); heap.set(array, here); return here; };
  const one = place(size), two = place(size), coords = place(blocks * BLOCK * net.d);
  const layers = net.layers.map((l) => ({ ...l, W: put(l.W), b: put(l.b) }));
  let Ba = 0;
  if (fourier) {
    const { m, B, a } = net.encoding, d = net.d, both = new Float32Array(m * (d + 1));
    for (let j = 0; j < m; j++) {
      both.set(B.subarray(j * d, j * d + d), j * (d + 1));
      both[j * (d + 1) + d] = a[j];
    }
    Ba = put(both);
  }
  const relu = net.activation === "relu";
  return {
    name: "WebAssembly",
    points: blocks * BLOCK,
    logits(points, first, out) {
      if (fourier) {
        const d = net.d;
        for (let p = 0; p < blocks * BLOCK; p++) {
          const to = coords + (p >> 3) * d * BLOCK + (p & 7);
          for (let i = 0; i < d; i++) heap[to + i * BLOCK] = points[(first + p) * d + i];
        }
        run.features(4 * coords, 4 * Ba, 4 * one, blocks, net.encoding.m);
      } else plainFeatures(net, points, heap.subarray(one, one + size), first, blocks);
      let [x, y] = [one, two];
      layers.forEach((l, k) => {
        const last = k === layers.length - 1;
        run.dense(4 * x, 4 * l.W, 4 * l.b, 4 * y, blocks, l.rows, l.wide,
          relu && !last ? 0 : -Infinity);
        if (!relu && !last) {
          const act = net.act;
          for (let i = y, end = y + blocks * l.wide * BLOCK; i < end; i++) heap[i] = act(heap[i]);
        }
        [x, y] = [y, x];
      });
      unblock(net, heap.subarray(x, x + size), blocks, out, first);
    },
  };
}

// ---- WebGL2: a pass a layer; a row of a texture is a point, a texel four units --------

const VERTEX = `#version 300 es
void main() {
  gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1);
}`;
const HEAD = `#version 300 es
precision highp float; precision highp sampler2D; out vec4 value;
float cosTurns(float t) {
  float r = 0.25 - abs(t - floor(t + 0.5)), u = r * r;
  return r * (${TURN.map((c, k) => `${c.toFixed(9)}${k < 4 ? " + u * (" : ""}`).join("")})))));
}`;
const FEATURES = `${HEAD}
uniform sampler2D v, Ba; uniform int m;
float one(int f, vec4 p) {
  if (f >= 2 * m) return 0.0;
  bool cosine = f >= m;
  vec4 b = texelFetch(Ba, ivec2(0, cosine ? f - m : f), 0);
  float t = b.x * p.x; t += b.y * p.y; t += b.z * p.z;
  return b.w * cosTurns(cosine ? t : t - 0.25);
}
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec4 p = texelFetch(v, ivec2(0, at.y), 0);
  int f = 4 * at.x;
  value = vec4(one(f, p), one(f + 1, p), one(f + 2, p), one(f + 3, p));
}`;
const denseShader = (act) => `${HEAD}
uniform sampler2D x, W; uniform int rows4; uniform bool last;
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  vec4 y = texelFetch(W, ivec2(4 * rows4, at.x), 0);
  for (int i = 0; i < rows4; i++) {
    vec4 h = texelFetch(x, ivec2(i, at.y), 0);
    y += h.x * texelFetch(W, ivec2(4 * i, at.x), 0) + h.y * texelFetch(W, ivec2(4 * i + 1, at.x), 0)
      + h.z * texelFetch(W, ivec2(4 * i + 2, at.x), 0) + h.w * texelFetch(W, ivec2(4 * i + 3, at.x), 0);
  }
  value = last ? y : ${act};
}`;

// null where there is no GPU: a GPU made of software is slower than WebAssembly.
function webglBackend(net, { software = false } = {}) {
  if (net.encoding.type !== "fourier" || net.d > 3 || typeof OffscreenCanvas === "undefined") return null;
  const gl = new OffscreenCanvas(1, 1).getContext("webgl2", { failIfMajorPerformanceCaveat: !software });
  if (!gl || !gl.getExtension("EXT_color_buffer_float")) return null;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const who = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  if (!software && /swiftshader|llvmpipe|software|basic render/i.test(who)) return null;
  const N = Math.min(4096, gl.getParameter(gl.MAX_TEXTURE_SIZE));
  const texture = (width, height, data) => {
    const t = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, t);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, width, height, 0, gl.RGBA, gl.FLOAT, data ?? null);
    return t;
  };
  const program = (source) => {
    const p = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, source]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(p, shader);
    }
    gl.linkProgram(p);
    return gl.getProgramParameter(p, gl.LINK_STATUS) ? p : null;
  };
  const act = SHADER_ACTIVATIONS[net.activation](...net.scales);
  const encode = program(FEATURES), dense = program(denseShader(act));
  if (!encode || !dense) return null;
  const { m, B, a } = net.encoding, d = net.d, rows = up4(2 * m);
  const Ba = new Float32Array(4 * m);
  for (let j = 0; j < m; j++) {
    for (let i = 0; i < d; i++) Ba[4 * j + i] = B[j * d + i];
    Ba[4 * j + 3] = a[j];
  }
  const waves = texture(1, m, Ba), coords = texture(1, N);
  const layers = net.layers.map((l, k) => {
    const r = k ? l.rows : rows, values = new Float32Array((r + 1) * l.wide);
    for (let o = 0; o < l.wide; o += 4) {
      const line = (o / 4) * (r + 1) * 4;
      values.set(l.W.subarray(o * l.rows, (o + 4) * l.rows), line);
      values.set(l.b.subarray(o, o + 4), line + 4 * r);
    }
    return { rows4: r / 4, wide4: l.wide / 4, W: texture(r + 1, l.wide / 4, values) };
  });
  const widest = Math.max(rows, ...net.layers.map((l) => l.wide)) / 4;
  const frame = gl.createFramebuffer(), sides = [texture(widest, N), texture(widest, N)];
  gl.bindVertexArray(gl.createVertexArray());
  const pass = (p, width, target, textures, numbers) => {
    gl.useProgram(p);
    Object.entries(textures).forEach(([name, t], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, t);
      gl.uniform1i(gl.getUniformLocation(p, name), unit);
    });
    for (const [name, n] of Object.entries(numbers)) gl.uniform1i(gl.getUniformLocation(p, name), n);
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
    gl.viewport(0, 0, width, N);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  };
  const four = new Float32Array(4 * N), c = net.channels, wide4 = layers[layers.length - 1].wide4;
  const back = new Float32Array(4 * N * wide4);
  return {
    name: "WebGL",
    points: N,
    logits(points, first, out) {
      for (let p = 0; p < N; p++) {
        for (let i = 0; i < d; i++) four[4 * p + i] = points[(first + p) * d + i];
      }
      gl.bindTexture(gl.TEXTURE_2D, coords);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 1, N, gl.RGBA, gl.FLOAT, four);
      pass(encode, rows / 4, sides[0], { v: coords, Ba: waves }, { m });
      layers.forEach((l, k) => pass(dense, l.wide4, sides[(k + 1) % 2],
        { x: sides[k % 2], W: l.W }, { rows4: l.rows4, last: k === layers.length - 1 ? 1 : 0 }));
      gl.readPixels(0, 0, wide4, N, gl.RGBA, gl.FLOAT, back);
      for (let p = 0; p < N; p++) {
        for (let k = 0; k < c; k++) out[(first + p) * c + k] = back[p * wide4 * 4 + k];
      }
    },
  };
}

// ---- what the rest of a page uses -----------------------------------------------------

// Whether a backend gives what plain loops give, at points of its own.
function agrees(net, backend) {
  const n = backend.points, points = new Float32Array(n * net.d);
  for (let k = 0; k < points.length; k++) points[k] = ((k * 0.6180339887) % 1);
  const found = new Float32Array(n * net.channels), plain = new Float32Array(32 * net.channels);
  try {
    backend.logits(points, 0, found);
  } catch {
    return false;
  }
  plainBackend(net).logits(points, 0, plain);
  return plain.every((y, k) => Math.abs(y - found[k]) <= 2e-3 * (1 + Math.abs(y)));
}

const BACKENDS = { WebGL: webglBackend, WebAssembly: wasmBackend, script: plainBackend };

// The first of the named ways that works here and gives the right numbers.
function backendOf(net, names, options) {
  for (const name of names) {
    const backend = BACKENDS[name](net, options);
    if (backend && (name === "script" || agrees(net, backend))) return backend;
  }
  return plainBackend(net);
}

class Evaluator {
  constructor(data, names = ["WebAssembly"], options = {}) {
    this.nets = readNetworks(data);
    this.backends = this.nets.map((net) => backendOf(net, names, options));
    this.channels = this.nets[0].channels;
    this.d = this.nets[0].d;
    this.name = this.backends[0].name;
  }

  // One member's outputs, before the output activation where `raw`.
  member(k, points, n, raw = false) {
    const net = this.nets[k], backend = this.backends[k], chunk = backend.points;
    const whole = Math.ceil(n / chunk) * chunk;
    let from = points;
    if (points.length < whole * net.d) {
      from = new Float32Array(whole * net.d);
      from.set(points.subarray(0, n * net.d));
    }
    const out = new Float32Array(whole * net.channels);
    for (let first = 0; first < n; first += chunk) backend.logits(from, first, out);
    const values = out.subarray(0, n * net.channels);
    if (!raw && net.output !== "identity") {
      for (let i = 0; i < values.length; i++) values[i] = net.out(values[i]);
    }
    return values;
  }

  // The mean over members, behind the output activation.
  values(points, n) {
    const mean = this.member(0, points, n);
    for (let k = 1; k < this.nets.length; k++) {
      const more = this.member(k, points, n);
      for (let i = 0; i < mean.length; i++) mean[i] += more[i];
    }
    if (this.nets.length > 1) for (let i = 0; i < mean.length; i++) mean[i] /= this.nets.length;
    return mean;
  }
}
