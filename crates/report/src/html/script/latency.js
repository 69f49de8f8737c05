// Charts of latencies.

// Histogram buckets are 1 wide below 128, and above 1/64 of their power of two.
const widthOf = (low) => low < 128 ? 1 : 2 ** (Math.floor(Math.log2(low)) - 6);

// Fraction of operations that took at least this long, at each bucket's lower edge and at the end.
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
  const f = figure(parent, `Times of ${op}s`, lines, `Share of operations (${op}) that took at least this long, both axes logarithmic`);
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

// Fraction of operations in bins of equal ratio; each bucket is split among the bins it overlaps.
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
  // The slowest 0.5% would compress the rest; the chart above shows them.
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
