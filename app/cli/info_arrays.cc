// The arrays of a SOURCE that is no mask, by their headers.
#include "app/cli/info_arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/io/container.h"
#include "maskctl/io/hdf5.h"
#include "maskctl/io/npy_descr.h"
#include "maskctl/io/npz.h"
#include "maskctl/io/printable.h"
#include "maskctl/pipeline/generate.h"

namespace maskctl::app {
namespace {

ReadOptions read_options(const SourceOptions& source, const GlobalOptions& globals) {
  return {globals.max_bytes, globals.strict, source.as_bf16};
}

/// "bool" for "|b1", as for every other file; classes without a dtype as they are.
std::string dtype_text(const std::string& descr) {
  try {
    return std::string(name(parse_npy_descr(descr, false).dtype));
  } catch (const Error&) {
    return printable(descr);
  }
}

/// Shape, dtype and attributes of what an HDF5 file holds, without reading any data.
InfoReport hdf5_report(const std::string& source, const ReadOptions& options) {
  const Hdf5Listing listing = list_hdf5(ByteSource(source), options);
  InfoReport report;
  report.source = source;
  for (const Hdf5Dataset& dataset : listing.datasets) {
    report.arrays.push_back({printable(dataset.path), dtype_text(dataset.dtype),
                             dataset.shape.value_or(std::vector<Index>())});
  }
  for (const Hdf5Attribute& attribute : listing.attributes) {
    report.notes.push_back(
        printable(fmt::format("{} @{} = {}", attribute.object, attribute.name, attribute.value)));
  }
  return report;
}

/// The tensors of a safetensors file, from its header.
InfoReport tensors_report(const std::string& source, ByteSource bytes, Content content,
                          const ReadOptions& options) {
  const auto container = open_container(bytes, content, options);
  InfoReport report;
  report.source = source;
  for (const std::string& key : container->keys()) {
    const OpenArray array = container->open(key, options, report.notes);
    report.arrays.push_back({printable(key), std::string(name(array.dtype)), array.shape});
  }
  return report;
}

ArrayReport array_report(const std::string& key, const NpyHeader& header) {
  return {printable(key), std::string(name(header.dtype)), header.shape};
}

InfoReport npz_report(const std::string& source, const ReadOptions& options) {
  const NpzArchive archive(ByteSource(source), options);
  InfoReport report;
  report.source = source;
  for (const std::string& key : archive.keys()) {
    report.arrays.push_back(array_report(key, archive.header(key, options)));
  }
  if (archive.contains("maskinfo")) {
    report.notes.emplace_back("a stored MaskInfo; read it with --semantics ejkernel");
  }
  return report;
}

/// One array, or the arrays that together are runs or ids of both sides.
bool is_one_mask(const std::vector<ArrayReport>& arrays) {
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(arrays, [&](const ArrayReport& array) {
      const std::string_view key = array.name;
      return key.substr(key.starts_with('/') ? 1 : 0) == wanted;
    });
  };
  return arrays.size() == 1 || (arrays.size() == 2 && has("q") && has("kv")) ||
         (has("indptr") && has("begin") && has("end") && has("shape"));
}

/// Nothing for a container that reads as one mask.
std::optional<InfoReport> if_several(InfoReport report) {
  if (is_one_mask(report.arrays)) return std::nullopt;
  const bool stored_info = std::ranges::count(report.arrays, "maskinfo", &ArrayReport::name) > 0;
  if (!report.arrays.empty() && !stored_info) {
    report.notes.push_back(fmt::format("{} arrays; name one: {}:{}", report.arrays.size(),
                                       report.source, report.arrays.front().name));
  }
  return report;
}

/// An array that fits several kinds of mask, or none.
std::optional<InfoReport> npy_report(const std::string& source, const ReadOptions& options) {
  const NpyReader reader(ByteSource(source), options);
  const NpyHeader& header = reader.header();
  KindChoice choice = kinds_of_shape(header.dtype, header.shape);
  if (choice.needs_values) choice.kinds = fitting_kinds(read_array(source, options));
  if (choice.kinds.size() == 1) return std::nullopt;
  InfoReport report;
  report.source = source;
  report.arrays.push_back(array_report("", header));
  for (const Kind kind : choice.kinds) report.fits.emplace_back(name(kind));
  return report;
}

}  // namespace

std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      const GlobalOptions& globals) {
  const ReadOptions options = read_options(how, globals);
  if (how.as || how.shape || is_generator(source) || source.starts_with("q=") ||
      source.starts_with("kv="))
    return std::nullopt;
  const SourceName named = parse_source_name(source);
  if (named.path == "-" || !named.member.empty()) return std::nullopt;
  ByteSource bytes(named.path);
  if (!bytes.seekable()) return std::nullopt;
  const Content content = sniff(bytes);
  if (content == Content::kZip) return if_several(npz_report(source, options));
  if (content == Content::kHdf5) return if_several(hdf5_report(source, options));
  if (content == Content::kSafetensors) {
    return if_several(tensors_report(source, std::move(bytes), content, options));
  }
  if (content == Content::kNpy) return npy_report(source, options);
  return std::nullopt;
}

}  // namespace maskctl::app
