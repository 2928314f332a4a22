#include "maskctl/mask/steps/edits.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

std::vector<StepEdit> StepEdits::of(const Step& step) {
  out_.clear();
  if (const auto own = step.row().edits) {
    own(step, *this);
  } else {
    usual(step);
  }
  return std::move(out_);
}

void StepEdits::usual(const Step& step) {
  without(step);
  arguments(step);
  inside(step);
}

void StepEdits::without(const Step& step) {
  out_.push_back({fmt::format("without {}", words_of(step)), {}});
}

void StepEdits::arguments(const Step& step) {
  const StepInfo& info = info_of(step);
  for (const Field& field : info.args) edit(step, info.name, field);
}

void StepEdits::inside(const Step& step) {
  const auto find_chain = info_of(step).chain;
  if (!find_chain) return;
  const auto documents = documents_in(step);
  StepEdits edits(keys_, keys_, kind_);
  edits.square_ = documents ? documents->shared : square_;
  edits.entry_ = documents ? "document" : entry_;
  const std::string where = inside_words(step);
  Step copy = step;
  const Chain& chain = *chain_of(step);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (const StepEdit& edit : edits.of(chain[i])) {
      *find_chain(copy) = edited(chain, i, edit);
      put(fmt::format("{} in {}", edit.text, where), copy);
    }
  }
}

void StepEdits::put(const Step& step, const Field& field, FieldValue value, std::string text) {
  Step copy = step;
  field.set(copy, std::move(value));
  put(std::move(text), std::move(copy));
}

void StepEdits::edit(const Step& step, std::string_view name, const Field& field) {
  const FieldValue value = field.get(step);
  if (kind_ == Kind::kRare) return lost_number(step, name, field, value);
  switch (field.type) {
    case FieldType::kInteger:
    case FieldType::kSide:
    case FieldType::kIntegerOrSource:
    case FieldType::kSideOrSource:
      return number(step, name, field, value);
    case FieldType::kLengths:
      if (const auto* lengths = std::get_if<std::vector<Index>>(&value)) {
        return borders(step, field, *lengths);
      }
      return number(step, name, field, value);
    case FieldType::kChoice:
      return choice(step, name, field, value);
    case FieldType::kReal:
    case FieldType::kSeed:
    case FieldType::kRanges:
    case FieldType::kRange:
    case FieldType::kBlockSize:
    case FieldType::kSource:
    case FieldType::kMaskSource:
    case FieldType::kPadId:
      return;  // values of these types have no obvious variation
  }
}

/// Adds the number plus one and minus one. An absent number counts as 0 if its default is 0;
/// otherwise nothing is added.
void StepEdits::number(const Step& step, std::string_view name, const Field& field,
                       const FieldValue& value) {
  const bool is_absent = std::holds_alternative<std::monostate>(value);
  if (is_absent && field.fallback != "0") return;
  for (const Index by : {Index{1}, Index{-1}}) {
    if (const auto* array = std::get_if<NamedArray>(&value)) {
      NamedArray numbers = moved_by(*array, by);
      const auto fits = [&](std::int64_t n) { return n >= field.min && n <= keys_; };
      if (!std::ranges::all_of(numbers.array.as<std::int64_t>(), fits)) continue;
      put(step, field, std::move(numbers),
          fmt::format("{} {} {} by one", name, field.name, by > 0 ? "larger" : "smaller"));
      continue;
    }
    const Index before = is_absent ? 0 : std::get<Index>(value);
    if (before + by < field.min || before + by > field.max) continue;
    put(step, field, before + by,
        fmt::format("{} {} {} instead of {}", name, field.name, before + by, before));
  }
}

void StepEdits::lost_number(const Step& step, std::string_view name, const Field& field,
                            const FieldValue& value) {
  if (const auto* array = std::get_if<NamedArray>(&value)) {
    constexpr Index kMostEntries = 16;
    const Tensor numbers = astype(array->array, DType::kInt64);
    const auto all = numbers.as<std::int64_t>();
    if (numbers.rank() != 1 || std::ssize(all) > kMostEntries) return;
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (std::ranges::find(all.first(b), all[b]) != all.begin() + static_cast<std::ptrdiff_t>(b)) {
        continue;
      }
      NamedArray same{numbers, ""};
      std::ranges::fill(same.array.as<std::int64_t>(), all[b]);
      put(step, field, std::move(same),
          fmt::format("{} {} {} everywhere, as in {} {}", name, field.name, all[b], entry_, b));
    }
    return;
  }
  const Index* before = std::get_if<Index>(&value);
  const bool is_side = field.type == FieldType::kSide || field.type == FieldType::kSideOrSource;
  if (!before || (!is_side && field.fallback != "0")) return;
  if (*before != 0) {
    put(step, field, Index{0}, fmt::format("{} {} 0 instead of {}", name, field.name, *before));
  }
}

void StepEdits::choice(const Step& step, std::string_view name, const Field& field,
                       const FieldValue& value) {
  const std::vector<std::string_view> choices = split(field.choices, '|');
  const bool is_align = field.name == "align";
  if (is_align && square_) return;
  const Index* given = std::get_if<Index>(&value);
  for (Index other = 0; other < std::ssize(choices); ++other) {
    if (given ? other == *given : other == 0) continue;
    const std::string_view text = choices[as_size(other)];
    put(step, field, other,
        is_align ? fmt::format("{} aligned {}", name, text)
                 : fmt::format("{} {} {}", name, field.name, text));
  }
}

/// Adds each pair of neighbouring documents joined, and all inner borders moved by one token.
void StepEdits::borders(const Step& step, const Field& field, const std::vector<Index>& lengths) {
  join(lengths.size(), [&](std::size_t n) {
    Step copy = step;
    field.set(copy, joined(lengths, n));
    return copy;
  });
  for (const Index by : {Index{1}, Index{-1}}) {
    std::vector<Index> shifted = lengths;
    if (shifted.size() < 2) continue;
    shifted.front() += by;
    shifted.back() -= by;
    if (std::min(shifted.front(), shifted.back()) < 1) continue;
    put(step, field, std::move(shifted),
        fmt::format("documents moved by a token to the {}", by > 0 ? "right" : "left"));
  }
}

std::string StepEdits::joined_text(std::size_t n) {
  return fmt::format("documents {} and {} as one", n - 1, n);
}

std::vector<Index> StepEdits::joined(std::vector<Index> lengths, std::size_t n) {
  if (n < lengths.size()) {
    lengths[n - 1] += lengths[n];
    lengths.erase(lengths.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return lengths;
}

Chain edited(Chain chain, std::size_t i, const StepEdit& edit) {
  if (edit.step) {
    chain[i] = *edit.step;
  } else {
    chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chain;
}

NamedArray moved_by(const NamedArray& array, Index by) {
  NamedArray out{astype(array.array, DType::kInt64), is_list(array) ? "" : array.text};
  for (std::int64_t& number : out.array.as<std::int64_t>()) number += by;
  return out;
}

std::string inside_words(const Step& step) {
  if (documents_in(step)) return "each document";
  const StepInfo& info = info_of(step);
  const auto members =
      info.args.empty() ? std::nullopt : value_text(info.args.front(), info.args.front().get(step));
  return members ? fmt::format("{} {}", info.name, *members) : std::string(info.name);
}

}  // namespace maskctl
