// What the weights of a probe say of the call beside its mask: the key head of each query head, the
// scale, and what the weights of a row sum to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/probe.h"
#include "maskctl/verify/probe_outputs.h"
#include "maskctl/verify/rounding.h"

namespace maskctl::attention {
namespace {

/// A straight line fitted to the logarithms of weights over the logits of their keys. Each row of
/// weights counts relative to its own mean.
struct LogLine {
  double xx = 0, xy = 0, yy = 0;
  double spread = 0;  // the sum of |x| times the rounding of the weight
  double noise = 0;   // the sum of the squared roundings

  void add(std::span<const double> x, std::span<const double> y, std::span<const double> rounding) {
    double mean_x = 0, mean_y = 0;
    for (std::size_t n = 0; n < x.size(); ++n) mean_x += x[n], mean_y += y[n];
    mean_x /= static_cast<double>(x.size());
    mean_y /= static_cast<double>(x.size());
    for (std::size_t n = 0; n < x.size(); ++n) {
      const double dx = x[n] - mean_x, dy = y[n] - mean_y;
      xx += dx * dx, xy += dx * dy, yy += dy * dy;
      spread += std::abs(dx) * rounding[n];
      noise += square(rounding[n]);
    }
  }
  void add(const LogLine& other) {
    xx += other.xx, xy += other.xy, yy += other.yy;
    spread += other.spread, noise += other.noise;
  }
  double slope() const { return xx > 0 ? xy / xx : 0; }
  /// How far rounding can move the slope.
  double error() const { return xx > 0 ? spread / xx : HUGE_VAL; }
  /// Whether rounding alone explains how far the weights are from the line.
  bool fits() const { return yy - (xx > 0 ? xy * xy / xx : 0) <= noise; }
};

/// q . k of each key of a batch entry and key head. All queries of a probe are the same.
class ProbeLogits {
 public:
  ProbeLogits(const Tensor& query, const Tensor& key, Layout layout)
      : keys_(key.extent(layout == Layout::kBthd ? 1 : 2)),
        heads_(key.extent(layout == Layout::kBthd ? 2 : 1)) {
    const Index dim = query.extent(3);
    const std::vector<double> q = doubles_of(query), k = doubles_of(key);
    for (std::size_t n = 0; n < q.size(); ++n) {
      if (q[n] == q[n % as_size(dim)]) continue;
      refuse(
          "the queries differ: these are not the arrays of a probe, whose queries are all the "
          "same");
    }
    const Index batch = key.extent(0);
    for (Index b = 0; b < batch; ++b) {
      for (Index u = 0; u < heads_; ++u) {
        for (Index j = 0; j < keys_; ++j) {
          const Index at = vector_at(layout, b, j, u, keys_, heads_) * dim;
          double sum = 0;
          for (Index e = 0; e < dim; ++e) sum += q[as_size(e)] * k[as_size(at + e)];
          logits_.push_back(sum);
        }
      }
    }
  }
  Index heads() const { return heads_; }
  Index keys() const { return keys_; }
  double at(Index b, Index u, Index j) const {
    return logits_[as_size((b * heads_ + u) * keys_ + j)];
  }

 private:
  Index keys_, heads_;
  std::vector<double> logits_;
};

void check_arrays(const Tensor& query, const Tensor& key, Layout layout, const Mask& read) {
  check_float("q of the probe", query);
  check_float("k of the probe", key);
  const bool time_first = layout == Layout::kBthd;
  const bool fits = query.rank() == 4 && key.rank() == 4 && query.elements() > 0 &&
                    key.elements() > 0 && query.extent(3) == key.extent(3) &&
                    query.extent(0) == read.batch() && key.extent(0) == read.batch() &&
                    query.extent(time_first ? 1 : 2) == read.queries() &&
                    query.extent(time_first ? 2 : 1) == read.heads() &&
                    key.extent(time_first ? 1 : 2) == read.keys() &&
                    read.heads() % key.extent(time_first ? 2 : 1) == 0;
  if (fits) return;
  refuse_shape(
      fmt::format("q is {} and k {}, which are not the arrays of a probe of {} batches, {} "
                  "query heads, {} queries and {} keys{}",
                  shape_text(query.shape()), shape_text(key.shape()), read.batch(), read.heads(),
                  read.queries(), read.keys(), time_first ? "" : " with heads first"));
}

/// Reads the rows of one query head.
class HeadReader {
 public:
  /// `precision` is that of the outputs, `keys` that of the keys.
  HeadReader(const WeightView& weights, const ProbeLogits& logits, DType precision, DType keys,
             const Mask& read)
      : weights_(weights),
        logits_(logits),
        read_(read),
        // A weight is rounded to the dtype of the keys and to that of the outputs, and at least as
        // coarsely as TF32 products are.
        relative_(std::max({epsilon(precision), epsilon(keys), 0x1p-10})),
        least_(least_number(precision)) {}

