#include "maskctl/attention/ring/on_devices.h"

#include "maskctl/attention/problems/backends.h"

namespace maskctl::attention {

void run_on_devices(Backend backend, Index ranks, const std::function<void(Communicator&)>& f) {
  const BackendRow& row = backend_row(backend);
  const Index devices = row.devices();
  run_ring(ranks, [&](Communicator& rank) {
    if (devices > 1) row.use_device(static_cast<int>(rank.rank() % devices));
    f(rank);
  });
}

}  // namespace maskctl::attention
