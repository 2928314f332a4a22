// Reads the SOURCEs of a command line (files, pipes, generated masks) and applies the steps.
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

/// Reads SOURCEs, all in the way that its SourceOptions say.
class Loader {
 public:
  Loader(const SourceOptions& source, Session& session) : source_(source), session_(session) {}

  const SourceOptions& source() const { return source_; }
  /// True if the SOURCE is the text of a generator ("gen:...") and not the name of a given mask.
  bool generates(const std::string& source) const;
  /// Reads an array as stored, for commands that do not interpret it as a mask.
  Tensor array(const std::string& source);
  /// The SOURCEs of queries and keys: of "q=SOURCE,kv=SOURCE", or of a container that holds the
  /// arrays q and kv and no other. Nothing for any other SOURCE.
  std::optional<TwoSources> sides(const std::string& source);
  /// Opens an array for reading piece by piece. Throws Error(kInvalidArgument) for standard input,
  /// because only one MPI rank has it.
  ArraySource array_source(const std::string& source);
  /// Reads a mask as --as and related options say, without applying steps. For a dense mask, passes
  /// the rows of the first batch and head to `rows_read` as they are read (io/masks/mask_io.h).
  LoadedMask read(const std::string& source, RowsSink rows_read = {});
  /// Which blocks a kernel visits, read from lists of blocks in a container or from an array with
  /// an element per block. `size` has the queries and keys of a block, if lists state it; an array
  /// does not.
  struct Blocks {
    Tensor map;
    std::optional<BlockSize> size;
  };
  Blocks blocks(const std::string& source);
  /// Reads segment ids of the queries and the keys, like a mask with --as segments.
  LoadedMask read_segments(const std::string& source);
  /// Parses all steps of the options, in order.
  Chain chain();
  /// The steps that a SOURCE itself says it is made by: those of a generator, or of a file of the
  /// kind mask that was read before. Nothing for other SOURCEs.
  std::optional<MaskSteps> own_steps(const std::string& source);
  /// The chain that makes a mask from an all-open one, if the SOURCE has own_steps() that start
  /// with an all-open or all-closed mask: these, then `steps`. Nothing for other SOURCEs.
  std::optional<Chain> whole_chain(const std::string& source, const Chain& steps);
  /// Applies chain() to the mask.
  Mask transformed(Mask mask);
  /// The options for read_mask().
  MaskReadOptions options() const;
  /// Tells steps how to read the SOURCEs in their arguments.
  BindContext context();
  void print(const std::vector<std::string>& notes) const;
  /// The id that marks padding, for segment ids that do not state it themselves.
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

/// Returns what read() would return for an array of these cells.
LoadedMask loaded_from(Mask mask);

/// "m.npy | causal | window:keys=8": a SOURCE and its steps as the user wrote them, in one line,
/// for titles.
std::string with_pipeline(const std::string& name, const SourceOptions& source);

}  // namespace maskctl::app
