#include "app/session/session.h"

#include <unistd.h>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

bool reads_stdin(const std::string& source) {
  return source == "-" || source.starts_with("-:") || source.starts_with("q=-,") ||
         source.ends_with(",kv=-");
}

}  // namespace

void Session::note(std::string_view text) const {
  if (front_end_.note && !settings_.quiet) front_end_.note(printable(text, kUncut));
}

Progress Session::progress(std::string label) const {
  const bool shown = front_end_.progress && settings_.progress && !settings_.quiet;
  return shown ? front_end_.progress(std::move(label)) : Progress();
}

void Session::take_stdin(const std::string& source) {
  if (!reads_stdin(source)) return;
  if (stdin_taken_) {
    throw Error(Errc::kInvalidArgument, "standard input (-) can be read only once; use a file");
  }
  stdin_taken_ = true;
  if (isatty(STDIN_FILENO) == 1) {
    throw Error(Errc::kInvalidArgument,
                "standard input is a terminal; pipe an array into maskctl or name a file");
  }
}

const Given* Session::given(const std::string& source) const {
  const auto found = given_.find(source);
  return found == given_.end() ? nullptr : &found->second;
}

void Session::remember(const std::string& source, const std::optional<MaskSteps>& steps) {
  const std::lock_guard lock(reading_);
  if (steps) {
    steps_.insert_or_assign(source, *steps);
  } else {
    steps_.erase(source);
  }
}

std::optional<MaskSteps> Session::remembered(const std::string& source) {
  const std::lock_guard lock(reading_);
  const auto found = steps_.find(source);
  return found == steps_.end() ? std::nullopt : std::optional(found->second);
}

const Tensor& Session::array(const std::string& source, const std::function<Tensor()>& read) {
  const std::lock_guard lock(reading_);
  const auto found = arrays_.find(source);
  return found != arrays_.end() ? found->second : arrays_.emplace(source, read()).first->second;
}

}  // namespace maskctl::app
