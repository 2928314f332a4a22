// PaddlePaddle's FlashMask, whose mask lists, for each key, the rows (queries) that do not see it:
// at most two ranges.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFlashmaskArguments[] = {
    {"causal", kCausal, "True"},
    {"window_size", kKeys, "None"},
    {"startend_row_indices", kUnread, "None"},
    {"block_mask", kUnread, "None"},
    {"dropout", kNothing, "0.0"},
    {"return_softmax_lse", kNothing, "False"},
    {"return_seed_offset", kNothing, "False"},
    {"fixed_seed_offset", kNothing, "None"},
    {"rng_name", kNothing, "\"\""},
    {"training", kNothing, "True"},
    {"name", kNothing, "None"},
    {"softmax_scale", kNothing, "None"},
};

constexpr Convention kFlashmaskCalls[] = {
    {.call = "flashmask_attention",
     .align = Align::kTopLeft,
     .unbounded = "None",
     .leading = "q, k, v",
     .arguments = kFlashmaskArguments,
     .source = "flashmask/tests/generate_startend_row_indices.py"}};

constexpr WindowConvention kFlashmaskWindows[] = {
    {"flashmask, generator", "window_size=W", WindowRule::kKeys,
     "generate_startend_row_indices.py: row >= col + W is closed"}};

Chain read_flashmask(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  if (given_argument(source, "startend_row_indices")) {
    source.fail(source.text.last.position,
                "startend_row_indices are not read as text: give the array as a file");
  }
  return chain_of_call(source);
}

/// The rows that see key j, from `low` to before `high`, as Python expressions. low "0" and high
/// "Q_LEN" mean no bound.
class OpenRows {
 public:
  explicit OpenRows(const MaskForm& mask) : mask_(mask) {}

  /// Narrows the range of rows by each rule of the MaskForm in turn.
  void write() {
    band();
    if (mask_.chunk) chunk();
    if (mask_.sinks > 0) {
      choose(low, fmt::format("j < {}", mask_.sinks), at(0));
      choose(high, fmt::format("j < {}", mask_.sinks), "Q_LEN");
    }
    if (mask_.prefix > 0) {
      choose(low, fmt::format("j < {}", mask_.prefix), "0");
      choose(high, fmt::format("j < {}", mask_.prefix), "Q_LEN");
    }
    if (mask_.documents) documents();
    if (mask_.padded()) padding();
  }
  /// True if the lower bound only excludes rows before the key's own. Then causal=True can replace
  /// it.
  bool causal_alone() const { return low == "j"; }

  /// A bound as an array: paddle.where and paddle.stack do not take numbers.
  static std::string array(const std::string& value) {
    return value == "0" || value == "Q_LEN" ? fmt::format("paddle.full_like(j, {})", value) : value;
  }

  std::vector<std::string> lines;
  std::string low = "0", high = "Q_LEN";

 private:
  /// The row `offset` rows after the one on the diagonal at key j.
  std::string at(Index offset) const {
    std::string out = "j";
    if (offset != 0) out += fmt::format(" {} {}", offset < 0 ? '-' : '+', std::abs(offset));
    if (mask_.align == Align::kBottomRight) out += " - (KV_LEN - Q_LEN)";
    return out;
  }
  static void raise(std::string& to, const std::string& by) {
    to = to == "0" ? by : fmt::format("paddle.maximum({}, {})", to, by);
  }
  static void lower(std::string& to, const std::string& by) {
    to = to == "Q_LEN" ? by : fmt::format("paddle.minimum({}, {})", to, by);
  }
  static void choose(std::string& to, const std::string& where, const std::string& value) {
    if (to == value) return;
    to = fmt::format("paddle.where({}, {}, {})", where, array(value), array(to));
  }
  void band() {
    if (mask_.right) low = at(-*mask_.right);
    if (mask_.left) high = at(*mask_.left + 1);
  }
  void chunk() {
    const Index size = *mask_.chunk;
    const Index origin = mask_.chunk_origins.empty() ? 0 : mask_.chunk_origins.front();
    std::string first = origin == 0 ? fmt::format("j // {0} * {0}", size)
                                    : fmt::format("(j - {1}) // {0} * {0} + {1}", size, origin);
    if (mask_.chunk_offset != 0) first += fmt::format(" - {}", mask_.chunk_offset);
    if (mask_.chunk_align == Align::kBottomRight) first += " - (KV_LEN - Q_LEN)";
    lines.push_back("chunk = " + first);
    raise(low, "chunk");
    lower(high, fmt::format("chunk + {}", size));
  }
  void documents() {
    std::vector<Index> ends = ends_of(mask_.lengths);
    const std::string last = joined(std::span(ends).subspan(1), ", ");
    ends.pop_back();
    const auto repeated = [&](const std::string& values) {
      return fmt::format("paddle.repeat_interleave(paddle.to_tensor([{}]), paddle.to_tensor([{}]))",
                         values, joined(mask_.lengths, ", "));
    };
    lines.push_back("document_end = " + repeated(last));
    lower(high, "document_end");
    if (causal_alone()) return;  // causal: no row of an earlier document sees j
    lines.push_back("document = " + repeated(joined(ends, ", ")));
    raise(low, "document");
  }
  void padding() {
    const std::string length =
        mask_.padding.size() == 1 ? std::to_string(mask_.padding.front()) : "length";
    if (mask_.padding.size() > 1) {
      lines.push_back(
          fmt::format("length = paddle.to_tensor([{}])[:, None]", joined(mask_.padding, ", ")));
    }
    const std::string valid =
        mask_.pad_left ? fmt::format("j >= KV_LEN - {}", length) : fmt::format("j < {}", length);
    high = fmt::format("paddle.where({}, {}, paddle.full_like(j, 0))", valid, array(high));
    if (!mask_.pad_queries) return;
    // Padding of queries requires Q = K, so queries have the same edge.
    const std::string edge = mask_.pad_left ? "KV_LEN - " + length : length;
    const std::string edges =
        mask_.padding.size() == 1 ? fmt::format("paddle.full_like(j, {})", edge) : edge;
    mask_.pad_left ? raise(low, edges) : lower(high, edges);
  }

