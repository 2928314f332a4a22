#include "app/cli/commands/attention/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "app/cli/commands/attention/hashes.h"
#include "app/cli/launcher.h"
#include "app/cli/parser/values.h"
#include "app/reports/remedies.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/ring/assign.h"
#include "maskctl/attention/ring/on_devices.h"
#include "maskctl/attention/sharded/usual_specs.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

using attention::Communicator;
using attention::NamedArguments;
using attention::Operation;

/// After an error, other ranks wait this long so that rank 0 can report it and the launcher can end
/// all.
constexpr std::chrono::seconds kFarewell{6};

/// Throws unless mpirun has started exactly one rank per device of the mesh.
void check_launched(const LaunchedRank& own, const RankOptions& options) {
  const Index devices = attention::mesh_from_text(options.mesh).devices();
  if (own.size == devices) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("--mesh {} has {} devices, and mpirun has started {} ranks; start it as "
                          "`mpirun -n {} maskctl ...`",
                          options.mesh, devices, own.size, devices));
}

std::string text_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own) return message_of(*own);
  const bool out_of_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return out_of_memory ? std::string(kOutOfMemory) : error.what();
}

/// A text that must be equal in all ranks: a line for each argument and for the mask.
std::string text_of(const NamedArguments& arguments, const RankArrays& arrays) {
  std::string text = arrays.text();
  for (const auto& [name, value] : arguments.options) text += fmt::format("{}={}\n", name, value);
  for (const auto& [name, array] : arguments.arrays) {
    text += fmt::format("{} {} {}, content {:016x}\n", name, maskctl::name(array.dtype()),
                        shape_text(array.shape()), hash_of(array.bytes()));
  }
  if (arguments.mask) {
    text += fmt::format("mask {}, content {:016x}\n", shape_text(*arguments.mask),
                        hash_of(*arguments.mask));
  }
  return text;
}

/// The first line of `a` that differs from the text at the same position of `b`.
std::string first_difference(std::string_view a, std::string_view b) {
  for (std::size_t at = 0; at < a.size();) {
    const std::size_t end = a.find('\n', at) + 1;
    const std::string_view line = a.substr(at, end - at);
    if (b.substr(std::min(at, b.size()), line.size()) != line) {
      return std::string(line.substr(0, line.size() - 1));
    }
    at = end;
  }
  return "less";
}

void check_agreement(Communicator& world, const std::string& own) {
  const std::vector<std::string> texts = attention::gathered_texts(world, own);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("rank {} has `{}`, rank 0 has `{}`: give every rank the same command "
                            "line and the same files",
                            rank, first_difference(texts[rank], texts[0]),
                            first_difference(texts[0], texts[rank])));
  }
}

}  // namespace

void declare_ranks(OptionList& list, RankOptions& ranks) {
  list.text("--mesh", "dp=2+sp=2",
            "share the call among the ranks of mpirun, or without mpirun among threads of this "
            "process, with --backend cuda a GPU each: dp and fsdp split batches, tp heads, sp "
            "sequences",
            ranks.mesh);
  list.choice("--assign", attention::kAssignWords,
              "which queries each rank of sp has (contiguous); with --mesh",
              [&ranks](std::size_t i) { ranks.assign = attention::kAssignWords[i]; });
}

void check_ranks(const RankOptions& options, std::string_view command, std::string_view unfit) {
  if (!options.given() && !options.assign.empty()) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: --assign goes with --mesh", command));
  }
  const auto own = launched_rank();
  if (!options.given() && own && own->size > 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: mpirun has started {} ranks, each of which would do all the work; "
                            "share it with --mesh, as in --mesh dp={}",
                            command, own->size, own->size));
  }
  if (!options.given() || unfit.empty()) return;
  throw Error(Errc::kInvalidArgument, fmt::format("{}: {}", command, unfit));
}

namespace {

constexpr Index kMostThreads = 1024;

/// Throws if there are too many devices. A CPU device is simulated by a thread; a GPU must exist.
void check_devices(const RankOptions& options, attention::Backend backend, Index devices) {
  if (devices > kMostThreads) {
    throw Error(Errc::kLimit,
                fmt::format("--mesh {} has {} devices; threads of one process are at most {}, "
                            "`mpirun -n {} maskctl ...` starts ranks",
                            options.mesh, devices, kMostThreads, devices));
  }
  if (backend != attention::Backend::kCuda) return;
  const int gpus = attention::cuda::gpus();
  if (devices <= gpus) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("--mesh {} needs {} GPUs, and this process has {}; `mpirun -n {} maskctl "
                          "...` shares them among ranks",
                          options.mesh, devices, gpus, devices));
}

Answer over_threads(const RankOptions& options, attention::Backend backend, Session& session,
                    const RankWork& work) {
  const Index devices = attention::mesh_from_text(options.mesh).devices();
  check_devices(options, backend, devices);
  Answer answer;
  attention::run_on_devices(backend, devices, [&](Communicator& world) {
    if (world.rank() == 0) {
      answer = work(world, session);
    } else {
      Session silent(session.settings(), {});
      work(world, silent);
    }
  });
  return answer;
}

Answer over_processes(Session& session, const RankWork& work) {
  distributed::World world([&session] { session.cancel(); });
  std::string own;
  bool stopped = false;  // a signal stopped the work; the launcher or the supervisor reports why
  try {
    Answer answer = work(world, session);
    attention::meet(world);  // returns only if no rank has failed
    return world.rank() == 0 ? std::move(answer) : Answer{};
  } catch (const std::exception& error) {
    const auto* const known = dynamic_cast<const Error*>(&error);
    stopped = known && known->code() == Errc::kCancelled && !world.failure();
    own = text_of(error);
    if (!stopped) world.fail(own);
  }
  if (stopped || world.rank() != 0) {
    std::this_thread::sleep_for(kFarewell);
    return {"", 2};
  }
  const distributed::Failure failure = *world.failure();
  const bool names_rank = failure.message.starts_with("rank ");
  const bool all_alike = failure.rank != 0 && failure.message == own;
  if (names_rank || all_alike) throw Error(Errc::kDevice, failure.message);
  throw Error(Errc::kDevice,
              fmt::format("rank {} of {}: {}", failure.rank, world.size(), failure.message));
}

}  // namespace

Answer over_ranks(const RankOptions& options, attention::Backend backend, Session& session,
                  const RankWork& work) {
  const auto own = launched_rank();
  if (!own) return over_threads(options, backend, session, work);
  check_launched(*own, options);
  return over_processes(session, work);
}

SplitCall::SplitCall(const Operation& operation, const RankOptions& options,
                     NamedArguments arguments, RankArrays arrays, Communicator& world)
    : arrays_(std::move(arrays)) {
  const auto outlines = arrays_.outlines();
  form_ = &form_of(operation, [&](std::string_view name) {
    return outlines.contains(std::string(name)) || arguments.arrays.contains(std::string(name));
  });
  if (!options.assign.empty()) arguments.options["assign"] = options.assign;
  check_agreement(world, text_of(arguments, arrays_));
  attention::meet(world);  // waits for all ranks, so that none continues if one has failed
  const attention::Sharding sharding = attention::usual_sharding(
      *form_, attention::mesh_from_text(options.mesh), outlines, arguments);
  ranked_ = std::make_unique<attention::RankCall>(*form_, std::move(arguments), outlines, sharding,
                                                  world);
}

}  // namespace maskctl::app
