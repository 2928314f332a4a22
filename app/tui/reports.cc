#include "app/tui/reports.h"

#include "app/tui/background_task.h"
#include "app/tui/report_rows.h"
#include "app/tui/state.h"

namespace maskctl::app::tui {
namespace {

std::vector<ReportLine> lines_of(Report kind, const Scene& scene) {
  try {
    return report_row(kind).lines(scene);
  } catch (const std::exception& error) {
    return {{error.what()}};
  }
}

}  // namespace

/// One report on its way.
class ReportMaker::Work {
 public:
  Work(const ReportState& asked, const std::function<void()>& done)
      : kind_(asked.kind),
        scene_(asked.scene),
        lines_([this] { return lines_of(kind_, *scene_); }, done) {}

  bool is_for(const ReportState& asked) const {
    return kind_ == asked.kind && scene_ == asked.scene;
  }
  bool done() const { return lines_.done(); }
  /// Waits for the lines.
  std::vector<ReportLine> take() { return lines_.take(); }

 private:
  const Report kind_;
  const ScenePtr scene_;
  BackgroundTask<std::vector<ReportLine>> lines_;
};

ReportMaker::ReportMaker(std::function<void()> done) : done_(std::move(done)) {}
ReportMaker::~ReportMaker() = default;

void ReportMaker::follow(State& state) {
  const bool wanted = state.report && !state.report->done;
  if (work_ && !(wanted && work_->is_for(*state.report))) work_.reset();
  if (!wanted) return;
  if (!work_) work_ = std::make_unique<Work>(*state.report, done_);
  if (work_->done()) take(state);
}

void ReportMaker::finish(State& state) {
  follow(state);
  if (work_) take(state);
}

void ReportMaker::take(State& state) {
  state.report->lines = work_->take();
  state.report->done = true;
  work_.reset();
}

}  // namespace maskctl::app::tui
