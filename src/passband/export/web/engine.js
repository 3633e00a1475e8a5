// Hands jobs to workers: one with a GPU, or as many as there are cores.
"use strict";

class Engine {
  // `networks`: name -> network as `Evaluator` takes it; given to a worker when first used.
  constructor(networks, options = {}) {
    this.networks = networks;
    this.options = options;
    this.version = 0;
    this.queue = [];
    this.workers = [];
    this.waiting = [];
    this.pending = 0;
    this.tile = 8192; // points of a job
    this.backend = "";
    this.pace = 0; // points a millisecond of one worker
    this.ready = this.begin();
  }

  async begin() {
    const first = Object.keys(this.networks)[0], asked = this.options.backend;
    const { server } = this.options;
    if (server) {
      // Python evaluates what it can, this page the rest.
      for (let k = 0; k < 2; k++) this.workers.push({ url: server.url, jobs: server.jobs, known: new Set() });
      this.tile = 65536;
    }
    const names = asked ? [asked, "script"] : ["WebGL", "WebAssembly", "script"];
    const one = this.hire(names);
    this.backend = (await this.ask(one, first, null)).backend;
    if (server) for (const worker of this.workers) if (!worker.url) worker.not = server.jobs;
    if (this.backend !== "WebGL") {
      const cores = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2));
      const others = asked ? names : ["WebAssembly", "script"];
      for (let k = 1; k < cores; k++) this.hire(others).not = server?.jobs;
    }
    if (server) this.backend = `${server.name}, and ${this.backend} here`;
    this.next();
    return this.backend;
  }

  hire(names) {
    const worker = { names, known: new Set(), busy: false, inner: null };
    try {
      const text = document.getElementById("evaluator").textContent;
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      worker.thread = new Worker(url);
      worker.thread.onmessage = ({ data }) => worker.inner(data);
    } catch {
      worker.local = new Map(); // no workers here: the same jobs on this thread
    }
    this.workers.push(worker);
    return worker;
  }

  async remote(worker, job) {
    const began = performance.now();
    const answer = await fetch(worker.url, { method: "POST", body: JSON.stringify(job) });
    if (!answer.ok) throw new Error(await answer.text());
    const result = new Float32Array(await answer.arrayBuffer());
    return { result, ms: performance.now() - began };
  }

  ask(worker, name, job) {
    if (worker.url) return this.remote(worker, job);
    const fresh = !worker.known.has(name), network = fresh ? this.networks[name] : undefined;
    worker.known.add(name);
    if (network) network.numbers ??= numbersOf(network.weights);
    if (worker.local) {
      if (network) worker.local.set(name, new Evaluator(network, ["WebAssembly", "script"]));
      const net = worker.local.get(name), began = performance.now();
      const result = job ? JOBS[job.type](net, job) : null;
      return new Promise((done) => setTimeout(
        () => done({ result, ms: performance.now() - began, backend: net.name })));
    }
    const plain = network && { spec: network.spec, members: network.members, numbers: network.numbers };
    return new Promise((done, fail) => {
      worker.inner = (data) => (data.error ? fail(new Error(data.error)) : done(data));
      worker.thread.postMessage({
        name, network: plain, job, names: worker.names, options: { software: !!this.options.software },
      });
    });
  }

  // Replace whatever was to be done by these jobs: [{name, job, pass, then(result)}]. A pass
  // begins when the one before has ended, so that nothing coarse is drawn over what is fine.
  start(tasks) {
    this.version++;
    this.fresh = 0; // jobs of this version that are being done
    this.queue = tasks.map((task) => ({ ...task, version: this.version }));
    this.next();
    return this.settled();
  }

  async next() {
    for (const worker of this.workers) {
      if (worker.busy || !this.queue.length || !this.backend) continue;
      const { type } = this.queue[0].job;
      if (worker.jobs ? !worker.jobs.includes(type) : worker.not?.includes(type)) continue;
      if (this.queue[0].pass !== this.pass && this.fresh) continue;
      const task = this.queue.shift();
      this.pass = task.pass;
      this.fresh++;
      worker.busy = true;
      this.pending++;
      this.ask(worker, task.name, task.job).then(({ result, ms }) => {
        if (ms > 2 && task.points) this.pace = 0.7 * (this.pace || task.points / ms) + 0.3 * task.points / ms;
        if (task.version === this.version) task.then(result, task.job);
      }).finally(() => {
        worker.busy = false;
        this.pending--;
        if (task.version === this.version) this.fresh--;
        this.next();
      });
    }
    if (!this.queue.length && !this.pending && this.backend) {
      this.waiting.splice(0).forEach((done) => done());
    }
  }

  settled() {
    return new Promise((done) => {
      this.waiting.push(done);
      this.next();
    });
  }
}

// Jobs for all rows of a picture, `points` of work at once.
function tiles(job, rows, work, points) {
  const some = Math.max(1, Math.floor(points / work)), out = [];
  for (let from = 0; from < rows; from += some) {
    out.push({ ...job, from, to: Math.min(rows, from + some) });
  }
  return out;
}
