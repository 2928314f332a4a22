// Reads the file of a mask.
#include "maskctl/pipeline/mask_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/sources.h"

namespace maskctl {
namespace {

using Extents = std::array<Index, 4>;

[[noreturn]] void refuse(const std::string& message) { throw Error(Errc::kFormat, message); }

const std::string* find(const Container& container, std::string_view key) {
  const auto texts = container.metadata();
  const auto at = std::ranges::find(texts, key, &Metadata::first);
  return at == texts.end() ? nullptr : &at->second;
}

const std::string& text_at(const Container& container, std::string_view key) {
  if (const std::string* text = find(container, key)) return *text;
  refuse(fmt::format("no '{}' in the metadata; expected format, shape, pipeline and digest", key));
}

void check_format(const Container& container) {
  const std::string& format = text_at(container, "format");
  if (format == kMaskFormat) return;
  refuse(fmt::format("its format is {}; this version reads {}", printable(format), kMaskFormat));
}

/// The extents in a text such as "[1, 1, 24, 24]".
Extents extents_at(const Container& container, std::string_view key, Index max_bytes) {
  const std::string& text = text_at(container, key);
  const auto refuse_text = [&] {
    refuse(
        fmt::format("'{}' is '{}'; expected [batch, heads, queries, keys]", key, printable(text)));
  };
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != ' '; });
  if (!digits.starts_with('[') || !digits.ends_with(']')) refuse_text();
  const auto parts = split(std::string_view(digits).substr(1, digits.size() - 2), ',');
  if (parts.size() != 4) refuse_text();
  Extents out{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto extent = number_from<Index>(parts[i]);
    if (!extent || *extent < 0 || *extent > kMaxArgument) refuse_text();
    out[i] = *extent;
  }
  const auto planes = checked_mul(out[0], out[1]);
  if (checked_product(out) && planes && *planes <= max_bytes / 8) return out;
  throw Error(Errc::kLimit, fmt::format("a mask of {} batches, {} heads, {} queries and {} keys is "
                                        "too large",
                                        out[0], out[1], out[2], out[3]));
}

std::string digest_at(const Container& container) {
  const std::string& text = text_at(container, "digest");
  const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (text.size() == 64 && std::ranges::all_of(text, is_hex)) return text;
  refuse(fmt::format("the digest is '{}'; expected 64 hexadecimal digits in lower case",
                     printable(text)));
}

/// The arrays of a file that the steps of a pipeline name, read in the order of the file.
class NamedArrays {
 public:
  NamedArrays(Container& container, const Pipeline& pipeline, const ReadOptions& options)
      : options_(options) {
    std::vector<std::string> keys;
    with_sources(pipeline, [&](const std::string& name) {
      const std::size_t before = keys.size();
      for (const char* part : {"", "/bits", "/indptr", "/begin", "/end", "/shape"}) {
        if (container.contains(name + part)) keys.push_back(name + part);
      }
      if (keys.size() > before) return name;
      refuse(
          fmt::format("the pipeline reads '{}'; the file has {}", printable(name),
                      container.keys().empty() ? "no arrays" : printable_list(container.keys())));
    });
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    std::vector<std::string> notes;
    std::vector<Tensor> read = container.read(keys, options, notes);
    for (std::size_t i = 0; i < keys.size(); ++i) arrays_.emplace(keys[i], std::move(read[i]));
  }

  const Tensor& array(const std::string& name) const {
    const auto at = arrays_.find(name);
    if (at != arrays_.end()) return at->second;
    refuse(fmt::format("'{}' is stored as the cells of a mask, where the pipeline reads an array",
                       printable(name)));
  }

  /// A mask, which is made once, however often the steps name it.
  const Mask& mask(const std::string& name) {
    const auto at = masks_.find(name);
    return at != masks_.end() ? at->second : masks_.emplace(name, read(name)).first->second;
  }

 private:
  /// A mask that is stored as bits, as runs, or as a dense array of its name.
  Mask read(const std::string& name) const {
    MaskReadOptions how;
    how.read = options_;
    const auto view = [&](const char* part) {
      return NamedView{part, array(fmt::format("{}/{}", name, part))};
    };
    if (arrays_.contains(name)) {
      how.as = ArrayKind::kDense;
      const NamedView dense{name, array(name)};
      return read_mask(printable(name), {&dense, 1}, how).mask;
    }
    if (arrays_.contains(name + "/bits")) {
      how.as = ArrayKind::kBits;
      how.shape = extents(array(name + "/shape"));
      const NamedView bits = view("bits");
      return read_mask(printable(name), {&bits, 1}, how).mask;
    }
    how.as = ArrayKind::kRuns;
    const NamedView runs[] = {view("indptr"), view("begin"), view("end"), view("shape")};
    return read_mask(printable(name), runs, how).mask;
  }

