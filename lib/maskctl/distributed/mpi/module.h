// What the module maskctl-mpi offers: MPI, as far as ranks need it, so that only the module links
// it. Plain C, since the two sides may be built apart.
#pragma once

namespace maskctl::distributed {

/// All functions are to be called by one thread. A message may have any number of bytes.
struct MpiModule {
  int version;
  /// Starts MPI and says which rank this is: null, or why it cannot. A longer message than `piece`
  /// bytes, at most 2^31 - 1, goes in several; all ranks must name the same.
  const char* (*join)(long long piece, int* rank, int* size);
  /// Start a transfer: a handle for done(). `tag` tells kinds of messages apart; messages of one
  /// kind between two ranks keep their order. From rank -1: from any.
  void* (*send)(int to, int tag, const void* bytes, long long size);
  void* (*receive)(int from, int tag, void* bytes, long long size);
  /// 0: not yet; 1: done; -1: failed, and `*why` says it. After 1 and -1 the handle is gone.
  int (*done)(void* transfer, const char** why);
  /// Waits for all ranks, then ends MPI.
  void (*leave)();
};

inline constexpr int kMpiModuleVersion = 2;
inline constexpr const char* kMpiModuleFile = "maskctl-mpi.so";
/// The one symbol of the module: const MpiModule* maskctl_mpi_module().
inline constexpr const char* kMpiModuleSymbol = "maskctl_mpi_module";

}  // namespace maskctl::distributed
