#include "maskctl/inspect/diff_edits.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff_change.h"
#include "maskctl/mask/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostNumbers = 32;  // of one step
constexpr std::size_t kMostDocuments = 8;

NamedArray moved(const NamedArray& values, std::size_t at, Index by) {
  auto numbers = as_int64(values.array, "values");
  if (numbers.empty()) numbers.push_back(0);  // no offsets: 0
  numbers[at] += by;
  NamedArray out{Tensor(DType::kInt64, {static_cast<Index>(numbers.size())}), values.text};
  std::copy(numbers.begin(), numbers.end(), out.array.as<std::int64_t>().begin());
  return out;
}

/// All small changes of one step.
class Edits {
 public:
  explicit Edits(Index shift) : shift_(shift) {}

  std::vector<Step> of(const Step& step) {
    out_.clear();
    std::visit([this](const auto& rule) { add(rule); }, step.rule);
    return std::move(out_);
  }

 private:
  /// One copy of the rule for each way to move a number.
  template <typename Rule, typename Number>
  void move(const Rule& rule, Number number) {
    for (const Index by : {Index{1}, Index{-1}}) {
      Rule copy = rule;
      number(copy) += by;
      out_.push_back({copy});
    }
  }

  void add(const step::Causal& rule) {
    if (rule.offsets.array.elements() > 1) return;
    for (const Index by : {shift_, -shift_, Index{1}, Index{-1}}) {
      step::Causal copy = rule;
      copy.offsets = moved(rule.offsets, 0, by);
      if (by != 0) out_.push_back({copy});
    }
  }
  void add(const step::Window& rule) {
    if (shift_ != 0) {
      for (const Index by : {shift_, -shift_}) {
        step::Window copy = rule;
        copy.offset += by;
        out_.push_back({copy});
      }
    }
    if (rule.left) move(rule, [](auto& copy) -> Index& { return *copy.left; });
    if (rule.right) move(rule, [](auto& copy) -> Index& { return *copy.right; });
    move(rule, [](auto& copy) -> Index& { return copy.offset; });
  }
  void add(const step::Chunk& rule) {
    move(rule, [](auto& copy) -> Index& { return copy.size; });
    move(rule, [](auto& copy) -> Index& { return copy.offset; });
  }
  void add(const step::Dilated& rule) {
    move(rule, [](auto& copy) -> Index& { return copy.stride; });
  }
  void add(const step::Block& rule) {
    move(rule, [](auto& copy) -> Index& { return copy.q_size; });
    move(rule, [](auto& copy) -> Index& { return copy.k_size; });
  }
  void add(const step::Prefix& rule) {
    move(rule, [](auto& copy) -> Index& { return copy.n; });
  }
  void add(const step::Sinks& rule) {
    move(rule, [](auto& copy) -> Index& { return copy.n; });
  }
  void add(const step::Global& rule) {
    for (std::size_t i = 0; i < std::min(rule.tokens.size(), kMostNumbers); ++i) {
      move(rule, [i](auto& copy) -> Index& { return copy.tokens[i].begin; });
      move(rule, [i](auto& copy) -> Index& { return copy.tokens[i].end; });
      for (const Index by : {Index{1}, Index{-1}}) {
        step::Global copy = rule;
        copy.tokens[i] = {copy.tokens[i].begin + by, copy.tokens[i].end + by};
        out_.push_back({copy});
      }
    }
  }
  void add(const step::Pad& rule) {
    step::Pad other = rule;
    other.both = !rule.both;
    out_.push_back({other});
    if (!rule.is_lengths || rule.valid.array.elements() != 1) return;
    for (const Index by : {Index{1}, Index{-1}}) {
      step::Pad copy = rule;
      copy.valid = moved(rule.valid, 0, by);
      out_.push_back({copy});
    }
  }
  void add(const step::DocumentLengths& rule) {
    const std::size_t most = rule.lengths.size();
    if (most > kMostDocuments) return;  // comparing two lists tells as much
    for (std::size_t i = 0; i < most; ++i) {
      move(rule, [i](auto& copy) -> Index& { return copy.lengths[i]; });
    }
    for (std::size_t i = 0; i < most; ++i) {
      step::DocumentLengths copy = rule;
      copy.lengths.erase(copy.lengths.begin() + static_cast<std::ptrdiff_t>(i));
      out_.push_back({copy});
    }
  }
  template <typename Rule>
  void add(const Rule&) {}

  Index shift_;
  std::vector<Step> out_;
};

/// The mask of the chain, or null where a number is out of range.
PlanePtr made(const Chain& chain, const PlanePair& pair) {
  try {
    return maskctl::apply(Mask(full_plane(pair.queries(), pair.keys())), chain).plane(0, 0);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

MaybeReason edited_to(const Chain& chain, const PlanePair& pair, bool reversed) {
  Edits edits(pair.shift());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    Chain copy = chain;
    for (const Step& edit : edits.of(chain[i])) {
      copy[i] = edit;
      const PlanePtr plane = made(copy, pair);
      if (!plane || !same_open(plane, pair.b)) continue;
      return reversed ? step_change(edit, chain[i], pair.queries(), pair.keys())
                      : step_change(chain[i], edit, pair.queries(), pair.keys());
    }
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    Chain copy = chain;
    copy.erase(copy.begin() + static_cast<std::ptrdiff_t>(i));
    const PlanePtr plane = made(copy, pair);
    if (!plane || !same_open(plane, pair.b)) continue;
    return Reason{
        "step",
        fmt::format("{} {}", step_words(chain[i], pair.shift()), reversed ? "added" : "missing"),
        step_changes(chain[i])};
  }
  return std::nullopt;
}

}  // namespace maskctl
