// The functions of MPI that the library needs, as a table that the module maskctl-mpi provides:
// only the module links MPI. Plain C, because library and module may be built separately.
#pragma once

namespace maskctl::distributed {

/// All functions must be called by the same thread. A message may have any number of bytes.
struct MpiModule {
  int version;
  /// Starts MPI and sets this process's rank and the number of ranks. Returns null, or the reason
  /// of a failure. Messages of more than `piece` bytes (at most 2^31 - 1) are sent in pieces;
  /// `piece` must be the same in all ranks.
  const char* (*join)(long long piece, int* rank, int* size);
  /// Start to send or receive a message; return a handle for done(). `tag` is the kind of message;
  /// messages of one kind between two ranks stay in order. `from` -1 means from any rank.
  void* (*send)(int to, int tag, const void* bytes, long long size);
  void* (*receive)(int from, int tag, void* bytes, long long size);
  /// Returns 0 if the transfer is still running, 1 if it is done, -1 if it failed; then `*why` is
  /// the reason. After 1 or -1 the handle is no longer valid.
  int (*done)(void* transfer, const char** why);
  /// Waits until all ranks have called it, then ends MPI.
  void (*leave)();
};

inline constexpr int kMpiModuleVersion = 2;
inline constexpr const char* kMpiModuleFile = "maskctl-mpi.so";
/// The only symbol that the module exports: const MpiModule* maskctl_mpi_module().
inline constexpr const char* kMpiModuleSymbol = "maskctl_mpi_module";

}  // namespace maskctl::distributed
