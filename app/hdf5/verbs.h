// What the helper can do with a file.
#pragma once

#include <string>

#include "app/hdf5/library.h"
#include "app/hdf5/memory_file.h"
#include "maskctl/base/index.h"

namespace maskctl::hdf5 {

struct Request {
  Index max_bytes = 0;
  Index seconds = 0;  // of computing allowed between two signs of progress
  bool replace = false;
  std::string verb, file, dataset;

  /// The name in messages: standard input is "-".
  std::string display_name() const { return file == kStandardInput ? "-" : file; }
};

void list_objects(const Request& request);
void read_dataset(const Request& request);
void write_datasets(const Request& request, Access access);

/// Allows another `seconds` of computing.
void renew_time_limit(Index seconds);

}  // namespace maskctl::hdf5
