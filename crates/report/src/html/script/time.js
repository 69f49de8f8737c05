// Charts over time: the time series of a run, and its replicates overlaid.

// Long series are reduced to this many buckets of minimum, median and maximum for the visible part;
// zooming reduces the full data again.
const BUCKETS = 1500;

// ---- Long series -------------------------------------------------------------------------------

// The series of a run on one time axis: each row is an interval, `segments` assign it to a
// workload.
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

// A sensor is read less often than other values. Its value is held until the next one of the same
// workload, but never through a rest.
function holdValues(t, unit) {
  if (unit === "C") for (const { from, to } of t.segments) for (const column of t.columns) {
    let last = to - 1;
    while (last > from && column[last] === null) last--;
    for (let i = from + 1; i < last; i++) column[i] ??= column[i - 1];
  }
  return t;
}

const known = (values) => values.filter((v) => v !== null).sort((a, b) => a - b);

// Minimum, median and maximum of each column over buckets of the rows between two times. A bucket
// never extends from one workload into the next; lines break between workloads.
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

const PANELS = {
  "B/s": "Throughput", "ns": "Latency", "C": "Temperature", "IOPS": "Operations per second", "B": "Address on the drive",
  "1": "Counts and shares",
};

// Panels of the time axis: application throughput, device, latencies, temperature, and others.
function panelsOf(series) {
  const panels = new Map();
  for (const { name, unit } of series.flatMap((s) => s.columns)) {
    if (name.endsWith(".ops")) continue; // the same shape as the bytes
    const device = name.startsWith("device.");
    const id = (device ? "At the device" : PANELS[unit]) ?? `In ${unit}`;
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
  // Rounds and positions are not time series; the charts of the answer show them.
  const derived = (s) => s.columns.some((c) => c.name === "round" || c.name === "position");
  const series = run.series.filter((s) => s.t_ns.length && !derived(s)).sort((a, b) => a.start_ns - b.start_ns);
  if (!parent || !series.length) return;
  parent.replaceChildren();
  const panels = panelsOf(series).map((p) => ({ ...p, track: holdValues(track(series, p.columns), p.unit) }))
    .filter((p) => p.track.columns.some((c) => c.some((v) => v !== null)));
  if (!panels.length) return;
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

// A logarithmic axis cannot show zero, the value of an interval without completions.
const positive = (data, log) => !log ? data
  : data.map((column, i) => i ? column.map((v) => (v > 0 ? v : null)) : column);

function drawPanel(parent, panel, isLast, view, whole) {
  panel.log ??= panel.unit === "ns" || (panel.unit === "B/s" && wantsLog(panel.track));
  const { columns, unit } = panel;
  const lines = columns.map((name) => ({ name: name.replace("device.", ""), colour: paintOf(name), dash: dashOf(name) }));
  const unitName = UNIT_NAMES[unit] ?? unit;
  const title = unitName && !["ns", "IOPS", "1"].includes(unit) ? `${panel.title}, ${unitName}` : panel.title;
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
      return [edge, line(l.name, l.colour, { dash: l.dash, paths: pieces }), edge];
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

// ---- Replicates overlaid -----------------------------------------------------------------------

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
  const f = figure(parent, name, [], `Throughput of ${name} over time, ${series.length} replicates overlaid`);
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
