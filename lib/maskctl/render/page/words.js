// What is said of a cell, and where findings lead.

const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
const rangeText = (begin, end, one, many) => end - begin === 1 ? `${one} ${begin}` : `${many} ${begin}-${end - 1}`;
const unitRange = (i, unit, bounds) => [bounds[0] + i * unit, Math.min(bounds[0] + (i + 1) * unit, bounds[1])];

/// The first plane of a finding's batch and head, or -1.
function planeOf(finding) {
  if (finding.batch === null && finding.head === null && finding.query === null) return -1;
  return data.planes.findIndex((plane) => plane.members.length === 0 || plane.members.some(([b, h]) =>
    (finding.batch === null || b === finding.batch) && (finding.head === null || h === finding.head)));
}

/// Where findings lead: {plane, q, k} in units, or null for those without a place on this page.
const places = (data.findings ?? []).map((finding) => {
  const plane = planeOf(finding);
  const q = Math.floor(((finding.query ?? q0) - q0) / unitQ), k = Math.floor(((finding.key ?? k0) - k0) / unitK);
  if (plane < 0 || q < 0 || q >= rows || k < 0 || k >= columns) return null;
  return { plane, q, k, cell: finding.query !== null && finding.key !== null };
});
const placesOf = (plane) => places.filter((place) => place && place.cell && place.plane === plane);

/// The id of a token; null for padding, undefined where ids are not known.
function idOf(axis, index) {
  let end = 0;
  for (const [cells, id] of bandsOf(axis) ?? []) {
    end += cells;
    if (index < end) return id;
  }
  return undefined;
}

function stateText(q, k) {
  const [a, b, c] = layersOf(state.plane).map((list) => isOpen(list, q, k));
  const some = unitQ > 1 || unitK > 1;
  if (data.kind === "overlay") {
    if (some) return a || b || c ? [a && "open in both", b && "only in A", c && "only in B"].filter(Boolean).join(", ") + ", in part" : "closed in both";
    return a ? "open in both" : b ? "only open in A" : c ? "only open in B" : "closed in both";
  }
  if (data.kind === "tiles") return (b ? "full" : a ? "partial" : "empty") + (c ? ", holds a leak" : "");
  return a ? b ? "open, a leak" : "open" : "closed";
}

/// Which step decided the cell, as maskctl why says it.
function decidedText(q, k) {
  const decided = data.planes[state.plane].decided;
  if (decided.length === 0) return null;
  const step = decided.findIndex((number) => number !== null && isOpen(listOf(number), q, k));
  state.step = step;
  if (step >= 0) {
    const open = isOpen(layersOf(state.plane)[0], q, k) || (data.kind === "overlay" && isOpen(layersOf(state.plane)[1], q, k));
    return `${data.kind === "overlay" ? "in A " : ""}${open ? "opened" : "closed"} by step ${step + 1}, ${data.steps[step]}`;
  }
  const known = decided.lastIndexOf(null) + 1;
  if (known === decided.length) return "the step that decided is not known on this page";
  return known > 0 ? `not changed after step ${known}` : "as in the SOURCE: no step changed it";
}

function rowText(q) {
  if (data.kind !== "mask") return null;
  const runs = runsOf(layersOf(state.plane)[0], q), keys = runs.reduce((sum, [a, b]) => sum + b - a, 0);
  const shown = runs.slice(0, 6).map(([a, b]) => b - a === 1 ? `${k0 + a}` : `${k0 + a}-${k0 + b - 1}`).join(", ");
  return keys === 0 ? `query ${q0 + q} sees no key`
    : `query ${q0 + q} sees ${counted(keys, "key")}: ${shown}${runs.length > 6 ? `, and ${runs.length - 6} more runs` : ""}`;
}

/// The lines about a cell.
function linesOf(q, k) {
  const qs = unitRange(q, unitQ, data.queries), ks = unitRange(k, unitK, data.keys);
  const out = [`${rangeText(...qs, "query", "queries")}, ${rangeText(...ks, "key", "keys")}: ${stateText(q, k)}`];
  if (unitQ === 1 && unitK === 1) {
    const a = idOf(0, q), b = idOf(1, k), name = (id) => id === null ? "padding" : `document ${id}`;
    if (a !== undefined && b !== undefined) out.push(a === b ? `both in ${name(a)}` : `query in ${name(a)}, key in ${name(b)}`);
    const from = tokensOf(0)?.[q], to = tokensOf(1)?.[k];
    if (from !== undefined || to !== undefined) out.push(`tokens ${[from, to].filter((t) => t !== undefined).map((t) => `“${t}”`).join(" to ")}`);
  }
  state.step = -1;
  const decided = decidedText(q, k);
  if (decided) out.push(decided);
  places.forEach((place, i) => {
    if (place && place.cell && place.plane === state.plane && place.q === q && place.k === k) out.push(`${data.findings[i].severity}: ${data.findings[i].message}`);
  });
  return out;
}

/// The next marked cell (a leak, or a difference) after the current one, or before it.
function nextMark(forward) {
  const layers = (plane) => data.planes[plane].layers.slice(data.kind === "tiles" ? 2 : 1).map(listOf);
  for (let turn = 0; turn <= data.planes.length; ++turn) {
    const plane = (state.plane + (forward ? turn : -turn) + 2 * data.planes.length) % data.planes.length;
    const lists = layers(plane).filter((list) => list.runs.some((m) => m > 0));
    if (lists.length === 0) continue;
    const step = forward ? 1 : -1;
    for (let q = turn === 0 ? state.q : forward ? 0 : rows - 1; q >= 0 && q < rows; q += step) {
      const here = turn === 0 && q === state.q;
      const starts = lists.flatMap((list) => runsOf(list, q).map(([a]) => a))
        .filter((a) => !here || (forward ? a > state.k : a < state.k)).sort((a, b) => step * (a - b));
      if (starts.length > 0) return { plane, q, k: starts[0] };
    }
  }
  return null;
}

function nextPlace(forward) {
  const marked = nextMark(forward);
  if (marked) return marked;
  const list = places.filter(Boolean);
  if (list.length === 0) return null;
  const at = list.findIndex((place) => place.plane === state.plane && place.q === state.q && place.k === state.k);
  return list[(at + (forward ? 1 : at < 0 ? 0 : -1) + list.length) % list.length];
}
