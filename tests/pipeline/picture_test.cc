// Pictures as files, by the suffix of their name.
#include "maskctl/pipeline/picture.h"

#include <filesystem>
#include <fstream>

#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

PictureInput causal(Index n) {
  PictureInput input;
  input.plane = diagonal_band(n, n, -kUnbounded, 0);
  input.name = "causal";
  return input;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "picture_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("picture: the suffix chooses the format", "[picture]") {
  CHECK(picture_format("a.png") == PictureFormat::kPng);
  CHECK(picture_format("a.b/c.SVG") == PictureFormat::kSvg);
  CHECK(picture_format("a.html") == PictureFormat::kHtml);
  CHECK(picture_format("a.htm") == PictureFormat::kHtml);
  CHECK_FALSE(is_picture_name("a.npy"));
  CHECK_FALSE(is_picture_name("png"));
  CHECK_FALSE(is_picture_name("-"));
  CHECK_THROWS_WITH(picture_format("a.jpg\n"),
                    "a.jpg?: pictures are .png, .svg or .html; give a name that ends in one");
}

TEST_CASE("picture: files hold the bytes of their format and replace only when told", "[picture]") {
  const Folder folder;
  const PictureInput input = causal(50);
  for (const auto& [name, format, start] :
       {std::tuple{"m.png", PictureFormat::kPng, "\x89PNG"},
        std::tuple{"m.svg", PictureFormat::kSvg, "<svg "},
        std::tuple{"m.html", PictureFormat::kHtml, "<!DOCTYPE html>"}}) {
    const auto path = folder.path / name;
    write_picture(path.string(), input);
    const std::string bytes = content(path);
    CHECK(bytes.starts_with(start));
    CHECK(bytes == picture_bytes(format, input));
    CHECK_THROWS_AS(write_picture(path.string(), input), Error);
    PictureOptions grey;
    grey.palette = Palette::kGrey;
    write_picture(path.string(), input, grey, {.force = true});
    CHECK(content(path) != bytes);
  }
}

TEST_CASE("picture: a picture that fails leaves no file behind", "[picture]") {
  const Folder folder;
  PictureInput input = causal(5);
  input.other = full_plane(4, 4);
  CHECK_THROWS_AS(write_picture((folder.path / "m.png").string(), input), Error);
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("picture: pages hold rectangles of small masks and pixels of large ones", "[picture]") {
  const std::string small = picture_bytes(PictureFormat::kHtml, causal(200));
  CHECK(small.find("<svg ") != std::string::npos);
  CHECK(small.find("data:image/png") == std::string::npos);
  const std::string large = picture_bytes(PictureFormat::kHtml, causal(1000000));
  CHECK(large.find("<svg ") == std::string::npos);
  CHECK(large.find("data:image/png;base64,iVBOR") != std::string::npos);
  CHECK(large.size() < 200000);
}

}  // namespace maskctl
