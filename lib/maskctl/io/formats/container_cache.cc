#include "maskctl/io/formats/container_cache.h"

#include <utility>

namespace maskctl {
namespace {

bool is_unchanged(const struct stat& was, const struct stat& now) {
  return was.st_dev == now.st_dev && was.st_ino == now.st_ino && was.st_size == now.st_size &&
         was.st_mtim.tv_sec == now.st_mtim.tv_sec && was.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

}  // namespace

std::unique_ptr<Container> ContainerCache::take(const std::string& path, const struct stat& file,
                                                const ReadOptions& options) {
  const std::lock_guard lock(mutex_);
  const bool same =
      kept_ && kept_->path == path && kept_->options == options && is_unchanged(kept_->file, file);
  auto out = same ? std::move(kept_->container) : nullptr;
  if (same) kept_.reset();
  return out;
}

ContainerCache::Lease::Lease(ContainerCache& cache, std::string path, const ReadOptions& options)
    : cache_(&cache), path_(std::move(path)), options_(options) {
  const bool is_file = path_ != "-" && ::stat(path_.c_str(), &file_) == 0 && S_ISREG(file_.st_mode);
  if (is_file) container_ = cache.take(path_, file_, options);
  if (!container_) container_ = open_container(path_, options);
  // An array without a name is read while it is opened, and a pipe only once.
  if (!is_file || container_->holds_one_array()) cache_ = nullptr;
}

ContainerCache::Lease::~Lease() {
  if (!cache_) return;
  const std::lock_guard lock(cache_->mutex_);
  cache_->kept_.emplace(std::move(path_), file_, options_, std::move(container_));
}

}  // namespace maskctl
