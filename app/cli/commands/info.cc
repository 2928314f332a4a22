// maskctl info: describes a SOURCE and its arrays.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands/ejkernel.h"
#include "app/cli/commands/info_arrays.h"
#include "app/cli/commands/info_mask_info.h"
#include "app/cli/commands/info_print.h"
#include "app/cli/commands/several.h"
#include "app/cli/parser/groups.h"
#include "app/cli/streams.h"
#include "app/reports/figures.h"
#include "app/reports/remedies.h"
#include "app/reports/report.h"
#include "app/session/loader.h"
#include "app/session/named_sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

struct InfoOptions {
  SourceOptions source;
  std::vector<std::string> sources;
  MeshOptions mesh;
  PrintOptions print;
  bool json = false;
};

void declare_mesh(OptionList& list, MeshOptions& mesh) {
  list.text("--mesh", "dp=2+tp=4", "how MaskInfo's arrays are split over a mesh of devices",
            mesh.mesh);
  list.text("--axes", "batch=dp,heads=tp", "mesh axes of batch, heads and sequence, + joins two",
            mesh.axes);
  list.flag("--sequence-parallel", "split the query axis too (--mesh)", mesh.sequence_parallel);
}

void declare(OptionList& list, InfoOptions& info) {
  list.operands("SOURCE", info.sources);
  declare_source(list, info.source);
  declare_semantics(list, info.source);
  list.under(kEjkernel, [&] {
    declare_mesh(list, info.mesh);
    declare_print(list, info.print);
  });
  list.json("maskctl.info/1", info.json);
}

InfoReport mask_report(const std::string& source, Loader& loader, const SourceOptions& how) {
  LoadedMask loaded = loader.read(source);
  InfoReport report;
  report.source = source;
  report.kind = name(loaded.kind);
  report.polarity = how.keep_value_is_zero ? "0" : "1";
  if (loaded.steps) {
    const NamedSteps named = named_steps(*loaded.steps, loader.max_bytes());
    report.pipeline = to_text(named.steps.chain);
    for (const NamedTensor& array : stored_arrays(named, loader.max_bytes())) {
      report.arrays.push_back(
          {array.name, std::string(name(array.tensor.dtype())), array.tensor.shape()});
    }
  } else {
    report.arrays.push_back({"", loaded.dtype, loaded.array_shape});
  }
  report.notes = std::move(loaded.notes);
  if (const auto dtype = dtype_from_name(loaded.dtype)) {
    report.closed_by = closed_by(loaded.bias_seen, *dtype);
  }
  report.mask = loader.transformed(std::move(loaded.mask));
  return report;
}

/// Adds to a report how many cells of the mask are open, which keys nothing sees, how many planes
/// differ, how the mask is stored (its tier), and how many bytes it takes.
InfoReport with_figures(InfoReport report) {
  report.open = report.mask->count();
  report.unseen = unseen_keys(*report.mask);
  report.distinct = different_planes(*report.mask);
  report.tier = tier(*report.mask);
  report.bytes = bytes_held(*report.mask);
  return report;
}

InfoReport report_on(const std::string& source, Loader& loader, const InfoOptions& options,
                     Session& session) {
  if (options.source.ejkernel || !options.mesh.mesh.empty()) {
    return with_figures(ejkernel::info(loader, source, options.mesh, session));
  }
  try {
    auto arrays = arrays_only(source, options.source, session);
    return arrays ? std::move(*arrays) : with_figures(mask_report(source, loader, options.source));
  } catch (const Error& error) {
    auto report = no_mask(source, error, options.source, session);
    if (!report) throw;
    return std::move(*report);
  }
}

/// Adds a report for each array that one SOURCE of the command line names. An error is printed and
/// becomes the report of its array; if this is the only array asked about, it is thrown instead.
void add_reports(const std::string& named, Loader& loader, const InfoOptions& options,
                 Session& session, std::vector<InfoReport>& out) {
  const bool alone = options.sources.size() == 1 && !names_several(named, session);
  const auto attempt = [&](const std::string& source, const auto& work) {
    try {
      work();
    } catch (const PipelineError&) {
      throw;  // the same steps would fail for every SOURCE
    } catch (const Error& error) {
      if (alone || error.code() == Errc::kCancelled) throw;
      InfoReport report;
      report.source = source;
      report.error = message_of(error);
      print_error(report.error);
      out.push_back(std::move(report));
    }
  };
  std::vector<std::string> sources;
  if (options.sources.size() == 1) {
    sources = named_sources(named, session).sources;
  } else {
    attempt(named, [&] { sources = named_sources(named, session).sources; });
  }
  for (const std::string& source : sources) {
    attempt(source, [&] { out.push_back(report_on(source, loader, options, session)); });
  }
}

std::string line(std::string_view label, std::string_view value) {
  return fmt::format("  {:<10}{}\n", label, printable(value, kUncut));
}

