#include "maskctl/ejkernel/visualize/visualize_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/segment_ids.h"

namespace maskctl {
namespace {

constexpr std::int32_t kPad = -1;
constexpr std::int32_t kMix = -2;
constexpr Index kMaxPanelCells = Index{1} << 26;

/// One axis: elements are grouped into blocks, and `step` blocks are averaged into one display
/// cell.
struct Axis {
  Index extent = 0;
  Index block = 1;
  Index step = 1;
  Index blocks() const { return ceil_div(extent, block); }
  Index cells() const { return ceil_div(blocks(), step); }
  /// The elements of the mask in display cell i.
  Range elements(Index i) const {
    return {i * step * block, std::min(extent, (i + 1) * step * block)};
  }
  /// Whether display cell i does not extend past the mask.
  bool whole(Index i) const { return (i + 1) * step * block <= extent; }
};

Axis make_axis(Index extent, Index block, bool fit, Index most) {
  Axis axis{extent, std::max<Index>(block, 1), 1};
  if (!fit) return axis;
  if (most == 0) {
    throw Error(Errc::kInvalidArgument, "at most 0 rows or columns of blocks: division by zero");
  }
  if (most > 0) axis.step = std::max<Index>(ceil_div(axis.blocks(), most), 1);
  return axis;
}

/// NumPy's (pairwise) sum of float32 numbers that are contiguous in memory.
float pairwise_sum(std::span<const float> x) {
  const std::size_t n = x.size();
  if (n < 8) {
    float sum = -0.0f;
    for (const float value : x) sum += value;
    return sum;
  }
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(x.first(half)) + pairwise_sum(x.subspan(half));
  }
  float r[8];
  std::copy_n(x.begin(), 8, r);
  std::size_t i = 8;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) r[j] += x[i + j];
  }
  float sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

/// Returns the float32 mean of the ratios of open cells in the blocks of one display cell. It adds
/// in the order in which NumPy sums the axes 1 and 3 of an array [rows, q_step, columns, k_step].
/// `one_run`: there is only one column of display cells, so that both axes are contiguous and NumPy
/// sums them as one.
float mean_ratio(std::span<const float> ratios, Index q_step, Index k_step, bool one_run) {
  float sum = 0.0f;
  if (one_run) {
    sum = pairwise_sum(ratios);
  } else {
    const auto width = static_cast<std::size_t>(k_step);
    for (std::size_t i = 0; i < ratios.size(); i += width) {
      sum += pairwise_sum(ratios.subspan(i, width));
    }
  }
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(q_step * k_step));
}

Fill classify_ratio(float ratio, bool averaged) {
  const float eps = averaged ? 1e-6f : 1e-8f;
  const float full = static_cast<float>(1.0 - (averaged ? 1e-6 : 1e-8));
  if (ratio >= full) return Fill::kFull;
  return ratio <= eps ? Fill::kEmpty : Fill::kPartial;
}

/// For each display cell, in row-major order: whether it is empty, partial or full.
class Classes {
 public:
  Classes(const Plane& plane, const Axis& q, const Axis& k)
      : plane_(plane),
        q_(q),
        k_(k),
        cells_(static_cast<std::size_t>(q.cells() * k.cells()), Fill::kEmpty) {
    parallel_for(q.cells(), [this](Index row) { fill_row(row); });
  }
  Fill at(Index row, Index column) const { return cells_[index(row, column)]; }

 private:
  std::size_t index(Index row, Index column) const {
    return static_cast<std::size_t>(row * k_.cells() + column);
  }

  void fill_row(Index row) {
    std::vector<TileRun> runs;
    plane_.tiles(q_.elements(row), k_.step * k_.block, runs);
    for (const TileRun& run : runs) {
      for (Index column = run.first; column < run.first + run.count; ++column) {
        const bool full = run.fill == Fill::kFull && q_.whole(row) && k_.whole(column);
        cells_[index(row, column)] = full ? Fill::kFull : partial(row, column);
      }
    }
  }

  /// Returns whether a display cell is empty, partial or full, by the ratios of open cells in its
  /// blocks.
  Fill partial(Index row, Index column) const {
    const Range q = q_.elements(row), k = k_.elements(column);
    std::vector<Index> edges;
    for (Index edge = k.begin; edge < k.end; edge += k_.block) edges.push_back(edge);
    edges.push_back(k.end);
    const float area =
        static_cast<float>(static_cast<double>(q_.block) * static_cast<double>(k_.block));
    std::vector<float> ratios(static_cast<std::size_t>(q_.step * k_.step), 0.0f);
    std::vector<Index> counts(edges.size() - 1);
    for (Index i = 0; q.begin + i * q_.block < q.end; ++i) {
      const Index begin = q.begin + i * q_.block;
      std::fill(counts.begin(), counts.end(), 0);
      plane_.counts({begin, std::min(q.end, begin + q_.block)}, edges, counts);
      std::transform(counts.begin(), counts.end(), ratios.begin() + i * k_.step,
                     [&](Index open) { return static_cast<float>(open) / area; });
    }
    const bool averaged = q_.step > 1 || k_.step > 1;
    if (!averaged) return classify_ratio(ratios[0], false);
    const bool one_run = k_.cells() == 1;
    return classify_ratio(mean_ratio(ratios, q_.step, k_.step, one_run), true);
  }

