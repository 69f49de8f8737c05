// Draws the charts of a report from the record that the page carries, with uPlot.
//
// Every chart is built from the record alone, so that a change of theme or of width builds it
// again. Long courses are reduced to some 1,500 buckets of least, median and greatest value for
// the part in view; zooming reduces again from the full data. What was drawn and what went wrong
// is left in attributes of <html> (data-charts, data-draw-ms, data-errors), for tests.
"use strict";

(() => {
const root = document.documentElement;
root.dataset.errors = "";
addEventListener("error", (event) => { root.dataset.errors += event.message + "\n"; });

const BUCKETS = 1500;
const run = JSON.parse(document.getElementById("record").textContent);
const place = (name) => document.querySelector(`[data-chart="${name}"]`);
let plots = [];

// ---- Words -------------------------------------------------------------------------------------

const digits = (v) => Math.abs(v) < 9.995 ? v.toFixed(2) : Math.abs(v) < 99.95 ? v.toFixed(1)
  : Math.round(v).toLocaleString("en-US");
const brief = (v) => String(+v.toPrecision(3));

function inUnits(value, units, format) {
  const [name, scale] = units.findLast((u) => Math.abs(value) >= 0.9995 * u[1]) ?? units[0];
  return `${format(value / scale)} ${name}`;
}

const TIMES = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];
const FORMATS = {
  "B/s": (v, f = digits) => `${f(v / 1e6)} MB/s`,
  "ns": (v, f = digits) => inUnits(v, TIMES, f),
  "IOPS": (v, f = digits) => `${f(v)} IOPS`,
  "B": (v, f = digits) => inUnits(v, [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]], f),
  "C": (v, f = digits) => `${f(v)} C`,
  "1": (v, f = digits) => f(v),
};
const worded = (unit, value, format) => (FORMATS[unit] ?? FORMATS["1"])(value, format);
const UNIT_NAMES = { "B/s": "MB/s", "C": "Celsius", "1": "", "B": "bytes" };

