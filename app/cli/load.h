// The SOURCEs of a command line: files, pipes, generated masks, and the steps applied to them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/info/mask_info.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app {

/// Reads the sources of one command. Only one of them may be standard input.
class Loader {
 public:
  Loader(const SourceOptions& source, const GlobalOptions& globals)
      : source_(source), globals_(globals) {}

  /// An array as stored, for commands that read no mask.
  Tensor array(const std::string& source);
  /// A mask as --as and related options say, without transforms.
  LoadedMask read(const std::string& source);
  /// The ids along both axes from a SOURCE, as a segments mask would have them.
  LoadedMask read_segments(const std::string& source);
  /// The chain of all -t options.
  Chain chain();
  /// The mask after the chain.
  Mask transformed(Mask mask);
  /// The MaskInfo of a SOURCE: a stored one, or made by the constructor for its kind.
  MaskInfo mask_info(const std::string& source);
  /// The MaskInfo after all -t options, applied as calls of its methods.
  MaskInfo transformed(MaskInfo info);
  /// How steps read their SOURCEs.
  BindContext context();
  /// --max-bytes.
  Index max_bytes() const { return globals_.max_bytes; }

 private:
  LoadedMask read_as(const std::string& source, const MaskReadOptions& options);
  LoadedMask from_generator(const std::string& source, const MaskReadOptions& options);
  MaskReadOptions options() const;
  void take_stdin(const std::string& source);
  void print(const std::vector<std::string>& notes) const;

  const SourceOptions& source_;
  const GlobalOptions& globals_;
  bool stdin_taken_ = false;
};

}  // namespace maskctl::app
