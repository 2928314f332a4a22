// Pointer, wheel and keys; and the start.

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function fit() {
  const wide = view.width / columns, tall = view.height / rows, both = Math.min(wide, tall, kLargest);
  // A side with few cells gets thicker ones.
  view.sx = Math.min(Math.max(both, Math.min(60, view.width) / columns), Math.max(both, kLargest));
  view.sy = Math.min(Math.max(both, Math.min(60, view.height) / rows), Math.max(both, kLargest));
  view.least = Math.min(view.sx, view.sy);
  settle();
}

/// Keeps the mask on the screen; one that has room stands in the middle of its axis, from the top.
function settle() {
  const wide = view.width / view.sx, tall = view.height / view.sy;
  view.x = columns <= wide ? 0 : clamp(view.x, 0, columns - wide);
  view.y = rows <= tall ? 0 : clamp(view.y, 0, rows - tall);
  const cell = Math.min(view.sx, view.sy) * view.ratio;
  byId("scale").textContent = cell >= 1 ? `${+cell.toFixed(1)} px a cell` : `${+(1 / cell).toFixed(1)} cells a px`;
  redraw();
}

/// Zooms by a factor; what is under (x, y), in pixels of the cells, stays there.
function zoom(factor, x = view.width / 2, y = view.height / 2) {
  const largest = Math.max(view.sx, view.sy), least = Math.min(view.sx, view.sy);
  factor = clamp(factor, view.least / least, Math.max(1, kLargest / largest));
  view.x += x / view.sx * (1 - 1 / factor);
  view.y += y / view.sy * (1 - 1 / factor);
  view.sx *= factor;
  view.sy *= factor;
  settle();
}

function resize() {
  const box = canvas.getBoundingClientRect(), whole = view.width === 0 || Math.min(view.sx, view.sy) <= view.least;
  view.ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * view.ratio);
  canvas.height = Math.round(box.height * view.ratio);
  view.width = Math.max(box.width - rulers.left - rulers.right, 50);
  view.height = Math.max(box.height - rulers.top - rulers.bottom, 50);
  if (whole) fit(); else settle();
  draw();  // a canvas that changes its size is empty
}

let saying = 0;
function say(lines) {
  clearTimeout(saying);
  saying = setTimeout(() => { byId("live").textContent = lines.join(". "); }, 90);
}

/// Moves the cell, and shows it where it is out of sight.
function goTo(place, near = false) {
  const other = place.plane !== undefined && place.plane !== state.plane;
  if (other) state.plane = place.plane;
  state.q = clamp(place.q, 0, rows - 1);
  state.k = clamp(place.k, 0, columns - 1);
  if (near && Math.max(view.sx, view.sy) < 12) {
    const factor = 12 / Math.max(view.sx, view.sy);
    view.sx *= factor;
    view.sy *= factor;
    view.x = state.k - view.width / view.sx / 2;
    view.y = state.q - view.height / view.sy / 2;
  }
  const wide = view.width / view.sx, tall = view.height / view.sy;
  if (state.k < view.x || state.k + 1 > view.x + wide) view.x = state.k - wide / 2;
  if (state.q < view.y || state.q + 1 > view.y + tall) view.y = state.q - tall / 2;
  byId("tip").hidden = true;
  showCurrent();
  const lines = showCell(state.q, state.k);
  say(other ? [data.planes[state.plane].name, ...lines] : lines);
  settle();
}

function cellAt(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - rulers.left, y = event.clientY - box.top - rulers.top;
  const k = Math.floor(view.x + x / view.sx), q = Math.floor(view.y + y / view.sy);
  return { x, y, q, k, inside: x >= 0 && y >= 0 && q >= 0 && q < rows && k >= 0 && k < columns };
}

function showTip(event) {
  const at = cellAt(event), tip = byId("tip");
  tip.hidden = !at.inside;
  if (!at.inside) return;
  showLines(tip, showCell(at.q, at.k));
  const box = canvas.getBoundingClientRect(), left = event.clientX - box.left, top = event.clientY - box.top;
  tip.style.left = `${left + 18 + tip.offsetWidth > box.width ? Math.max(0, left - 14 - tip.offsetWidth) : left + 18}px`;
  tip.style.top = `${top + 18 + tip.offsetHeight > box.height ? Math.max(0, top - 14 - tip.offsetHeight) : top + 18}px`;
}