  const MaskForm& mask_;
};

/// The numbers of queries, keys and batch entries that the arrays of a chain determine; 0 if
/// unknown.
struct FixedSizes {
  Index queries = 0, keys = 0, batch = 1;

  void take(const Step& step) {
    const auto documents = documents_in(step);
    if (const Chain* inner = chain_of(step)) take_batch(*inner, documents.has_value());
    if (documents) return take(*documents);
    if (const auto formula = step.row().formula(step); formula.cells) take(*formula.cells);
  }

 private:
  /// Takes only the number of batch entries from steps inside others: tokens are those of one
  /// document, and lists there have a number per document.
  void take_batch(const Chain& chain, bool of_documents) {
    FixedSizes inside;
    inside.of_documents_ = of_documents_ || of_documents;
    for (const Step& step : chain) inside.take(step);
    batch = std::max(batch, inside.batch);
  }
  void take(const StepDocuments& documents) {
    if (documents.q_ids) {
      take_tokens(*documents.q_ids, queries);
      return take_tokens(*documents.k_ids, keys);
    }
    queries = ends_of(documents.q_lengths).back();
    keys = ends_of(documents.k_lengths).back();
  }
  void take_tokens(const Tensor& array, Index& side) {
    side = array.extent(array.rank() - 1);
    if (array.rank() > 1) batch = std::max(batch, array.extent(0));
  }
  void take(const Expr& expr) {
    const auto side = [&]() -> Index& {
      return expr->parts.front()->kind == Expr::Kind::kKey ? keys : queries;
    };
    if (expr->kind == Expr::Kind::kElement && expr->parts.size() == 1) {
      take_tokens(expr->array, side());
    } else if (expr->kind == Expr::Kind::kDocument) {
      side() = ends_of(expr->lengths).back();
    } else if (expr->kind == Expr::Kind::kOfBatch) {
      if (!of_documents_) batch = std::max(batch, expr->array.elements());
    } else {
      for (const Expr& part : expr->parts) take(part);
    }
  }

  bool of_documents_ = false;
};

constexpr Index kMostFlashmaskKeys = Index{1} << 20;

bool is_scoped(const Step& step) { return step.row().scope != nullptr; }

/// For each key of a plane, the ranges of rows that do not see it.
std::vector<std::vector<Range>> closed_rows(const PlanePtr& plane) {
  std::vector<std::vector<Range>> out(static_cast<std::size_t>(plane->keys()));
  const Index queries = plane->queries();
  std::vector<Run> scratch;
  plane->transposed()->rows({0, plane->keys()}, [&](Range keys, const Keys& open) {
    std::vector<Range> closed;
    Index next = 0;
    for (const Run& run : as_runs(open, scratch)) {
      if (run.begin > next) closed.push_back({next, run.begin});
      next = run.end;
    }
    if (next < queries) closed.push_back({next, queries});
    for (Index k = keys.begin; k < keys.end; ++k) out[static_cast<std::size_t>(k)] = closed;
  });
  return out;
}

