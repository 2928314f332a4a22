// The SOURCEs of a command line: files, pipes, generated masks, and the steps applied to them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/options.h"
#include "app/session/session.h"
#include "maskctl/io/array_source.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app {

/// Reads SOURCEs in one way: as its options say.
class Loader {
 public:
  Loader(const SourceOptions& source, Session& session) : source_(source), session_(session) {}

  const SourceOptions& source() const { return source_; }
  /// Whether the SOURCE is text of a generator, and not something that the session was given.
  bool generates(const std::string& source) const;
  /// An array as stored, for commands that read no mask.
  Tensor array(const std::string& source);
  /// An array that is read by parts. Throws Error(kInvalidArgument) for standard input, which only
  /// one of several ranks has.
  ArraySource array_source(const std::string& source);
  /// A mask as --as and related options say, without transforms. Shows the rows of a dense one to
  /// `rows_read` as they come (io/masks/mask_io.h).
  LoadedMask read(const std::string& source, RowsSink rows_read = {});
  /// The blocks that a kernel visits: lists of a container, or an array of blocks, which has no
  /// size of its own.
  struct Blocks {
    Tensor map;
    std::optional<BlockSize> size;
  };
  Blocks blocks(const std::string& source);
  /// The ids along both axes from a SOURCE, as a segments mask would have them.
  LoadedMask read_segments(const std::string& source);
  /// The chain of all steps.
  Chain chain();
  /// The steps that make the mask of an all-open one, for a SOURCE that is generated from one and
  /// these steps after it.
  std::optional<Chain> whole_chain(const std::string& source, const Chain& steps);
  /// The mask after the chain.
  Mask transformed(Mask mask);
  /// How the options say that masks are read.
  MaskReadOptions options() const;
  /// How steps read their SOURCEs.
  BindContext context();
  void print(const std::vector<std::string>& notes) const;
  /// The padding id of segment ids that state none themselves.
  std::int32_t pad_id() const { return source_.pad_id; }
  Index max_bytes() const { return session_.settings().max_bytes; }

 private:
  LoadedMask from_given(const Given& given, const std::string& source,
                        const MaskReadOptions& options);
  LoadedMask read_as(const std::string& source, const MaskReadOptions& options);
  LoadedMask from_generator(const std::string& source, const MaskReadOptions& options);

  const SourceOptions& source_;
  Session& session_;
};

/// "m.npy | causal | window:keys=8": a SOURCE and the transforms that follow as they were written,
/// in one line, for titles.
std::string with_pipeline(const std::string& name, const SourceOptions& source);

}  // namespace maskctl::app
