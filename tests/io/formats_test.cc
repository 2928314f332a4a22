// The table of file formats: each row is right about the files that it writes.
#include "maskctl/io/formats/formats.h"

#include <algorithm>

#include "io/array_support.h"
#include "maskctl/base/text.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

std::vector<std::string> suffixes_of(const FileFormat& format) {
  std::vector<std::string> out;
  for (const std::string_view suffix : format.suffixes) {
    if (!suffix.empty()) out.emplace_back(suffix);
  }
  return out;
}

}  // namespace

TEST_CASE("formats: the suffix of a name decides the format that is written") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt16, {2, 3});
  for (const FileFormat* format : kFileFormats) {
    for (const std::string& suffix : suffixes_of(*format)) {
      const std::string path = scratch / ("m" + suffix);
      INFO(path);
      CHECK(parse_dest_name(path).format == format);
      write_array(path, tensor);
      ByteSource source(path);
      CHECK(look_at(source).format == format);
      CHECK(open_container(std::move(source), {})->holds_one_array() != format->is_container());
      CHECK(text_of(read_array(path).bytes()) == text_of(tensor.bytes()));
      const auto packed = [&] { write_array(path, tensor, {.force = true, .gzip = 1}); };
      CHECK((error_of(packed) == "no error") == format->compresses);
    }
  }
}

TEST_CASE("formats: containers list their arrays, and arrays can be added") {
  const Scratch scratch;
  const Tensor numbers = counting(DType::kInt16, {2, 3}), flags = counting(DType::kBool, {4});
  for (const FileFormat* format : kFileFormats) {
    if (!format->is_container()) continue;
    const std::string path = (scratch / "m") + std::string(format->suffixes[0]);
    INFO(path);
    const ArrayRef first{"a", &numbers}, second{"b", &flags};
    write_arrays(path, {&first, 1});
    write_arrays(path, {&second, 1}, {.append = true});
    const auto outline = open_container(ByteSource(path), {})->outline();
    REQUIRE(outline.arrays.size() == 2);
    CHECK(outline.arrays[0].name.ends_with("a"));
    CHECK(outline.arrays[0].dtype == "int16");
    CHECK(outline.arrays[0].shape == numbers.shape());
    CHECK(outline.arrays[1].name.ends_with("b"));
    CHECK(outline.arrays[1].dtype == "bool");
    CHECK(outline.notes.empty());
  }
}

TEST_CASE("formats: writing one named array changes no other array") {
  const Scratch scratch;
  const Tensor numbers = counting(DType::kInt16, {2, 3}), flags = counting(DType::kBool, {4});
  for (const FileFormat* format : kFileFormats) {
    if (!format->is_container()) continue;
    const std::string path = (scratch / "m") + std::string(format->suffixes[0]);
    INFO(path);
    const auto same = [&](const std::string& name, const Tensor& tensor) {
      return text_of(read_array(path + ":/" + name).bytes()) == text_of(tensor.bytes());
    };
    write_array(path + ":/a", numbers);
    write_array(path + ":/b", flags);
    CHECK((same("a", numbers) && same("b", flags)));
    const auto again = [&] { write_array(path + ":/a", flags); };
    CHECK(error_of(again) == path + ": already holds an array '/a'");
    CHECK(offers(Remedy::kOverwrite, again));
    write_array(path + ":/a", flags, {.force = true});
    CHECK((same("a", flags) && same("b", flags)));

    const auto whole = [&] { write_array(path, numbers); };
    CHECK(contains(error_of(whole), " exists and holds 2 arrays (/"));
    CHECK(offers(Remedy::kOverwrite, whole));
    CHECK(error_of([&] { check_dest(path, {}); }) == error_of(whole));
    CHECK(error_of([&] { check_dest(path + ":/c", {}); }) == "no error");

    const auto content = dest_content(path + ":/b");
    REQUIRE((content && content->named));
    CHECK(content->arrays.size() == 2);
    CHECK(content->named->shape == flags.shape());
    CHECK_FALSE(dest_content(path + ":/c")->named);

    CHECK(contains(
        error_of([&] { write_array(path + ":/c", flags, {.append = true, .replace_file = true}); }),
        "keeps no arrays"));
    const auto nameless = [&] { write_array(path + ":", numbers, {.force = true}); };
    CHECK(error_of(nameless) ==
          path + ":: an empty name after the colon; name the array, or the file without the colon");
    CHECK(dest_content(path)->arrays.size() == 2);
    write_array(path + ":/c", numbers, {.replace_file = true});
    CHECK(dest_content(path)->arrays.size() == 1);
    CHECK(same("c", numbers));
  }
  CHECK_FALSE(dest_content(scratch / "none.npz"));
}

