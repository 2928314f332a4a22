// Feeds mutated inputs to a fuzz target and checks its limits of time and memory. Needs no fuzzing
// engine.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"

// The sanitizer keeps freed memory in quarantine, where it still counts as used: so at most 16 MiB.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=16:max_allocation_size_mb=216:detect_leaks=0:abort_on_error=1";
}
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }
// Null in a build without the address sanitizer, which has signal handlers of its own and ends with
// SIGABRT.
extern "C" void __asan_init() __attribute__((weak));

namespace {

using maskctl::fuzz::Mutator;

// Seconds of wall-clock time: generous, since other programs may be running too.
constexpr unsigned kHangSeconds = 30;

constexpr const char* kUsage =
    "[--runs N | --seconds N] [--seed N] [--only N [--write FILE]] [--corpus FOLDER] [FILE...]\n"
    "  feeds the corpus and inputs made from it; with --only that one, with FILEs these alone\n";

struct Options {
  std::uint64_t runs = 20000, seed = 1;
  double seconds = 0;  // 0: stop after `runs` inputs
  std::string corpus = FUZZ_CORPUS, write;
  bool single = false;
  std::uint64_t only = 0;
  std::vector<std::string> files;
};

// The input that is running, for the message if the process dies.
std::uint64_t current_seed = 0, current_number = 0;
bool in_corpus = true;
std::uint64_t accepted = 0;  // inputs that the target read without an Error

void say_where() {
  char text[160];
  const int length =
      in_corpus ? std::snprintf(text, sizeof text, FUZZ_TARGET ": died at corpus file %llu\n",
                                static_cast<unsigned long long>(current_number))
                : std::snprintf(text, sizeof text,
                                FUZZ_TARGET ": died; again: fuzz_" FUZZ_TARGET
                                            " --seed %llu --only %llu\n",
                                static_cast<unsigned long long>(current_seed),
                                static_cast<unsigned long long>(current_number));
  [[maybe_unused]] const auto written = write(2, text, static_cast<std::size_t>(length));
}

void on_signal(int number) {
  say_where();
  signal(number, SIG_DFL);
  raise(number);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

maskctl::Index peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return maskctl::Index{usage.ru_maxrss} * 1024;
}

/// Runs the target on one input. Returns what went wrong: an exception, or too much time or memory;
/// empty when all is well.
std::string fault_of(const std::string& input, maskctl::Index base_bytes) {
  const double start = cpu_seconds();
  alarm(kHangSeconds);
  std::string fault;
  try {
    const auto* data = reinterpret_cast<const std::uint8_t*>(input.data());
    accepted += LLVMFuzzerTestOneInput(data, input.size()) == 0 ? 1 : 0;
  } catch (const std::exception& error) {
    fault = std::string("threw ") + error.what();
  } catch (...) {
    fault = "threw something";
  }
  alarm(0);
  const double seconds = cpu_seconds() - start;
  if (fault.empty() && seconds > maskctl::fuzz::kMaxSeconds) {
    fault = "took " + std::to_string(seconds) + " s";
  }
  const maskctl::Index grown = peak_bytes() - base_bytes;
  if (fault.empty() && grown > maskctl::fuzz::kMaxBytes + maskctl::fuzz::kSpareBytes) {
    fault = "took " + std::to_string(grown >> 20) + " MiB";
  }
  return fault;
}

template <typename T>
bool number(const char* text, T& out) {
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), out);
  return error == std::errc() && *end == 0;
}

bool parse(int argc, char** argv, Options& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) {
      out.files.push_back(name);
      continue;
    }
    if (++i == argc) return false;
    if (name == "--only") out.single = true;
    const bool good = name == "--runs"      ? number(argv[i], out.runs)
                      : name == "--seconds" ? number(argv[i], out.seconds)
                      : name == "--seed"    ? number(argv[i], out.seed)
                      : name == "--only"    ? number(argv[i], out.only)
                      : name == "--corpus"  ? (out.corpus = argv[i], true)
                      : name == "--write"   ? (out.write = argv[i], true)
                                            : false;
    if (!good) return false;
  }
  return true;
}

std::vector<std::string> sorted_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int failed(const std::string& what, const std::string& fault) {
  std::printf(FUZZ_TARGET ": FAILED at %s: %s\n", what.c_str(), fault.c_str());
  return 1;
}

int run(const Options& options) {
  const bool given = !options.files.empty();
  std::vector<std::string> corpus;
  const auto files = given ? options.files : sorted_files(options.corpus);
  const maskctl::Index base = peak_bytes();
  for (const std::string& file : files) {
    corpus.push_back(content(file));
    current_number = corpus.size();
    if (options.single) continue;
    const std::string fault = fault_of(corpus.back(), base);
    if (!fault.empty()) return failed(file, fault);
  }
  if (given) return 0;
  if (accepted == 0 && !options.single) return failed(options.corpus, "nothing there can be read");

  accepted = 0;
  in_corpus = false;
  current_seed = options.seed;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::uint64_t n = options.single ? options.only : 0;
  const std::uint64_t end = options.single        ? n + 1
                            : options.seconds > 0 ? ~std::uint64_t{0}
                                                  : options.runs;
  for (; n < end; ++n) {
    if (options.seconds > 0 && !options.single && elapsed() > options.seconds) break;
    current_number = n;
    const std::string input = Mutator(corpus, options.seed, n).input();
    if (!options.write.empty()) std::ofstream(options.write, std::ios::binary) << input;
    const std::string fault = fault_of(input, base);
    if (!fault.empty()) {
      return failed("--seed " + std::to_string(options.seed) + " --only " + std::to_string(n),
                    fault);
    }
  }
  std::printf(FUZZ_TARGET ": %llu inputs, %llu of them read, %.1f s, %lld MiB at most, ok\n",
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(accepted),
              elapsed(), static_cast<long long>((peak_bytes() - base) >> 20));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s %s", argv[0], kUsage);
    return 2;
  }
  maskctl::set_threads(1);
  for (const int number : {SIGALRM, SIGABRT}) signal(number, on_signal);
  if (__asan_init == nullptr) {
    for (const int number : {SIGBUS, SIGFPE, SIGSEGV}) signal(number, on_signal);
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    return failed("start", error.what());
  }
}
