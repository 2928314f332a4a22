#include "app/hdf5/library.h"

#include <sys/resource.h>

#include <cstdlib>
#include <string_view>

#include "app/hdf5/lzf.h"
#include "app/hdf5/memory_file.h"

namespace maskctl::hdf5 {
namespace {

herr_t take_text(unsigned, const H5E_error2_t* error, void* text) {
  auto& out = *static_cast<std::string*>(text);
  if (out.empty() && error->desc != nullptr) out = error->desc;
  return 0;
}

/// Starts the HDF5 library. It reads the environment only now.
void start_library(const char* locking) {
  setenv("HDF5_USE_FILE_LOCKING", locking, 1);
  H5dont_atexit();
  if (H5open() < 0) throw Failure{hdf5_protocol::kUnsupported, "the HDF5 library does not start"};
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
  H5Lunregister(H5L_TYPE_EXTERNAL);
  register_lzf();
}

hid_t open_with(hid_t plist, const std::string& path, Access access) {
  switch (access) {
    case Access::kCreate:
      return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, plist);
    case Access::kAppend:
      return H5Fopen(path.c_str(), H5F_ACC_RDWR, plist);
    case Access::kRead:
      break;
  }
  return H5Fopen(path.c_str(), H5F_ACC_RDONLY, plist);
}

/// A file, or the error from opening it. The error is stored at once, because any later call to the
/// library clears it, even one that closes an id.
struct Opened {
  Handle file;
  std::string error;
};

Opened try_open(const std::string& path, Access access) {
  const Handle plist(H5Pcreate(H5P_FILE_ACCESS));
  // A file can ask for a driver that reads further files; force the plain POSIX driver instead.
  H5Pset_fapl_sec2(plist.get());
  const bool in_memory = path == kStandardInput || path == kStandardOutput;
  if (path == kStandardInput) use_standard_input(plist.get());
  if (path == kStandardOutput) use_memory(plist.get());
  Opened out{Handle(open_with(plist.get(), in_memory ? kMemoryName : path, access)), ""};
  if (!out.file.valid()) out.error = last_error();
  return out;
}

/// True if a file could not be opened because its file system has no locks; false if another
/// process has locked it, and for errors that are not about locks.
bool lock_is_impossible(const std::string& error) {
  return error.find("lock") != std::string::npos &&
         error.find("temporarily unavailable") == std::string::npos;
}

/// The system's message about a failed read or write, such as "No space left on device"; "" for
/// other errors. The HDF5 library hides it between descriptors, addresses and times.
std::string system_error(std::string_view error) {
  constexpr std::string_view kBefore = "error message = '";
  const std::size_t at = error.find(kBefore);
  if (at == std::string_view::npos) return "";
  error.remove_prefix(at + kBefore.size());
  return std::string(error.substr(0, error.find('\'')));
}

void open_no_more_files() {
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_NOFILE, &kNone);
}

}  // namespace

std::string last_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_text, &text);
  if (text.empty()) return "the HDF5 library gives no reason";
  if (text.find("bad version number") == std::string::npos) return text;
  return text +
         "; if a newer HDF5 wrote it, h5py writes what is read here: h5py.File('new.h5', 'w', "
         "libver=('earliest', 'v110'))['m'] = h5py.File('old.h5')['m'][()]";
}

void fail(const std::string& what) {
  const std::string text = last_error();
  const std::string system = system_error(text);
  if (!system.empty()) throw Failure{hdf5_protocol::kIo, "cannot " + what + ": " + system};
  throw Failure{hdf5_protocol::kFormat, "cannot " + what + ": " + text};
}

Handle checked(hid_t id, const std::string& what) {
  if (id < 0) fail(what);
  return Handle(id);
}

void check(herr_t status, const std::string& what) {
  if (status < 0) fail(what);
}

void prepare_library() {
  clearenv();  // removes HDF5_PLUGIN_PATH, HDF5_DRIVER and the like
  start_library("BEST_EFFORT");
}

Handle open_file(const std::string& path, Access access) {
  Opened opened = try_open(path, access);
  if (!opened.file.valid() && lock_is_impossible(opened.error)) {
    H5close();
    start_library("FALSE");
    opened = try_open(path, access);
  }
  if (!opened.file.valid()) {
    const char* what = access == Access::kCreate ? "create the file" : "open it as HDF5";
    throw Failure{hdf5_protocol::kFormat, std::string("cannot ") + what + ": " + opened.error};
  }
  open_no_more_files();
  return std::move(opened.file);
}

}  // namespace maskctl::hdf5
