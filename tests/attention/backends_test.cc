// Tests which backend runs a kernel, and the threads, memory and stop request of a call.
#include "maskctl/attention/problems/backends.h"

#include <algorithm>
#include <atomic>

#include "attention/arrays.h"
#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/run.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace backends_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::attention_test;

struct Arrays {
  explicit Arrays(Index tokens, Index heads = 2) {
    Random r(3);
    query = r.normal({1, tokens, heads, 16});
    key = r.normal({1, tokens, heads, 16}), value = r.normal({1, tokens, heads, 16});
  }
  SoftmaxInputs inputs() const { return {&query, &key, &value}; }
  SoftmaxProblem problem() const { return checked_softmax(inputs(), {}); }
  Tensor query, key, value;
};

bool equal_bits(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw;
}

/// A causal plane that requests a stop as soon as one of its rows is read.
class StoppingPlane final : public Plane {
 public:
  StoppingPlane(Index tokens, std::stop_source& stop) : Plane(tokens, tokens), stop_(stop) {}
  void rows(Range q, const RowSink& sink) const override {
    stop_.request_stop();
    rows_read_ += q.size();
    for (Index i = q.begin; i < q.end; ++i) {
      const Run run{0, static_cast<std::int32_t>(i + 1)};
      sink({i, i + 1}, {{&run, 1}, {}});
    }
  }
  Index bytes() const override { return 0; }
  Index rows_read() const { return rows_read_; }

 private:
  std::stop_source& stop_;
  mutable std::atomic<Index> rows_read_{0};
};

/// A backend with a single kernel, softmax_forward, for calls of up to 8 queries.
constexpr Kernels kSmall{
    .softmax_forward = {[](const SoftmaxProblem&, const SoftmaxOutputs&, const Context&) {},
                        [](const SoftmaxProblem& p) {
                          return std::string(p.d.queries > 8 ? "more than 8 queries" : "");
                        }}};

const BackendRow& chosen(std::span<const BackendRow> rows, const Context& context,
                         const SoftmaxProblem& problem) {
  return choose_backend(rows, context, "softmax_forward", &Kernels::softmax_forward, problem);
}

}  // namespace

TEST_CASE("every backend has a table row; the reference, which runs everything, is the last") {
  for (const Backend backend : {Backend::kCpu, Backend::kReference}) {
    CHECK(backend_row(backend).backend == backend);
    CHECK(backend_from_name(name(backend)) == backend);
  }
  CHECK(name(Backend::kCpu) == "cpu");
  CHECK_FALSE(backend_from_name("abacus"));
  CHECK(error_of([] { backend_row(static_cast<Backend>(77)); }).code() == Errc::kUnsupported);
  const BackendRow& reference = backends().back();
  CHECK(reference.is_reference);
  const auto& [forward, backward, weights, ring, d_ring, mla, d_mla, paged, blocks, d_blocks,
               select, product] = *reference.kernels;
  CHECK((forward.run && backward.run && weights.run && paged.run && blocks.run && d_blocks.run));
  CHECK((select.run && product.run));
  // The reference computes rings and latent attention with its other kernels.
  CHECK_FALSE((ring.run || d_ring.run || mla.run || d_mla.run));
}

TEST_CASE(
    "if a backend lacks or refuses a kernel, the next one runs it, and the reason is reported") {
  const BackendRow& reference = backend_row(Backend::kReference);
  const std::array rows{BackendRow{Backend::kCpu, "small", &kSmall}, reference};
  std::vector<std::string> lines;
  const Context context{.fallback = [&](const std::string& line) { lines.push_back(line); }};
  const SoftmaxProblem few = Arrays(8).problem(), many = Arrays(9).problem();
  CHECK(chosen(rows, context, few).name == "small");
  CHECK(lines.empty());
  CHECK(chosen(rows, context, many).name == "reference");
  CHECK(lines == std::vector<std::string>{
                     "softmax_forward: reference instead of small: more than 8 queries"});
  choose_backend(rows, context, "softmax_weights", &Kernels::softmax_weights, few);
  CHECK(lines.back() == "softmax_weights: reference instead of small: it has no such kernel");
}

