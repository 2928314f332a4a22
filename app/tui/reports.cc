#include "app/tui/reports.h"

#include <atomic>
#include <thread>

#include "app/tui/report_rows.h"
#include "app/tui/state.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::app::tui {

/// One report on its way.
class ReportMaker::Work {
 public:
  Work(const ReportState& asked, const std::function<void()>& done)
      : kind(asked.kind), scene(asked.scene), thread_([this, done](const std::stop_token& stop) {
          const WorkScope scope({.stop = stop});
          try {
            lines = report_row(kind).lines(*scene);
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
  std::vector<std::string> lines;  // once it is done

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
