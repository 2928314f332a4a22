// The request that the helper program was started with, and the verbs that answer it.
#pragma once

#include <string>

#include "app/hdf5/library.h"
#include "app/hdf5/memory_file.h"
#include "maskctl/base/index.h"

namespace maskctl::hdf5 {

struct Request {
  Index max_bytes = 0;
  Index seconds = 0;  // CPU seconds allowed between two calls of renew_time_limit()
  bool replace = false;
  std::string verb, file, dataset;

  /// The name of the file in messages: "-" for standard input.
  std::string display_name() const { return file == kStandardInput ? "-" : file; }
};

void list_objects(const Request& request);
void read_dataset(const Request& request);
void write_datasets(const Request& request, Access access);

/// Allows this process another `seconds` of CPU time from now on.
void renew_time_limit(Index seconds);

}  // namespace maskctl::hdf5
