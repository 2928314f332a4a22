// The table of all rules, and the helpers for their files.
#include "maskctl/mask/steps/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <type_traits>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rules.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

template <typename Rule, typename... Rules>
consteval std::size_t index_in(step::List<Rules...>) {
  static_assert((std::is_same_v<Rule, Rules> || ...), "a rule has its line in rules.h");
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<Rule, Rules> || ++index == 0) || ...));
  return index;
}

}  // namespace

template <typename Rule>
std::size_t listed_index() {
  return index_in<Rule>(step::Rules());
}

namespace {

/// The names of all steps, with those of steps that only calls of attention use at the end; and for
/// each rule the index of its first name in `names`.
struct Table {
  std::vector<StepInfo> names;
  std::vector<std::size_t> begins;

  std::span<const StepInfo> for_calls(bool wanted) const {
    const auto first = std::ranges::find(names, true, &StepInfo::for_calls);
    return wanted ? std::span(first, names.end()) : std::span(names.begin(), first);
  }
};

template <typename... Rules>
Table table_of(step::List<Rules...>) {
  Table out{.names = {}, .begins = std::vector<std::size_t>(sizeof...(Rules))};
  const auto add = [&out](const RuleInfo& rule, std::size_t (*index)()) {
    // Taking the addresses here instantiates the index functions that the files of rules link to.
    if (rule.index != index) throw std::logic_error("the row of a rule is that of another");
    const auto known = std::ranges::find(out.names, rule.names.front().name, &StepInfo::name);
    out.begins[index()] = static_cast<std::size_t>(known - out.names.begin());
    if (known == out.names.end()) {
      out.names.insert(out.names.end(), rule.names.begin(), rule.names.end());
    }
  };
  (add(step::listed_row<Rules>(), listed_index<Rules>), ...);
  return out;
}

const Table& table() {
  static const Table kTable = table_of(step::Rules());
  return kTable;
}

std::span<const std::byte> bytes_of(const Tensor& array, Index i) {
  const std::size_t size = as_size(size_bytes(array.dtype()));
  return array.bytes().subspan(as_size(i) * size, size);
}

}  // namespace

std::size_t rule_index(const Step& step) { return step.row().index(); }

const StepInfo& info_of(const Step& step) {
  return table().names[table().begins[rule_index(step)] + step.row().name_index(step)];
}

std::span<const StepInfo> step_infos() { return table().for_calls(false); }
std::span<const StepInfo> call_step_infos() { return table().for_calls(true); }

const StepInfo* find_step(std::string_view name) {
  const auto infos = step_infos();
  const auto at = std::ranges::find(infos, name, &StepInfo::name);
  return at == infos.end() ? nullptr : &*at;
}

std::string words_of(const Step& step) {
  return step.row().words ? step.row().words(step) : std::string(info_of(step).name);
}

const Chain* chain_of(const Step& step) {
  const auto find = info_of(step).chain;
  return find ? find(const_cast<Step&>(step)) : nullptr;  // only finds the member, changes nothing
}

bool only_closes(const Step& step) {
  const Meets how = step.row().meets(step);
  return how == Meets::kKeeps || how == Meets::kCloses;
}

bool keeps_diagonals(const Step& step) { return step.row().diagonal != nullptr; }

std::optional<StepDocuments> documents_in(const Step& step) {
  const auto documents = step.row().documents;
  return documents ? std::optional(documents(step)) : std::nullopt;
}

const Field* find_field(const Step& step, std::string_view name) {
  const auto fields = info_of(step).args;
  const auto at = std::ranges::find(fields, name, &Field::name);
  return at == fields.end() ? nullptr : &*at;
}

Chain declaring(const Chain& chain, MaskShape shape) {
  Chain out;
  for (const Step& step : chain) {
    const RuleInfo& rule = step.row();
    if (rule.declares == Declares::kPadding) {
      out.push_back(step);
      const Mask all = full_mask(shape.batch, shape.heads, shape.queries, shape.keys);
      shape = shape_of(maskctl::apply(all, step));
    }
    if (rule.declares != Declares::kPart) continue;
    if (auto part = rule.declared(step, shape)) out.push_back(std::move(*part));
  }
  return out;
}

namespace {

bool met(Meets how, bool before, bool holds) {
  switch (how) {
    case Meets::kKeeps:
    case Meets::kOwn:  // keeps the cells for which the rule's reason holds
      return before && holds;
    case Meets::kOpens:
      return before || holds;
    case Meets::kCloses:
      return before && !holds;
    case Meets::kFlips:
      return before != holds;
    case Meets::kReplaces:
      break;
  }
  return holds;
}

}  // namespace

Verdict verdict_of(const Step& step, const MaskShape& shape, const Cell& cell, bool before) {
  const RuleInfo& rule = step.row();
  PairReason reason = rule.reason(step, shape, cell);
  const bool after = met(rule.meets(step), before, reason.holds);
  const auto state = [](bool open) { return open ? "open" : "closed"; };
  if (reason.words.empty()) {
    reason.words = fmt::format("{} becomes {}", state(before), state(after));
  }
  return {after, std::move(reason.words)};
}

