// The mask on a canvas: tiles of texels at the scale that is seen, rulers, and the cell that is looked at.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const canvas = byId("canvas"), brush = canvas.getContext("2d", { alpha: false });
const [unitQ, unitK] = data.unit;
const q0 = data.queries[0], k0 = data.keys[0];
const rows = Math.ceil((data.queries[1] - q0) / unitQ), columns = Math.ceil((data.keys[1] - k0) / unitK);
const kTile = 128, kMostTiles = 900, kLargest = 56, kMark = 8, kFew = 3 * 100;
const colors = data.colors.map((hex) => {
  const value = parseInt(hex.slice(1), 16);  // little-endian RGBA
  return (255 << 24 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
});
const hasTokens = data.tokens[0] !== null || Array.isArray(data.tokens[1]);
const rulers = { left: hasTokens ? 150 : 74, top: hasTokens ? 104 : 46, right: 14, bottom: 12, band: 14 };
const view = { x: 0, y: 0, sx: 1, sy: 1, width: 0, height: 0, ratio: 1 };
const state = { plane: 0, q: 0, k: 0, hover: null, lists: [], tiles: new Map(), waiting: false, busy: 0, bytes: null };
let theme = {};

const listOf = (number) => state.lists[number] ??= readList(state.bytes, data.lists[number]);
const layersOf = (plane) => data.planes[plane].layers.map(listOf);

/// The ink of a texel, as density_ink() and overlay_ink() choose it.
function inkOf(counts, at, area) {
  const a = counts[0], b = counts[1], c = counts[2];
  if (data.kind === "overlay") {
    if (b[at] > 0 || c[at] > 0) return b[at] > 0 && c[at] > 0 ? 5 : b[at] > 0 ? 3 : 4;
    return a[at] === 0 ? 0 : a[at] === area ? 2 : 1;
  }
  if (data.kind === "tiles") {
    if (c && c[at] > 0) return kMark;
    return a[at] === 0 ? 0 : b[at] === area ? 7 : 3;
  }
  if (b && b[at] > 0) return kMark;
  const open = a[at], closed = area - open;
  if (open === 0) return 0;
  if (closed === 0) return 7;
  const least = open >= 2 * closed ? 5 : 2 * open >= closed ? 3 : 1;
  return Math.min(Math.max(1 + Math.floor(open / area * 6), least), least + 1);
}

const isMark = (ink) => data.kind === "overlay" ? ink >= 3 : ink === kMark;

/// Draws high x wide texels of a plane, each of tall x broad cells, to a new canvas. `grown`: single ones
/// are enlarged.
function paintTexels(plane, top, left, tall, broad, high, wide, grown) {
  const counts = layersOf(plane).map((list) => countTexels(list, top, left, tall, broad, high, wide, rows));
  const target = document.createElement("canvas");
  target.width = wide;
  target.height = high;
  const context = target.getContext("2d");
  const image = context.createImageData(wide, high), pixels = new Uint32Array(image.data.buffer);
  const marks = [], odd = [[], []];  // what is marked; what is not closed, and what is not open
  const whole = data.kind === "overlay" ? 2 : 7;
  for (let y = 0; y < high; ++y) {
    const tallHere = Math.min(tall, rows - top - y * tall);
    for (let x = 0; x < wide; ++x) {
      const area = tallHere * Math.min(broad, columns - left - x * broad);
      const ink = inkOf(counts, y * (wide + 1) + x, area);
      pixels[y * wide + x] = colors[ink];
      if (isMark(ink)) marks.push(x, y, ink);
      if (ink !== 0 && odd[0].length <= kFew) odd[0].push(x, y, ink);
      if (ink !== whole && odd[1].length <= kFew) odd[1].push(x, y, ink);
    }
  }
  // A few of another kind would be overlooked as single texels.
  for (const texels of grown ? [...odd.filter((list) => list.length <= kFew), marks.length <= 6 * kFew ? marks : []] : []) {
    for (let i = 0; i < texels.length; i += 3) {
      for (let y = Math.max(texels[i + 1] - 1, 0); y <= Math.min(texels[i + 1] + 1, high - 1); ++y) {
        for (let x = Math.max(texels[i] - 1, 0); x <= Math.min(texels[i] + 1, wide - 1); ++x) {
          pixels[y * wide + x] = colors[texels[i + 2]];
        }
      }
    }
  }
  context.putImageData(image, 0, 0);
  return target;
}

/// The tile, made if it is not there and there is time for it, else null.
function tileOf(ly, lx, ty, tx, until) {
  const grown = Math.max(view.sx, view.sy) * view.ratio < 3, key = `${state.plane}/${ly}/${lx}/${ty}/${tx}${grown ? "" : "/"}`;
  const known = state.tiles.get(key);
  if (known) {
    state.tiles.delete(key);  // the last is the one used last
    state.tiles.set(key, known);
    return known;
  }
  if (performance.now() > until) return null;
  const tall = 2 ** ly, broad = 2 ** lx, top = ty * kTile * tall, left = tx * kTile * broad;
  const made = paintTexels(state.plane, top, left, tall, broad,
    Math.min(kTile, Math.ceil((rows - top) / tall)), Math.min(kTile, Math.ceil((columns - left) / broad)), grown);
  state.tiles.set(key, made);
  if (state.tiles.size > kMostTiles) state.tiles.delete(state.tiles.keys().next().value);
  return made;
}

/// The part of a larger tile that is there already, to be shown until the tile is made.
function coarser(ly, lx, ty, tx) {
  for (let up = 1; up < 12; ++up) {
    const step = 2 ** up, cy = Math.floor(ty / step), cx = Math.floor(tx / step);
    const tile = state.tiles.get(`${state.plane}/${ly + up}/${lx + up}/${cy}/${cx}`);
    if (tile) {
      return { tile, x: (tx - cx * step) * kTile / step, y: (ty - cy * step) * kTile / step, size: kTile / step };
    }
  }
  return null;
}

const levelOf = (scale) => Math.max(0, Math.ceil(-Math.log2(scale * view.ratio) - 1e-9));

/// Draws the visible cells. Returns whether some are still to be made.
function drawCells(until) {
  const lx = levelOf(view.sx), ly = levelOf(view.sy), broad = kTile * 2 ** lx, tall = kTile * 2 ** ly;
  const right = Math.min(columns, view.x + view.width / view.sx), bottom = Math.min(rows, view.y + view.height / view.sy);
  const pixelX = (column) => Math.round((rulers.left + (column - view.x) * view.sx) * view.ratio) / view.ratio;
  const pixelY = (row) => Math.round((rulers.top + (row - view.y) * view.sy) * view.ratio) / view.ratio;
  let missing = false;
  brush.imageSmoothingEnabled = false;
  for (let ty = Math.max(0, Math.floor(view.y / tall)); ty * tall < bottom; ++ty) {
    for (let tx = Math.max(0, Math.floor(view.x / broad)); tx * broad < right; ++tx) {
      const tile = tileOf(ly, lx, ty, tx, until);
      const x = pixelX(tx * broad), y = pixelY(ty * tall);
      if (tile) {
        const w = pixelX(Math.min((tx + 1) * broad, columns)) - x, h = pixelY(Math.min((ty + 1) * tall, rows)) - y;
        brush.drawImage(tile, x, y, w * tile.width * 2 ** lx / Math.min(broad, columns - tx * broad),
          h * tile.height * 2 ** ly / Math.min(tall, rows - ty * tall));
        continue;
      }
      missing = true;
      const other = coarser(ly, lx, ty, tx);
      if (other) {
        brush.drawImage(other.tile, other.x, other.y, other.size, other.size, x, y, pixelX((tx + 1) * broad) - x, pixelY((ty + 1) * tall) - y);
      }
    }
  }
  return missing;
}

/// The distance of the numbers of a ruler, like tick_step().
function tickStep(extent, most) {
  if ((extent & (extent - 1)) === 0 || extent % 256 === 0) {
    let step = 1;
    while (Math.ceil(extent / step) > most) step *= 2;
    return step;
  }
  let step = 1;
  for (let turn = 0; Math.ceil(extent / step) > most; turn = (turn + 1) % 3) step = turn === 1 ? step / 2 * 5 : step * 2;
  return step;
}

const bandsOf = (axis) => {
  const number = data.planes[state.plane].bands[axis];
  return number === null ? null : data.bands[number];
};
const tokensOf = (axis) => axis === 1 && data.tokens[1] === 0 ? data.tokens[0] : data.tokens[axis];

/// Draws one ruler: the segments, then numbers or tokens.
function drawRuler(axis) {
  const down = axis === 0, count = down ? rows : columns, scale = down ? view.sy : view.sx, from = down ? view.y : view.x;
  const space = down ? view.height : view.width, start = down ? rulers.top : rulers.left, edge = down ? rulers.left : rulers.top;
  const unit = down ? unitQ : unitK, origin = down ? q0 : k0, bands = bandsOf(axis);
  const last = Math.min(count, from + space / scale);
  brush.save();
  brush.beginPath();
  if (down) brush.rect(0, start - 7, edge, space + 7); else brush.rect(start - 16, 0, space + 16, edge);
  brush.clip();
  brush.font = "11px system-ui, sans-serif";
  brush.textBaseline = "middle";
  brush.textAlign = "center";
  let at = 0;
  for (const [cells, id, color] of bands ?? []) {
    const begin = at / unit, end = (at += cells) / unit;
    if (end <= from) continue;
    if (begin >= last) break;
    const a = Math.max(start, start + (begin - from) * scale), size = start + (end - from) * scale - a;
    const [fill, text] = data.segmentColors[color];
    brush.fillStyle = fill;
    const thin = Math.max(size - (size > 3 ? 1 : 0), .5), wall = edge - rulers.band;
    if (down) brush.fillRect(wall, a, rulers.band - 2, thin); else brush.fillRect(a, wall, thin, rulers.band - 2);
    const label = id === null ? "–" : `${id}`, seen = Math.max(a, start), stop = Math.min(a + size, start + space);
    if (stop - seen > (down ? 12 : 8 + 6 * label.length) && (!down || label.length < 3)) {
      brush.fillStyle = text;
      const middle = (seen + stop) / 2;
      if (down) brush.fillText(label, wall + 6, middle); else brush.fillText(label, middle, wall + 6);
    }
  }
  const tokens = tokensOf(axis), words = tokens && scale >= 11 && unit === 1;
  const room = words ? 11 : down ? 26 : 60, step = tickStep(count, Math.max(1, Math.floor(scale * count / room)));
  const wall = edge - (bands ? rulers.band + 3 : 4), big = scale >= 8;
  brush.fillStyle = brush.strokeStyle = theme.soft;
  for (let i = Math.max(0, Math.ceil(from / step - 1) * step); i < last; i += step) {
    const middle = start + (i - from + (big ? .5 : 0)) * scale;
    if (middle < start - 1) continue;
    const text = words ? `${tokens[i * unit]}  ${origin + i * unit}` : `${origin + i * unit}`;
    brush.beginPath();
    if (down) { brush.moveTo(wall - 4, middle); brush.lineTo(wall, middle); } else { brush.moveTo(middle, wall - 4); brush.lineTo(middle, wall); }
    brush.stroke();
    brush.save();
    if (down) {
      brush.textAlign = "right";
      brush.fillText(text, wall - 7, middle);
    } else if (words) {
      brush.translate(middle, wall - 7);
      brush.rotate(-Math.PI / 2);
      brush.textAlign = "left";
      brush.fillText(text, 0, 0);
    } else {
      brush.fillText(text, middle, wall - 12);
    }
    brush.restore();
  }
  brush.restore();
}

function drawGrid() {
  const size = Math.min(view.sx, view.sy);
  if (size < 9) return;
  brush.strokeStyle = theme.grid;
  brush.lineWidth = 1 / view.ratio;
  brush.beginPath();
  const right = Math.min(view.width, (columns - view.x) * view.sx), bottom = Math.min(view.height, (rows - view.y) * view.sy);
  const left = Math.max(0, -view.x * view.sx), top = Math.max(0, -view.y * view.sy);
  for (let k = Math.max(0, Math.ceil(view.x)); (k - view.x) * view.sx <= right; ++k) {
    brush.moveTo(rulers.left + (k - view.x) * view.sx, rulers.top + top);
    brush.lineTo(rulers.left + (k - view.x) * view.sx, rulers.top + bottom);
  }
  for (let q = Math.max(0, Math.ceil(view.y)); (q - view.y) * view.sy <= bottom; ++q) {
    brush.moveTo(rulers.left + left, rulers.top + (q - view.y) * view.sy);
    brush.lineTo(rulers.left + right, rulers.top + (q - view.y) * view.sy);
  }
  brush.stroke();
}

/// A box around a cell, large enough to be seen at any scale.
function drawBox(q, k, color, least, width) {
  const w = Math.max(view.sx, least), h = Math.max(view.sy, least);
  const x = rulers.left + (k + .5 - view.x) * view.sx - w / 2, y = rulers.top + (q + .5 - view.y) * view.sy - h / 2;
  brush.lineWidth = width + 2;
  brush.strokeStyle = theme.halo;
  brush.strokeRect(x, y, w, h);
  brush.lineWidth = width;
  brush.strokeStyle = color;
  brush.strokeRect(x, y, w, h);
}

function drawCursor() {
  const x = rulers.left + (state.k + .5 - view.x) * view.sx, y = rulers.top + (state.q + .5 - view.y) * view.sy;
  brush.fillStyle = theme.cross;
  brush.globalAlpha = .35;
  brush.fillRect(rulers.left, y - .5, Math.min(view.width, (columns - view.x) * view.sx), 1);
  brush.fillRect(x - .5, rulers.top, 1, Math.min(view.height, (rows - view.y) * view.sy));
  brush.globalAlpha = 1;
  for (const place of placesOf(state.plane)) drawBox(place.q, place.k, theme.error, 11, 1.5);
  drawBox(state.q, state.k, theme.accent, 7, 2);
}

function draw() {
  const budget = performance.now() + 6;
  brush.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
  brush.fillStyle = theme.page;
  brush.fillRect(0, 0, canvas.width, canvas.height);
  brush.save();
  brush.beginPath();
  brush.rect(rulers.left, rulers.top, view.width, view.height);
  brush.clip();
  const missing = drawCells(budget);
  drawGrid();
  drawCursor();
  brush.restore();
  brush.strokeStyle = theme.soft;
  brush.lineWidth = 1;
  const right = Math.min(view.width, (columns - view.x) * view.sx), bottom = Math.min(view.height, (rows - view.y) * view.sy);
  const left = Math.max(0, -view.x * view.sx), top = Math.max(0, -view.y * view.sy);
  brush.strokeRect(rulers.left + left - .5, rulers.top + top - .5, right - left + 1, bottom - top + 1);
  drawRuler(0);
  drawRuler(1);
  return missing;
}

/// Asks for a drawing with the next frame.
function redraw() {
  if (state.waiting || !state.bytes) return;
  state.waiting = true;
  state.busy = performance.now() + 400;  // small pictures wait until nothing moves
  requestAnimationFrame(() => {
    state.waiting = false;
    if (draw()) redraw();
  });
}
