#include "maskctl/ejkernel/mask_info/mask_info_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr const char* kVersionKey = "maskinfo";  // an array that every stored MaskInfo has
constexpr std::int32_t kVersion = 1;
constexpr std::int32_t kMostNames = 1 << 16;

struct ArrayField {
  const char* key;
  Array MaskInfoFields::*field;
};
constexpr ArrayField kArrays[] = {
    {"q_segment_ids", &MaskInfoFields::q_segment_ids},
    {"kv_segment_ids", &MaskInfoFields::kv_segment_ids},
    {"cu_seqlens_q", &MaskInfoFields::cu_seqlens_q},
    {"cu_seqlens_kv", &MaskInfoFields::cu_seqlens_kv},
    {"q_positions", &MaskInfoFields::q_positions},
    {"kv_positions", &MaskInfoFields::kv_positions},
};

constexpr AxisName AxisNames::*kAxes[] = {&AxisNames::batch, &AxisNames::qheads,
                                          &AxisNames::kvheads, &AxisNames::sequence};
constexpr bool BakedInMasks::*kFlags[] = {&BakedInMasks::causal, &BakedInMasks::sliding_window,
                                          &BakedInMasks::chunked, &BakedInMasks::token_type_ids};

/// The alternatives of the variant AxisName, in its order.
enum AxisKind : std::int32_t { kNone, kName, kTuple };

Tensor int32_tensor(std::span<const std::int32_t> values) {
  Tensor out(DType::kInt32, {static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<std::int32_t>().begin());
  return out;
}

Tensor text_tensor(std::string_view text) {
  Tensor out(DType::kUInt8, {static_cast<Index>(text.size())});
  std::ranges::copy(std::as_bytes(std::span(text)), out.bytes().begin());
  return out;
}

void add_axes(const AxisNames& axes, std::vector<NamedTensor>& out) {
  std::array<std::int32_t, 4> kinds{}, counts{};
  std::string all;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const AxisName& axis = axes.*kAxes[i];
    const auto names = names_of(axis);
    kinds[i] = static_cast<std::int32_t>(axis.index());
    counts[i] = static_cast<std::int32_t>(names.size());
    for (const std::string& name : names) {
      if (name.find('\0') != std::string::npos) {
        throw Error(
            Errc::kInvalidArgument,
            fmt::format("axis name '{}' contains a zero byte, which would end the name in the file",
                        printable(name)));
      }
      all += name + '\0';
    }
  }
  out.push_back({"axes.kind", int32_tensor(kinds)});
  out.push_back({"axes.count", int32_tensor(counts)});
  out.push_back({"axes.names", text_tensor(all)});
}

void add_mask(const MaskArray& mask, Index max_bytes, std::vector<NamedTensor>& out) {
  if (!mask.lazy()) {
    out.push_back({"attention_mask", mask.tensor(max_bytes)});
    return;
  }
  RunArrays runs = runs_from_mask(mask.mask(), max_bytes);
  out.push_back({"attention_mask.indptr", std::move(runs.indptr)});
  out.push_back({"attention_mask.begin", std::move(runs.begin)});
  out.push_back({"attention_mask.end", std::move(runs.end)});
  out.push_back({"attention_mask.shape", std::move(runs.shape)});
  const std::array rank{static_cast<std::int32_t>(mask.rank())};
  out.push_back({"attention_mask.rank", int32_tensor(rank)});
  out.push_back({"attention_mask.dtype", text_tensor(name(mask.dtype()))});
}

/// The prefix of the keys of a MaskInfo that is in the group `member` of a container.
std::string prefix_of(const Container& container, const std::string& member) {
  const std::string key =
      container.key_of(member.empty() ? kVersionKey : member + "/" + kVersionKey);
  return key.substr(0, key.size() - std::string_view(kVersionKey).size());
}

