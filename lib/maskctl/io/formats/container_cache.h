// Keeps the container that was read last open, so that a caller can read its arrays one after
// another.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "maskctl/io/formats/container.h"

namespace maskctl {

/// The directory of a container with many arrays is read once, not once for each array.
/// Thread-safe: a container is used by one reader at a time.
class ContainerCache {
 public:
  /// A container to read from, which goes back to the cache at the end.
  class Lease {
   public:
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Container& operator*() const { return *container_; }
    Container* operator->() const { return container_.get(); }

   private:
    friend class ContainerCache;
    Lease(ContainerCache& cache, std::string path, const ReadOptions& options);

    ContainerCache* cache_;  // null for what cannot be read twice
    std::string path_;
    struct stat file_ {};
    ReadOptions options_;
    std::unique_ptr<Container> container_;
  };

  /// Like open_container() for a path or "-", or the container that is kept, if it is of this file
  /// and the file has not been replaced or changed.
  Lease open(std::string path, const ReadOptions& options) {
    return {*this, std::move(path), options};
  }

 private:
  struct Kept {
    std::string path;
    struct stat file {};
    ReadOptions options;
    std::unique_ptr<Container> container;
  };

  /// Takes the kept container if it is of this file; null otherwise.
  std::unique_ptr<Container> take(const std::string& path, const struct stat& file,
                                  const ReadOptions& options);

  std::mutex mutex_;  // guards kept_
  std::optional<Kept> kept_;
};

}  // namespace maskctl
