// Runs commands inside a process that holds the masks: what the module calls, free of Python.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/session/session.h"

namespace maskctl::app {

/// The words of a command line: operands, and options with their values ("--block", "64").
struct Words {
  std::vector<std::string> operands;
  std::vector<std::pair<std::string, std::string>> options;  // a flag has an empty value
};

/// What a command has to say, on all its streams.
struct Reply {
  std::string text;
  int status = 0;
  std::vector<std::string> notes;
  std::vector<NamedTensor> arrays;  // what it writes to "-"
};

using GivenSources = std::map<std::string, Given>;

/// Asked now and then while work goes on; true ends it with Error(kCancelled).
using WantsStop = std::function<bool()>;

/// Runs a command whose SOURCEs may be given ones. Throws what it throws, and
/// Error(kInvalidArgument) for words that it does not take.
Reply ask(const std::string& command, const Words& words, const GivenSources& given,
          const WantsStop& wants_stop);

/// Reads a SOURCE as a mask, given or in a file; the options are those of reading (--as ...).
LoadedMask read_source(const std::string& source, const Words& words, const GivenSources& given,
                       const WantsStop& wants_stop);
/// Reads arrays in memory, where they lie.
LoadedMask read_arrays(const std::string& name, std::span<const NamedView> arrays,
                       const Words& words, const WantsStop& wants_stop);
/// The mask of a SOURCE after the steps of --transform.
Mask transformed(const std::string& source, const Words& words, const GivenSources& given,
                 const WantsStop& wants_stop);

/// The line for an exception of the library: its message with the remedies, options as keywords,
/// and for a mistake in a pipeline the place below it.
std::string line_of(const std::exception& error);

}  // namespace maskctl::app
