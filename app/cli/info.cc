// maskctl info: what a SOURCE is and holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/report.h"
#include "maskctl/pipeline/generate.h"

namespace maskctl::app {
namespace {

ReadOptions read_options(const SourceOptions& source, const GlobalOptions& globals) {
  return {globals.max_bytes, globals.strict, source.as_bf16};
}

ArrayReport array_report(std::string key, const NpyHeader& header) {
  return {std::move(key), std::string(name(header.dtype)), header.shape};
}

bool is_runs(const NpzArchive& archive) {
  return std::ranges::all_of(std::initializer_list<const char*>{"indptr", "begin", "end", "shape"},
                             [&](const char* key) { return archive.contains(key); });
}

/// The arrays of an .npz that holds several and is not one mask.
std::optional<InfoReport> archive_report(const std::string& source, const ReadOptions& options) {
  const NpzArchive archive(ByteSource(source), options);
  if (archive.keys().size() < 2 || is_runs(archive)) return std::nullopt;
  InfoReport report;
  report.source = source;
  for (const std::string& key : archive.keys()) {
    report.arrays.push_back(array_report(key, archive.header(key, options)));
  }
  report.notes.push_back(fmt::format("{} arrays; name one: {}:{}", archive.keys().size(), source,
                                     archive.keys().front()));
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

/// Nothing where the SOURCE reads as one mask, or where only reading it can tell.
std::optional<InfoReport> arrays_only(const std::string& source, const SourceOptions& how,
                                      const GlobalOptions& globals) {
  const ReadOptions options = read_options(how, globals);
  if (how.as || how.shape || is_generator(source) || source.starts_with("q=")) return std::nullopt;
  const SourceName named = parse_source_name(source);
  if (named.path == "-" || !named.member.empty()) return std::nullopt;
  ByteSource bytes(named.path);
  if (!bytes.seekable()) return std::nullopt;
  const Content content = sniff(bytes);
  if (content == Content::kZip) return archive_report(source, options);
  if (content == Content::kNpy) return npy_report(source, options);
  return std::nullopt;
}

InfoReport mask_report(const std::string& source, Loader& loader, const SourceOptions& how) {
  LoadedMask loaded = loader.read(source);
  InfoReport report;
  report.source = source;
  report.kind = name(loaded.kind);
  report.polarity = how.keep_value_is_zero ? "0" : "1";
  report.arrays.push_back({"", loaded.dtype, loaded.array_shape});
  report.notes = std::move(loaded.notes);
  report.mask = loader.transformed(std::move(loaded.mask));
  report.open = report.mask->count();
  report.tier = tier(*report.mask);
  report.bytes = bytes_held(*report.mask);
  return report;
}

std::string line(std::string_view label, std::string_view value) {
  return fmt::format("  {:<10}{}\n", label, value);
}

std::string arrays_text(const InfoReport& report) {
  std::string out = fmt::format("{}\n", report.source);
  for (const ArrayReport& array : report.arrays) {
    out += line(array.name.empty() ? std::string_view("array") : array.name,
                fmt::format("{} {}", array.dtype, shape_text(array.shape)));
  }
  if (!report.fits.empty()) {
    out += line("kind", fmt::format("fits {}; say which with --as", fmt::join(report.fits, ", ")));
  } else if (report.arrays.size() == 1) {
    out += line("kind", "no kind of mask has this shape and these values");
  }
  for (const std::string& text : report.notes) out += line("note", text);
  return out;
}

std::string mask_text(const InfoReport& report) {
  const Mask& mask = *report.mask;
  std::string out = fmt::format("{}\n", report.source);
  out += line("shape", shape_text(mask));
  out += line("array", fmt::format("{} {}", report.arrays.front().dtype,
                                   shape_text(report.arrays.front().shape)));
  out += line("kind", report.kind);
  out += line("polarity", fmt::format("{} = may attend", report.polarity));
  out += line("density", fmt::format("{}: {} of {} cells open", percent(report.open, mask.cells()),
                                     report.open, mask.cells()));
  out += line("planes",
              fmt::format("{}, {} distinct", mask.batch() * mask.heads(), mask.distinct().size()));
  out += line("held", fmt::format("{} as {}", bytes_text(report.bytes),
                                  report.tier.empty() ? "nothing" : report.tier));
  return out;
}

}  // namespace

void info(const InfoOptions& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  std::vector<InfoReport> reports;
  for (const std::string& source : options.sources) {
    auto report = arrays_only(source, options.source, globals);
    reports.push_back(report ? std::move(*report) : mask_report(source, loader, options.source));
  }
  if (options.json) {
    write_stdout(info_json(reports));
    return;
  }
  std::string out;
  for (const InfoReport& report : reports) {
    if (!out.empty()) out += '\n';
    out += report.mask ? mask_text(report) : arrays_text(report);
  }
  write_stdout(out);
}

}  // namespace maskctl::app
