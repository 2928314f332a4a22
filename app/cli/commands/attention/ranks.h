// Runs a command on several ranks: processes started by mpirun, or else threads of this process,
// each with its own GPU or a simulated CPU device.
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
  std::string mesh;  // "dp=2+sp=2"; empty: the command is not split over ranks
  std::string assign;

  bool given() const { return !mesh.empty(); }
  std::string assign_name() const { return assign.empty() ? "contiguous" : assign; }
};

inline constexpr std::string_view kUnfitLayout =
    "--layout cannot be combined with --mesh: each rank reads its part of a file as the operation "
    "has its "
    "axes";

/// Declares --mesh and --assign.
void declare_ranks(OptionList& list, RankOptions& ranks);
/// Throws Error(kInvalidArgument) if --assign is given without --mesh, if a launcher has started
/// several ranks but --mesh is missing, or if --mesh is given and `unfit` is not empty. `unfit`
/// names an option that does not go with --mesh, and says why.
void check_ranks(const RankOptions& options, std::string_view command, std::string_view unfit);

/// The work of one rank. over_ranks() runs it on every rank and returns the answer of rank 0; the
/// other ranks print nothing. If one rank throws, all stop, and rank 0 throws an Error that names
/// the rank that failed. Ranks are processes if a launcher has started this process, else threads.
/// Throws Error(kInvalidArgument) if the launcher has not started one rank per device of the mesh,
/// or if there are too few GPUs.
using RankWork = std::function<Answer(attention::Communicator& world, Session& session)>;
Answer over_ranks(const RankOptions& options, attention::Backend backend, Session& session,
                  const RankWork& work);

/// A call whose arrays are split over the ranks. The constructor checks that all ranks agree on it.
class SplitCall {
 public:
  /// `arrays` are those to be split over the ranks. Throws Error(kInvalidArgument) at rank 0 if
  /// ranks have different arguments, for example because a file differs between hosts.
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