  static std::vector<Index> extents(const Tensor& shape) {
    if (shape.dtype() == DType::kInt64 && shape.elements() == 4) {
      const auto values = shape.as<std::int64_t>();
      return {values.begin(), values.end()};
    }
    refuse("the shape of a mask in bits: expected four numbers of int64");
  }

  ReadOptions options_;
  std::map<std::string, Tensor> arrays_;
  std::map<std::string, Mask> masks_;
};

Chain bound(Container& container, const std::string& text, const ReadOptions& options) {
  if (is_blank(text)) return {};
  const Pipeline pipeline = parse(text);
  NamedArrays arrays(container, pipeline, options);
  BindContext context;
  context.read_array = [&](const std::string& name) { return arrays.array(name); };
  context.read_mask = [&](const std::string& name) { return arrays.mask(name); };
  context.max_bytes = options.max_bytes;
  return bind(pipeline, context);
}

MaskFile steps_of(Container& container, const ReadOptions& options) {
  check_format(container);
  MaskFile out;
  extents_at(container, "shape", options.max_bytes);
  const auto [batch, heads, queries, keys] =
      extents_at(container, find(container, "start") ? "start" : "shape", options.max_bytes);
  out.digest = digest_at(container);
  out.pipeline = text_at(container, "pipeline");
  if (const std::string* writer = find(container, "writer")) out.writer = *writer;
  out.steps.start = full_mask(batch, heads, queries, keys);
  out.steps.chain = bound(container, out.pipeline, options);
  return out;
}

MaskFile file_of(Container& container, const ReadOptions& options) {
  MaskFile out = steps_of(container, options);
  out.mask = maskctl::apply(out.steps.start, out.steps.chain);
  const Extents said = extents_at(container, "shape", options.max_bytes);
  if (said != Extents{out.mask.batch(), out.mask.heads(), out.mask.queries(), out.mask.keys()}) {
    refuse(fmt::format("the pipeline makes {}, the file says [{}]", shape_text(out.mask),
                       joined(said, ", ")));
  }
  const std::string digest = file_digest(out.mask, options.max_bytes);
  if (digest == out.digest) return out;
  refuse(fmt::format("the cells have the digest {}, the file says {}", digest, out.digest));
}

/// Calls `read` and puts the name of the file in front of its errors, which are one line.
template <typename F>
auto within(const Container& container, const F& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() == Errc::kCancelled || message.starts_with(container.name())) throw;
    throw error.within(container.name());
  }
}

std::unique_ptr<Container> opened_mask_file(const std::string& path, const ReadOptions& options) {
  auto container = open_container(path, options);
  if (!mask_file_format(*container).empty()) return container;
  refuse(fmt::format("{}: no format {} in its metadata", container->name(), kMaskFormat));
}

bool holds_mask_file(const Container& container, const std::string& group) {
  return group.empty() && !mask_file_format(container).empty();
}

LoadedMask load_mask_file(Container& container, const std::string&, const ReadOptions& options) {
  MaskFile file = within(container, [&] { return file_of(container, options); });
  LoadedMask out;
  out.mask = std::move(file.mask);
  out.steps = std::move(file.steps);
  out.dtype = name(DType::kBool);
  out.array_shape = {out.mask.batch(), out.mask.heads(), out.mask.queries(), out.mask.keys()};
  return out;
}

}  // namespace

MaskFile read_mask_file(const std::string& path, const ReadOptions& options) {
  const auto container = opened_mask_file(path, options);
  return within(*container, [&] { return file_of(*container, options); });
}

MaskFile read_mask_steps(const std::string& path, const ReadOptions& options) {
  const auto container = opened_mask_file(path, options);
  return within(*container, [&] { return steps_of(*container, options); });
}

std::string file_digest(const Mask& mask, Index max_bytes) {
  const auto rows = checked_mul(different_planes(mask), mask.queries());
  if (rows && *rows <= kMostDigestRows) return content_digest(mask, max_bytes);
  throw Error(
      Errc::kLimit,
      fmt::format("{} of {}: the digest in a file of a mask goes over at most {} of them",
                  counted(mask.queries(), "query", "queries"),
                  counted(different_planes(mask), "different plane"), grouped(kMostDigestRows)),
      {{Remedy::kSliceMask}});
}

constexpr ObjectKind kMaskFile = {ArrayKind::kMaskFile, holds_mask_file, load_mask_file};

}  // namespace maskctl