TEST_CASE("a refused call is an error without a fallback callback, and at the last backend") {
  const std::array rows{BackendRow{Backend::kCpu, "small", &kSmall},
                        backend_row(Backend::kReference)};
  const SoftmaxProblem many = Arrays(9).problem();
  const Error unheard = error_of([&] { chosen(rows, {}, many); });
  CHECK(unheard.code() == Errc::kUnsupported);
  CHECK(std::string(unheard.what()) ==
        "softmax_forward cannot run on small: more than 8 queries; ask for reference");
  const Context context{.fallback = [](const std::string&) { FAIL("there is no other"); }};
  const Error last = error_of([&] { chosen(std::span(rows).first(1), context, many); });
  CHECK(std::string(last.what()) ==
        "softmax_forward cannot run on small: more than 8 queries; no other backend can");
}

TEST_CASE("a backend whose device is missing refuses every kernel with the reason") {
  const BackendRow absent{Backend::kCpu, "absent", backend_row(Backend::kCpu).kernels,
                          [] { return std::string("no device was found"); }};
  const SoftmaxProblem problem = Arrays(4).problem();
  CHECK(refusal(absent, &Kernels::softmax_forward, problem) == "no device was found");
  CHECK(refusal(backend_row(Backend::kCpu), &Kernels::softmax_forward, problem).empty());
}

TEST_CASE("a call uses the threads and the buffer pool of its context") {
  const Arrays arrays(700);
  const SoftmaxProblem problem = arrays.problem();
  const SoftmaxResult expected = softmax_forward(problem, {});
  const Tensor d_out = expected.out;
  const SoftmaxGradients gradients = softmax_backward(problem, expected, d_out, nullptr, {});
  const auto pool = std::make_shared<BufferPool>();
  for (const int count : {1, 3}) {
    const Context context{.threads = count, .scratch = pool};
    const SoftmaxResult seen = softmax_forward(problem, context);
    CHECK(equal_bits(seen.out, expected.out));
    CHECK(equal_bits(softmax_backward(problem, expected, d_out, nullptr, context).key,
                     gradients.key));
  }
  CHECK(WorkScope::threads() == 0);
}

TEST_CASE("large scratch buffers are taken from the pool of the context") {
  const Arrays arrays(6000, 1);  // keys and values of a head take more than 1 MiB
  const auto pool = std::make_shared<BufferPool>();
  const SoftmaxResult result = softmax_forward(arrays.problem(), {.threads = 1, .scratch = pool});
  CHECK(pool->kept() > 0);
  CHECK(result.out.elements() == 6000 * 16);
}

TEST_CASE("a stopped call throws at once") {
  const Arrays arrays(200);
  std::stop_source stop;
  stop.request_stop();
  for (const Backend backend : {Backend::kCpu, Backend::kReference}) {
    const Context context{.backend = backend, .stop = stop.get_token()};
    CHECK(error_of([&] { softmax_forward(arrays.problem(), context); }).code() == Errc::kCancelled);
  }
}

TEST_CASE("a stop request ends a forward or backward pass early, and frees its buffers") {
  const Index tokens = 4000;
  const Arrays arrays(tokens, 1);
  const SoftmaxResult whole{Tensor(DType::kFloat32, {1, tokens, 1, 16}),
                            Tensor(DType::kFloat32, {1, 1, tokens})};
  const auto pool = std::make_shared<BufferPool>();
  // There is one thread and few tasks, so a stop must be noticed between the query blocks of a
  // task.
  const auto rows_until_stop = [&](const auto& work) {
    std::stop_source stop;
    const auto plane = std::make_shared<StoppingPlane>(tokens, stop);
    const Mask mask(plane);
    SoftmaxInputs inputs = arrays.inputs();
    inputs.mask = &mask;
    const Context context{.threads = 1, .scratch = pool, .stop = stop.get_token()};
    const Error error = error_of([&] { work(checked_softmax(inputs, {}), context); });
    CHECK(error.code() == Errc::kCancelled);
    return plane->rows_read();
  };
  CHECK(rows_until_stop([](const auto& p, const Context& c) { softmax_forward(p, c); }) < 1000);
  CHECK(rows_until_stop([&](const auto& p, const Context& c) {
          softmax_backward(p, whole, whole.out, nullptr, c);
        }) < 1000);
  // A call after the stopped ones gives its usual result.
  const Arrays few(50);
  CHECK(equal_bits(softmax_forward(few.problem(), {.scratch = pool}).out,
                   softmax_forward(few.inputs()).out));
}

TEST_CASE("ranks of a ring have the thread limit of their caller") {
  std::atomic<int> with{0};
  const WorkScope scope({.threads = 3});
  run_ring(4, [&](Communicator&) { with += threads() == 3; });
  CHECK(with == 4);
}

}  // namespace backends_cases
