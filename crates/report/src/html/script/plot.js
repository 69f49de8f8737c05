// Shared by all charts: the record, value formatting, elements, axes, lines, and uPlot.

const root = document.documentElement;
root.dataset.errors = "";
addEventListener("error", (event) => { root.dataset.errors += event.message + "\n"; });

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

// A figure with a title, a legend, a readout of the cursor, and space for a plot.
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

// Distances between labels on an axis of seconds.
const SECONDS = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200,
  1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800];

const timeAxis = (more) => axis((u, splits) => splits.map(seconds), { incrs: SECONDS, ...more });

// Labels within a decade of a logarithmic axis, densest first, and the space needed by a label.
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
// A line that stops at unknown values; a lone value is a dash. uPlot's own line continues through a
// gap and is hidden there, which shortens pieces that are only a few pixels long.
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

// uPlot draws the bands, with a margin so that no edge of one shows next to a narrow gap.
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