TEST_CASE("formats: replacing a name replaces its array and all arrays below it") {
  const Scratch scratch;
  const Tensor numbers = counting(DType::kInt16, {2, 3}), flags = counting(DType::kBool, {4});
  const std::vector<ArrayRef> pair{{"q", &numbers}, {"sub/kv", &flags}};
  for (const FileFormat* format : kFileFormats) {
    if (!format->is_container()) continue;
    const std::string path = (scratch / "m") + std::string(format->suffixes[0]);
    INFO(path);
    const auto names = [&] {
      std::vector<std::string> out;
      const auto content = dest_content(path);
      for (const auto& array : content->arrays) out.push_back(array.name);
      std::ranges::sort(out);
      return joined(out, " ");
    };
    write_array(path + ":/a", numbers);
    write_array(path + ":/ab", numbers);
    write_array(path + ":/g/x", numbers);
    write_array(path + ":/g/y", numbers);

    const auto several = [&] { write_arrays(path + ":/a", pair); };
    CHECK(error_of(several) == path + ": already holds an array '/a'");
    CHECK(offers(Remedy::kOverwrite, several));
    write_arrays(path + ":/a", pair, {.force = true});
    CHECK(names() == "/a/q /a/sub/kv /ab /g/x /g/y");

    write_array(path + ":/a/sub/old", flags);
    CHECK(contains(error_of(several), "already holds a"));
    write_arrays(path + ":/a", pair, {.force = true});
    CHECK(names() == "/a/q /a/sub/kv /ab /g/x /g/y");

    const auto one = [&] { write_array(path + ":/a", flags); };
    CHECK(contains(error_of(one), "already holds a"));
    CHECK(offers(Remedy::kOverwrite, one));
    write_array(path + ":/a", flags, {.force = true});
    write_array(path + ":/g/x", flags, {.force = true});
    CHECK(names() == "/a /ab /g/x /g/y");
    CHECK(text_of(read_array(path + ":/a").bytes()) == text_of(flags.bytes()));
  }
}

TEST_CASE("formats: a name that is not UTF-8 is refused in an .npz and in safetensors") {
  const Scratch scratch;
  for (const std::string suffix : {".npz", ".safetensors"}) {
    const std::string path = scratch / ("m" + suffix);
    CHECK(contains(error_of([&] { write_array(path + ":\xFF", counting(DType::kBool, {4})); }),
                   "'\\xff' cannot name a"));
    CHECK_FALSE(std::filesystem::exists(path));
    write_array(path + ":\xC3\xA9", counting(DType::kBool, {4}));
  }
}

TEST_CASE("formats: arrays cannot be added to a file of another format") {
  const Scratch scratch;
  spit(scratch / "m.npz", "text");
  const auto add = [&] { write_array((scratch / "m.npz") + ":a", counting(DType::kBool, {4})); };
  CHECK(contains(error_of(add), "it looks like text; adding arrays needs an .npz"));
  CHECK(offers(Remedy::kReplaceFile, add));
  CHECK(slurp(scratch / "m.npz") == "text");
}

TEST_CASE("formats: messages list all formats") {
  CHECK(formats_text([](const FileFormat& format) { return format.name; }) ==
        ".npy, .npz, .safetensors or HDF5");
  CHECK(formats_text([](const FileFormat& format) -> std::string_view {
          return format.compresses ? format.suffixes[0] : "";
        }) == ".npz or .h5");
}

TEST_CASE("formats: an array that is written in parts must be complete, in every format") {
  const Scratch scratch;
  const Tensor tensor = counting(DType::kInt16, {4, 5});
  for (const FileFormat* format : kFileFormats) {
    const std::string path = (scratch / "m") + std::string(format->suffixes[0]);
    INFO(path);
    const auto writer = array_writer(path, DType::kInt16, {4, 5}, {}, 1 << 20);
    writer->write(tensor.bytes().first(20));
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(contains(error_of([&] { writer->commit(); }), "fewer"));
    CHECK_FALSE(std::filesystem::exists(path));
  }
}
