// State that all front ends share while a command runs: settings, where notes and progress go,
// cancellation, and arrays already read.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/container_cache.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

enum class When { kAuto, kAlways, kNever };

/// Settings that apply to every command.
struct Settings {
  When color = When::kAuto;
  int threads = 0;  // 0: one per core
  bool progress = true;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
  bool trace = false;
  Index max_bytes = Index{4} << 30;
};

using Progress = std::function<void(double fraction)>;

/// The functions of a front end that a session calls. Each may be empty.
struct FrontEnd {
  std::function<void(std::string_view text)> note;
  /// Shows a progress bar until the returned function and all its copies are destroyed.
  std::function<Progress(std::string label)> progress;
  /// Takes the arrays of a mask instead of writing them to standard output.
  std::function<void(std::vector<NamedTensor> arrays)> arrays = {};
};

/// A mask or an array that the front end has in memory and passes to a session by name.
using Given = std::variant<LoadedMask, Tensor>;

class Session {
 public:
  Session(Settings settings, FrontEnd front_end)
      : settings_(settings), front_end_(std::move(front_end)) {}

  const Settings& settings() const { return settings_; }
  /// Passes `text` to the front end, unless Settings::quiet is set.
  void note(std::string_view text) const;
  /// Shows progress. The result may be empty, and must not outlive the session.
  Progress progress(std::string label) const;

  /// Set by cancel(). Pass it to a WorkScope so that work stops when it is set.
  std::stop_token stop_token() const { return stop_.get_token(); }
  void cancel() { stop_.request_stop(); }

  /// Makes `given` the meaning of SOURCE `name`, even where a file has that name.
  void give(std::string name, Given given) { given_.insert_or_assign(std::move(name), given); }
  /// The mask or array given under this name; null if there is none.
  const Given* given(const std::string& source) const;
  /// True if arrays for `dest` go to the front end: `dest` is "-" and the front end takes arrays.
  bool takes_arrays(const std::string& dest) const { return dest == "-" && front_end_.arrays; }
  void take_arrays(std::vector<NamedTensor> arrays) const { front_end_.arrays(std::move(arrays)); }

  /// Records that `source` reads standard input, if it does. Throws Error(kInvalidArgument) if
  /// standard input has been read before or is a terminal.
  void take_stdin(const std::string& source);
  /// Remembers the steps that the file of a SOURCE says, if it says any.
  void remember(const std::string& source, const std::optional<MaskSteps>& steps);
  /// The remembered steps of a SOURCE. Thread-safe.
  std::optional<MaskSteps> remembered(const std::string& source);
  /// Opens containers; the one opened last stays open.
  ContainerCache& containers() { return containers_; }
  /// The array of `source`. Calls `read` the first time and keeps the result. Thread-safe.
  const Tensor& array(const std::string& source, const std::function<Tensor()>& read);

 private:
  Settings settings_;
  FrontEnd front_end_;
  std::stop_source stop_;
  bool stdin_taken_ = false;
  std::mutex reading_;  // guards arrays_ and steps_
  std::map<std::string, MaskSteps, std::less<>> steps_;
  std::map<std::string, Tensor, std::less<>> arrays_;
  std::map<std::string, Given> given_;
  ContainerCache containers_;
};

}  // namespace maskctl::app
