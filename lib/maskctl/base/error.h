// The one exception of the library, and what a caller can do about it.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace maskctl {

enum class Errc {
  kInvalidArgument,
  kShape,
  kFormat,
  kIo,
  kLimit,
  kUnsupported,
  kDevice,
  kCancelled
};

/// What a caller can do about an error or a finding. How to ask for it differs between front ends
/// (an argument, an option, a button), so each has its own words for it and the library has none.
struct Remedy {
  enum Kind : std::uint8_t {
    kNone,
    kRaiseMemoryLimit,  // max_bytes
    kSliceMask,
    kReadFromFile,  // instead of a pipe
    kWriteToFile,
    kNameOutput,  // instead of a terminal
    kOverwrite,
    kReadAs,            // the argument names the kind of array, such as "segments"
    kReadZeroAsOpen,    // keep_value_is_zero
    kReadZeroAsClosed,  // without keep_value_is_zero
    kSetClosedBelow,
    kSetPadIdToZero,
    kGiveShape,
    kGiveBlockSize,
    kGiveDocuments,
    kWriteAs,  // the argument names the kind of array
    kAssumeCausal,
    kUseSemantics,  // the argument names whose
    kChooseArray,   // of those that the message lists
  };

  Kind kind = kNone;
  std::string_view argument = {};  // text that lives as long as the program
};

/// Bad input or a failed environment. The message is one lower-case line without a full stop: what
/// was seen and what was expected; the remedies, each of which helps, say how to fix it. A negative
/// answer (two masks differ) is a value, never an Error.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message, std::vector<Remedy> remedies = {})
      : std::runtime_error(message), code_(code), remedies_(std::move(remedies)) {}

  Errc code() const { return code_; }
  std::span<const Remedy> remedies() const { return remedies_; }

  /// The same with "SOURCE: " in front of the message.
  Error within(const std::string& source) const {
    return {code_, source + ": " + what(), remedies_};
  }

 private:
  Errc code_;
  std::vector<Remedy> remedies_;
};

}  // namespace maskctl
