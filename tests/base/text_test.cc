// Tests of splitting text and of reading numbers from text.
#include "maskctl/base/text.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "maskctl/base/grouped.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using Parts = std::vector<std::string_view>;

TEST_CASE("split returns one part more than there are separators, also empty parts") {
  CHECK(split("3+5+7", '+') == Parts{"3", "5", "7"});
  CHECK(split("35", '+') == Parts{"35"});
  CHECK(split("", '+') == Parts{""});
  CHECK(split("+", '+') == Parts{"", ""});
  CHECK(split("+3++5+", '+') == Parts{"", "3", "", "5", ""});
}

TEST_CASE("split returns views of the text") {
  const std::string_view text = "ab:c";
  CHECK(split(text, ':')[1].data() == text.data() + 3);
}

TEST_CASE("number_from refuses text before or after the number") {
  CHECK(number_from<int>("12") == 12);
  CHECK(number_from<int>("-12") == -12);
  CHECK(number_from<double>("2.5e3") == 2500.0);
  for (const std::string_view text : {"", "-", "+1", " 1", "1 ", "1x", "x", "0x1", "1.5"}) {
    CAPTURE(text);
    CHECK_FALSE(number_from<int>(text));
  }
}

TEST_CASE("number_from refuses numbers that its type cannot hold") {
  CHECK(number_from<std::int64_t>("9223372036854775807") ==
        std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(number_from<std::int64_t>("9223372036854775808"));
  CHECK(number_from<std::uint64_t>("18446744073709551615") ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(number_from<std::uint64_t>("-1"));
  CHECK_FALSE(number_from<double>("1e999"));
  CHECK(std::isinf(number_from<double>("inf").value_or(0)));
}

}  // namespace
TEST_CASE("whole_number_from reads numbers as people write large ones") {
  const auto [text, value] = GENERATE(table<std::string, Index>({
      {"0", 0},
      {"-7", -7},
      {"1_000_000", 1'000'000},
      {"1e6", 1'000'000},
      {"2E3", 2000},
      {"64k", 64'000},
      {"64K", 64'000},
      {"128Ki", 131'072},
      {"1M", 1'000'000},
      {"1Mi", 1 << 20},
      {"3G", 3'000'000'000},
      {"-2Ki", -2048},
      {"9223372036854775807", INT64_MAX},
  }));
  CHECK(whole_number_from(text) == value);
}

TEST_CASE("whole_number_from refuses other texts") {
  const std::string text =
      GENERATE("", "-", "_1", "1_", "1__0", "1e", "e3", "1e-3", "1e+3", "1e19", "1.5", "1.5M", "k",
               "1kk", "1ki", "0x10", " 1", "1 ", "+1", "9223372036854775808", "10000000000Gi");
  CHECK_FALSE(whole_number_from(text));
}

TEST_CASE("counted() uses the singular for 1 only") {
  CHECK(counted(1, "query", "queries") == "1 query");
  CHECK(counted(2, "query", "queries") == "2 queries");
  CHECK(counted(0, "cell") == "0 cells");
  CHECK(counted(12345, "cell") == "12,345 cells");
}

TEST_CASE("long numbers are written in groups of three digits") {
  const auto slow = [](Index n) {
    std::string digits = std::to_string(n < 0 ? -n : n), out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (digits.size() > 4 && i > 0 && (digits.size() - i) % 3 == 0) out += ',';
      out += digits[i];
    }
    return (n < 0 ? "-" : "") + out;
  };
  for (Index n = 1; n < INT64_MAX / 11; n *= 10) {
    for (const Index near : {n - 1, n, n + 1, 7 * n + 3, -n, 1 - n})
      CHECK(grouped(near) == slow(near));
  }
  CHECK(grouped(INT64_MAX) == "9,223,372,036,854,775,807");
}

}  // namespace maskctl
