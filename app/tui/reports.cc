#include "app/tui/reports.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "app/tui/state.h"
#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

using Lines = std::vector<std::string>;

Lines recognise_lines(const Scene& scene) {
  const Recognised found = recognise(scene.mask);
  Lines out{found.chain.empty() ? "every cell open" : to_text(found.chain)};
  if (found.residue.cells > 0)
    out.push_back(fmt::format("except for {} cells", found.residue.cells));
  if (found.irregular) out.emplace_back("no rule explains much of it");
  return out;
}

Lines cause_lines(const Scene& scene) {
  if (!scene.other) return {"there is one SOURCE; maskctl tui SOURCE OTHER shows two"};
  const auto cause = diff_cause(scene.mask, *scene.other);
  return {cause ? cause->text : "A and B are equal"};
}

constexpr BlockSize kTiles[] = {{64, 64}, {128, 128}};

Lines stats_lines(const Scene& scene) {
  const PlaneStats stats = mask_stats(scene.mask, kTiles).total;
  Lines out{fmt::format("open {} ({})", stats.open, percent_text(stats.open, scene.mask.cells())),
            fmt::format("keys of a query {} to {}, median {}", stats.min_keys, stats.max_keys,
                        stats.median_keys),
            fmt::format("empty rows {}, full rows {}", stats.empty_rows, stats.full_rows)};
  for (const BlockStats& tiles : stats.blocks) {
    out.push_back(fmt::format("tiles {}x{}: {} full, {} partial, {} empty", tiles.size.q,
                              tiles.size.k, tiles.full, tiles.partial, tiles.empty));
  }
  return out;
}

struct Row {
  Report report;
  std::string_view title;
  Lines (*lines)(const Scene& scene);
};
constexpr Row kRows[] = {{Report::kRecognise, "The mask is", recognise_lines},
                         {Report::kCause, "Cause", cause_lines},
                         {Report::kStats, "All heads", stats_lines}};

const Row& row_of(Report report) { return kRows[static_cast<std::size_t>(report)]; }

}  // namespace

std::string_view title_of(Report report) { return row_of(report).title; }

/// One report on its way.
class ReportMaker::Work {
 public:
  Work(const ReportState& asked, const std::function<void()>& done)
      : kind(asked.kind), scene(asked.scene), thread_([this, done](const std::stop_token& stop) {
          const WorkScope scope({.stop = stop});
          try {
            lines = row_of(kind).lines(*scene);
          } catch (const std::exception& error) {
            lines = {error.what()};
          }
          done_ = true;
          if (!stop.stop_requested()) done();
        }) {}

  bool is_for(const ReportState& asked) const { return kind == asked.kind && scene == asked.scene; }
  bool done() const { return done_; }
  void wait() { thread_.join(); }

  const Report kind;
  const ScenePtr scene;
  Lines lines;  // once it is done

 private:
  std::atomic<bool> done_ = false;
  std::jthread thread_;  // stopped and joined before the rest goes
};

ReportMaker::ReportMaker(std::function<void()> done) : done_(std::move(done)) {}
ReportMaker::~ReportMaker() = default;

void ReportMaker::follow(State& state) {
  const bool wanted = state.report && !state.report->done;
  if (work_ && !(wanted && work_->is_for(*state.report))) work_.reset();
  if (!wanted) return;
  if (!work_) work_ = std::make_unique<Work>(*state.report, done_);
  if (!work_->done()) return;
  state.report->lines = std::move(work_->lines);
  state.report->done = true;
  work_.reset();
}

void ReportMaker::finish(State& state) {
  follow(state);
  if (!work_) return;
  work_->wait();
  follow(state);
}

}  // namespace maskctl::app::tui
