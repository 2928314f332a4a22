// Loads the mask of a single array, for each kind.
#include "maskctl/io/masks/mask_arrays.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/kinds/array_look.h"
#include "maskctl/io/masks/dense_reader.h"
#include "maskctl/io/masks/key_arrays.h"
#include "maskctl/mask/arrays/array_kinds.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/lines.h"

namespace maskctl {
namespace {

/// Throws, before anything is read, if the mask takes more than max_bytes when packed. `both_ways`:
/// it is also stored transposed for a time.
void check_packed(const std::string& name, std::span<const Index> shape, bool both_ways,
                  Index max_bytes) {
  constexpr Index kPerRow = 16;
  constexpr Index kPerPlane = 64;
  const auto bytes = [&](Index rows, Index columns) -> std::optional<Index> {
    const auto plane = checked_mul(rows, words_for(columns) * 8 + kPerRow);
    const auto sum = plane ? checked_add(*plane, kPerPlane) : std::nullopt;
    const auto planes = checked_mul(shape[0], shape[1]);
    return sum && planes ? checked_mul(*sum, *planes) : std::nullopt;
  };
  const auto stored = bytes(shape[2], shape[3]);
  const auto transposed = both_ways ? bytes(shape[3], shape[2]) : 0;
  const auto total = stored && transposed ? checked_add(*stored, *transposed) : std::nullopt;
  if (total && *total <= max_bytes) return;
  throw Error(
      Errc::kLimit,
      fmt::format("{}: the mask {} takes {} bytes when packed, over the limit of {}", name,
                  shape_text(shape), total ? fmt::format("{}", *total) : "too many", max_bytes),
      {{Remedy::kRaiseMemoryLimit}});
}

LoadedMask loaded(Mask mask, ArrayKind kind, const OpenArray& array) {
  LoadedMask out;
  out.mask = std::move(mask);
  out.kind = kind;
  out.dtype = name(array.dtype);
  out.array_shape = array.shape;
  return out;
}

Tensor not_valid(const Tensor& valid) {
  Tensor out(DType::kBool, valid.shape());
  std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(valid.elements())));
  pack_elements(valid.dtype(), valid.bytes(), words);
  unpack_bytes(words, out.as<std::uint8_t>());
  for (std::uint8_t& flag : out.as<std::uint8_t>()) flag ^= 1;
  return out;
}

Tensor ids_tensor(const Tensor& array) {
  Tensor out = int32_array(array, "segment ids");
  if (out.rank() == 1) out.reshape({1, out.extent(0)});
  return out;
}

Index last_end(const Tensor& pairs) {
  const auto values = as_int64(pairs, "an array of start-end pairs");
  return values.empty() ? 0 : std::max<Index>(0, *std::ranges::max_element(values));
}

/// True if the array, read as this kind, gives a mask of the shape that the caller wants.
bool makes_shape(ArrayKind kind, std::span<const Index> array, const std::vector<Index>& wanted) {
  const bool rows =
      kind == ArrayKind::kPadding || kind == ArrayKind::kSegments || kind == ArrayKind::kPositions;
  if (!rows && kind != ArrayKind::kDense && kind != ArrayKind::kKeyPadding) return true;
  if (array.back() != wanted[3]) return false;
  const auto fits = [](Index has, Index asked) { return has == asked || has == 1; };
  if (kind == ArrayKind::kDense)
    return array.size() < 2 || fits(array[array.size() - 2], wanted[2]);
  return (!rows || wanted[2] == wanted[3]) && (array.size() < 2 || fits(array[0], wanted[0]));
}

/// Removes the kinds that cannot give the shape that the caller wants, unless none would be left.
void keep_fitting(std::vector<ArrayKind>& kinds, const OpenArray& array,
                  const MaskReadOptions& options) {
  if (!options.shape || options.shape->size() != 4 || kinds.size() < 2) return;
  std::vector<ArrayKind> left;
  std::ranges::copy_if(kinds, std::back_inserter(left), [&](ArrayKind kind) {
    return makes_shape(kind, array.shape, *options.shape);
  });
  if (!left.empty()) kinds = std::move(left);
}

constexpr std::size_t kLookedAt = std::size_t{1} << 20;  // elements to look at, at most

/// Throws if whole numbers look like something that cannot be segment ids, such as labels.
void refuse_look(const OpenArray& array, const Tensor& values) {
  const std::size_t most = kLookedAt * static_cast<std::size_t>(size_bytes(array.dtype));
  const auto bytes = values.bytes().first(std::min(values.bytes().size(), most));
  const ArrayLook look = look_of(array.dtype, bytes, 0, 1);
  if (look == ArrayLook::kOther) return;
  throw Error(Errc::kInvalidArgument, fmt::format("{}: {}", array.name, words(look)),
              read_as(std::array{ArrayKind::kSegments}));
}

