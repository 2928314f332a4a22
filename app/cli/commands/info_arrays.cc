// The arrays of a SOURCE that is not a mask, from their headers.
#include "app/cli/commands/info_arrays.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/parser/values.h"
#include "app/reports/remedies.h"
#include "app/session/sources.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/translate/bias_form.h"
#include "maskctl/io/containers/container.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/npy/npy_descr.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/io/formats/safetensors/safetensors.h"
#include "maskctl/io/printable.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

ReadOptions read_options(Session& session) {
  return {session.settings().max_bytes, session.settings().strict};
}

/// "bool" for "|b1", as for other files; classes without a dtype unchanged.
std::string dtype_text(const std::string& descr) {
  try {
    return std::string(name(parse_npy_descr(descr).dtype));
  } catch (const Error&) {
    return printable(descr);
  }
}

/// The shapes, dtypes and attributes in an HDF5 file, without reading any data.
InfoReport hdf5_report(const std::string& source, const ReadOptions& options) {
  const Hdf5Listing listing = list_hdf5(ByteSource(source), options);
  InfoReport report;
  report.source = source;
  for (const Hdf5Dataset& dataset : listing.datasets) {
    report.arrays.push_back({printable(dataset.path), dtype_text(dataset.dtype),
                             dataset.shape.value_or(std::vector<Index>())});
  }
  for (const Hdf5Unreadable& object : listing.unreadable) {
    report.notes.push_back(printable(fmt::format("{}: {}", object.path, object.reason), 400));
  }
  for (const Hdf5Attribute& attribute : listing.attributes) {
    report.notes.push_back(
        printable(fmt::format("{} @{} = {}", attribute.object, attribute.name, attribute.value)));
  }
  return report;
}

/// The tensors of a safetensors file, from its header, including types that cannot be read.
InfoReport tensors_report(const std::string& source, ByteSource bytes, const ReadOptions& options) {
  InfoReport report;
  report.source = source;
  for (const SafetensorsEntry& entry : read_safetensors_header(bytes, options).entries) {
    const auto dtype = entry.dtype ? std::string(name(*entry.dtype)) : printable(entry.dtype_name);
    report.arrays.push_back({printable(entry.name), dtype, entry.shape});
  }
  return report;
}

ArrayReport array_report(const std::string& key, const NpyOutline& outline) {
  return {printable(key), dtype_text(outline.descr), outline.shape};
}

InfoReport npz_report(const std::string& source, const ReadOptions& options) {
  const NpzArchive archive(ByteSource(source), options);
  InfoReport report;
  report.source = source;
  for (const std::string& key : archive.keys()) {
    report.arrays.push_back(array_report(key, archive.outline(key)));
  }
  if (archive.contains("maskinfo")) {
    report.notes.emplace_back("a stored MaskInfo; read it with --semantics ejkernel");
  }
  return report;
}

/// Nothing for a container that can be read as one mask.
std::optional<InfoReport> if_several(InfoReport report) {
  if (report.arrays.empty()) {
    throw Error(Errc::kFormat, fmt::format("{}: holds no arrays", report.source));
  }
  std::vector<std::string> names;
  for (const ArrayReport& array : report.arrays) names.push_back(array.name);
  if (is_one_mask(names)) return std::nullopt;
  const bool stored_info = std::ranges::count(report.arrays, "maskinfo", &ArrayReport::name) > 0;
  if (!report.arrays.empty() && !stored_info) {
    report.notes.push_back(fmt::format("{} arrays; name one: {}:{}", report.arrays.size(),
                                       report.source, report.arrays.front().name));
  }
  return report;
}

/// Reports an array that fits several kinds of mask, or none.
std::optional<InfoReport> npy_report(const std::string& source, const ReadOptions& options) {
  const NpyReader reader(ByteSource(source), options);
  const NpyHeader& header = reader.header();
  KindChoice choice = kinds_of_shape(header.dtype, header.shape);
  if (choice.needs_values) choice.kinds = fitting_kinds(read_array(source, options));
  if (choice.kinds.size() == 1) return std::nullopt;
  InfoReport report;
  report.source = source;
  report.arrays.push_back({"", std::string(name(header.dtype)), header.shape});
  for (const ArrayKind kind : choice.kinds) report.fits.emplace_back(name(kind));
  return report;
}

/// The only array of a SOURCE, or the named one, as described by its header.
std::optional<ArrayReport> outline(const std::string& source, const ReadOptions& options) {
  const SourceName named = parse_source_name(source);
  if (named.path == "-") return std::nullopt;
  ByteSource bytes(named.path);
  const FileType type = sniff(bytes);
  if (type == FileType::kNpy) return array_report("", read_npy_outline(bytes));
  InfoReport all;
  if (type == FileType::kZip) all = npz_report(named.path, options);
  if (type == FileType::kHdf5) all = hdf5_report(named.path, options);
  if (type == FileType::kSafetensors) {
    all = tensors_report(named.path, std::move(bytes), options);
  }
  for (ArrayReport& array : all.arrays) {
    const bool wanted = named.member.empty() ? all.arrays.size() == 1
                                             : array.name == printable(named.member) ||
                                                   array.name == "/" + printable(named.member);
    if (wanted) return {{"", array.dtype, array.shape}};
  }
  return std::nullopt;
}

/// Checks that the array can be read at all, and describes its finite numbers if it is a bias.
void describe_numbers(const std::string& source, const ReadOptions& options, InfoReport& report) {
  const Tensor array = read_array(source, options);
  const bool is_bias = is_floating(array.dtype()) && array.rank() >= 2 && array.rank() <= 4 &&
                       first_not_binary(array.dtype(), array.bytes());
  if (!is_bias) return;
  const BiasForm form = bias_form(array);
  report.bias = bias_text(form);
  report.reason = report.reason.substr(0, report.reason.find("; "));  // the lines below say more
  if (form.closed_cells == 0) return;
  report.closed_by = closed_by(form.closed, array.dtype());
}

}  // namespace

std::optional<InfoReport> no_mask(const std::string& source, const Error& reason,
                                  const SourceOptions& how, Session& session) {
  if (is_generator(source) || source.starts_with("q=") || source.starts_with("kv=")) return {};
  if (how.as && how.as != ArrayKind::kBias) return {};
  const ReadOptions options = read_options(session);
  std::optional<ArrayReport> array = outline(source, options);
  if (!array) return {};
  InfoReport report;
  report.source = source;
  const std::string message = message_of(reason);
  const std::string named = source + ": ";
  report.reason = message.substr(message.starts_with(named) ? named.size() : 0);
  if (dtype_from_name(array->dtype)) describe_numbers(source, options, report);
  report.arrays.push_back(std::move(*array));
  return report;
}

std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      Session& session) {
  const ReadOptions options = read_options(session);
  if (how.as || how.shape || is_generator(source) || source.starts_with("q=") ||
      source.starts_with("kv="))
    return std::nullopt;
  const SourceName named = parse_source_name(source);
  if (named.path == "-" || !named.member.empty()) return std::nullopt;
  ByteSource bytes(named.path);
  if (!bytes.seekable()) return std::nullopt;
  const FileType type = sniff(bytes);
  if (type == FileType::kZip) return if_several(npz_report(source, options));
  if (type == FileType::kHdf5) return if_several(hdf5_report(source, options));
  if (type == FileType::kSafetensors) {
    return if_several(tensors_report(source, std::move(bytes), options));
  }
  if (type == FileType::kNpy) return npy_report(source, options);
  return std::nullopt;
}

}  // namespace maskctl::app
