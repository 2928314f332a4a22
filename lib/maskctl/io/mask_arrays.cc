// Loading the mask of one array, kind by kind.
#include "maskctl/io/mask_arrays.h"

#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/dense_reader.h"
#include "maskctl/mask/dense.h"
#include "maskctl/mask/elements.h"
#include "maskctl/mask/words.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Refuses before reading when the packed rows and what describes them exceed the limit.
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
  const auto turned = both_ways ? bytes(shape[3], shape[2]) : 0;
  const auto total = stored && turned ? checked_add(*stored, *turned) : std::nullopt;
  if (total && *total <= max_bytes) return;
  throw Error(Errc::kLimit,
              fmt::format("{}: the mask {} takes {} bytes when packed, over the limit of {}; raise "
                          "--max-bytes",
                          name, shape_text(shape), total ? fmt::format("{}", *total) : "too many",
                          max_bytes));
}

LoadedMask loaded(Mask mask, Kind kind, const OpenArray& array) {
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
  const Index batch = array.rank() == 1 ? 1 : array.extent(0);
  Tensor out(DType::kInt32, {batch, array.extent(array.rank() - 1)});
  std::ranges::copy(as_int32(array, "segment ids"), out.as<std::int32_t>().begin());
  return out;
}

Index last_end(const Tensor& pairs) {
  const auto values = as_int64(pairs, "an array of start-end pairs");
  return values.empty() ? 0 : std::max<Index>(0, *std::ranges::max_element(values));
}

[[noreturn]] void refuse(const OpenArray& array, std::span<const Kind> kinds) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} of {} fits several kinds; say which: {}", array.name,
                          shape_text(array.shape), name(array.dtype), as_options(kinds)));
}

}  // namespace

OpenArray open_array(std::shared_ptr<NpyReader> reader) {
  OpenArray out;
  out.name = reader->name();
  out.dtype = reader->header().dtype;
  out.shape = reader->header().shape;
  out.fortran_order = reader->header().fortran_order;
  out.reader = std::move(reader);
  return out;
}

OpenArray open_array(std::string name, Tensor tensor) {
  OpenArray out;
  out.name = std::move(name);
  out.dtype = tensor.dtype();
  out.shape = tensor.shape();
  out.tensor = std::move(tensor);
  return out;
}

const Tensor& OpenArray::load(const ReadOptions& options, std::vector<std::string>& notes) {
  if (!tensor) {
    tensor = read_npy(*reader, options, &notes);
    reader.reset();
    fortran_order = false;
  }
  return *tensor;
}

Kind choose_kind(OpenArray& array, const MaskReadOptions& options,
                 std::vector<std::string>& notes) {
  if (options.as) return *options.as;
  KindChoice choice = kinds_of_shape(array.dtype, array.shape);
  if (choice.needs_values) {
    const Tensor& values = array.load(options.read, notes);
    choice.kinds = fitting_kinds(values);
    if (choice.kinds.size() == 1 && looks_like_positions(values)) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: looks like position ids, which are not read; give --as segments "
                              "if these are segment ids",
                              array.name));
    }
  }
  if (choice.kinds.empty()) {
    throw Error(Errc::kShape, fmt::format("{}: the shape {} is no mask; expected 1 to 4 axes",
                                          array.name, shape_text(array.shape)));
  }
  if (choice.kinds.size() > 1) refuse(array, choice.kinds);
  return choice.kinds[0];
}

LoadedMask load_dense(OpenArray& array, const MaskReadOptions& options) {
  const std::vector<Index> shape = dense_shape(array.shape);
  const bool one_plane = shape[0] == 1 && shape[1] == 1;
  std::vector<std::string> notes;
  if (array.fortran_order && !one_plane) array.load(options.read, notes);
  // One plane in Fortran order is its transpose in C order, row by row.
  const bool turned = array.fortran_order;
  const std::vector<Index> stored = turned ? std::vector<Index>{1, 1, shape[3], shape[2]} : shape;
  check_packed(array.name, shape, turned, options.read.max_bytes);
  const auto rows =
      array.tensor ? tensor_rows(*array.tensor, stored[3]) : npy_rows(array.reader, stored[3]);
  ValueCheck check(array.name, array.dtype, array.shape, turned);
  Mask mask =
      dense_mask(*rows, array.dtype, stored, options.keep_value_is_zero, check, options.progress);
  check.finish(notes);
  if (array.reader) array.reader->finish(options.read, &notes);
  LoadedMask out = loaded(turned ? transposed(mask) : std::move(mask), Kind::kDense, array);
  out.notes = std::move(notes);
  return out;
}

LoadedMask load_padding(OpenArray& array, Kind kind, const MaskReadOptions& options) {
  std::vector<std::string> notes;
  const Tensor& given = array.load(options.read, notes);
  check_binary(given, array.name, notes);
  const Tensor valid = options.keep_value_is_zero ? not_valid(given) : given;
  const auto queries = [&] {
    return options.shape ? (*options.shape)[2] : valid.extent(valid.rank() - 1);
  };
  const bool has_axes = valid.rank() == 1 || valid.rank() == 2;
  Mask mask = kind == Kind::kPadding || !has_axes ? mask_from_padding(valid)
                                                  : mask_from_key_padding(valid, queries());
  LoadedMask out = loaded(std::move(mask), kind, array);
  out.notes = std::move(notes);
  return out;
}

LoadedMask load_sequences(OpenArray& q, OpenArray& kv, Kind kind, const MaskReadOptions& options) {
  std::vector<std::string> notes;
  const Tensor& q_array = q.load(options.read, notes);
  const Tensor& kv_array = kv.load(options.read, notes);
  const auto extent = [&](std::size_t axis) {
    return options.shape ? std::optional((*options.shape)[axis]) : std::nullopt;
  };
  LoadedMask out;
  if (kind == Kind::kSegments) {
    out = loaded(mask_from_segments(q_array, kv_array, options.pad_id), kind, q);
    out.q_segment_ids = ids_tensor(q_array);
    out.kv_segment_ids = ids_tensor(kv_array);
  } else if (kind == Kind::kCuSeqlens) {
    out = loaded(mask_from_cu_seqlens(q_array, kv_array, extent(2), extent(3)), kind, q);
  } else {
    if (!options.shape) {
      notes.push_back(
          fmt::format("{}: the lengths are the largest ends; --shape gives others", q.name));
    }
    const Index queries = extent(2) ? *extent(2) : last_end(q_array);
    const Index keys = extent(3) ? *extent(3) : last_end(kv_array);
    out = loaded(mask_from_pairs(q_array, kv_array, queries, keys), kind, q);
  }
  out.notes = std::move(notes);
  return out;
}

}  // namespace maskctl
