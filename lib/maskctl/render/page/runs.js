// Lists of rows as run_stream.h writes them: blocks of rows whose runs move by equal steps.

/// The rows of one list. Block i begins with row start[i]; its n rows have m runs each, whose edges stand
/// from at[i] on, and the growth of each edge from row to row from slope[i] on, or -1: none.
function readList(bytes, from) {
  let at = from;
  const number = () => {
    let out = 0, scale = 1;
    for (;;) {
      const byte = bytes[at++];
      out += (byte & 127) * scale;
      if (byte < 128) return out;
      scale *= 128;
    }
  };
  const list = { start: [], rows: [], runs: [], at: [], slope: [], edges: [] };
  let row = 0;
  for (let n = number(); n > 0; n = number()) {
    const m = number();
    list.start.push(row);
    list.rows.push(n);
    list.runs.push(m);
    list.at.push(list.edges.length);
    for (let i = 0, edge = 0; i < 2 * m; ++i) list.edges.push(edge += number());
    let moves = false;
    const slopes = [];
    for (let i = 0; n > 1 && i < 2 * m; ++i) {
      const zigzag = number();
      slopes.push(zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2);
      moves = moves || zigzag > 0;
    }
    list.slope.push(moves ? list.edges.length : -1);
    if (moves) for (const slope of slopes) list.edges.push(slope);
    row += n;
  }
  list.edges = Int32Array.from(list.edges);
  return list;
}

/// The block of a row.
function blockOf(list, row) {
  let low = 0, high = list.start.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list.start[middle] <= row) low = middle; else high = middle - 1;
  }
  return low;
}

/// Edge number i of a row of a block.
function edgeOf(list, block, row, i) {
  const slope = list.slope[block], edge = list.edges[list.at[block] + i];
  return slope < 0 ? edge : edge + list.edges[slope + i] * (row - list.start[block]);
}

/// The first run of a row that ends after a column.
function firstRun(list, block, row, column) {
  let low = 0, high = list.runs[block];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edgeOf(list, block, row, 2 * middle + 1) > column) high = middle; else low = middle + 1;
  }
  return low;
}

function isOpen(list, row, column) {
  if (list.start.length === 0) return false;
  const block = blockOf(list, row), run = firstRun(list, block, row, column);
  return run < list.runs[block] && edgeOf(list, block, row, 2 * run) <= column;
}

/// The runs of a row as pairs [begin, end).
function runsOf(list, row) {
  const out = [];
  if (list.start.length === 0) return out;
  const block = blockOf(list, row);
  for (let i = 0; i < list.runs[block]; ++i) {
    out.push([edgeOf(list, block, row, 2 * i), edgeOf(list, block, row, 2 * i + 1)]);
  }
  return out;
}

/// How many cells are open in each texel: `rows` x `columns` texels from row `top` and column `left`
/// on, each of tall x wide cells. Takes time by the runs, whatever their length.
function countTexels(list, top, left, tall, wide, rows, columns, end) {
  const width = columns + 1;  // one more column, for what ends after the last
  const whole = new Float64Array(rows * width), part = new Float64Array(rows * width);
  const right = left + wide * columns, bottom = Math.min(top + tall * rows, end);
  if (list.start.length === 0 || top >= bottom) return part;
  for (let block = blockOf(list, top); block < list.start.length; ++block) {
    const first = list.start[block], last = Math.min(first + list.rows[block], bottom);
    if (first >= bottom) break;
    const still = list.slope[block] < 0;
    for (let row = Math.max(first, top); row < last;) {
      const line = Math.floor((row - top) / tall);
      // Equal rows within one line of texels count at once.
      const times = still ? Math.min(last, top + (line + 1) * tall) - row : 1;
      const base = line * width;
      for (let run = firstRun(list, block, row, left); run < list.runs[block]; ++run) {
        const begin = Math.max(edgeOf(list, block, row, 2 * run), left) - left;
        const stop = Math.min(edgeOf(list, block, row, 2 * run + 1), right) - left;
        if (begin >= right - left) break;
        const a = Math.floor(begin / wide), b = Math.floor((stop - 1) / wide);
        if (a === b) {
          part[base + a] += (stop - begin) * times;
        } else {
          part[base + a] += ((a + 1) * wide - begin) * times;
          part[base + b] += (stop - b * wide) * times;
          whole[base + a + 1] += times;
          whole[base + b] -= times;
        }
      }
      row += times;
    }
  }
  for (let line = 0; line < rows; ++line) {
    for (let x = 0, through = 0, at = line * width; x < columns; ++x, ++at) {
      through += whole[at];
      part[at] += through * wide;
    }
  }
  return part;
}
