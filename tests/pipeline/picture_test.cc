// Pictures as files, whose format the suffix of the name chooses.
#include "maskctl/pipeline/picture.h"

#include <string>
#include <tuple>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

Figure causal(Index n) {
  return {.name = "causal", .panels = {{.plane = diagonal_band(n, n, -kUnbounded, 0)}}};
}

}  // namespace

TEST_CASE("picture: the suffix of the name chooses the format", "[picture]") {
  CHECK(picture_format("a.png") == PictureFormat::kPng);
  CHECK(picture_format("a.b/c.SVG") == PictureFormat::kSvg);
  CHECK(picture_format("a.html") == PictureFormat::kHtml);
  CHECK(picture_format("a.htm") == PictureFormat::kHtml);
  CHECK_FALSE(is_picture_name("a.npy"));
  CHECK_FALSE(is_picture_name("png"));
  CHECK_FALSE(is_picture_name("-"));
  CHECK_THROWS_WITH(picture_format("a.jpg\n"),
                    "a.jpg\\x0a: pictures are .png, .svg or .html; give a name that ends in one");
}

TEST_CASE("picture: files begin as their format requires, and are replaced only with force",
          "[picture]") {
  const test::Scratch folder;
  const Figure figure = causal(50);
  for (const auto& [name, format, start] :
       {std::tuple{"m.png", PictureFormat::kPng, "\x89PNG"},
        std::tuple{"m.svg", PictureFormat::kSvg, "<svg "},
        std::tuple{"m.html", PictureFormat::kHtml, "<!DOCTYPE html>"}}) {
    const std::string path = folder / name;
    write_picture(path, figure);
    const std::string bytes = test::slurp(path);
    CHECK(bytes.starts_with(start));
    CHECK(bytes == picture_bytes(format, figure));
    CHECK_THROWS_AS(write_picture(path, figure), Error);
    PictureOptions grey;
    grey.palette = Palette::kGrey;
    write_picture(path, figure, grey, {.force = true});
    CHECK(test::slurp(path) != bytes);
  }
}

TEST_CASE("picture: a write that fails leaves no file", "[picture]") {
  const test::Scratch folder;
  Figure figure = causal(5);
  figure.panels.front().other = full_plane(4, 4);
  CHECK_THROWS_AS(write_picture(folder / "m.png", figure), Error);
  CHECK(folder.entries() == 0);
}

TEST_CASE("picture: the page of a simple mask of a million tokens is small", "[picture]") {
  CHECK(picture_bytes(PictureFormat::kHtml, causal(1000000)).size() < 100000);
}

}  // namespace maskctl
