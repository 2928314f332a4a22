// Catch2 2.13 (Debian 12) and 3 with one spelling.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
namespace Catch {
using Catch::Detail::Approx;
}
#endif