/// Writes startend_row_indices as an array of numbers, for masks whose arrays determine the number
/// of keys. Returns false for other masks.
bool write_columns(const Chain& chain, Translation& out) {
  if (std::ranges::any_of(chain, is_scoped)) return false;
  FixedSizes sizes;
  for (const Step& step : chain) sizes.take(step);
  if (sizes.queries == 0) sizes.queries = sizes.keys;  // only keys have padding: assume Q = K
  if (sizes.keys == 0 || sizes.queries == 0 || sizes.keys > kMostFlashmaskKeys) return false;
  const Mask mask = maskctl::apply(full_mask(sizes.batch, 1, sizes.queries, sizes.keys), chain);
  if (mask.heads() > 1) return false;
  std::vector<Index> numbers;
  for (Index b = 0; b < mask.batch(); ++b) {
    Index key = 0;
    for (std::vector<Range>& ranges : closed_rows(mask.plane(b, 0))) {
      if (ranges.size() > 2) {
        refuse(out, fmt::format("key {} is closed to {} ranges of queries; startend_row_indices "
                                "holds two",
                                key, ranges.size()));
        return true;
      }
      ranges.resize(2, {0, 0});
      for (const Range& range : ranges) numbers.insert(numbers.end(), {range.begin, range.end});
      ++key;
    }
  }
  const std::string array = array_code(out, "startend_row_indices", numbers);
  out.code = {fmt::format("idx = {}.astype(\"int32\").reshape([{}, 1, {}, 4])", array, mask.batch(),
                          sizes.keys),
              "flashmask_attention(q, k, v, startend_row_indices=idx, causal=False)"};
  out.notes.push_back(fmt::format("idx holds {} keys: for Q_LEN = {}, KV_LEN = {}", sizes.keys,
                                  sizes.queries, sizes.keys));
  note_batch(static_cast<std::size_t>(mask.batch()), out);
  return true;
}

/// The reason why the rows that do not see key j cannot be written as formulas of j, Q_LEN and
/// KV_LEN; empty if they can.
std::string without_columns(const MaskForm& mask) {
  if (!mask.rest.empty()) return mask.rest;
  const bool counted = !mask.kv_lengths.empty() || mask.chunk || mask.opens_first_keys();
  if (mask.documents && mask.lengths.empty()) {
    return refusal::kUnknownLengths;
  }
  if (mask.inside && counted) return refusal::kCountedInside;
  if (mask.chunk_origins.size() > 1) return "an origin of chunks for each batch entry";
  return "";
}

void write_flashmask(const Chain& chain, const MaskForm& mask, const StepName&, Translation& out) {
  if (const std::string why = without_columns(mask); !why.empty()) {
    if (!write_columns(chain, out)) refuse(out, why);
    return;
  }
  OpenRows rows(mask);
  rows.write();
  const bool causal = rows.causal_alone();
  const char* flag = causal ? "True" : "False";
  if (rows.high == "Q_LEN" && (causal || rows.low == "0")) {
    out.code = {fmt::format("flashmask_attention(q, k, v, causal={})", flag)};
    return;
  }
  out.code = {"Q_LEN, KV_LEN = q.shape[1], k.shape[1]", "j = paddle.arange(KV_LEN)"};
  for (std::string& line : rows.lines) out.code.push_back(std::move(line));
  std::string columns =
      causal ? OpenRows::array(rows.high)
             : fmt::format("{}, {}", OpenRows::array(rows.high), OpenRows::array(rows.low));
  const std::size_t batch = std::max<std::size_t>(mask.padding.size(), 1);
  columns = batch > 1 ? fmt::format("paddle.broadcast_tensors([{}])", columns)
                      : fmt::format("[{}]", columns);
  out.code.push_back(
      fmt::format("idx = paddle.stack({}, -1).clip(0, Q_LEN).astype(\"int32\")"
                  ".reshape([{}, 1, KV_LEN, -1])",
                  columns, batch));
  out.code.push_back(
      fmt::format("flashmask_attention(q, k, v, startend_row_indices=idx, causal={})", flag));
  if (mask.documents) {
    const Index tokens = ends_of(mask.lengths).back();
    out.notes.push_back(
        fmt::format("the documents hold {0} tokens: for Q_LEN = KV_LEN = {0}", tokens));
  }
  note_batch(batch, out);
}

constexpr Library kFlashmask = {.name = "flashmask",
                                .title = "PaddlePaddle FlashMask",
                                .align = Align::kTopLeft,
                                .empty_row = "not stated",
                                .array = "paddle.to_tensor([{}])",
                                .calls = kFlashmaskCalls,
                                .windows = kFlashmaskWindows,
                                .reader = read_flashmask,
                                .writer = write_flashmask};

}  // namespace

const Library& row(const Flashmask*) { return kFlashmask; }

}  // namespace maskctl::library
