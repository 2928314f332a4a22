// The helper program that opens HDF5 files for maskctl, so that a crash of the HDF5 library ends
// only this process.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>

#include "app/hdf5/streams.h"
#include "app/hdf5/verbs.h"
#include "maskctl/base/text.h"

namespace maskctl::hdf5 {

void renew_time_limit(Index seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const Index spent = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1;
  const rlimit limit{static_cast<rlim_t>(spent + seconds), RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &limit);
}

namespace {

using namespace hdf5_protocol;

// Memory allowed besides the array data: for the HDF5 library, metadata, and a buffer of 32 to 128
// MiB for a box of data. Without a limit, the library may take all memory for a damaged file.
constexpr Index kBaseBytes = Index{190} << 20;
// The most memory allowed for array data; larger arrays are read in boxes.
constexpr Index kMostBytes = Index{1} << 30;

Index number(const char* text) {
  const auto value = number_from<Index>(text);
  if (value && *value >= 0) return *value;
  throw Failure{kArgument, std::string("'") + text + "' is not a number"};
}

Request parse(int count, char** arguments) {
  Request out;
  int at = 1;
  for (; at < count && std::strncmp(arguments[at], "--", 2) == 0; ++at) {
    const std::string_view option = arguments[at];
    if (option == "--replace") {
      out.replace = true;
    } else if (at + 1 < count && option == "--max-bytes") {
      out.max_bytes = number(arguments[++at]);
    } else if (at + 1 < count && option == "--seconds") {
      out.seconds = number(arguments[++at]);
    } else {
      break;
    }
  }
  if (count - at < 2 || count - at > 3 || out.max_bytes == 0 || out.seconds == 0) {
    throw Failure{kArgument,
                  "usage: maskctl-hdf5 --max-bytes N --seconds N [--replace] "
                  "list|read|create|append FILE [DATASET]; maskctl runs it"};
  }
  out.verb = arguments[at];
  out.file = arguments[at + 1];
  if (count - at == 3) out.dataset = arguments[at + 2];
  return out;
}

/// The bytes of standard input that are mapped to memory; 0 if the file is not standard input.
Index mapped_bytes(const Request& request) {
  struct stat info {};
  return request.file == kStandardInput && ::fstat(STDIN_FILENO, &info) == 0 ? info.st_size : 0;
}

void limit_memory(const Request& request) {
  const auto bytes = static_cast<rlim_t>(kBaseBytes + std::min(request.max_bytes, kMostBytes) +
                                         mapped_bytes(request));
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

void isolate(const Request& request) {
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
  limit_memory(request);
  renew_time_limit(request.seconds);
  const bool given = request.file == kGivenFile;
  (void)close_range(given ? kGivenDescriptor + 1 : kGivenDescriptor, ~0U, 0);
  // Beyond the limit for files (ulimit -f) a write then fails instead of ending the program.
  std::signal(SIGXFSZ, SIG_IGN);
  // The lock of the file to write is gone as soon as its writer is, even if that was killed.
  if (given) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void run(const Request& request) {
  if (request.verb == "list") return list_objects(request);
  if (request.verb == "read") return read_dataset(request);
  if (request.verb == "create") return write_datasets(request, Access::kCreate);
  if (request.verb == "append") return write_datasets(request, Access::kAppend);
  throw Failure{kArgument, "unknown verb '" + request.verb + "'"};
}

int guarded(int count, char** arguments) {
  const auto report = [](const char* code, const std::string& text) {
    const std::string message = line({code, text});
    (void)!::write(STDERR_FILENO, message.data(), message.size());
    return 1;
  };
  try {
    const Request request = parse(count, arguments);
    isolate(request);
    prepare_library();
    run(request);
    return 0;
  } catch (const Failure& failure) {
    return report(failure.code, failure.text);
  } catch (const std::bad_alloc&) {
    return report(kLimit, "needs more memory than an intact file would");
  }
}

}  // namespace
}  // namespace maskctl::hdf5

int main(int count, char** arguments) {
  // _exit() skips the library's exit handlers, which crash if objects are still open.
  _exit(maskctl::hdf5::guarded(count, arguments));
}
