// Recomputes the page from the data embedded in it. The same numbers come from values.py; a test compares them.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const state = { ...data.state };
const PARTS = ["bound", "expected", "low", "high"];

function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    const trimmed = mantissa.replace(/\.?0+$/, "");
    return `${trimmed}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-12));
  const text = value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

function prefixed(value, steps, unit) {
  if (value === 0) return `0 ${unit}`;
  let best = steps[0];
  for (const step of steps) if (Math.abs(value) >= step[1] * 0.9995) best = step;
  return `${digits(value / best[1])} ${best[0]}${unit}`;
}

const SMALL = [["n", 1e-9], ["µ", 1e-6], ["m", 1e-3], ["", 1]];
const LARGE = [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12], ["P", 1e15], ["E", 1e18]];

function amount(value, unit) {
  if (value === null || value === undefined) return "-";
  if (unit === "text") return value;
  if (unit === "share") return `${(value * 100).toFixed(0)} %`;
  if (unit === "count") return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  if (unit === "USD") return `${value < 0 ? "-" : ""}$${digits(Math.abs(value))}`;
  if (unit === "s") return prefixed(value, SMALL, unit);
  if (unit === "token/s") return `${digits(value)} ${unit}`;
  return prefixed(value, LARGE, unit);
}

function rate() {
  return state.price === null ? null : state.price / state.utilization;
}

function priced([fixed, slope]) {
  return rate() === null ? null : fixed + slope * rate();
}

function loadValues(load) {
  const shown = { concurrency: load.concurrency, "user-rate": load.userRate, "gpu-rate": load.gpuRate };
  PARTS.forEach((part, place) => {
    for (const name of ["ttft", "tpot", "e2e"]) shown[`${name}.${part}`] = load[name] && load[name][place];
    shown[`cost.${part}`] = priced(load.cost[place]);
  });
  shown["mtok-in"] = rate() === null || load.mtokIn === null ? null : load.mtokIn * rate();
  shown["mtok-out"] = rate() === null || load.mtokOut === null ? null : load.mtokOut * rate();
  const largest = load.stages[load.bottleneck - 1];
  shown.bottleneck = `${load.bottleneck} ${largest[0]} (${largest[1]})`;
  load.stages.forEach(([, limit, ttft, tpot, e2e, fixed, slope], place) => {
    const name = `stage.${place + 1}`;
    shown[`${name}.ttft`] = ttft;
    shown[`${name}.tpot`] = tpot;
    shown[`${name}.e2e`] = e2e;
    shown[`${name}.cost`] = priced([fixed, slope]);
    shown[`${name}.share`] = e2e / load.e2e[1];
    shown[`${name}.limit`] = limit === "none" ? "" : limit;
  });
  return shown;
}

function roofValues() {
  const roofs = data.roofs;
  const batch = roofs.batches[state.batch];
  const context = roofs.contexts[state.context];
  const weights = roofs.weights[state.batch];
  const cache = batch * roofs.cache[state.context];
  const compute = (batch * ((2 * roofs.active) / roofs.peak + (context * roofs.attention) / roofs.attentionPeak)) / roofs.gpus;
  const memory = (weights + cache) / (roofs.bandwidth * roofs.gpus);
  const step = Math.max(compute, memory);
  const intensity = (compute * roofs.peak * roofs.gpus) / (weights + cache);
  return {
    "roof.batch": batch, "roof.context": context, "roof.weights": weights, "roof.cache": cache,
    "roof.compute": compute, "roof.memory": memory, "roof.step": step,
    "roof.limit": compute > memory ? "compute" : "memory", "roof.intensity": intensity,
    "roof.rate": Math.min(roofs.peak, intensity * roofs.bandwidth), "roof.tokens": batch / step,
  };
}

function drawBars(load) {
  let begun = 0;
  load.stages.forEach((stage, place) => {
    const row = document.getElementById(`stage-${place + 1}`);
    const bar = row.querySelector("i");
    bar.style.marginLeft = `${(100 * begun) / load.e2e[1]}%`;
    bar.style.width = `${(100 * stage[4]) / load.e2e[1]}%`;
    bar.classList.toggle("none", stage[4] <= 0);
    row.classList.toggle("largest", place + 1 === load.bottleneck);
    begun += stage[4];
  });
}

function moveMark(id, chart, x, y) {
  const mark = document.getElementById(id);
  const places = data.charts[chart];
  const measure = (value) => (places.log ? Math.log10(Math.max(value, 1e-300)) : value);
  const at = ([low, high, start, end], value) => {
    const share = (measure(value) - measure(low)) / (measure(high) - measure(low));
    return start + Math.max(0, Math.min(1, share)) * (end - start);
  };
  mark.setAttribute("cx", at(places.x, x).toFixed(1));
  mark.setAttribute("cy", at(places.y, y).toFixed(1));
}

function render() {
  const load = data.loads[state.load];
  const shown = { ...loadValues(load), ...roofValues() };
  for (const place of document.querySelectorAll("[data-out]")) {
    place.textContent = amount(shown[place.dataset.out], place.dataset.unit);
  }
  drawBars(load);
  moveMark("load-mark", "load", load.userRate, load.gpuRate);
  moveMark("roof-mark", "roofline", shown["roof.intensity"], shown["roof.rate"]);
  for (const name of ["price", "utilization"]) {
    for (const place of document.querySelectorAll(`[data-control=${name}]`)) {
      place.textContent = name === "price" ? amount(state.price, "USD") : amount(state.utilization, "share");
    }
  }
}

// The part of the address behind # keeps the controls, so that a link or a reload shows the same page.
function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const index = (values, text) => values.findIndex((value) => value === Number(text));
  const places = {
    load: index(data.loads.map((load) => load.concurrency), wanted.get("concurrency")),
    batch: index(data.roofs.batches, wanted.get("batch")),
    context: index(data.roofs.contexts, wanted.get("context")),
  };
  for (const [name, place] of Object.entries(places)) if (place >= 0) state[name] = place;
  const price = parseFloat(wanted.get("price"));
  if (price >= 0 && price < 1e6) state.price = price;
  const utilization = parseFloat(wanted.get("utilization"));
  if (utilization >= 0.01 && utilization <= 1) state.utilization = utilization;
}

function writeAddress() {
  const kept = new URLSearchParams({
    concurrency: data.loads[state.load].concurrency, utilization: state.utilization,
    batch: data.roofs.batches[state.batch], context: data.roofs.contexts[state.context],
  });
  if (state.price !== null) kept.set("price", state.price);
  try { history.replaceState(null, "", `#${kept}`); } catch { /* not allowed here: the address stays */ }
}

function listen() {
  for (const input of document.querySelectorAll("input[data-state]")) {
    const name = input.dataset.state;
    if (name !== "price" || state.price !== null) input.value = name === "utilization" ? state[name] * 100 : state[name];
    input.addEventListener("input", () => {
      const value = parseFloat(input.value);
      if (Number.isNaN(value) || (name === "price" && value < 0)) return;
      state[name] = name === "utilization" ? value / 100 : value;
      render();
      writeAddress();
    });
  }
}

readAddress();
listen();
render();