std::size_t count_different(std::span<const std::int32_t> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(values);
  const auto extent = static_cast<std::size_t>(std::int64_t{most} - least) + 1;
  constexpr std::size_t kBitsPerValue = 64;
  if (extent > kBitsPerValue * values.size()) {
    std::vector<std::int32_t> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    return static_cast<std::size_t>(std::ranges::unique(sorted).begin() - sorted.begin());
  }
  std::vector<bool> seen(extent);
  std::size_t different = 0;
  for (const std::int32_t value : values) {
    auto bit = seen[static_cast<std::size_t>(std::int64_t{value} - least)];
    different += !bit;
    bit = true;
  }
  return different;
}

/// A note if more than half of the tokens have different ids, which suggests token ids instead of
/// segment ids; else empty.
std::string token_id_note(const std::string& name, const Tensor& ids) {
  constexpr std::size_t kFewest = 8;
  const auto all = ids.as<std::int32_t>();
  const std::size_t tokens = std::min(all.size(), kLookedAt);
  const std::size_t different = count_different(all.first(tokens));
  if (tokens < kFewest || different * 2 <= tokens) return "";
  return fmt::format("{}: {} different segment ids for {} tokens; token ids are not segment ids",
                     name, different, tokens);
}

[[noreturn]] void refuse(const OpenArray& array, std::span<const ArrayKind> kinds) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} of {} fits several kinds", array.name, shape_text(array.shape),
                          name(array.dtype)),
              read_as(kinds));
}

TensorView transposed(const TensorView& plane) {
  const std::array shape{plane.extent(1), plane.extent(0)};
  const std::array strides{plane.stride(1), plane.stride(0)};
  return {plane.data(), plane.dtype(), shape, strides, plane.place()};
}

/// A view of the array with axes in the order in which its elements are stored.
TensorView as_stored(const OpenArray& array) {
  return array.fortran_order ? transposed(*array.view) : *array.view;
}

/// The rows of the array in the order in which its elements are stored.
std::unique_ptr<ElementRows> element_rows(const OpenArray& array, Index columns) {
  if (array.tensor) return view_rows(*array.tensor);
  if (array.view) return view_rows(as_stored(array));
  return npy_rows(array.reader, columns);
}

LoadedMask load_dense(OpenArray& array, ArrayKind kind, const MaskReadOptions& options) {
  if (kind == ArrayKind::kBias && !is_floating(array.dtype)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: a bias is floats, not {}", array.name, name(array.dtype)));
  }
  const std::vector<Index> shape = dense_shape(array.shape);
  const bool one_plane = shape[0] == 1 && shape[1] == 1;
  std::vector<std::string> notes;
  if (array.fortran_order && !one_plane) array.load(options.read, notes);
  // A plane in Fortran order is the transposed plane in C order.
  const bool is_transposed = array.fortran_order;
  const std::vector<Index> stored =
      is_transposed ? std::vector<Index>{1, 1, shape[3], shape[2]} : shape;
  check_packed(array.name, shape, is_transposed, options.read.max_bytes);
  const auto rows = element_rows(array, stored[3]);
  ValueCheck check(array.name, array.dtype, array.shape, is_transposed,
                   kind == ArrayKind::kBias ? Values::kBias : Values::kBinary,
                   options.closed_below);
  Mask mask = dense_mask(*rows, stored, options.keep_value_is_zero, check, options.progress,
                         is_transposed ? RowsSink() : options.rows_read);
  check.finish(notes);
  if (array.reader) array.reader->finish(options.read, &notes);
  LoadedMask out = loaded(is_transposed ? transposed(mask) : std::move(mask), kind, array);
  out.odd_bools = check.odd_bools();
  out.bias_seen = check.bias_seen();
  out.notes = std::move(notes);
  return out;
}

LoadedMask load_padding(OpenArray& array, ArrayKind kind, const MaskReadOptions& options) {
  std::vector<std::string> notes;
  const Tensor& read = array.load(options.read, notes);
  const Tensor given = token_flags(read);
  if (options.keep_value_is_zero && given.dtype() != read.dtype()) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: a bias, in which 0 is open", array.name),
                {{Remedy::kReadZeroAsClosed}});
  }
  const Index odd_bools = check_binary(given, array.name, notes);
  const Tensor valid = options.keep_value_is_zero ? not_valid(given) : given;
  const auto queries = [&] {
    return options.shape ? (*options.shape)[2] : valid.extent(valid.rank() - 1);
  };
  const bool has_axes = valid.rank() == 1 || valid.rank() == 2;
  Mask mask = kind == ArrayKind::kPadding || !has_axes ? mask_from_padding(valid)
                                                       : mask_from_key_padding(valid, queries());
  LoadedMask out = loaded(std::move(mask), kind, array);
  out.odd_bools = odd_bools;
  out.notes = std::move(notes);
  return out;
}