const pointers = new Map();
let moved = false;
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, [event.clientX, event.clientY]);
  moved = pointers.size > 1;
});
canvas.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId), now = [event.clientX, event.clientY];
  if (!before) return showTip(event);
  if (Math.hypot(now[0] - before[0], now[1] - before[1]) < 3 && !moved) return;
  moved = true;
  byId("tip").hidden = true;
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    const span = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]), box = canvas.getBoundingClientRect();
    zoom(span(now) / Math.max(span(before), 1), other[0] - box.left - rulers.left, other[1] - box.top - rulers.top);
  } else {
    view.x -= (now[0] - before[0]) / view.sx;
    view.y -= (now[1] - before[1]) / view.sy;
    settle();
  }
  pointers.set(event.pointerId, now);
});
const release = (event) => {
  const at = cellAt(event);
  if (pointers.delete(event.pointerId) && !moved && at.inside && event.type === "pointerup") goTo(at);
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => {
  byId("tip").hidden = true;
  showCell(state.q, state.k);
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = cellAt(event), lines = event.deltaMode === 1 ? 30 : 1;
  zoom(Math.exp(-clamp(event.deltaY * lines, -240, 240) / 400), at.x, at.y);
}, { passive: false });
canvas.addEventListener("dblclick", (event) => { const at = cellAt(event); zoom(2, at.x, at.y); });

const around = (factor) => zoom(factor, (state.k + .5 - view.x) * view.sx, (state.q + .5 - view.y) * view.sy);
const byPlane = (step) => goTo({ plane: (state.plane + step + data.planes.length) % data.planes.length, q: state.q, k: state.k });
function toEnd(last) {
  const runs = layersOf(state.plane).flatMap((list) => runsOf(list, state.q)).sort((a, b) => a[0] - b[0]);
  if (runs.length > 0) goTo({ q: state.q, k: last ? Math.max(...runs.map(([, end]) => end)) - 1 : runs[0][0] });
}
function toNext(forward) {
  const place = nextPlace(forward);
  if (place) goTo(place, true); else say(["nothing is marked, and no finding leads to a cell"]);
}
const actions = {
  ArrowLeft: (n) => goTo({ q: state.q, k: state.k - n }),
  ArrowRight: (n) => goTo({ q: state.q, k: state.k + n }),
  ArrowUp: (n) => goTo({ q: state.q - n, k: state.k }),
  ArrowDown: (n) => goTo({ q: state.q + n, k: state.k }),
  Home: () => toEnd(false),
  End: () => toEnd(true),
  PageUp: () => byPlane(-1),
  PageDown: () => byPlane(1),
  n: () => toNext(true),
  N: () => toNext(false),
  g: () => byId("cell").focus(),
  0: fit,
  "+": () => around(1.5),
  "=": () => around(1.5),
  "-": () => around(1 / 1.5),
};
canvas.addEventListener("keydown", (event) => {
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action(event.shiftKey ? 10 : 1);
});

byId("in").addEventListener("click", () => around(1.5));
byId("out").addEventListener("click", () => around(1 / 1.5));
byId("fit").addEventListener("click", fit);
byId("go").addEventListener("submit", (event) => {
  event.preventDefault();
  const [q, k] = byId("cell").value.split(/[^0-9]+/).filter(Boolean).map(Number);
  const bad = q === undefined || k === undefined || q < q0 || q >= data.queries[1] || k < k0 || k >= data.keys[1];
  if (bad) return say([`expected a query ${q0} to ${data.queries[1] - 1} and a key ${k0} to ${data.keys[1] - 1}, as ${q0},${k0}`]);
  goTo({ q: Math.floor((q - q0) / unitQ), k: Math.floor((k - k0) / unitK) }, true);
  canvas.focus();
});

function setTheme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(name).trim();
  theme = { page: value("--page"), soft: value("--soft"), accent: value("--accent"), cross: value("--cross"),
    error: value("--error"), halo: dark ? "rgba(0,0,0,.65)" : "rgba(255,255,255,.8)", grid: "rgba(128,128,128,.45)" };
  redraw();
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches);
  dark.addEventListener("change", (event) => setTheme(event.matches));
  byId("theme").addEventListener("click", () => setTheme(!document.documentElement.classList.contains("dark")));
  byId("title").textContent = data.title.join("\n");
  for (const remark of data.remarks) byId("remarks").append(element("p", remark));
  showLegend();
  showSteps();
  showFindings();
  if (rows === 0 || columns === 0) throw new Error("The mask has no cells.");
  const packed = Uint8Array.from(atob(byId("runs").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  state.bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  new ResizeObserver(resize).observe(canvas);
  resize();
  state.k = -1;  // before cell (0, 0), which may be the first mark
  const first = nextMark(true);
  state.k = 0;
  if (first) Object.assign(state, first);
  showCurrent();
  showCell(state.q, state.k);
  showPlanes();
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("maskctl-drawn")));
}

start().catch((error) => {
  byId("trouble").hidden = false;
  byId("trouble").textContent = typeof DecompressionStream === "undefined"
    ? "This browser cannot unpack the page: it lacks DecompressionStream, which browsers have since 2023." : error.message;
});
