// Pipelines loaded from arguments and files.
#include "maskctl/pipeline/load.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "maskctl/mask/steps/chain_text.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

/// A file that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("maskctl_load_test_" + std::to_string(std::random_device{}()))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string arg() const { return "@" + path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("an argument is the text of a pipeline, or names a file with the text") {
  CHECK(pipeline_text("causal | not") == "causal | not");
  const TemporaryFile file("causal # past only\n| window:keys=2\n");
  CHECK(pipeline_text(file.arg()) == "causal # past only\n| window:keys=2\n");
  CHECK(pipeline_text(TemporaryFile("\xEF\xBB\xBFnot").arg()) == "not");
}

TEST_CASE("several arguments are joined in order") {
  const TemporaryFile file("window:keys=2\n| sinks:n=1\n");
  const std::string args[] = {"causal", file.arg(), "not | not"};
  const Chain chain = load_chain(args, test::context());
  CHECK(to_text(chain) == "causal | window:keys=2 | sinks:n=1 | not | not");
  CHECK(load_chain({}, test::context()).empty());
  const std::string blank[] = {"", "causal", " \t"};
  CHECK(to_text(load_chain(blank, test::context())) == "causal");
  const TemporaryFile empty("");
  const std::string no_steps[] = {empty.arg()};
  CHECK_THROWS_AS(load_chain(no_steps, test::context()), Error);
}

TEST_CASE("the error about a mistake shows the argument that contains it") {
  const std::string args[] = {"causal", "win dow"};
  CHECK(test::failure_of([&] { load_chain(args, test::context()); }) ==
        "pipeline: expected '|' or end, got 'd'\n  win dow\n      ^");
}

TEST_CASE("files that cannot be read are refused") {
  CHECK_THROWS_WITH(pipeline_text("@"), "'@' without a file name; write @FILE");
  CHECK_THROWS_WITH(pipeline_text("@/none/such"),
                    "/none/such: cannot read the pipeline: No such file or directory");
  CHECK_THROWS_WITH(pipeline_text("@/"), "/: cannot read the pipeline: Is a directory");
  CHECK_THROWS_WITH(pipeline_text("@/dev/zero"),
                    "/dev/zero: more than 1048576 bytes for the pipeline");
  const TemporaryFile largest(std::string(1 << 20, ' '));
  CHECK(pipeline_text(largest.arg()).size() == 1 << 20);
}

}  // namespace
}  // namespace maskctl