function seconds(s) {
  if (s < 120 && s % 60) return `${brief(s)} s`;
  const [h, m, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, Math.round(s % 60)];
  const two = (n) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(rest)}` : `${m}:${two(rest)}`;
}

function share(v) {
  const percent = 100 * v;
  return percent >= 0.01 ? `${brief(percent)}%` : `1 in ${(+(1 / v).toPrecision(2)).toLocaleString("en-US")}`;
}

// ---- Elements ----------------------------------------------------------------------------------

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text) e.textContent = text;
  return e;
}

// A figure with a title, a key of its lines, a line that reads the cursor, and room for a plot.
function figure(parent, title, lines, label) {
  const fig = element("figure");
  const caption = element("figcaption");
  caption.append(element("b", "", title));
  for (const line of lines) {
    const key = element("span", `key ${line.dash ? (line.dash[0] < 4 ? "dotted" : "dashed") : ""}`, line.name);
    key.style.setProperty("--colour", colour(line.colour));
    caption.append(key);
  }
  const readout = caption.appendChild(element("span", "readout"));
  const plot = element("div", "plot");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", label);
  fig.append(caption, plot);
  parent.append(fig);
  return { caption, plot, readout };
}

// ---- Look --------------------------------------------------------------------------------------

const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const faint = (name, alpha) => colour(name) + Math.round(alpha * 255).toString(16).padStart(2, "0");

function axis(values, more) {
  return {
    stroke: colour("dim"), font: "12px system-ui, sans-serif", values, filter: (u, splits) => splits,
    grid: { stroke: faint("line", 0.7), width: 1 }, ticks: { show: false }, gap: 6, ...more,
  };
}

// Distances of labels on an axis of seconds.
const SECONDS = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200,
  1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800];

const timeAxis = (more) => axis((u, splits) => splits.map(seconds), { incrs: SECONDS, ...more });

// Labels within a decade of a logarithmic axis, densest first, and the room a label needs.
const STEPS = [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 4, 6, 8], [1, 2, 5], [1, 3], [1]];
const ROOM_PX = [58, 20];

function logSplits(u, i, min, max) {
  const size = (i ? u.bbox.height : u.bbox.width) / devicePixelRatio;
  const decade = size / Math.log10(max / min);
  const closest = (steps) => Math.min(...steps.map((s, n) => Math.log10((steps[n + 1] ?? 10) / s)));
  const steps = STEPS.find((steps) => closest(steps) * decade >= ROOM_PX[i]) ?? [1];
  const splits = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++)
    for (const step of steps) splits.push(+(step * 10 ** e).toPrecision(12));
  return splits.filter((at) => at >= min && at <= max);
}

const logScale = (pad = 1.15) => ({ distr: 3, range: (u, min, max) => [min / pad, max * pad] });
const fromZero = { range: (u, min, max) => [0, max > 0 ? max * 1.06 : 1] };
// A line that ends where nothing is known; a lone value is a dash. uPlot's own line goes on through
// a gap and is hidden there, which eats from pieces that are only a few pixels long.
function pieces(u, series, from, to) {
  const stroke = new Path2D();
  const dash = 1.5 * devicePixelRatio;
  let begun = false;
  for (let i = from; i <= to; i++) {
    const value = u.data[series][i];
    if (value == null) { begun = false; continue; }
    const x = u.valToPos(u.data[0][i], "x", true), y = u.valToPos(value, "y", true);
    begun ? stroke.lineTo(x, y) : (stroke.moveTo(x - dash, y), stroke.lineTo(x + dash, y));
    begun = true;
  }
  return { stroke, fill: null, clip: null, band: null, gaps: null, flags: 0 };
}

// Bands are uPlot's own: with a margin, so that no edge of one shows beside a narrow gap.
const gaps = (u, i, from, to, found) => found.map(([a, b]) => [a - 2 * devicePixelRatio, b + 2 * devicePixelRatio]);
const line = (name, paint, more) => ({ label: name, stroke: colour(paint), width: 1.5, points: { show: false }, gaps, ...more });

function draw(place, options, data) {
  const size = () => ({ width: Math.max(120, place.clientWidth), height: options.height });
  const u = new uPlot({
    ...options, ...size(), legend: { show: false }, padding: [8, 18, options.axes[0].show === false ? 8 : 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, ...options.cursor },
  }, data, place);
  plots.push({ u, size });
  return u;
}

// ---- Long courses ------------------------------------------------------------------------------

// The series of a run on one time axis: a row is an interval, `segments` say whose it is.
function track(series, columns) {
  const out = { x: [], columns: columns.map(() => []), segments: [] };
  for (const s of series) {
    const from = out.x.length;
    s.t_ns.forEach((t, i) => out.x.push((s.start_ns + (t + (i ? s.t_ns[i - 1] : 0)) / 2) / 1e9));
    columns.forEach((name, c) => {
      const values = s.columns.find((column) => column.name === name)?.values;
      for (let i = 0; i < s.t_ns.length; i++) out.columns[c].push(values?.[i] ?? null);
    });
    out.segments.push({ from, to: out.x.length, name: s.name, replicate: s.replicate });
  }
  return out;
}

const known = (values) => values.filter((v) => v !== null).sort((a, b) => a - b);

// Least, median and greatest of each column over buckets of the rows between two times. A bucket
// never reaches from one workload into the next; between workloads the lines break.
function reduce(t, min, max) {
  let [first, last] = [t.x.findIndex((x) => x >= min), t.x.findLastIndex((x) => x <= max)];
  if (first < 0 || last < first) [first, last] = [0, t.x.length - 1];
  const step = Math.max(1, Math.ceil((last - first + 1) / BUCKETS));
  const x = [], columns = t.columns.map(() => [[], [], []]);
  const push = (column, low, mid, high) => [low, mid, high].forEach((v, i) => column[i].push(v));
  for (const segment of t.segments) {
    const [from, to] = [Math.max(segment.from, first - step), Math.min(segment.to, last + 1 + step)];
    for (let i = from; i < to; i += step) {
      const end = Math.min(i + step, to);
      x.push(t.x[(i + end - 1) >> 1]);
      t.columns.forEach((values, c) => {
        if (step === 1) return push(columns[c], values[i], values[i], values[i]);
        const k = known(values.slice(i, end));
        k.length ? push(columns[c], k[0], k[k.length >> 1], k[k.length - 1]) : push(columns[c], null, null, null);
      });
    }
    if (from < to && to < t.x.length) {
      x.push((t.x[to - 1] + t.x[to]) / 2);
      columns.forEach((column) => push(column, null, null, null));
    }
  }
  return [x, ...columns.flat()];
}

// ---- Over time ---------------------------------------------------------------------------------

const PAINTS = { read: "read", write: "write" };
const paintOf = (name) => PAINTS[name.split(".").find((word) => PAINTS[word])] ?? "c2";

function dashOf(name) {
  if (name.endsWith(".max")) return [2, 3];
  return /\.p\d\d+(\.\d+)?$/.test(name) && !name.endsWith(".p50") ? [6, 4] : undefined;
}

// Panels of the time axis: what the application moved, the device, latencies, heat, and the rest.
function panelsOf(series) {
  const panels = new Map();
  for (const { name, unit } of series.flatMap((s) => s.columns)) {
    if (name.endsWith(".ops")) continue; // the same course as the bytes
    const device = name.startsWith("device.");
    const id = (device ? "At the device" : { "B/s": "Throughput", "ns": "Latency", "C": "Temperature" }[unit]) ?? unit;
    if (!panels.has(id)) panels.set(id, { title: id, unit, columns: [] });
    if (!panels.get(id).columns.includes(name)) panels.get(id).columns.push(name);
  }
  for (const { columns } of panels.values()) columns.sort((a, b) => b.includes("read") - a.includes("read"));
  const order = ["Throughput", "At the device", "Latency", "Temperature"];
  const rank = (p) => (order.indexOf(p.title) + order.length + 1) % (order.length + 1);
  return [...panels.values()].sort((a, b) => rank(a) - rank(b));
}

// Workloads that differ by more than this factor are drawn on a logarithmic axis.
const LOG_FROM = 20;

function wantsLog(t) {
  const medians = t.segments.flatMap((s) => t.columns.map((c) => known(c.slice(s.from, s.to)))).filter((k) => k.length)
    .map((k) => k[k.length >> 1]).filter((v) => v > 0);
  return medians.length > 0 && Math.max(...medians) > LOG_FROM * Math.min(...medians);
}

function timeline() {
  const parent = place("timeline");
  const series = run.series.filter((s) => s.t_ns.length).sort((a, b) => a.start_ns - b.start_ns);
  if (!parent || !series.length) return;
  parent.replaceChildren();
  const panels = panelsOf(series).map((p) => ({ ...p, track: track(series, p.columns) }))
    .filter((p) => p.track.columns.some((c) => c.some((v) => v !== null)));
  const all = panels[0].track.x;
  const view = (min, max) => panels.forEach((p) => {
    p.u.batch(() => {
      p.u.setData(positive(reduce(p.track, min, max), p.log), false);
      p.u.setScale("x", { min, max });
    });
    p.whole.hidden = min <= all[0] && max >= all[all.length - 1];
  });
  panels.forEach((panel, i) => drawPanel(parent, panel, i === panels.length - 1, view, [all[0], all[all.length - 1]]));
}

// A logarithmic axis has no place for what is not above zero: an interval in which nothing came.
const positive = (data, log) => !log ? data
  : data.map((column, i) => i ? column.map((v) => (v > 0 ? v : null)) : column);

function drawPanel(parent, panel, isLast, view, whole) {
  panel.log ??= panel.unit === "ns" || (panel.unit === "B/s" && wantsLog(panel.track));
  const { columns, unit } = panel;
  const lines = columns.map((name) => ({ name: name.replace("device.", ""), colour: paintOf(name), dash: dashOf(name) }));
  const unitName = UNIT_NAMES[unit] ?? unit;
  const title = unitName && unit !== "ns" ? `${panel.title}, ${unitName}` : panel.title;
  const f = figure(parent, title, lines.length > 1 ? lines : [], `${panel.title} over the run: ${columns.join(", ")}`);
  panel.whole = element("button", "", "Whole run");
  panel.whole.hidden = true;
  panel.whole.onclick = () => view(...whole);
  f.caption.insertBefore(panel.whole, f.readout);
  const tick = (v) => unit === "B/s" ? (v / 1e6).toLocaleString("en-US") : unit === "C" ? brief(v) : worded(unit, v, brief);
  const range = unit === "C" ? { range: (u, min, max) => [Math.floor(min - 2), Math.ceil(max + 2)] } : fromZero;
  panel.u = draw(f.plot, {
    height: unit === "C" ? 130 : panel.title === "Throughput" ? 280 : 180,
    scales: { x: { time: false }, y: panel.log ? logScale() : range },
    axes: [
      timeAxis({ show: isLast || panel.title === "Throughput", size: 28, space: 70 }),
      axis((u, splits) => splits.map(tick), { size: 62, ...(panel.log && { splits: logSplits }) }),
    ],
    series: [{}, ...lines.flatMap((l) => {
      const edge = line(l.name, l.colour, { stroke: "transparent", width: 0 });
      // A sensor is read less often than the rest: its line goes on between its values.
      const median = unit === "C" ? { spanGaps: true } : { paths: pieces };
      return [edge, line(l.name, l.colour, { dash: l.dash, ...median }), edge];
    })],
    bands: lines.map((l, i) => ({ series: [3 * i + 3, 3 * i + 1], fill: faint(l.colour, 0.22) })),
    cursor: {
      drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => view(...whole) },
      sync: { key: "time", scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
      points: { show: (u, i) => i % 3 === 2 ? dot(lines[(i - 2) / 3].colour) : null, size: 6 },
    },
    hooks: {
      setSelect: [(u) => {
        const { left, width } = u.select;
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        if (width > 4) view(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
      }],
      setCursor: [(u) => { f.readout.textContent = readTime(u, panel, lines); }],
    },
  }, positive(reduce(panel.track, ...whole), panel.log));
}

function dot(paint) {
  const e = element("div", "u-cursor-pt");
  e.style.cssText = `width:6px;height:6px;margin:-3px 0 0 -3px;background:${colour(paint)}`;
  return e;
}

function readTime(u, panel, lines) {
  const i = u.cursor.idx;
  if (i == null || u.data[0][i] == null) return "";
  const x = u.data[0][i];
  const t = panel.track;
  const segment = t.segments.findLast((s) => t.x[s.from] <= x + 1e-9);
  const values = lines.map((l, c) => [l, u.data[3 * c + 1][i], u.data[3 * c + 2][i], u.data[3 * c + 3][i]])
    .filter((v) => v[2] != null)
    .map(([l, low, mid, high]) => `${l.name} ${worded(panel.unit, mid)}`
      + (high > low ? ` [${worded(panel.unit, low)}, ${worded(panel.unit, high)}]` : ""));
  return [seconds(x), segment && `${segment.name} (${segment.replicate + 1})`, ...values].filter(Boolean).join(" · ");
}

// ---- Replicates over each other ----------------------------------------------------------------

function repeats() {
  const parent = place("repeats");
  if (!parent) return;
  parent.replaceChildren();
  const long = run.series.filter((s) => s.t_ns.length > 1);
  const repeated = new Map(long.map((s) => [s.name, long.filter((other) => other.name === s.name)]));
  repeated.forEach((series, name) => series.length > 1 || repeated.delete(name));
  document.querySelector('[data-for="repeats"]').hidden = !repeated.size;
  repeated.forEach((series, name) => drawRepeats(parent, name, series));
}

function drawRepeats(parent, name, series) {
  const tables = [], paints = [];
  for (const s of series)
    for (const c of s.columns.filter((c) => c.unit === "B/s" && !c.name.startsWith("device."))) {
      const t = track([{ ...s, start_ns: 0 }], [c.name]);
      const [x, , median] = reduce(t, -Infinity, Infinity);
      if (!median.some((v) => v !== null)) continue;
      tables.push([x, median]);
      paints.push(paintOf(c.name));
    }
  if (!tables.length) return;
  const f = figure(parent, name, [], `Throughput of ${name} over time, ${series.length} replicates over each other`);
  draw(f.plot, {
    height: 130,
    scales: { x: { time: false }, y: fromZero },
    axes: [
      timeAxis({ size: 26, space: 44 }),
      axis((u, splits) => splits.map((v) => (v / 1e6).toLocaleString("en-US")), { size: 50, space: 24 }),
    ],
    series: [{}, ...paints.map((paint, i) => line(`${i}`, paint, { width: 1.25, alpha: 0.8, spanGaps: true }))],
    cursor: { show: false },
  }, uPlot.join(tables));
}

// ---- Latencies ---------------------------------------------------------------------------------

// Below 128 a bucket of the record's histograms is 1 wide, above 1/64 of its power of two.
const widthOf = (low) => low < 128 ? 1 : 2 ** (Math.floor(Math.log2(low)) - 6);

// Share of operations that took at least as long, at the lower edge of each bucket and at the end.
function tailOf(histogram) {
  let left = histogram.count;
  const x = [], y = [];
  for (const [low, count] of histogram.buckets) {
    x.push(Math.max(1, low, x.length ? 0 : histogram.min));
    y.push(left / histogram.count);
    left -= count;
  }
  if (x[x.length - 1] < histogram.max) {
    x.push(histogram.max);
    y.push(1 / histogram.count);
  }
  return [x, y];
}

const timesOf = (profile) => [["service", profile.service], ["response", profile.response]].filter((t) => t[1]?.count);

function tails() {
  const parent = place("tails");
  if (!parent) return;
  parent.replaceChildren();
  for (const op of [...new Set(run.latencies.map((l) => l.op))]) {
    const lines = [], tables = [];
    run.latencies.filter((l) => l.op === op).forEach((profile, i) => timesOf(profile).forEach(([time, histogram]) => {
      const name = profile.response ? `${profile.name} ${time}` : profile.name;
      lines.push({ name, colour: `c${i % 8}`, dash: time === "response" ? [6, 4] : i > 7 ? [2, 3] : undefined });
      tables.push(tailOf(histogram));
    }));
    if (tables.length) drawTails(parent, op, lines, tables);
  }
}

function drawTails(parent, op, lines, tables) {
  const f = figure(parent, op, lines, `Share of operations (${op}) that took at least a time, both axes logarithmic`);
  draw(f.plot, {
    height: 300,
    scales: { x: { time: false, ...logScale(1.1) }, y: { distr: 3, range: (u, min) => [min / 1.3, 1.15] } },
    axes: [
      axis((u, splits) => splits.map((v) => worded("ns", v, brief)), { size: 28, space: 64, splits: logSplits }),
      axis((u, splits) => splits.map(share), { size: 92, splits: logSplits }),
    ],
    series: [{}, ...lines.map((l) => line(l.name, l.colour, { dash: l.dash, spanGaps: true }))],
    cursor: { points: { show: false } },
    hooks: { setCursor: [(u) => { f.readout.textContent = readTail(u); }] },
  }, uPlot.join(tables));
}

function readTail(u) {
  if (u.cursor.left < 0) return "";
  return `at ${worded("ns", u.posToVal(u.cursor.left, "x"))}`;
}

// Share of operations in bins of equal ratio, each bucket dealt to the bins that it overlaps.
function binned(histogram, min, max, bins) {
  const log = Math.log(max / min) / bins;
  const shares = new Array(bins).fill(0);
  const at = (ns) => Math.log(ns / min) / log;
  for (const [low, count] of histogram.buckets) {
    const from = Math.max(0, at(Math.max(low, 1))), to = Math.min(bins, at(low + widthOf(low)));
    for (let bin = Math.floor(from); bin < to; bin++)
      shares[bin] += (count / histogram.count) * (Math.min(to, bin + 1) - Math.max(from, bin)) / (to - from || 1);
  }
  return shares;
}

function histograms() {
  const parent = place("histograms");
  if (!parent) return;
  parent.replaceChildren();
  for (const profile of run.latencies.filter((l) => l.service.count)) drawHistogram(parent, profile);
}

const HISTOGRAM_BINS = 60;

function drawHistogram(parent, profile) {
  const times = timesOf(profile);
  // The last 0.5% would squeeze the rest: they are in the chart above.
  const upTo = (h) => { let n = 0; return h.buckets.find((b) => (n += b[1]) >= 0.995 * h.count)?.[0] ?? h.max; };
  const min = Math.max(1, Math.min(...times.map((t) => t[1].min))) / 1.02;
  const max = Math.max(...times.map((t) => upTo(t[1]) + widthOf(upTo(t[1])))) * 1.05;
  const x = Array.from({ length: HISTOGRAM_BINS }, (_, i) => min * (max / min) ** (i / HISTOGRAM_BINS));
  const lines = times.map(([name], i) => ({ name, colour: i ? "c3" : paintOf(profile.op), dash: undefined }));
  const title = `${profile.name}${profile.name.includes(`-${profile.op}-`) ? "" : ` ${profile.op}`}`;
  const f = figure(parent, title, lines.length > 1 ? lines : [], `Histogram of latencies of ${title}`);
  draw(f.plot, {
    height: 140,
    scales: { x: { time: false, distr: 3, range: () => [min, max] }, y: fromZero },
    axes: [
      axis((u, splits) => splits.map((v) => worded("ns", v, brief)), { size: 26, space: 60, splits: logSplits }),
      axis((u, splits) => splits.map((v) => `${brief(100 * v)}%`), { size: 44, space: 24 }),
    ],
    series: [{}, ...lines.map((l) => line(l.name, l.colour, { width: 1, fill: faint(l.colour, 0.25), paths: uPlot.paths.stepped({ align: 1 }) }))],
    cursor: { show: false },
  }, [x, ...times.map(([, h]) => binned(h, min, max, HISTOGRAM_BINS))]);
}

// ---- The page ----------------------------------------------------------------------------------

function drawAll() {
  const start = performance.now();
  plots.forEach(({ u }) => u.destroy());
  plots = [];
  for (const chart of [timeline, repeats, tails, histograms]) {
    try { chart(); } catch (error) { root.dataset.errors += `${chart.name}: ${error.message}\n`; }
  }
  fit(); // a figure may have become narrower by those drawn after it
  root.dataset.charts = plots.length;
  root.dataset.drawMs = (performance.now() - start).toFixed(1);
}

function fit() {
  for (const { u, size } of plots) if (u.width !== size().width) u.setSize(size());
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").onclick = () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    drawAll();
  };
  dark.addEventListener("change", () => root.dataset.theme ?? drawAll());
  // Paper is light, whatever the screen is.
  let before;
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; drawAll(); });
  addEventListener("afterprint", () => { before ? root.dataset.theme = before : delete root.dataset.theme; drawAll(); });
}

function save() {
  const text = document.getElementById("record").textContent;
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(JSON.parse(text), null, 2)], { type: "application/json" }));
  link.download = `ssdyno-${run.number ?? run.id}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's address bar changes the height alone
  width = innerWidth;
  fit();
});
document.getElementById("save").onclick = save;
theme();
drawAll();
})();
