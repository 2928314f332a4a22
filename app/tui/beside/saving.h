// Writes a file in the background. The file appears complete or not at all.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/tui/beside/errand.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// Writes the file; may be called on any thread and can be stopped. `progress` gets the fraction
/// that has been written, if it is known.
using WriteFile = std::function<void(const std::function<void(double)>& progress)>;

/// A file that the user has asked to write.
struct FileAsked {
  std::string name;                        // the name as the user typed it
  std::shared_ptr<const WriteFile> write;  // owns all data that it writes
  std::optional<std::string> pipeline;     // the pipeline that is saved when the file is written
  double fraction = 0;                     // fraction written; 0: unknown
  Stopwatch watch = {};
};

/// For example "mask.npy is being written".
std::string being_written(const FileAsked& file);

/// Writes files in the background.
class Saving {
 public:
  /// `ended` is called on another thread when a file has been written.
  explicit Saving(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Starts to write this file, or continues to, and stops writing any other; null stops all.
  /// Returns true once it is written, and throws what writing it throws. See Errand.
  bool follow(FileAsked* file, Time end);
  bool busy() const { return work_.busy(); }

 private:
  std::atomic<double> fraction_ = 0;
  Errand<std::shared_ptr<const WriteFile>, bool> work_;
};

}  // namespace maskctl::app::tui
