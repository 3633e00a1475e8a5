// Follows a run: its curve while it trains; a new model is shown when there is one.
"use strict";

async function follow() {
  const data = JSON.parse(byId("data").textContent), began = data.model;
  const answer = await fetch("run").catch(() => null);
  if (!answer || !answer.ok) {
    const said = byId("following");
    if (said) said.textContent = "passband view has ended.";
    return;
  }
  const run = await answer.json();
  if (run.model !== began) return void location.reload();
  if (byId("history")) showRun(run);
  window.followed = (window.followed ?? 0) + 1;
  setTimeout(follow, 1000);
}

function showRun(run) {
  const { step, loss, psnr, seconds } = run.history, last = step.length - 1;
  byId("following").textContent = last < 0
    ? "It has not logged a step yet."
    : `Step ${step[last]} of ${run.steps ?? "?"}, after ${short(seconds[last])} s.`;
  byId("loss").textContent = last < 0 ? "–" : short(loss[last]);
  byId("psnr").textContent = psnr && last >= 0 ? `${psnr[last].toFixed(2)} dB` : "–";
  const preview = byId("preview");
  if (run.preview && preview.dataset.made !== String(run.preview)) {
    preview.dataset.made = String(run.preview);
    preview.src = `preview.png?${run.preview}`;
    preview.hidden = false;
  }
  if (last < 1) return;
  const values = psnr ?? loss, most = Math.max(...values), least = Math.min(...values);
  const room = (most - least) * 0.05 || 1;
  drawPlot(byId("history"), {
    title: "the run so far", x: { from: 0, to: Math.max(run.steps ?? 0, step[last]), label: "step" },
    y: psnr ? { from: least - room, to: most + room, label: "PSNR, dB" } : { from: least, to: most, log: least > 0, label: "loss" },
    lines: [{ points: step.map((s, k) => [s, values[k]]), ink: "--accent" }],
  });
}
follow();