/// Throws if the rows of the mask would exceed the limit, however small the array is: each row of a
/// mask takes a RowRef.
void check_rows(const std::string& name, Index rows, Index max_bytes) {
  if (rows <= max_bytes / static_cast<Index>(sizeof(RowRef))) return;
  throw Error(Errc::kLimit,
              fmt::format("{}: {} rows of queries take more than {} bytes", name, rows, max_bytes),
              {{Remedy::kRaiseMemoryLimit}});
}

LoadedMask load_blockmap(OpenArray& array, const MaskReadOptions& options) {
  if (!options.block) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: a block map does not carry the size of its blocks", array.name),
                {{Remedy::kReadAs, "blockmap:QxK"}});
  }
  std::vector<std::string> notes;
  const Tensor& map = array.load(options.read, notes);
  const auto extent = [&](std::size_t axis) {
    return options.shape ? std::optional((*options.shape)[axis]) : std::nullopt;
  };
  const Index blocks = map.rank() < 2 ? 0 : map.extent(map.rank() - 2);
  const auto queries = extent(2) ? extent(2) : checked_mul(blocks, options.block->q);
  check_rows(array.name, queries.value_or(std::numeric_limits<Index>::max()),
             options.read.max_bytes);
  LoadedMask out =
      loaded(mask_from_blockmap(map, options.block->q, options.block->k, extent(2), extent(3)),
             ArrayKind::kBlockmap, array);
  out.notes = std::move(notes);
  return out;
}

LoadedMask load_bits(OpenArray& array, const MaskReadOptions& options) {
  if (!options.shape) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: bits do not carry their shape", array.name),
                {{Remedy::kGiveShape}});
  }
  if (array.dtype != DType::kUInt8 || array.shape.size() != 1) {
    throw Error(Errc::kShape, fmt::format("{}: bits are an array (N,) of uint8, not {} of {}",
                                          array.name, shape_text(array.shape), name(array.dtype)));
  }
  check_packed(array.name, *options.shape, false, options.read.max_bytes);
  std::vector<std::string> notes;
  const Tensor& bits = array.load(options.read, notes);
  LoadedMask out = loaded(mask_from_bits(bits.bytes(), *options.shape), ArrayKind::kBits, array);
  out.notes = std::move(notes);
  return out;
}

double first_not_zero(const TensorView& view) {
  const Lines lines(view);
  Lines::Buffer buffer;
  for (Index line = 0; line < lines.count(); ++line) {
    const auto elements = lines.read(line, {0, lines.length()}, buffer);
    if (const auto value = first_nonzero(view.dtype(), elements)) return *value;
  }
  return 0;
}

/// The value of the first nonzero element: 0 if all are zero, NaN if none is in the first MiB of a
/// pipe.
double first_not_zero(OpenArray& array) {
  if (array.view) return first_not_zero(as_stored(array));
  constexpr Index kPart = Index{1} << 20;
  const Index size = size_bytes(array.dtype);
  const Index total = checked_product(array.shape).value_or(0) * size;
  std::vector<std::byte> part;
  for (Index at = 0; at < total; at += kPart) {
    part.resize(as_size(std::min(kPart, total - at)));
    if (array.tensor) {
      std::ranges::copy(array.tensor->bytes().subspan(as_size(at), part.size()), part.begin());
    } else if (!array.reader->look(at / size, part)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (const auto value = first_nonzero(array.dtype, part)) return *value;
  }
  return 0;
}

/// Floats whose first nonzero number is negative are a bias, as are zeros, with a note: models make
/// biases of zeros for batches without padding. All others are a dense mask.
ArrayKind dense_or_bias(OpenArray& array, const MaskReadOptions& options,
                        std::vector<std::string>& notes) {
  if (!is_floating(array.dtype) || options.keep_value_is_zero) return ArrayKind::kDense;
  const double first = first_not_zero(array);
  if (first < 0) return ArrayKind::kBias;
  if (first != 0 || checked_product(array.shape) == 0) return ArrayKind::kDense;
  notes.push_back(
      fmt::format("{}: floats that are all zeros are read as a bias, which is open everywhere; as "
                  "a 0/1 mask, of the kind dense, they are closed everywhere",
                  array.name));
  return ArrayKind::kBias;
}

}  // namespace

