// The module maskctl-mpi, the only code that uses MPI. MPI counts bytes with an int, so long
// messages are sent in pieces, which stay in order.
#include "maskctl/distributed/mpi/module.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace {

long long longest_piece = 0;  // bytes, as given to join()

struct Transfer {
  std::vector<MPI_Request> pieces;
  long long expected = -1;  // bytes; -1 when sending, and when receiving from any rank
};

thread_local std::string last_error;

const char* failed(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  last_error.assign(text.data(), static_cast<std::size_t>(length));
  return last_error.c_str();
}

const char* join(long long piece, int* rank, int* size) {
  longest_piece = piece;
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)) {
    return failed(code);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  return nullptr;
}

/// Calls f(offset, bytes) for each piece of a message of `size` bytes; an empty message has one
/// piece.
template <class F>
void for_each_piece(long long size, F&& f) {
  long long first = 0;
  do {
    f(first, static_cast<int>(std::min(longest_piece, size - first)));
    first += longest_piece;
  } while (first < size);
}

void* send(int to, int tag, const void* bytes, long long size) {
  auto transfer = std::make_unique<Transfer>();
  for_each_piece(size, [&](long long first, int count) {
    MPI_Isend(static_cast<const char*>(bytes) + first, count, MPI_BYTE, to, tag, MPI_COMM_WORLD,
              &transfer->pieces.emplace_back(MPI_REQUEST_NULL));
  });
  return transfer.release();
}

void* receive(int from, int tag, void* bytes, long long size) {
  auto transfer = std::make_unique<Transfer>();
  transfer->expected = from < 0 ? -1 : size;
  for_each_piece(size, [&](long long first, int count) {
    MPI_Irecv(static_cast<char*>(bytes) + first, count, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from,
              tag, MPI_COMM_WORLD, &transfer->pieces.emplace_back(MPI_REQUEST_NULL));
  });
  return transfer.release();
}

long long bytes_of(const std::vector<MPI_Status>& pieces) {
  long long bytes = 0;
  for (const MPI_Status& piece : pieces) {
    int count = 0;
    MPI_Get_count(&piece, MPI_BYTE, &count);
    bytes += count;
  }
  return bytes;
}

int done(void* handle, const char** why) {
  auto* const transfer = static_cast<Transfer*>(handle);
  std::vector<MPI_Status> states(transfer->pieces.size());
  int all = 0;
  const int code = MPI_Testall(static_cast<int>(transfer->pieces.size()), transfer->pieces.data(),
                               &all, states.data());
  if (code == MPI_SUCCESS && all == 0) return 0;
  const std::unique_ptr<Transfer> ended(transfer);
  if (code != MPI_SUCCESS) {
    const auto wrong = std::ranges::find_if(states, [](const MPI_Status& state) {
      return state.MPI_ERROR != MPI_SUCCESS && state.MPI_ERROR != MPI_ERR_PENDING;
    });
    *why = failed(code == MPI_ERR_IN_STATUS && wrong != states.end() ? wrong->MPI_ERROR : code);
    return -1;
  }
  const long long bytes = transfer->expected < 0 ? -1 : bytes_of(states);
  if (bytes == transfer->expected) return 1;
  last_error = "a message of " + std::to_string(bytes) + " bytes where " +
               std::to_string(transfer->expected) + " were expected";
  *why = last_error.c_str();
  return -1;
}

void leave() {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

constexpr maskctl::distributed::MpiModule kModule = {
    maskctl::distributed::kMpiModuleVersion, join, send, receive, done, leave};

}  // namespace

extern "C" [[gnu::visibility("default")]] const maskctl::distributed::MpiModule*
maskctl_mpi_module() {
  return &kModule;
}
