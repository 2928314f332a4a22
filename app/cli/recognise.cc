// maskctl recognise: the pipeline that a mask would have come from.
#include "maskctl/inspect/recognise.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/recognise_report.h"
#include "maskctl/base/error.h"
#include "maskctl/io/array_io.h"
#include "maskctl/mask/bands.h"
#include "maskctl/pipeline/bind.h"
#include "maskctl/pipeline/diagnostic.h"

namespace maskctl::app {
namespace {

constexpr std::size_t kPlaneLines = 16;
constexpr std::string_view kPlaceholder = "recognised.npz";

/// The arrays of a chain, named as members of one container.
class ArrayNames {
 public:
  explicit ArrayNames(std::string container) : container_(std::move(container)) {}

  void name(Chain& chain) {
    for (Step& step : chain) std::visit([this](auto& rule) { name_in(rule); }, step.rule);
  }
  const std::vector<ArrayRef>& arrays() const { return arrays_; }
  std::vector<NamedArray*> named() const { return named_; }

 private:
  void add(NamedArray& array, const char* kind) {
    if (array.array.elements() == 0) return;
    arrays_.push_back({fmt::format("{}{}", kind, arrays_.size() + 1), &array.array});
    array.text = fmt::format("{}:{}", container_, arrays_.back().name);
    named_.push_back(&array);
  }
  void name_in(step::Document& rule) {
    add(rule.q, "ids");
    add(rule.kv, "ids");
  }
  void name_in(step::Tokens& rule) {
    add(rule.q, "types");
    add(rule.kv, "types");
  }
  void name_in(step::Block& rule) { add(rule.map, "map"); }
  /// One offset is a number of its own.
  void name_in(step::Causal& rule) {
    if (rule.offsets.array.elements() > 1) add(rule.offsets, "offsets");
  }
  void name_in(step::Scoped& rule) { name(rule.chain); }
  template <typename Rule>
  void name_in(Rule&) {}

  std::string container_;
  std::vector<ArrayRef> arrays_;
  std::vector<NamedArray*> named_;
};

/// Names the arrays of the chain, and writes them where a file was asked for.
void place_arrays(const RecogniseCommand& options, RecogniseReport& report) {
  const DestName dest = parse_dest_name(options.dest);
  ArrayNames names(options.dest.empty() ? std::string(kPlaceholder) : dest.path);
  names.name(report.found.chain);
  const bool single = !options.dest.empty() && dest.format == Format::kNpy;
  if (single && names.arrays().size() > 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("recognise: the pipeline reads {} arrays; --write {} holds one: use a "
                            ".npz",
                            names.arrays().size(), shown(options.dest)));
  }
  for (NamedArray* array : names.named()) {
    if (single) array->text = dest.path;
    report.arrays.push_back(array->text);
  }
  if (options.dest.empty() || names.arrays().empty()) return;
  const WriteOptions write{.force = options.force, .gzip = options.gzip};
  if (single) {
    write_array(options.dest, *names.arrays().front().tensor, write);
  } else {
    write_arrays(options.dest, names.arrays(), write);
  }
  report.written = true;
}

std::string where_text(const RecogniseReport& report) {
  const Recognised& found = report.found;
  std::string out =
      fmt::format("{:<12}{} of {} cells", "unexplained", found.unexplained, report.mask.cells());
  if (!found.first_unexplained) return out + "\n";
  out += fmt::format(": {} open, {} closed in the mask, in {} rows; first at {}\n",
                     report.differs.only_a, report.differs.only_b, report.differs.rows,
                     cell_text(*found.first_unexplained));
  if (report.mask.batch() * report.mask.heads() == 1) return out;
  std::size_t lines = 0;
  for (const PlaneDiff& plane : report.differs.planes) {
    if (++lines > kPlaneLines) {
      return out + fmt::format("{:<12}... {} more; --json lists all\n", "",
                               report.differs.planes.size() - kPlaneLines);
    }
    out += fmt::format("{:<12}batch {}, head {}: {}\n", "", plane.batch, plane.head,
                       plane.only_a + plane.only_b);
  }
  return out;
}

std::string pipeline_text(const RecogniseReport& report) {
  if (report.found.irregular) return "irregular";
  return report.pipeline.empty() ? "none: every cell is open" : report.pipeline;
}

std::string report_text(const RecogniseReport& report) {
  std::string out = fmt::format("{:<12}{}\n", "shape", shape_text(report.mask));
  out += fmt::format("{:<12}{}: {} of {} cells open\n", "density",
                     percent(report.open, report.mask.cells()), report.open, report.mask.cells());
  out += fmt::format("{:<12}{}\n", "pipeline", pipeline_text(report));
  return out + where_text(report);
}

Mask all_open(const Mask& like) {
  const PlanePtr full = full_plane(like.queries(), like.keys());
  return Mask::make(like.batch(), like.heads(), like.queries(), like.keys(),
                    [&](Index, Index) { return full; });
}

}  // namespace

int recognise(const RecogniseCommand& options, const GlobalOptions& globals) {
  Loader loader(options.source, globals);
  RecogniseReport report;
  report.source = options.name;
  report.mask = loader.transformed(loader.read(options.name).mask);
  report.open = report.mask.count();
  report.found = maskctl::recognise(report.mask, {.max_steps = options.max_steps});
  if (report.found.unexplained > 0) {
    report.differs = diff(report.mask, maskctl::apply(all_open(report.mask), report.found.chain));
  }
  place_arrays(options, report);
  report.pipeline = to_text(report.found.chain);
  if (!report.arrays.empty() && !report.written) {
    note(
        fmt::format("the arrays of the pipeline are not written; --write {} does it", kPlaceholder),
        globals);
  }
  write_stdout(options.json ? recognise_json(report) : report_text(report));
  return report.found.unexplained == 0 ? 0 : 1;
}

}  // namespace maskctl::app
