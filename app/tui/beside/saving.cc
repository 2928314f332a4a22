#include "app/tui/beside/saving.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"

namespace maskctl::app::tui {

std::string being_written(const FileAsked& file) {
  return fmt::format("{} is being written", printable(file.name));
}

bool Saving::follow(FileAsked* file, Time end) {
  if (!file) {
    work_.stop();
    return false;
  }
  const auto written = work_.follow(file->write, end, [&] {
    fraction_ = 0;
    return [this, write = file->write] {
      (*write)([this](double fraction) { fraction_ = fraction; });
      return true;
    };
  });
  file->fraction = fraction_;
  return written.has_value();
}

}  // namespace maskctl::app::tui