ArrayKind choose_kind(OpenArray& array, const MaskReadOptions& options,
                      std::vector<std::string>& notes) {
  if (options.as) return *options.as;
  KindChoice choice = kinds_of_shape(array.dtype, array.shape);
  if (choice.needs_values) {
    const Tensor& values = array.load(options.read, notes);
    choice.kinds = fitting_kinds(values);
    const bool numbers = is_integer(array.dtype) && choice.kinds.size() == 1;
    if (numbers) refuse_look(array, values);
    if (numbers && looks_like_positions(values)) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("{}: looks like position ids, unless these are segment ids", array.name),
          read_as(std::array{ArrayKind::kPositions, ArrayKind::kSegments}));
    }
    if (array.dtype == DType::kBool && choice.kinds.size() == 1) {
      notes.push_back(fmt::format(
          "{}: read as dense: as flags of padding, its rows would share no token", array.name));
    }
  }
  if (choice.kinds.empty()) {
    throw Error(Errc::kShape, fmt::format("{}: the shape {} is not a mask; expected 1 to 4 axes",
                                          array.name, shape_text(array.shape)));
  }
  if (options.closed_below && is_floating(array.dtype)) return ArrayKind::kBias;
  keep_fitting(choice.kinds, array, options);
  if (choice.kinds.size() > 1) refuse(array, choice.kinds);
  if (choice.kinds[0] == ArrayKind::kDense) return dense_or_bias(array, options, notes);
  return choice.kinds[0];
}

LoadedMask load_sequences(OpenArray& q, OpenArray& kv, ArrayKind kind,
                          const MaskReadOptions& options) {
  std::vector<std::string> notes;
  const Tensor& q_array = q.load(options.read, notes);
  const Tensor& kv_array = kv.load(options.read, notes);
  const auto extent = [&](std::size_t axis) {
    return options.shape ? std::optional((*options.shape)[axis]) : std::nullopt;
  };
  LoadedMask out;
  if (kind == ArrayKind::kSegments) {
    out = loaded(mask_from_segments(q_array, kv_array, options.pad_id), kind, q);
    out.q_segment_ids = ids_tensor(q_array);
    out.kv_segment_ids = &q == &kv ? *out.q_segment_ids : ids_tensor(kv_array);
    if (auto note = token_id_note(q.name, *out.q_segment_ids); !note.empty())
      notes.push_back(std::move(note));
  } else if (kind == ArrayKind::kPositions) {
    Tensor q_ids = documents_from_positions(q_array);
    Tensor kv_ids = documents_from_positions(kv_array);
    out = loaded(mask_from_segments(q_ids, kv_ids, -1), kind, q);
    out.q_segment_ids = std::move(q_ids);
    out.kv_segment_ids = std::move(kv_ids);
  } else if (kind == ArrayKind::kCuSeqlens) {
    out = loaded(mask_from_cu_seqlens(q_array, kv_array, extent(2), extent(3)), kind, q);
  } else {
    if (!options.shape) {
      notes.push_back(
          fmt::format("{}: the extents are the largest ends, for no shape was given", q.name));
    }
    const Index queries = extent(2) ? *extent(2) : last_end(q_array);
    const Index keys = extent(3) ? *extent(3) : last_end(kv_array);
    out = loaded(mask_from_pairs(q_array, kv_array, queries, keys), kind, q);
  }
  out.shared_ids = &q == &kv;
  out.notes = std::move(notes);
  return out;
}

LoadedMask load_array(OpenArray& array, ArrayKind kind, const MaskReadOptions& options) {
  switch (kind) {
    case ArrayKind::kDense:
    case ArrayKind::kBias:
      return load_dense(array, kind, options);
    case ArrayKind::kPadding:
    case ArrayKind::kKeyPadding:
      return load_padding(array, kind, options);
    case ArrayKind::kBlockmap:
      return load_blockmap(array, options);
    case ArrayKind::kBits:
      return load_bits(array, options);
    case ArrayKind::kIndexLists:
      return load_index_lists(array, options);
    case ArrayKind::kFlashmask:
    case ArrayKind::kFlashmaskCausal:
      return load_flashmask(array, kind, options);
    case ArrayKind::kIntervals:
      return load_intervals(array, options);
    case ArrayKind::kMaskInfo:
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: not a stored MaskInfo, which is a container with an array "
                              "'maskinfo'",
                              array.name));
    case ArrayKind::kTokenTypes:
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: token types are not a mask but extend one; give a mask and "
                              "the step tokens:{}",
                              array.name, array.name));
    default:
      break;
  }
  if (const std::string names = array_names(kind); !names.empty()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: one array cannot be {}; expected a container of {}", array.name,
                            name(kind), names));
  }
  return load_sequences(array, array, kind, options);
}

}  // namespace maskctl