/// The arrays of a group, which are removed one by one. An array that is left at the end is an
/// error.
class Fields {
 public:
  Fields(Container& container, const std::string& prefix, const ReadOptions& options) {
    std::vector<std::string> keys;
    for (const std::string& key : container.keys()) {
      if (key.starts_with(prefix)) keys.push_back(key);
    }
    std::vector<std::string> notes;
    std::vector<Tensor> arrays = container.read(keys, options, notes);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      left_.emplace(keys[i].substr(prefix.size()), std::move(arrays[i]));
    }
  }

  bool has(const std::string& key) const { return left_.contains(key); }

  Tensor take(const std::string& key) {
    const auto found = left_.find(key);
    if (found == left_.end()) throw Error(Errc::kFormat, fmt::format("no array '{}'", key));
    return std::move(left_.extract(found).mapped());
  }

  /// Removes a 1-D array of `count` elements of this dtype; nullopt: of any number.
  Tensor take_list(const std::string& key, DType dtype, std::optional<Index> count) {
    Tensor list = take(key);
    if (list.dtype() != dtype || list.rank() != 1 || (count && list.extent(0) != *count)) {
      throw Error(Errc::kFormat,
                  fmt::format("array '{}' is {} {}; expected {} ({},)", key, name(list.dtype()),
                              shape_text(list.shape()), name(dtype),
                              count ? std::to_string(*count) : std::string("n")));
    }
    return list;
  }

  void check_all_taken() const {
    if (left_.empty()) return;
    throw Error(Errc::kFormat,
                fmt::format("unknown array '{}'; expected those of a stored MaskInfo only",
                            printable(left_.begin()->first)));
  }

 private:
  std::map<std::string, Tensor> left_;
};

std::string_view text_of(const Tensor& tensor) {
  const auto bytes = tensor.as<char>();
  return {bytes.data(), bytes.size()};
}

[[noreturn]] void fail_mask_info(const std::string& message) {
  throw Error(Errc::kFormat, message);
}

AxisName axis_of(std::int32_t kind, std::vector<std::string> names) {
  if (kind == kNone && names.empty()) return std::monostate();
  if (kind == kName && names.size() == 1) return std::move(names.front());
  if (kind == kTuple) return names;
  fail_mask_info(
      fmt::format("an axis of kind {} with {} names; expected 0 (None) with none, 1 with one, or "
                  "2 (a tuple)",
                  kind, names.size()));
}

AxisNames read_axes(Fields& fields) {
  const Tensor kinds = fields.take_list("axes.kind", DType::kInt32, 4);
  const Tensor counts = fields.take_list("axes.count", DType::kInt32, 4);
  const Tensor bytes = fields.take_list("axes.names", DType::kUInt8, std::nullopt);
  std::string_view rest = text_of(bytes);
  AxisNames axes;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int32_t count = counts.as<std::int32_t>()[i];
    if (count < 0 || count > kMostNames) {
      fail_mask_info(fmt::format("axes.count holds {}; expected 0 to {}", count, kMostNames));
    }
    std::vector<std::string> names;
    for (std::int32_t n = 0; n < count; ++n) {
      const std::size_t end = rest.find('\0');
      if (end == std::string_view::npos)
        fail_mask_info("axes.names holds fewer names than axes.count says");
      names.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    axes.*kAxes[i] = axis_of(kinds.as<std::int32_t>()[i], std::move(names));
  }
  if (!rest.empty()) fail_mask_info("axes.names holds more names than axes.count says");
  return axes;
}

MaskArray read_runs(Fields& fields) {
  const auto part = [&](const char* key) {
    return fields.take(fmt::format("attention_mask.{}", key));
  };
  const RunArrays runs{part("indptr"), part("begin"), part("end"), part("shape")};
  Mask mask = mask_from_runs(runs);
  const Index rank =
      fields.take_list("attention_mask.rank", DType::kInt32, 1).as<std::int32_t>().front();
  if (rank < 2 || rank > 4 || (rank < 4 && mask.batch() != 1) || (rank < 3 && mask.heads() != 1)) {
    fail_mask_info(
        fmt::format("attention_mask.rank is {} for a mask {}; expected 2 to 4, and extents of 1 "
                    "on the axes left out",
                    rank, shape_text(mask)));
  }
  const Tensor dtype_text = fields.take_list("attention_mask.dtype", DType::kUInt8, std::nullopt);
  const auto dtype = dtype_from_name(text_of(dtype_text));
  if (!dtype) {
    fail_mask_info(
        fmt::format("attention_mask.dtype is '{}'; expected the name of a dtype, as bool",
                    printable(text_of(dtype_text))));
  }
  return MaskArray(std::move(mask), rank, *dtype);
}

