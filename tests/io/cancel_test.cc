// Reading and writing end soon after a stop request, and leave no file behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "io/mask_files.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;
using namespace maskctl::test;

/// The error code of a call that is asked to stop while it runs.
template <typename F>
Errc stopped(const F& run) {
  std::stop_source source;
  const std::jthread request([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    source.request_stop();
  });
  const WorkScope scope({.stop = source.get_token()});
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::kIo;
}

TEST_CASE("cancel: stopped reads and writes leave no file", "[cancel]") {
  const Folder folder;
  const std::string name = GENERATE("m.npy", "m.npz", "m.safetensors", "m.h5");
  const Mask mask(dilated(2048, 2048, 3, 0));
  std::stop_source source;
  const auto halfway = [&source](double fraction) {
    if (fraction > 0.3) source.request_stop();
  };
  const auto within = [&source](const auto& run) {
    const WorkScope scope({.stop = source.get_token()});
    try {
      run();
    } catch (const Error& error) {
      return error.code() == Errc::kCancelled;
    }
    return false;
  };
  MaskWriteOptions write;
  write.progress = halfway;
  CHECK(within([&] { write_mask(folder / name, mask, write); }));
  CHECK(folder.entries() == 0);
  write_mask(folder / name, mask);
  // Reading may have ended before a request in its middle, so the request comes first.
  REQUIRE(source.stop_requested());
  MaskReadOptions read;
  read.as = ArrayKind::kDense;
  CHECK(within([&] { read_mask(folder / name, read); }));
  CHECK(differing_cells(read_mask(folder / name).mask, mask) == 0);
}

TEST_CASE("cancel: a stopped write leaves an existing file unchanged", "[cancel]") {
  const Folder folder;
  const std::string path = folder / GENERATE("m.npy", "m.npz", "m.safetensors", "m.h5");
  write_array(path, bool_tensor({2, 2}, {1, 0, 1, 1}));
  const std::string before = slurp(path);
  std::stop_source source;
  source.request_stop();
  const Tensor other(DType::kFloat32, {1000});
  const auto overwrite = [&] {
    const WorkScope scope({.stop = source.get_token()});
    write_array(path, other, {.force = true});
  };
  CHECK_THROWS_AS(overwrite(), Error);
  CHECK(slurp(path) == before);
  CHECK(folder.entries() == 1);
  write_array(path, other, {.force = true});
  CHECK(read_array(path).elements() == 1000);
}

TEST_CASE("cancel: a stop request ends the wait for a pipe", "[cancel]") {
  const Folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int writer = open(path.c_str(), O_RDWR);  // open for writing, but never writes
  REQUIRE(writer >= 0);
  CHECK(stopped([&] { read_array(path); }) == Errc::kCancelled);
  close(writer);
}

TEST_CASE("cancel: a stop request ends the wait for the HDF5 helper, and the helper", "[cancel]") {
  const Folder folder;
  write_array(folder / "a.h5", bool_tensor({2}, {1, 0}));
  const std::string helper = folder / "helper";
  const std::string pid_file = folder / "pid";
  spit(helper, "#!/bin/sh\necho $$ >" + pid_file + "\nexec sleep 1000\n");
  std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
  set_hdf5_helper(helper);
  spit(pid_file, "");
  const auto wait_for_start = [&] {
    while (!slurp(pid_file).ends_with('\n'))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::stop_source source;
  {
    const std::jthread request([&] {
      wait_for_start();
      source.request_stop();
    });
    const WorkScope scope({.stop = source.get_token()});
    CHECK(error_of([&] { read_array(folder / "a.h5"); }) == "stopped as requested");
  }
  CHECK(::kill(std::stoi(slurp(pid_file)), 0) != 0);
  set_hdf5_helper("");
  CHECK(read_array(folder / "a.h5").elements() == 2);
}

}  // namespace
