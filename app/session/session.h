// What all front ends share while they run: limits, where notes and progress go, how work is told
// to stop, and what has been read.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

enum class When { kAuto, kAlways, kNever };

/// What holds for every command.
struct Settings {
  When color = When::kAuto;
  int threads = 0;  // 0: one for each core
  bool progress = true;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
  bool trace = false;
  Index max_bytes = Index{4} << 30;
};

using Progress = std::function<void(double fraction)>;

/// The side of a front end that a session calls. A member may be empty.
struct FrontEnd {
  std::function<void(std::string_view text)> note;
  /// Begins to show progress; it is shown until the result and its copies are destroyed.
  std::function<Progress(std::string label)> progress;
  /// Takes the arrays of a mask that would be written to standard output.
  std::function<void(std::vector<NamedTensor> arrays)> arrays = {};
};

/// What a front end that holds masks and arrays gives a session to work on.
using Given = std::variant<LoadedMask, Tensor>;

class Session {
 public:
  Session(Settings settings, FrontEnd front_end)
      : settings_(settings), front_end_(std::move(front_end)) {}

  const Settings& settings() const { return settings_; }
  /// Unless Settings::quiet.
  void note(std::string_view text) const;
  /// May be empty, and must not outlive the session.
  Progress progress(std::string label) const;

  /// What the work of this session heeds; hand it to a WorkScope.
  std::stop_token stop_token() const { return stop_.get_token(); }
  void cancel() { stop_.request_stop(); }

  /// Makes it the SOURCE of that name, which then no longer means a file.
  void give(std::string name, Given given) { given_.insert_or_assign(std::move(name), given); }
  /// Null for a SOURCE that was not given.
  const Given* given(const std::string& source) const;
  /// Whether the front end takes the arrays that would be written to `dest`.
  bool takes_arrays(const std::string& dest) const { return dest == "-" && front_end_.arrays; }
  void take_arrays(std::vector<NamedTensor> arrays) const { front_end_.arrays(std::move(arrays)); }

  /// Throws Error(kInvalidArgument) if `source` is standard input and that has been read already,
  /// or is a terminal.
  void take_stdin(const std::string& source);
  /// The array of `source`, read by `read` the first time; on any thread.
  const Tensor& array(const std::string& source, const std::function<Tensor()>& read);

 private:
  Settings settings_;
  FrontEnd front_end_;
  std::stop_source stop_;
  bool stdin_taken_ = false;
  std::mutex reading_;  // of arrays
  std::map<std::string, Tensor, std::less<>> arrays_;
  std::map<std::string, Given> given_;
};

}  // namespace maskctl::app