  void add_rows(Index head) {
    lines_.assign(as_size(logits_.heads()), {});
    std::vector<float> row(as_size(weights_.keys));
    for (Index b = 0; b < weights_.batch_extent; ++b) {
      const auto plane = read_.plane(b, head);
      for (Index i = 0; i < weights_.queries; ++i) {
        if (plane->count({i, i + 1}, {0, weights_.keys}) == 0) continue;
        weights_.row(b, head, i, row);
        add_row(b, row);
      }
    }
  }
  const std::vector<LogLine>& lines() const { return lines_; }
  Index rows_off() const { return rows_off_; }
  double least_sum() const { return least_sum_; }
  double most_sum() const { return most_sum_; }

 private:
  void add_row(Index b, std::span<const float> row) {
    std::vector<double> y, rounding;
    std::vector<Index> open;
    double sum = 0, error = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double weight = row[j];
      sum += weight;
      error += weight * relative_ + least_;
      if (!(weight > 0)) continue;
      open.push_back(static_cast<Index>(j));
      y.push_back(std::log(weight));
      rounding.push_back(relative_ + least_ / weight);
    }
    if (std::abs(sum - 1) > error) {
      least_sum_ = rows_off_ == 0 ? sum : std::min(least_sum_, sum);
      most_sum_ = rows_off_ == 0 ? sum : std::max(most_sum_, sum);
      ++rows_off_;
    }
    if (open.size() < 2) return;
    std::vector<double> x(open.size());
    for (Index u = 0; u < logits_.heads(); ++u) {
      for (std::size_t n = 0; n < open.size(); ++n) x[n] = logits_.at(b, u, open[n]);
      lines_[as_size(u)].add(x, y, rounding);
    }
  }

  const WeightView& weights_;
  const ProbeLogits& logits_;
  const Mask& read_;
  double relative_, least_;
  std::vector<LogLine> lines_;
  Index rows_off_ = 0;
  double least_sum_ = 0, most_sum_ = 0;
};

}  // namespace

ProbeOutputs::ProbeOutputs(const Tensor& outputs, Index keys, Layout layout) {
  if (outputs.rank() != 5 || outputs.elements() == 0 ||
      outputs.extent(0) != ceil_div(keys, outputs.extent(4))) {
    refuse_shape(
        fmt::format("outputs are {}, expected ({}) with passes = ceil({} keys / head_dim), the "
                    "outputs of the passes stacked, also of one: np.stack([out])",
                    shape_text(outputs.shape()),
                    layout == Layout::kBthd ? "passes, batch, queries, heads, head_dim"
                                            : "passes, batch, heads, queries, head_dim",
                    keys));
  }
  check_float("the output", outputs);
  floats_ = astype(outputs, DType::kFloat32);
  const bool heads_last = layout == Layout::kBthd;
  const Index heads = outputs.extent(heads_last ? 3 : 2);
  const Index queries = outputs.extent(heads_last ? 2 : 3), dim = outputs.extent(4);
  const Index plane = queries * heads * dim;
  view_ = {floats_.as<float>().data(),
           outputs.extent(1),
           heads,
           queries,
           keys,
           dim,
           outputs.extent(1) * plane,
           plane,
           heads_last ? dim : queries * dim,
           heads_last ? heads * dim : dim};
}

ProbeCall read_probe_call(const Tensor& outputs, const ProbeInputs& inputs, const Mask& read) {
  check_arrays(*inputs.query, *inputs.key, inputs.layout, read);
  const ProbeOutputs given(outputs, read.keys(), inputs.layout);
  const ProbeLogits logits(*inputs.query, *inputs.key, inputs.layout);
  const Index heads = read.heads(), group = heads / logits.heads();
  const DType precision = precision_of(outputs);
  ProbeCall out;
  out.kv_heads = logits.heads();
  out.scale = inputs.scale.value_or(1 / std::sqrt(static_cast<double>(inputs.query->extent(3))));
  out.heads.resize(as_size(heads));
  std::vector<HeadReader> readers(as_size(heads), HeadReader(given.weights(), logits, precision,
                                                             precision_of(*inputs.key), read));
  parallel_for(heads, [&](Index h) {
    HeadReader& reader = readers[as_size(h)];
    reader.add_rows(h);
    ProbeHead& head = out.heads[as_size(h)];
    head.declared = h / group;
    const auto fits = [&reader](Index u) { return reader.lines()[as_size(u)].fits(); };
    for (Index u = 0; u < logits.heads(); ++u) head.fits += fits(u) ? 1 : 0;
    Index u = head.declared;
    if (!fits(u)) {
      const auto& lines = reader.lines();
      u = std::ranges::find_if(lines, [](const LogLine& line) { return line.fits(); }) -
          lines.begin();
    }
    if (u == logits.heads()) return;
    const LogLine& line = reader.lines()[as_size(u)];
    head.read = u;
    // The queries may be rounded once more after they are scaled.
    const double error = line.error() + epsilon(inputs.query->dtype()) * std::abs(line.slope());
    constexpr double kTold = 0.25;
    if (error > kTold * out.scale) return;
    head.scale = line.slope();
    head.scale_error = error;
  });
  for (const HeadReader& reader : readers) {
    if (reader.rows_off() == 0) continue;
    out.least_sum =
        out.rows_off == 0 ? reader.least_sum() : std::min(out.least_sum, reader.least_sum());
    out.most_sum =
        out.rows_off == 0 ? reader.most_sum() : std::max(out.most_sum, reader.most_sum());
    out.rows_off += reader.rows_off();
  }
  return out;
}

