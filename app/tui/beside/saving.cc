#include "app/tui/beside/saving.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/tui/state/state.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app::tui {
namespace {

/// Shows an error, or, if what is written exists, asks whether to replace it.
void say_failure(State& state, const std::string& name, const Error& error) {
  const auto overwrites = [](const Remedy& remedy) { return remedy.kind == Remedy::kOverwrite; };
  if (std::ranges::any_of(error.remedies(), overwrites)) {
    state.question = {fmt::format("{}; replace it?", error.what()), "w! " + name};
  } else {
    state.message = error.what();
  }
}

}  // namespace

std::string being_written(const FileAsked& file) {
  return fmt::format("{} is being written", printable(file.name));
}

void Saving::follow(State& state, Time end) {
  if (!state.saving) return work_.stop();
  FileAsked& file = *state.saving;
  try {
    const auto written = work_.follow(file.write, end, [&] {
      fraction_ = 0;
      return [this, write = file.write] {
        (*write)([this](double fraction) { fraction_ = fraction; });
        return true;
      };
    });
    file.fraction = fraction_;
    if (!written) return;
    if (file.pipeline) state.saved_pipeline = *file.pipeline;
    state.message = fmt::format("wrote {}", printable(file.name));
  } catch (const Error& error) {
    say_failure(state, file.name, error);
  }
  state.saving.reset();
}

}  // namespace maskctl::app::tui
