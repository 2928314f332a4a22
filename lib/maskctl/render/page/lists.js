// The panel beside the mask: cell, findings, batches and heads, legend, steps.

const element = (name, text, attributes = {}) => {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  return out;
};

function showLines(target, lines) {
  target.replaceChildren(...lines.map((line) => element("p", line)));
}

function showFindings() {
  const target = byId("findings");
  if (data.notLookedAt.length > 0) target.append(element("p", `Not looked at: ${data.notLookedAt.join(", ")}.`, { class: "hint" }));
  if (data.findings === null && data.kind === "overlay") return;
  if (data.findings === null) return target.append(element("p", "Nobody looked for findings: check was not asked.", { class: "hint" }));
  if (data.findings.length === 0) return target.prepend(element("p", "maskctl check finds nothing.", { class: "hint" }));
  const table = element("table"), body = element("tbody"), head = element("tr");
  table.append(element("caption", `${counted(data.findings.length, "finding")} of maskctl check`));
  for (const name of ["Severity", "Finding"]) head.append(element("th", name, { scope: "col" }));
  table.append(element("thead"), body);
  table.tHead.append(head);
  data.findings.forEach((finding, i) => {
    const row = element("tr"), cell = element("td", finding.message);
    const severity = element("td", finding.severity, { class: finding.severity });
    const where = ["batch", "head", "query", "key"].slice(data.planes.length > 1 ? 0 : 2).filter((part) => finding[part] !== null).map((part) => `${part} ${finding[part]}`).join(", ");
    if (places[i]) {
      const button = element("button", `Go to ${where || "this mask"}`, { type: "button" });
      button.addEventListener("click", () => goTo(places[i], true));
      cell.append(element("br"), button);
    } else if (where) {
      cell.append(element("p", `${where}, not on this page`, { class: "hint" }));
    }
    cell.title = finding.id;
    row.append(severity, cell);
    body.append(row);
  });
  target.prepend(table);
}

/// Draws the small pictures of planes while there is nothing else to do.
function paintThumbnails(waiting) {
  const later = window.requestIdleCallback ?? ((f) => setTimeout(() => f({ timeRemaining: () => 8 }), 30));
  later((deadline) => {
    if (performance.now() < state.busy) return setTimeout(() => paintThumbnails(waiting), 400);
    do {
      const next = waiting.shift();
      if (!next) return;
      const tall = Math.max(1, Math.ceil(rows / 40)), broad = Math.max(1, Math.ceil(columns / 40));
      const picture = paintTexels(next.plane, 0, 0, tall, broad, Math.ceil(rows / tall), Math.ceil(columns / broad), true);
      next.canvas.width = picture.width;
      next.canvas.height = picture.height;
      next.canvas.getContext("2d").drawImage(picture, 0, 0);
    } while (deadline.timeRemaining() > 4);
    paintThumbnails(waiting);
  });
}

function showPlanes() {
  byId("planes-section").hidden = data.planes.length < 2;
  if (data.planes.length < 2) return;
  const waiting = [];
  data.planes.forEach((plane, i) => {
    const button = element("button", undefined, { type: "button", "aria-pressed": "false" });
    const picture = element("canvas", undefined, { "aria-hidden": "true" }), text = element("span", plane.name || `mask ${i}`);
    text.append(element("small", plane.caption.slice(plane.name ? plane.name.length + 1 : 0)));
    button.append(picture, text);
    button.addEventListener("click", () => goTo({ plane: i, q: state.q, k: state.k }));
    byId("planes").append(button);
    waiting.push({ plane: i, canvas: picture });
  });
  paintThumbnails(waiting);
}

function showLegend() {
  for (const entry of data.legend) {
    const line = element("li");
    for (const ink of entry.inks) {
      const swatch = element("i");
      swatch.style.background = data.colors[ink];
      line.append(swatch);
    }
    line.append(entry.text);
    byId("legend").append(line);
  }
}

function showSteps() {
  byId("steps-section").hidden = data.steps.length === 0;
  for (const step of data.steps) byId("steps").append(element("li", step));
}

/// Marks what belongs to the current plane and cell.
function showCurrent() {
  const plane = data.planes[state.plane];
  byId("caption").textContent = plane.caption;
  [...byId("planes").children].forEach((button, i) => {
    button.setAttribute("aria-pressed", `${i === state.plane}`);
    if (i === state.plane) button.scrollIntoView({ block: "nearest" });
  });
}

function showCell(q, k) {
  const lines = linesOf(q, k), row = unitQ === 1 ? rowText(q) : null;
  [...byId("steps").children].forEach((line, i) => line.classList.toggle("on", i === state.step));
  showLines(byId("here"), row ? [...lines, row] : lines);
  return lines;
}
