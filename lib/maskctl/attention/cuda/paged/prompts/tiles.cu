// Kernels that write the mask of prompts as a table of tiles: a block for each row of tiles.
#include "maskctl/attention/cuda/paged/prompts/tiles.cuh"

namespace maskctl::attention::cuda {
namespace {

/// The most prompts that can have rows in one tile row, and the most runs of tiles in a tile row:
/// each prompt has up to three (partial, full, partial).
constexpr int kMostPrompts = kTile / kPromptRows + 1, kMostRuns = 3 * kMostPrompts;

/// The arrays of a TileTableView, for the kernels that fill them.
struct PromptTable {
  Index *row_begins, *row_ends, *partial_offsets;
  TileRun* runs;  // kMostRuns for each tile row
  PayloadId* payloads;
  Run* intervals;
  std::uint64_t* used;
  int* taken;  // how many payloads are in use so far
  TileTableView* view;
  std::uint32_t* number;
};

/// What the rows of a tile row see of one prompt: tiles [begin, end) of copied tokens. Of these,
/// tiles [full, partial) are full and the others partial.
struct Span {
  PagedSequence sequence;
  Index shift;   // position in the sequence + shift = index of the copied token
  Range rows;    // rows of the prompt that are in the tile row
  Range tokens;  // copied tokens that at least one of these rows sees
  int begin, full, partial, end;

