// Draws all charts from the record in the page, and redraws them when the width or the colours
// change. For tests, attributes of <html> contain the number of charts, the time and the errors
// (data-charts, data-draw-ms, data-errors).

function drawAll() {
  const start = performance.now();
  plots.forEach(({ u }) => u.destroy());
  plots = [];
  for (const chart of [timeline, repeats, tails, histograms]) {
    try { chart(); } catch (error) { root.dataset.errors += `${chart.name}: ${error.message}\n`; }
  }
  fit(); // later figures may have made a figure narrower
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
  // Paper is always light.
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
  if (innerWidth === width) return; // a phone's address bar changes only the height
  width = innerWidth;
  fit();
});
// A chart in a collapsed part has no width until the part is opened.
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", fit);
document.getElementById("save").onclick = save;
theme();
drawAll();
