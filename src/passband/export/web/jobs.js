// What a worker does with a network: values on a plane, at points, what a camera sees.
"use strict";

const JOBS = {
  // Values of rows `from` to `to` of a plane: origin + column * across + row * down.
  plane(net, { origin, across, down, columns, from, to }) {
    const d = net.d, n = (to - from) * columns, points = new Float32Array(n * d);
    for (let r = from, at = 0; r < to; r++) {
      for (let c = 0; c < columns; c++) {
        for (let i = 0; i < d; i++, at++) points[at] = origin[i] + c * across[i] + r * down[i];
      }
    }
    return net.values(points, n);
  },

  points(net, { points }) {
    return net.values(points, points.length / net.d);
  },

  // Rays through a field of colour and density; of members, the mean of what each shows.
  scene(net, job) {
    const { columns, from, to, samples, ends, background } = job;
    const rays = (to - from) * columns, out = new Float32Array(rays * 3);
    for (let k = 0; k < net.nets.length; k++) {
      for (let row = from; row < to; row++) {
        const { o, d } = raysOf(job, row);
        const seen = composite(net, k, o, d, columns, ends, samples, background);
        const at = (row - from) * columns * 3;
        for (let i = 0; i < seen.length; i++) out[at + i] += seen[i] / net.nets.length;
      }
    }
    return out;
  },

  // The first surface along rays: depth (0 where there is none) and its normal.
  surface(net, job) {
    const { columns, from, to } = job, n = (to - from) * columns;
    const o = new Float64Array(3 * n), d = new Float64Array(3 * n);
    for (let r = from, at = 0; r < to; r++) {
      for (let c = 0; c < columns; c++, at += 3) {
        const x = (c - job.centre[0]) / job.focal, y = (job.centre[1] - r) / job.focal;
        for (let i = 0; i < 3; i++) {
          o[at + i] = job.position[i];
          d[at + i] = job.axes[i] * x + job.axes[3 + i] * y - job.axes[6 + i];
        }
      }
    }
    return surfaceAlong(net, o, d, n, job);
  },
};

// Origins and directions of a row of pixels in the field's coordinates.
function raysOf({ pose, lens, columns, ndc, step }, row) {
  const o = new Float32Array(3 * columns), d = new Float32Array(3 * columns);
  for (let c = 0; c < columns; c++) {
    let x = ((c + 0.5) * step - 0.5 - lens[2]) / lens[0];
    let y = (lens[3] - (row + 0.5) * step + 0.5) / lens[1];
    if (lens.length > 4) {
      const [u, v] = undistorted(x, -y, lens.slice(4));
      [x, y] = [u, -v];
    }
    let from = [pose[3], pose[7], pose[11]];
    let to = [0, 4, 8].map((r) => pose[r] * x + pose[r + 1] * y - pose[r + 2]);
    if (ndc) [from, to] = deviceRay(from, to, ndc);
    for (let i = 0; i < 3; i++) {
      o[3 * c + i] = from[i];
      d[3 * c + i] = to[i];
    }
  }
  return { o, d };
}

// Newton's iteration for where light came from that a bent lens shows at (x, y), y down.
function undistorted(x, y, [k1, k2, p1, p2]) {
  let u = x, v = y;
  for (let k = 0; k < 6; k++) {
    const r2 = u * u + v * v, g = 1 + r2 * (k1 + r2 * k2), slope = 2 * (k1 + 2 * k2 * r2);
    const ox = u * g + 2 * p1 * u * v + p2 * (r2 + 2 * u * u) - x;
    const oy = v * g + p1 * (r2 + 2 * v * v) + 2 * p2 * u * v - y;
    const xx = g + slope * u * u + 2 * p1 * v + 6 * p2 * u;
    const yy = g + slope * v * v + 6 * p1 * v + 2 * p2 * u;
    const xy = slope * u * v + 2 * p1 * u + 2 * p2 * v, det = xx * yy - xy * xy;
    if (det <= 1e-3) break;
    [u, v] = [u - (ox * yy - oy * xy) / det, v - (oy * xx - ox * xy) / det];
  }
  return [u, v];
}

// A ray of the middle camera's frame in normalised device coordinates.
function deviceRay(o, d, [near, scale, disparity, rise]) {
  const t = (near + o[2]) / d[2], start = o.map((x, i) => x - d[i] * t);
  const across = [-start[0] / near, -start[1] / near];
  return [
    [0.5 - scale * across[0], 0.5 - scale * across[1], 0],
    [-scale * (d[0] / d[2] - across[0]) * disparity, -scale * (d[1] / d[2] - across[1]) * disparity, rise],
  ];
}

const OPAQUE = 12; // what is behind exp(-12) of the light is not evaluated