std::string arrays_text(const InfoReport& report) {
  std::string out = fmt::format("{}\n", printable(report.source, kUncut));
  std::size_t width = 10;
  for (const ArrayReport& array : report.arrays) width = std::max(width, array.name.size() + 2);
  for (const ArrayReport& array : report.arrays) {
    const std::string_view label = array.name.empty() ? "array" : std::string_view(array.name);
    out += fmt::format("  {:<{}}{} {}\n", label, width, array.dtype, shape_text(array.shape));
  }
  if (!report.fits.empty()) {
    out += line("kind", fmt::format("fits {}; say which with --as", joined(report.fits, ", ")));
  } else if (!report.reason.empty()) {
    out += line("kind", "not a mask: " + report.reason);
  } else if (report.arrays.size() == 1) {
    out += line("kind", "no kind of mask has this shape and these values");
  }
  if (!report.closed_by.empty()) out += line("closed by", report.closed_by);
  for (const std::string& text : report.bias) out += line("adds", text);
  for (const std::string& text : report.notes) out += line("note", text);
  return out;
}

std::string mask_text(const InfoReport& report) {
  const Mask& mask = *report.mask;
  std::string out = fmt::format("{}\n", printable(report.source, kUncut));
  out += line("shape", shape_text(mask));
  for (const ArrayReport& array : report.arrays) {
    out += line("array", fmt::format("{}{}{} {}", array.name, array.name.empty() ? "" : " ",
                                     array.dtype, shape_text(array.shape)));
  }
  out += line("kind", report.kind);
  if (report.pipeline) {
    out += line("pipeline", report.pipeline->empty() ? "none: all is open" : *report.pipeline);
  }
  if (!report.closed_by.empty()) out += line("closed by", report.closed_by);
  out += line("polarity", fmt::format("{} = may attend", report.polarity));
  out += line("density", fmt::format("{}: {} of {} open", percent(report.open, mask.cells()),
                                     grouped(report.open), counted(mask.cells(), "cell")));
  if (!report.unseen) {
    out += line("unseen", "not looked for, in so many cells");
  } else if (!report.unseen->empty()) {
    out += line("unseen", "no query sees " + unseen_words(*report.unseen, mask));
  }
  out += line("heads", fmt::format("{} in all batches, {} distinct", mask.batch() * mask.heads(),
                                   report.distinct));
  out += line("memory", fmt::format("{} as {}", bytes_text(report.bytes),
                                    report.tier.empty() ? "nothing" : report.tier));
  if (report.mask_info) out += mask_info_text(*report.mask_info);
  if (report.mesh) out += mesh_text(*report.mesh);
  return out;
}

std::string info_text(const std::vector<InfoReport>& reports) {
  std::string out;
  for (const InfoReport& report : reports) {
    if (!report.error.empty()) continue;
    if (!out.empty()) out += '\n';
    out += report.mask ? mask_text(report) : arrays_text(report);
  }
  return out;
}

void check_options(const InfoOptions& options) {
  check_print(options.print);
  if (options.print.array && (!options.source.ejkernel || options.sources.size() != 1)) {
    throw Error(Errc::kInvalidArgument, "info: --print takes one SOURCE and --semantics ejkernel");
  }
  if (options.print.array && options.json) {
    throw Error(Errc::kInvalidArgument, "info: --print and --json exclude each other");
  }
  if (!options.mesh.mesh.empty()) return;
  const char* lone = !options.mesh.axes.empty()       ? "--axes"
                     : options.mesh.sequence_parallel ? "--sequence-parallel"
                                                      : nullptr;
  if (lone) throw Error(Errc::kInvalidArgument, fmt::format("info: {} goes with --mesh", lone));
}

Answer run(const InfoOptions& options, Session& session) {
  check_options(options);
  Loader loader(options.source, session);
  if (options.print.array) {
    const auto array = ejkernel::printed(loader, options.sources.front(), options.print);
    return {printed_text(array.get(), options.print, session)};
  }
  std::vector<InfoReport> reports;
  for (const std::string& named : options.sources) {
    add_reports(named, loader, options, session, reports);
  }
  const bool failed =
      std::ranges::any_of(reports, [](const InfoReport& report) { return !report.error.empty(); });
  return answer_in(
      options.json, [&] { return info_text(reports); }, [=] { return info_json(reports); },
      failed ? 2 : 0);
}

}  // namespace

extern const Command kInfo = command<InfoOptions, declare, run>({
    .name = "info",
    .group = kLook,
    .operands = "SOURCE...",
    .summary = "shape, type, kind, density and size of masks",
    .examples = "  maskctl info mask.npy\n"
                "  maskctl info run/*.npy\n"
                "  maskctl info seg.npy --as segments --json\n"
                "  maskctl info seg.npy --as segments --semantics ejkernel --mesh dp=2+tp=4\n",
});

}  // namespace maskctl::app
