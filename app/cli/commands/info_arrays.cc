// Reads the headers of the arrays of a SOURCE that is not a mask, and describes the arrays.
#include "app/cli/commands/info_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "app/cli/parser/values.h"
#include "app/reports/remedies.h"
#include "app/session/sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/inspect/recognise/bias_form.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/kinds/array_look.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

ReadOptions read_options(Session& session) {
  return {session.settings().max_bytes, session.settings().strict};
}

/// Lists the arrays of the file `path`; reads only their headers.
InfoReport headers_report(const std::string& path, Container& container) {
  ContainerOutline outline = container.outline();
  if (outline.arrays.empty()) {
    throw Error(Errc::kFormat, outline.unreadable.empty()
                                   ? fmt::format("{}: holds no arrays", path)
                                   : fmt::format("{}: holds no arrays that can be read; {}", path,
                                                 outline.unreadable.front()));
  }
  InfoReport report;
  report.source = path;
  for (auto& [name, dtype, shape] : outline.arrays) report.arrays.push_back({name, dtype, shape});
  report.notes = std::move(outline.unreadable);
  std::ranges::move(outline.notes, std::back_inserter(report.notes));
  return report;
}

/// Adds a note that says how to read one of several arrays.
InfoReport of_several(InfoReport report) {
  std::vector<std::string> names;
  names.reserve(report.arrays.size());
  for (const ArrayReport& array : report.arrays) names.push_back(array.name);
  const bool stored_info = std::ranges::any_of(
      names, [](std::string_view name) { return name == "maskinfo" || name == "/maskinfo"; });
  report.notes.push_back(stored_info ? "a stored MaskInfo; read it with --semantics ejkernel"
                                     : fmt::format("{} arrays; name one: {}:{}", names.size(),
                                                   report.source, names[0]));
  return report;
}

/// Reports the only array of a file if it fits several kinds of mask, or none. Nothing if it fits
/// exactly one kind, because then it can be read as a mask.
std::optional<InfoReport> one_array_report(const std::string& source, Container& container,
                                           const ReadOptions& options) {
  std::vector<std::string> notes;
  OpenArray array = container.open("", options, notes);
  KindChoice choice = kinds_of_shape(array.dtype, array.shape);
  if (choice.needs_values) choice.kinds = fitting_kinds(array.load(options, notes));
  if (choice.kinds.size() == 1) return std::nullopt;
  InfoReport report;
  report.source = source;
  report.arrays.push_back({"", std::string(name(array.dtype)), array.shape});
  for (const ArrayKind kind : choice.kinds) report.fits.emplace_back(name(kind));
  return report;
}

/// The array named `member`, or the only array if `member` is empty; null if there is no such
/// array.
const ArrayReport* chosen_array(const InfoReport& file, const std::string& member) {
  for (const ArrayReport& array : file.arrays) {
    const bool wanted =
        member.empty() ? file.arrays.size() == 1
                       : array.name == printable(member) || array.name == "/" + printable(member);
    if (wanted) return &array;
  }
  return nullptr;
}

/// Reads the array, which throws if it is damaged. If it is a bias, adds a description of its
/// numbers to the report.
void describe_numbers(const std::string& source, const ReadOptions& options, InfoReport& report) {
  const Tensor array = read_array(source, options);
  const bool is_bias = is_floating(array.dtype()) && array.rank() >= 2 && array.rank() <= 4 &&
                       first_not_binary(array.dtype(), array.bytes());
  if (!is_bias) return;
  const Index row = array.extent(array.rank() - 1);
  // An image, labels or attention weights: `reason` says so already.
  if (look_of(array.dtype(), array.bytes(), 0, row) != ArrayLook::kOther) return;
  const BiasForm form = bias_form(array);
  report.bias = bias_text(form);
  // Drops the part of the reason after "; ", because the lines that were added to the report say
  // more.
  report.reason = report.reason.substr(0, report.reason.find("; "));
  if (form.closed_cells == 0) return;
  report.closed_by = closed_by(form.closed, array.dtype());
}

}  // namespace

std::optional<InfoReport> no_mask(const std::string& source, const Error& reason,
                                  const SourceOptions& how, Session& session) {
  if (!names_one_source(source)) return {};
  if (how.as && how.as != ArrayKind::kBias) return {};
  const ReadOptions options = read_options(session);
  const std::string message = message_of(reason);
  const std::string named = source + ": ";
  std::string why = message.substr(message.starts_with(named) ? named.size() : 0);
  const SourceName file = parse_source_name(source);
  if (file.path == "-") return {};
  const auto container = open_container(file.path, options);
  // The arrays of a broken file of a mask are nothing by themselves.
  if (file.member.empty() && !mask_file_format(*container).empty()) return {};
  InfoReport all = headers_report(file.path, *container);
  const ArrayReport* array = chosen_array(all, file.member);
  if (!array) {  // no single array, for example block lists without a block size
    const auto says_how = [](const Remedy& remedy) { return remedy.kind == Remedy::kReadAs; };
    if (std::ranges::none_of(reason.remedies(), says_how)) return {};
    all.source = source;
    all.notes.push_back(std::move(why));
    return all;
  }
  InfoReport report;
  report.source = source;
  report.reason = std::move(why);
  if (dtype_from_name(array->dtype)) describe_numbers(source, options, report);
  report.arrays.push_back({"", array->dtype, array->shape});
  return report;
}

std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      Session& session) {
  const ReadOptions options = read_options(session);
  if (how.as || how.shape || !names_one_source(source)) return std::nullopt;
  const SourceName named = parse_source_name(source);
  // Pipes are not opened here: they can be opened only once, and closing one stops its writer.
  std::error_code failed;
  if (!named.member.empty() || !std::filesystem::is_regular_file(named.path, failed)) {
    return std::nullopt;
  }
  const auto container = open_container(named.path, options);
  if (container->holds_one_array()) return one_array_report(source, *container, options);
  if (is_one_mask(*container)) return std::nullopt;
  return of_several(headers_report(source, *container));
}

}  // namespace maskctl::app