MaskInfoFields read_fields(Fields& fields) {
  const std::int32_t version =
      fields.take_list(kVersionKey, DType::kInt32, 1).as<std::int32_t>().front();
  if (version != kVersion) {
    fail_mask_info(fmt::format("a MaskInfo of version {}; expected {}", version, kVersion));
  }
  MaskInfoFields out;
  for (const auto& [key, field] : kArrays) {
    if (fields.has(key)) out.*field = make_array(fields.take(key));
  }
  const bool dense = fields.has("attention_mask");
  if (dense) out.attention_mask = MaskArray(fields.take("attention_mask"));
  if (fields.has("attention_mask.indptr")) {
    if (dense) fail_mask_info("both a dense attention mask and runs of one; expected one of them");
    out.attention_mask = read_runs(fields);
  }
  const Tensor flags = fields.take_list("baked_in", DType::kBool, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    out.baked_in.*kFlags[i] = flags.as<std::uint8_t>()[i] != 0;
  }
  out.axes = read_axes(fields);
  fields.check_all_taken();
  return out;
}

bool holds_mask_info(const Container& container, const std::string& group) {
  return container.contains(prefix_of(container, group) + kVersionKey);
}

/// Returns f(). If it throws, adds the container's name to the front of the message.
template <typename F>
auto within(const Container& container, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with(container.name())) throw;
    throw error.within(container.name());
  }
}

MaskInfo read_group(Container& container, const std::string& group, const ReadOptions& options) {
  return within(container, [&] {
    Fields fields(container, prefix_of(container, group), options);
    return MaskInfo(read_fields(fields));
  });
}

LoadedMask load_mask_info(Container& container, const std::string& group,
                          const ReadOptions& options) {
  MaskInfo info = read_group(container, group, options);
  LoadedMask out;
  out.object = info;  // a copy, because reading the mask may fill a cache
  const MaskArray mask = within(container, [&] { return info.attention_mask(); });
  out.mask = mask.mask();
  out.dtype = name(mask.dtype());
  out.array_shape = mask.shape();
  return out;
}

}  // namespace

constexpr ObjectKind kStoredMaskInfo = {ArrayKind::kMaskInfo, holds_mask_info, load_mask_info};

MaskInfo mask_info_of(const LoadedMask& loaded) {
  if (const auto* info = std::any_cast<MaskInfo>(&loaded.object)) return *info;
  if (!loaded.q_segment_ids) return MaskInfo::from_attention_mask(MaskArray(loaded.mask));
  // If keys have the ids of the queries, passes null, as callers of ejkernel do.
  return MaskInfo::from_segments(*loaded.q_segment_ids,
                                 loaded.shared_ids ? nullptr : make_array(*loaded.kv_segment_ids));
}

void write_mask_info(const std::string& dest, const MaskInfo& info, const WriteOptions& options,
                     Index max_bytes) {
  const MaskInfoFields& fields = info.fields();
  std::vector<NamedTensor> arrays;
  arrays.push_back({kVersionKey, int32_tensor(std::array{kVersion})});
  for (const auto& [key, field] : kArrays) {
    if (fields.*field) arrays.push_back({key, *(fields.*field)});
  }
  if (fields.attention_mask) add_mask(*fields.attention_mask, max_bytes, arrays);
  Tensor flags(DType::kBool, {4});
  for (std::size_t i = 0; i < 4; ++i) flags.as<std::uint8_t>()[i] = fields.baked_in.*kFlags[i];
  arrays.push_back({"baked_in", std::move(flags)});
  add_axes(fields.axes, arrays);
  std::vector<ArrayRef> refs;
  refs.reserve(arrays.size());
  for (const NamedTensor& array : arrays) refs.push_back({array.name, &array.tensor});
  write_arrays(dest, refs, options);
}

MaskInfo read_mask_info(const std::string& source, const ReadOptions& options) {
  const SourceName named = parse_source_name(source);
  const auto container = open_container(named.path, options);
  return read_group(*container, named.member, options);
}

}  // namespace maskctl
