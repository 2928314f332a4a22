// The verb "list": prints the objects of a file, and their attributes as text.
#include <array>
#include <cinttypes>
#include <cstdio>

#include "app/hdf5/dataset.h"
#include "app/hdf5/element.h"
#include "app/hdf5/objects.h"
#include "app/hdf5/streams.h"
#include "app/hdf5/verbs.h"

namespace maskctl::hdf5 {
namespace {

using hdf5_protocol::line;

constexpr hsize_t kMaxAttributeBytes = hsize_t{64} << 20U;
constexpr hsize_t kMaxShownNumbers = 1000;

void put(const std::vector<std::string>& fields) { write_output(line(fields)); }

std::string fixed_text(hid_t attribute, hid_t type) {
  std::string text(H5Tget_size(type), '\0');
  if (text.size() > kMaxAttributeBytes) return "string too long to show";
  check(H5Aread(attribute, type, text.data()), "read an attribute");
  return text.substr(0, text.find('\0'));
}

std::string variable_text(hid_t attribute, hid_t type) {
  char* text = nullptr;
  check(H5Aread(attribute, type, &text), "read an attribute");
  std::string out = text == nullptr ? "" : text;
  H5free_memory(text);
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return texts[0];
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return "[" + out + "]";
}

std::string integers_text(hid_t attribute, std::size_t count, bool is_signed) {
  std::vector<std::uint64_t> values(count);
  const hid_t type = is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  check(H5Aread(attribute, type, values.data()), "read an attribute");
  std::vector<std::string> texts;
  for (const std::uint64_t value : values) {
    texts.push_back(is_signed ? std::to_string(static_cast<std::int64_t>(value))
                              : std::to_string(value));
  }
  return joined(texts);
}

std::string floats_text(hid_t attribute, std::size_t count) {
  std::vector<double> values(count);
  check(H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()), "read an attribute");
  std::vector<std::string> texts;
  for (const double value : values) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    texts.emplace_back(text.data());
  }
  return joined(texts);
}

std::string value_text(hid_t attribute, hid_t type, hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return "";
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points < 0) fail("read the shape of an attribute");
  const auto count = static_cast<hsize_t>(points);
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      if (count != 1) return "several strings";
      return H5Tis_variable_str(type) > 0 ? variable_text(attribute, type)
                                          : fixed_text(attribute, type);
    case H5T_INTEGER:
    case H5T_FLOAT:
      if (count > kMaxShownNumbers) return "more numbers than are shown";
      if (H5Tget_class(type) == H5T_FLOAT) return floats_text(attribute, count);
      return integers_text(attribute, count, H5Tget_sign(type) != H5T_SGN_NONE);
    case H5T_ENUM: {
      unsigned char value = 0;
      if (count != 1 || descr_of(type) != "|b1") break;
      check(H5Aread(attribute, type, &value), "read an attribute");
      return value != 0 ? "true" : "false";
    }
    default:
      break;
  }
  return class_of(type);
}

/// Only collects names. It must not throw, because its caller is C code.
herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Calls f; if f throws, reports the object as unreadable so that the rest of the file is still
/// listed.
template <typename F>
void put_or_say_why(const std::string& path, const F& f) {
  try {
    f();
  } catch (const Failure& failure) {
    if (failure.code != std::string_view(hdf5_protocol::kFormat)) throw;
    put({"unreadable", path, failure.text});
  }
}

void put_attributes(hid_t file, const std::string& path) {
  const Handle object = checked(H5Oopen(file, path.c_str(), H5P_DEFAULT), "open " + path);
  std::vector<std::string> names;
  check(H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names),
        "list the attributes of " + path);
  for (const std::string& name : names) {
    const Handle id = checked(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT),
                              "open the attribute " + name + " of " + path);
    const Handle type = checked(H5Aget_type(id.get()), "read the type of an attribute");
    const Handle space = checked(H5Aget_space(id.get()), "read the shape of an attribute");
    put({"attribute", path, name, value_text(id.get(), type.get(), space.get())});
  }
}

void put_dataset(hid_t file, const std::string& path) {
  const Handle id = checked(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "open " + path);
  const Handle plist = checked(H5Dget_create_plist(id.get()), "read the layout of " + path);
  const Handle type = checked(H5Dget_type(id.get()), "read the element type of " + path);
  // The shape of a virtual dataset is not read, because that would open its source files.
  std::string shape = "null";
  if (H5Pget_layout(plist.get()) != H5D_VIRTUAL) {
    const Handle space = checked(H5Dget_space(id.get()), "read the shape of " + path);
    shape = shape_field(space.get());
  }
  std::vector<std::string> fields{"dataset", path,
                                  descr_of(type.get()).value_or(class_of(type.get())), shape,
                                  storage_of(plist.get())};
  for (const std::string& filter : filters_of(plist.get())) fields.push_back(filter);
  put(fields);
}

void put_object(hid_t file, const Object& object) {
  switch (object.kind) {
    case Object::Kind::kSoftLink:
      return put({"link", object.path, "soft"});
    case Object::Kind::kExternalLink:
      return put({"link", object.path, "external"});
    case Object::Kind::kOther:
      return put({"link", object.path, "other"});
    case Object::Kind::kGroup:
      put({"group", object.path});
      return put_or_say_why(object.path, [&] { put_attributes(file, object.path); });
    case Object::Kind::kDataset:
      return put_or_say_why(object.path, [&] {
        put_dataset(file, object.path);
        put_attributes(file, object.path);
      });
    case Object::Kind::kUnreadable:
      return put({"unreadable", object.path, object.reason});
  }
}

}  // namespace

void list_objects(const Request& request) {
  const Handle file = open_file(request.file, Access::kRead);
  put_attributes(file.get(), "/");
  for (const Object& object : all_objects(file.get())) put_object(file.get(), object);
}

}  // namespace maskctl::hdf5
