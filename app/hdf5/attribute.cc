#include "app/hdf5/attribute.h"

#include "maskctl/base/checked.h"

namespace maskctl::hdf5 {

void Attribute::write(hid_t object) const {
  const Handle id =
      checked(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
              "make the attribute " + name);
  if (!value.empty()) {
    check(H5Awrite(id.get(), type.get(), value.data()), "write the attribute " + name);
  }
}

std::vector<Attribute> attributes_of(hid_t object) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  hsize_t at = 0;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, add, &names), "read the attributes");
  std::vector<Attribute> out;
  for (const std::string& name : names) {
    const std::string what = "read the attribute " + name;
    const Handle id = checked(H5Aopen(object, name.c_str(), H5P_DEFAULT), what);
    Attribute one{
        name, checked(H5Aget_type(id.get()), what), checked(H5Aget_space(id.get()), what), {}};
    const hssize_t elements = H5Sget_simple_extent_npoints(one.space.get());
    const bool is_null = H5Sget_simple_extent_type(one.space.get()) == H5S_NULL;
    if (elements > 0 && !is_null) {
      const auto bytes = checked_mul(static_cast<Index>(elements),
                                     static_cast<Index>(H5Tget_size(one.type.get())));
      if (!bytes) throw Failure{hdf5_protocol::kFormat, "cannot " + what + ": its size overflows"};
      one.value.resize(static_cast<std::size_t>(*bytes));
      check(H5Aread(id.get(), one.type.get(), one.value.data()), what);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace maskctl::hdf5