// Colours of rays on the background, from front to back, a few samples at a time.
function composite(net, k, o, d, rays, [near, far], samples, background) {
  const colour = new Float32Array(3 * rays), thick = new Float64Array(rays);
  const light = new Float64Array(rays).fill(1), step = (far - near) / (samples - 1);
  let alive = Array.from({ length: rays }, (_, r) => r);
  for (let first = 0; first < samples && alive.length; first += 8) {
    const some = Math.min(8, samples - first), points = new Float32Array(3 * alive.length * some);
    alive.forEach((r, a) => {
      for (let s = 0; s < some; s++) {
        const t = near + (first + s) * step;
        for (let i = 0; i < 3; i++) points[3 * (a * some + s) + i] = o[3 * r + i] + t * d[3 * r + i];
      }
    });
    const raw = net.member(k, points, alive.length * some, true);
    alive = alive.filter((r, a) => {
      for (let s = 0; s < some; s++) {
        const at = 4 * (a * some + s), density = Math.max(raw[at + 3], 0);
        thick[r] += density * (first + s === samples - 1 ? 1e10 : step);
        const left = Math.exp(-thick[r]), weight = light[r] - left;
        for (let i = 0; i < 3; i++) colour[3 * r + i] += weight / (1 + Math.exp(-raw[at + i]));
        light[r] = left;
      }
      return thick[r] < OPAQUE;
    });
  }
  for (let r = 0; r < rays; r++) for (let i = 0; i < 3; i++) colour[3 * r + i] += light[r] * background;
  return colour;
}

// Where the line through a box begins and ends; null beside it.
function within(o, d, at, low, high) {
  let first = 1e-4, last = Infinity;
  for (let i = 0; i < 3; i++) {
    const a = (low[i] - o[at + i]) / d[at + i], b = (high[i] - o[at + i]) / d[at + i];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    first = Math.max(first, Math.min(a, b));
    last = Math.min(last, Math.max(a, b));
  }
  return first < last ? [first, last] : null;
}

const clampStep = (x, least, most) => Math.min(Math.max(x, least), most);

function surfaceAlong(net, o, d, n, { low, high, steps, distance, longest = 1, level, normals = true }) {
  const out = new Float32Array(4 * n), inside = distance ? (y) => level - y : (y) => y - 0.5;
  const rays = [];
  for (let r = 0; r < n; r++) {
    const span = within(o, d, 3 * r, low, high);
    if (!span) continue;
    const long = Math.hypot(d[3 * r], d[3 * r + 1], d[3 * r + 2]);
    rays.push({ r, t: span[0], last: span[1], long, before: span[0], value: -1 });
  }
  const diagonal = Math.hypot(...high.map((h, i) => h - low[i])), stride = diagonal / steps;
  const look = (list) => {
    const points = new Float32Array(3 * list.length);
    list.forEach(({ r, t }, a) => {
      for (let i = 0; i < 3; i++) points[3 * a + i] = o[3 * r + i] + t * d[3 * r + i];
    });
    return net.values(points, list.length);
  };
  // March until the sign changes: by the distance where the field has one.
  const hits = [];
  let alive = rays;
  while (alive.length) {
    const values = look(alive);
    alive = alive.filter((ray, a) => {
      const value = inside(values[a]);
      if (value > 0) {
        ray.high = ray.t;
        hits.push(ray);
        return false;
      }
      ray.before = ray.t;
      const step = distance ? clampStep(0.8 * -value, stride / 4, longest) : stride;
      ray.t += step / ray.long;
      if (ray.t > ray.last && ray.before < ray.last) {
        ray.t = ray.last;
        return true;
      }
      return ray.t <= ray.last;
    });
  }
  for (let k = 0; k < 10 && hits.length; k++) {
    for (const ray of hits) ray.t = 0.5 * (ray.before + ray.high);
    const values = look(hits);
    hits.forEach((ray, a) => {
      if (inside(values[a]) > 0) ray.high = ray.t;
      else ray.before = ray.t;
    });
  }
  const slopes = [], e = 2e-3;
  if (normals && hits.length) {
    for (let i = 0; i < 3; i++) {
      const points = new Float32Array(6 * hits.length);
      hits.forEach(({ r, t }, a) => {
        for (const [side, sign] of [[0, 1], [1, -1]]) {
          for (let j = 0; j < 3; j++) {
            points[6 * a + 3 * side + j] = o[3 * r + j] + t * d[3 * r + j] + (i === j ? sign * e : 0);
          }
        }
      });
      const values = net.values(points, 2 * hits.length);
      slopes.push(hits.map((_, a) => inside(values[2 * a + 1]) - inside(values[2 * a])));
    }
  }
  hits.forEach(({ r, t }, a) => {
    out[4 * r] = t;
    if (!normals) return;
    const [x, y, z] = slopes.map((s) => s[a]), length = Math.hypot(x, y, z) || 1;
    out.set([x / length, y / length, z / length], 4 * r + 1);
  });
  return out;
}

// Inside a worker: networks by name, and jobs on them.
function serve() {
  const networks = new Map();
  self.onmessage = ({ data: { id, name, network, names, options, job } }) => {
    try {
      if (network) networks.set(name, new Evaluator(network, names, options));
      const net = networks.get(name), began = performance.now();
      const result = job ? JOBS[job.type](net, job) : new Float32Array(0);
      const ms = performance.now() - began;
      self.postMessage({ id, result, ms, backend: net.name }, [result.buffer]);
    } catch (error) {
      self.postMessage({ id, error: String(error) });
    }
  };
}
if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) serve();