  const Plane& plane_;
  const Axis& q_;
  const Axis& k_;
  std::vector<Fill> cells_;
};

/// One label for each group of `size` ids: the common id, or MIX. The last group is filled up with
/// PAD.
std::vector<std::int32_t> group_labels(std::span<const std::int32_t> ids, Index size) {
  std::vector<std::int32_t> labels;
  const auto step = static_cast<std::size_t>(size);
  for (std::size_t i = 0; i < ids.size(); i += step) {
    const auto group = ids.subspan(i, std::min(step, ids.size() - i));
    const bool same = std::all_of(group.begin(), group.end(),
                                  [&](std::int32_t id) { return id == group.front(); });
    const bool ragged = group.size() < step;
    labels.push_back(same && (!ragged || group.front() == kPad) ? group.front() : kMix);
  }
  return labels;
}

std::vector<std::int32_t> axis_labels(std::span<const std::int32_t> ids, const Axis& axis) {
  auto labels = group_labels(ids, axis.block);
  return axis.step > 1 ? group_labels(labels, axis.step) : labels;
}

std::string top_label(std::int32_t label) {
  if (label == kPad) return "  ";
  if (label == kMix) return "??";
  return fmt::format("{:02}", (label % 100 + 100) % 100);
}

std::string left_label(std::int32_t label) {
  const std::string text = label == kPad ? "PAD" : label == kMix ? "MIX" : std::to_string(label);
  return fmt::format("{:>6}", text);
}

std::string tuple_text(const std::vector<Index>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string visualize_text(const Plane& plane, std::optional<std::span<const std::int32_t>> q_ids,
                           std::optional<std::span<const std::int32_t>> kv_ids,
                           const EjkernelOptions& options) {
  const bool fit = options.fit_in_screen;
  const Axis q = make_axis(plane.queries(), options.q_block, fit, options.max_rows);
  const Axis k = make_axis(plane.keys(), options.kv_block, fit, options.max_cols);
  if (q.cells() * k.cells() > kMaxPanelCells) {
    throw Error(Errc::kLimit, fmt::format("{}x{} blocks to print: at most {}; use larger blocks or "
                                          "fit them into the screen",
                                          q.cells(), k.cells(), kMaxPanelCells));
  }
  const Classes classes(plane, q, k);

  std::vector<std::int32_t> q_labels, k_labels;
  if (options.show_segments) {
    std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> computed;
    if (!q_ids || !kv_ids) computed = segment_ids_of_mask(plane);
    q_labels = axis_labels(q_ids.value_or(computed.first), q);
    k_labels = axis_labels(kv_ids.value_or(computed.second), k);
    if (static_cast<Index>(q_labels.size()) < q.cells()) {
      throw Error(Errc::kInvalidArgument, fmt::format("segment ids of {} queries for a mask of {}",
                                                      q_ids ? q_ids->size() : 0, q.extent));
    }
  }

  const std::string margin = options.show_segments ? std::string(6, ' ') : std::string();
  std::string border = margin + "  ";
  if (q.cells() > 0) border.append(static_cast<std::size_t>(2 * k.cells()), '=');
  border += "  \n";
  const char* signs[] = {"  ", options.ascii ? ".." : "░░", options.ascii ? "##" : "██"};
  const std::vector<Index> shape = options.mask_shape.empty()
                                       ? std::vector<Index>{1, 1, plane.queries(), plane.keys()}
                                       : options.mask_shape;

  std::string text = fmt::format("Attention mask (batch={}, head={}) block=({}x{}) mask_shape={}\n",
                                 options.batch, options.head, q.block, k.block, tuple_text(shape));
  if (options.show_segments && k.cells() > 0) {
    text += margin + "   ";
    for (const std::int32_t label : k_labels) text += top_label(label);
    text += "\n";
  }
  text += border;
  for (Index row = 0; row < q.cells(); ++row) {
    if (options.show_segments) text += left_label(q_labels[static_cast<std::size_t>(row)]) + " ";
    text += "||";
    for (Index column = 0; column < k.cells(); ++column) {
      text += signs[static_cast<std::size_t>(classes.at(row, column))];
    }
    text += "||\n";
  }
  text += border + "Legend mask: full='██'/##, partial='░░'/.., empty='  '\n";
  if (options.show_segments) {
    text += "Legend seg: left=Q block ID, top=KV block ID, PAD=-1, MIX=??\n";
  }
  return text;
}

}  // namespace maskctl
