// Lets tests use the names of Catch2 3 with Catch2 2.13 (Debian 12) too.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
namespace Catch {
using Catch::Detail::Approx;
}
#endif