  __device__ Span(const PagedCall& c, const PagedSequence& s, Index first_token, Range tile_row)
      : sequence(s), shift(first_token - c.read(s).begin) {
    rows.begin = s.rows.begin > tile_row.begin ? s.rows.begin : tile_row.begin;
    rows.end = s.rows.end < tile_row.end ? s.rows.end : tile_row.end;
    const Range first = seen(c, rows.begin), last = seen(c, rows.end - 1);
    tokens = {first.begin, last.end};
    begin = static_cast<int>(tokens.begin / kTile);
    full = partial = end = static_cast<int>(ceil_div(tokens.end, Index{kTile}));
    if (rows.size() < tile_row.size()) return;
    const int all_see = static_cast<int>(ceil_div(last.begin, Index{kTile})),
              no_more = static_cast<int>(first.end / kTile);
    if (all_see < no_more) full = all_see, partial = no_more;
  }
  __device__ Range seen(const PagedCall& c, Index row) const {
    const Range positions = c.visible(sequence, row);
    return {positions.begin + shift, positions.end + shift};
  }
  __device__ int partial_tiles() const { return full - begin + end - partial; }
  template <class F>
  __device__ void for_each_partial_tile(F&& f) const {
    for (int tile = begin; tile < full; ++tile) f(tile);
    for (int tile = partial; tile < end; ++tile) f(tile);
  }
};

/// Calls f(span) for each prompt with rows in a tile row, in the order of its rows.
template <class F>
__device__ void for_each_span(const PagedCall& c, const Source& source, const Prompts& prompts,
                              Range tile_row, F&& f) {
  const Index count = source.arrays.sequences;
  Index first = 0;  // the first sequence whose rows end after the tile row begins
  for (Index end = count; first < end;) {
    const Index middle = (first + end) / 2;
    if (source[middle].rows.end > tile_row.begin) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  for (Index n = first; n < count; ++n) {
    const PagedSequence s = source[n];
    if (s.rows.begin >= tile_row.end) return;
    if (prompts.begins[n] != Prompts::kNone) f(Span(c, s, prompts.begins[n], tile_row));
  }
}

/// The columns of a tile that belong to `tokens`.
__device__ Run in_tile(Range tokens, int tile) {
  const Index first = Index{tile} * kTile;
  const Index begin = tokens.begin - first, end = tokens.end - first;
  const Run run{static_cast<int>(begin > 0 ? begin : 0),
                static_cast<int>(end < kTile ? end : kTile)};
  return run.begin < run.end ? run : Run{};
}

/// Each block makes one tile row; each thread is one of its rows.
__global__ void make_tile_row(const PagedCall c, const Source source, const Prompts prompts,
                              const PromptTable t) {
  __shared__ int first_payload;
  const Index tile_row = blockIdx.x, row = tile_row * kTile + threadIdx.x;
  const Range rows{tile_row * kTile,
                   (tile_row + 1) * kTile < c.rows ? (tile_row + 1) * kTile : c.rows};
  const bool is_first = threadIdx.x == 0;
  if (is_first) {
    int count = 0;
    for_each_span(c, source, prompts, rows, [&](const Span& s) { count += s.partial_tiles(); });
    first_payload = atomicAdd(t.taken, count);
    t.row_begins[tile_row] = tile_row * kMostRuns;
    t.partial_offsets[tile_row] = first_payload;
  }
  __syncthreads();
  Index run = tile_row * kMostRuns, payload = first_payload;
  const auto add_run = [&](int begin, int end, Fill fill) {
    if (begin == end) return;
    if (is_first) t.runs[run] = {begin, end - begin, fill};
    ++run;
  };
  for_each_span(c, source, prompts, rows, [&](const Span& s) {
    add_run(s.begin, s.full, Fill::kPartial);
    add_run(s.full, s.partial, Fill::kFull);
    add_run(s.partial, s.end, Fill::kPartial);
    const Range own = s.rows.contains(row) ? s.seen(c, row) : Range{};
    s.for_each_partial_tile([&](int tile) {
      t.intervals[payload * kTile + threadIdx.x] = in_tile(own, tile);
      if (is_first) {
        const Run used = in_tile(s.tokens, tile);
        t.payloads[payload] = static_cast<PayloadId>(payload);
        t.used[payload] = bits_between(used.begin, used.end);
      }
      ++payload;
    });
  });
  if (is_first) t.row_ends[tile_row] = run;
}

__global__ void begin_table(const PromptTable t, const TileTableView view) {
  *t.taken = 0, *t.number = 0, *t.view = view;
}

}  // namespace

MaskView prompt_tiles(Workspace& workspace, const PagedCall& call, const Source& source,
                      const Prompts& prompts) {
  const Index tile_rows = ceil_div(call.rows, Index{kTile});
  // A tile row that lies in one prompt has at most four partial tiles: two at each end of the keys
  // that its rows see. Each prompt is in at most two other tile rows, at its first and last rows,
  // in which all its tiles may be partial.
  const Index payloads = 4 * tile_rows + 2 * (prompts.tokens / kTile);
  PromptTable t;
  t.row_begins = workspace.take<Index>(tile_rows), t.row_ends = workspace.take<Index>(tile_rows);
  t.partial_offsets = workspace.take<Index>(tile_rows);
  t.runs = workspace.take<TileRun>(tile_rows * kMostRuns);
  t.payloads = workspace.take<PayloadId>(payloads);
  t.intervals = workspace.take<Run>(payloads * kTile);
  t.used = workspace.take<std::uint64_t>(payloads);
  t.taken = workspace.take<int>(1), t.number = workspace.take<std::uint32_t>(1);
  t.view = workspace.take<TileTableView>(1);
  TileTableView view{};
  view.row_begins = t.row_begins, view.row_ends = t.row_ends, view.runs = t.runs;
  view.partial_offsets = t.partial_offsets, view.payloads = t.payloads;
  view.intervals = t.intervals, view.used_by_intervals = t.used, view.payload_rows = kTile;
  const Stream stream = workspace.stream();
  launch("begin_prompt_tiles", begin_table, 1, 1, 0, stream, t, view);
  launch("prompt_tiles", make_tile_row, static_cast<unsigned>(tile_rows), kTile, 0, stream, call,
         source, prompts, t);
  return {t.view, t.number, 1, 1, 1};
}

}  // namespace maskctl::attention::cuda
