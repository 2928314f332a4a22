// A file that is written beside the screens. It appears whole or not at all.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/tui/errand.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// Writes it, on any thread. Heeds stop requests; `progress` hears the fraction that is written, if
/// that can be known.
using WriteFile = std::function<void(const std::function<void(double)>& progress)>;

/// A file that was asked for.
struct FileAsked {
  std::string name;                        // as it was typed
  std::shared_ptr<const WriteFile> write;  // with all that goes into it
  std::optional<std::string> pipeline;     // that need not be saved again afterwards
  double fraction = 0;                     // that is written; 0 if that is unknown
  Stopwatch watch = {};
};

/// "mask.npy is being written"
std::string being_written(const FileAsked& file);

struct State;

/// Writes files beside the interface.
class Saving {
 public:
  /// `ended` is called on another thread when a file has been written.
  explicit Saving(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Begins to write the file that the state asks for, or stops, and says what came of it; see
  /// Errand.
  void follow(State& state, Time end);
  bool busy() const { return work_.busy(); }

 private:
  std::atomic<double> fraction_ = 0;
  Errand<std::shared_ptr<const WriteFile>, bool> work_;
};

}  // namespace maskctl::app::tui