namespace {

/// Which query heads read other key heads: "query head 1 reads key head 1 instead of 0", or a rule
/// that all heads obey; empty if none does.
std::string heads_fault(const ProbeCall& call) {
  const Index heads = static_cast<Index>(call.heads.size());
  bool in_turn = true;
  Index wrong = 0, first = -1;
  for (Index h = 0; h < heads; ++h) {
    const ProbeHead& head = call.heads[as_size(h)];
    in_turn = in_turn && head.read == h % call.kv_heads;
    if (!head.read || *head.read == head.declared) continue;
    ++wrong;
    if (first < 0) first = h;
  }
  if (wrong == 0) return "";
  if (in_turn) {
    return fmt::format("query head h reads key head h mod {} instead of h / {}", call.kv_heads,
                       heads / call.kv_heads);
  }
  const ProbeHead& head = call.heads[as_size(first)];
  return fmt::format("query head {} reads key head {}{} instead of {}{}", first, *head.read,
                     head.fits > 1 ? " or another" : "", head.declared,
                     wrong > 1 ? fmt::format(", and {} more read other key heads", wrong - 1) : "");
}

std::string head_words(const std::vector<Index>& heads) {
  return range_words(ranges_of(heads), "query head");
}

/// Adds to the verdict the scales that differ from the expected one, with their heads.
void add_scales(const ProbeCall& call, ProbeCallVerdict& out) {
  std::vector<Index> wrong, told;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (Index h = 0; h < static_cast<Index>(call.heads.size()); ++h) {
    const ProbeHead& head = call.heads[as_size(h)];
    if (!head.scale) continue;
    told.push_back(h);
    if (std::abs(*head.scale - call.scale) <= head.scale_error) continue;
    wrong.push_back(h);
    least = std::min(least, *head.scale);
    most = std::max(most, *head.scale);
  }
  if (told.empty()) {
    out.untold.push_back("softmax_scale");
  } else if (wrong.empty()) {
    out.told.push_back(fmt::format("softmax_scale {:.4g}", call.scale));
  } else {
    const bool alike = most - least <= 0.02 * std::abs(most);
    const std::string seen = alike ? fmt::format("{:.3g}", (least + most) / 2)
                                   : fmt::format("{:.3g} to {:.3g}", least, most);
    out.faults.push_back(fmt::format(
        "softmax_scale {} instead of {:.4g}{}", seen, call.scale,
        wrong.size() < call.heads.size() ? fmt::format(" ({})", head_words(wrong)) : ""));
  }
}

}  // namespace

ProbeCallVerdict judge_probe_call(const std::optional<ProbeCall>& given) {
  if (!given) {
    return {.untold = {"key heads", "softmax_scale", "bias", "sinks", "soft cap", "dropout",
                       "rounding", "gradients"}};
  }
  const ProbeCall& call = *given;
  ProbeCallVerdict out;
  std::vector<Index> unexplained;
  bool told = true;
  for (Index h = 0; h < static_cast<Index>(call.heads.size()); ++h) {
    if (call.heads[as_size(h)].fits == 0) unexplained.push_back(h);
    told = told && call.heads[as_size(h)].fits == 1;
  }
  const std::string fault = heads_fault(call);
  if (!fault.empty()) out.faults.push_back(fault);
  if (!unexplained.empty()) {
    out.faults.push_back(fmt::format(
        "no key head and no softmax_scale explain the weights of {}, as with a bias, dropout or a "
        "soft cap",
        head_words(unexplained)));
  }
  if (call.kv_heads > 1 && fault.empty() && unexplained.empty()) {
    (told ? out.told : out.untold).push_back("key heads");
  }
  add_scales(call, out);
  if (call.rows_off > 0) {
    out.faults.push_back(
        fmt::format("the weights of {} sum to {:.3g} to {:.3g} instead of 1, as "
                    "with sinks or dropout",
                    counted(call.rows_off, "row"), call.least_sum, call.most_sum));
  }
  for (const char* unseen : {"a bias or soft cap weaker than rounding", "key heads of the values",
                             "rounding", "gradients"}) {
    out.untold.emplace_back(unseen);
  }
  return out;
}

}  // namespace maskctl::attention