Cell asked_cell(const Step& step, const MaskShape& shape, const Cell& to) {
  const auto moved = step.row().cell_before;
  return moved ? moved(step, shape, to) : to;
}

Cell cell_before_step(const Step& step, const MaskShape& shape, const Cell& to) {
  Cell cell = asked_cell(step, shape, to);
  if (shape.batch == 1) cell.batch = 0;  // a step that adds batches or heads repeats the only one
  if (shape.heads == 1) cell.head = 0;
  return cell;
}

Mask closed_mask(const MaskShape& shape) {
  const PlanePtr plane = empty_plane(shape.queries, shape.keys);
  return Mask::make(shape.batch, shape.heads, shape.queries, shape.keys,
                    [&](Index, Index) { return plane; });
}

std::string shape_text(const MaskShape& shape) {
  return fmt::format("[B {}, H {}, Q {}, K {}]", shape.batch, shape.heads, shape.queries,
                     shape.keys);
}

void refuse(std::string_view step, const std::string& why) {
  throw Error(Errc::kInvalidArgument, fmt::format("step {}: {}", step, why));
}

Index align_shift(const MaskShape& shape, Align align, std::string_view step) {
  if (shape.queries == shape.keys || align == Align::kTopLeft) return 0;
  if (align == Align::kBottomRight) return shape.keys - shape.queries;
  refuse(step,
         fmt::format("{} and {} do not fix the diagonal: give align=bottom-right (the last query "
                     "sees the last key) or align=top-left",
                     counted(shape.queries, "query", "queries"), counted(shape.keys, "key")));
}

std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, std::string_view step,
                             const char* what) {
  const auto values = as_int64(array.array, what);
  const auto batch = as_size(shape.batch);
  if (values.size() == 1) return std::vector<Index>(batch, values.front());
  if (array.array.rank() > 1 || values.size() != batch) {
    refuse(step, fmt::format("{} of shape {} do not fit {}: expected 1 value{}", what,
                             shape_text(array.array.shape()), shape_text(shape),
                             batch == 1 ? "" : fmt::format(" or {}", batch)));
  }
  return {values.begin(), values.end()};
}

std::vector<Index> per_batch(const MaskShape& shape, const NamedArray& array, Index one,
                             std::string_view step, const char* what) {
  if (array.empty()) return std::vector<Index>(as_size(shape.batch), one);
  return per_batch(shape, array, step, what);
}

void check_offset(Index offset, std::string_view step) {
  if (offset < -kUnbounded || offset > kUnbounded) {
    refuse(step, fmt::format("offset {} is out of range", offset));
  }
}

std::vector<Index> per_batch_offsets(const MaskShape& shape, const NamedArray& array,
                                     std::string_view step, const char* what) {
  std::vector<Index> out = per_batch(shape, array, step, what);
  for (const Index offset : out) check_offset(offset, step);
  return out;
}

void check_lengths(std::span<const Index> lengths, Index most, std::string_view step,
                   const char* side) {
  for (const Index length : lengths) {
    if (length >= 0 && length <= most) continue;
    refuse(step, fmt::format("length {}: expected 0 to {} (the {})", length, most, side));
  }
}

void check_batched(const MaskShape& shape, const Tensor& array, Index length, std::string_view step,
                   const char* side) {
  const Index rank = array.rank();
  const bool fits = (rank == 1 && array.extent(0) == length) ||
                    (rank == 2 && array.extent(1) == length &&
                     (array.extent(0) == 1 || array.extent(0) == shape.batch));
  if (fits) return;
  refuse(step, fmt::format("array of shape {} for the {} of {}: expected ({},) or ({}, {})",
                           shape_text(array.shape()), side, shape_text(shape), length, shape.batch,
                           length));
}

Index element(const Tensor& array, Index i) {
  Tensor one(array.dtype(), {1});
  std::ranges::copy(bytes_of(array, i), one.bytes().begin());
  return as_int64(one, "values").front();
}

bool is_set(const Tensor& array, Index i) {
  return first_nonzero(array.dtype(), bytes_of(array, i)).has_value();
}

Index of_batch(const NamedArray& array, Index b, Index absent) {
  if (array.empty()) return absent;
  return element(array.array, array.array.elements() == 1 ? 0 : b);
}

Index token_index(const Tensor& array, Index b, Index i) {
  const Index length = array.extent(array.rank() - 1);
  return array.elements() == length ? i : b * length + i;
}

std::string diagonal_text(const Cell& cell, Index shift, Index offset) {
  if (shift == 0 && offset == 0) return "";
  std::string out = fmt::format(" (query {}", cell.query);
  if (shift != 0) out += fmt::format(" {} {} from K - Q", shift < 0 ? '-' : '+', std::abs(shift));
  if (offset != 0)
    out += fmt::format(" {} {} from offset", offset < 0 ? '-' : '+', std::abs(offset));
  return out + ")";
}

bool any_contains(std::span<const Range> ranges, Index i) {
  return std::ranges::any_of(ranges, [i](const Range& range) { return range.contains(i); });
}

}  // namespace maskctl
