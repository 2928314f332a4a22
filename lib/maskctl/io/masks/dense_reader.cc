// Packs rows of elements into planes, and checks that all values are allowed.
#include "maskctl/io/masks/dense_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// Exchanges open and closed cells; bits after the last key stay zero.
void invert_rows(std::span<std::uint64_t> words, Index keys) {
  const auto width = static_cast<std::size_t>(words_for(keys));
  for (std::uint64_t& word : words) word = ~word;
  if (keys % 64 == 0) return;
  const std::uint64_t tail = (std::uint64_t{1} << (keys % 64)) - 1;
  for (std::size_t last = width - 1; last < words.size(); last += width) words[last] &= tail;
}

struct Expected {
  std::string_view text;
  std::vector<Remedy> remedies = {};
};

/// Whether FlashMask's limits of rows have these axes: [B,H,K,1|2|4].
bool may_be_flashmask(std::span<const Index> shape) {
  return shape.size() == 4 && (shape[3] == 1 || shape[3] == 2 || shape[3] == 4);
}

/// Returns what a message says about a value that is not allowed: what the elements look like (such
/// as an image), or else what was expected.
Expected expected(DType dtype, Values values, ArrayLook look, std::span<const Index> shape) {
  if (look != ArrayLook::kOther) return {words(look)};
  if (values == Values::kBias) {
    return {"expected 0 (open) and -inf or a large negative number (closed)",
            {{Remedy::kSetClosedBelow}}};
  }
  if (is_integer(dtype) && may_be_flashmask(shape)) {
    return {"expected a 0/1 mask, but these may be FlashMask's limits of rows",
            {{Remedy::kReadAs, name(ArrayKind::kFlashmask)},
             {Remedy::kReadAs, name(ArrayKind::kFlashmaskCausal)}}};
  }
  if (is_integer(dtype)) {
    return {"expected a 0/1 mask, but these may be ids",
            {{Remedy::kReadAs, name(ArrayKind::kSegments)}}};
  }
  if (is_floating(dtype)) {
    return {"expected a 0/1 mask, but this may be an additive one",
            {{Remedy::kReadAs, name(ArrayKind::kBias)}}};
  }
  return {"expected a 0/1 mask"};
}

}  // namespace

ValueCheck::ValueCheck(std::string name, DType dtype, std::vector<Index> shape, bool fortran_order,
                       Values values, std::optional<double> closed_below)
    : name_(std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)),
      fortran_order_(fortran_order),
      values_(values),
      rule_{dtype, closed_below},
      first_bad_(std::numeric_limits<Index>::max()) {}

bool ValueCheck::pack(Index first, std::span<const std::byte> elements,
                      std::span<std::uint64_t> words) {
  bool fine = false;
  if (values_ == Values::kBias) {
    BiasSeen seen;
    fine = pack_bias(rule_, elements, words, seen);
    const std::lock_guard lock(mutex_);
    seen_.add(seen);
  } else {
    fine = pack_elements(dtype_, elements, words);
  }
  if (!fine) found(first, elements);
  return fine;
}

std::optional<Index> ValueCheck::first_bad(std::span<const std::byte> elements) const {
  return values_ == Values::kBias ? first_not_bias(rule_, elements)
                                  : first_not_binary(dtype_, elements);
}

void ValueCheck::found(Index first, std::span<const std::byte> elements) {
  if (dtype_ == DType::kBool) {
    odd_bools_ += count_not_binary(dtype_, elements);
    return;
  }
  const auto at = first_bad(elements);
  const std::lock_guard lock(mutex_);
  if (!at || first + *at >= first_bad_) return;
  first_bad_ = first + *at;
  bad_text_ = element_text(dtype_, elements, *at);
  look_ = fortran_order_ || shape_.empty() ? ArrayLook::kOther
                                           : look_of(dtype_, elements, first, shape_.back());
}

std::vector<Index> ValueCheck::position(Index element) const {
  std::vector<Index> out(shape_.size());
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    const std::size_t axis = fortran_order_ ? i : shape_.size() - 1 - i;
    out[axis] = element % shape_[axis];
    element /= shape_[axis];
  }
  return out;
}

void ValueCheck::check() const {
  if (first_bad_ == std::numeric_limits<Index>::max()) return;
  const auto [text, remedies] = expected(dtype_, values_, look_, shape_);
  throw Error(Errc::kFormat,
              fmt::format("{}: values other than 0 and {}, the first is {} at {}; {}", name_,
                          values_ == Values::kBias ? "-inf" : "1", bad_text_,
                          shape_text(position(first_bad_)), text),
              remedies);
}

void ValueCheck::finish(std::vector<std::string>& notes) const {
  check();
  if (!rule_.closed_below && seen_.is_mixed()) {
    throw Error(Errc::kFormat,
                fmt::format("{}: -1e4 beside other numbers ({}): a penalty or a closed cell? -9984 "
                            "as the limit closes both, {} only the lower ones",
                            name_, closed_by(seen_, dtype_), kAlwaysCloses),
                {{Remedy::kSetClosedBelow}});
  }
  if (seen_.min && (seen_.inf || seen_.nearest != seen_.farthest)) {
    notes.push_back(fmt::format("{}: closed cells hold {}", name_, closed_by(seen_, dtype_)));
  }
  if (odd_bools_ == 0) return;
  notes.push_back(fmt::format("{}: {} non-canonical bool byte{} (neither 0 nor 1) count as true",
                              name_, odd_bools_.load(), odd_bools_ == 1 ? "" : "s"));
}

Index check_binary(const Tensor& array, const std::string& name, std::vector<std::string>& notes) {
  if (!first_not_binary(array.dtype(), array.bytes())) return 0;
  ValueCheck check(name, array.dtype(), array.shape(), false);
  check.found(0, array.bytes());
  check.finish(notes);
  return check.odd_bools();
}

Mask dense_mask(ElementRows& rows, std::span<const Index> shape, bool invert, ValueCheck& check,
                const std::function<void(double)>& progress, const RowsSink& rows_read) {
  const Index queries = shape[2];
  const Index keys = shape[3];
  const Index planes = shape[0] * shape[1];
  const Index width = words_for(keys);
  SharedPlanes shared(shape[0], shape[1], queries, keys);
  Progress done(progress, planes * queries);
  for (Index p = 0; p < planes; ++p) {
    const Index first_row = p * queries;
    shared.add_stored(rows.in_order(), [&](Range q, std::span<std::uint64_t> words) {
      if (check.settled((first_row + q.begin) * keys)) {  // an earlier element is refused: skip
        std::ranges::fill(words, std::uint64_t{0});
        return;
      }
      const auto pack = [&](Index row, Index column, std::span<const std::byte> elements) {
        const Index at = (row - first_row - q.begin) * width + column / 64;
        const auto to = words.subspan(static_cast<std::size_t>(at));
        if (check.pack(row * keys + column, elements, to)) return;
        if (rows.in_order()) check.check();  // fail now, do not wait for the rest of a pipe
      };
      rows.read({first_row + q.begin, first_row + q.end}, pack);
      if (invert) invert_rows(words, keys);
      if (rows_read && p == 0) rows_read({shape, q, words});
      done.add(q.size());
    });
  }
  return shared.mask();
}

}  // namespace maskctl
