// Commands whose work is shared by ranks: processes that mpirun has started, or threads, which have
// a GPU each or are devices that the CPU simulates.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/cli/commands/attention/rank_arrays.h"
#include "app/cli/commands/command.h"
#include "maskctl/attention/sharded/gather.h"
#include "maskctl/attention/sharded/rank_call.h"
#include "maskctl/distributed/world.h"

namespace maskctl::app {

struct RankOptions {
  std::string mesh;  // "dp=2+sp=2"; empty: no ranks
  std::string assign;

  bool given() const { return !mesh.empty(); }
  std::string assign_name() const { return assign.empty() ? "contiguous" : assign; }
};

inline constexpr std::string_view kUnfitLayout =
    "--layout goes without --mesh: each rank reads its part of a file as the operation has its "
    "axes";

/// --mesh and --assign.
void declare_ranks(OptionList& list, RankOptions& ranks);
/// Throws Error(kInvalidArgument) when --assign is given without --mesh, when a launcher has
/// started several ranks and there is no --mesh, and when options that do not go with --mesh are
/// given with it: `unfit` says which and why, and is empty for none.
void check_ranks(const RankOptions& options, std::string_view command, std::string_view unfit);

/// Runs `work` in every rank, with its session. The answer is that of rank 0; the others say
/// nothing. When one rank throws, all stop, and rank 0 throws an Error that names it. Ranks are
/// processes where a launcher has started this one; else threads, of a GPU each on GPUs. Throws
/// Error(kInvalidArgument) when a launcher has started another number than the mesh has devices,
/// and when there are fewer GPUs.
using RankWork = std::function<Answer(attention::Communicator& world, Session& session)>;
Answer over_ranks(const RankOptions& options, attention::Backend backend, Session& session,
                  const RankWork& work);

/// A call that is split over the ranks, checked and read.
class SplitCall {
 public:
  /// `arrays` are the arguments that are split over the ranks. Throws Error(kInvalidArgument), in
  /// rank 0, when ranks disagree about the call: the files differ between hosts.
  SplitCall(const attention::Operation& operation, const RankOptions& options,
            attention::NamedArguments arguments, RankArrays arrays, attention::Communicator& world);

  const attention::Operation& operation() const { return *form_; }
  attention::RankCall& ranked() { return *ranked_; }
  attention::NamedResults read() { return arrays_.read(*ranked_); }

 private:
  const attention::Operation* form_;
  RankArrays arrays_;
  std::unique_ptr<attention::RankCall> ranked_;
};

}  // namespace maskctl::app
