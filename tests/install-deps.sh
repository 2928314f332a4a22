#!/usr/bin/env bash
# Installs the Debian 12 packages that a build needs. With --python also those that a wheel needs,
# with --tests those that the tests need, with --clang and --aarch64 the compilers of these lanes;
# --venv installs what Debian lacks into build/venv. Does nothing, and needs no network, when all are
# there. --missing only prints the packages that `pip install .` lacks. --prefix FOLDER needs no root:
# it unpacks the libraries that are missing into a folder, and says how a build finds them
# (docs/no-root.md).
set -euo pipefail
cd "$(dirname "$0")/.."

asked=" $* "
asks() { [[ $asked == *" $1 "* ]]; }

packages=(cmake g++ ninja-build libcli11-dev libeigen3-dev libfmt-dev libhdf5-dev libhwy-dev libmd-dev libncurses-dev libpng-dev
  libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev)
if asks --tests; then
  packages+=(catch2 clang-format clang-tidy-16 dpkg-dev file fish groff-base libopenmpi-dev librapidcheck-dev man-db openmpi-bin
    python3-dev python3-h5py python3-numpy python3-pytest python3-venv tmux zsh)
fi
! asks --missing && ! asks --prefix || packages+=(python3-dev)
! asks --python || packages+=(python3-dev python3-venv)
! asks --clang || packages+=(clang-16)
! asks --aarch64 || packages+=(g++-aarch64-linux-gnu qemu-user)

# Installs pinned versions from PyPI into build/venv; the copied list shows later whether it has
# changed.
make_venv() {
  local wanted=tests/python/requirements.txt made=build/venv/requirements.txt
  cmp -s $wanted $made && return
  /usr/bin/python3 -m venv build/venv && build/venv/bin/pip install -q -r $wanted && cp $wanted $made
}

# unpack FOLDER PACKAGE...: downloads packages, and the shared libraries that their links lead to, with
# lists and a cache of its own, and unpacks them into the folder.
unpack() {
  local folder headers more
  folder=$(realpath -m "$1") && shift
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" && cd "$folder/apt/archives"
  apt() { command "$@" -o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache="$folder/apt"; }
  apt apt-get update -q
  more=$(apt apt-cache depends --important "$@" | sed -n 's/^ *Depends: //p' |
    grep -E '^(lib(aec-dev|fmt|hwy|md|ncursesw|png16|tinfo)[^ ]*|zlib1g)$' || true)
  apt apt-get download -q "$@" $more
  for archive in *.deb; do dpkg -x "$archive" "$folder"; done
  rm -r "$folder/apt"
  echo "unpacked; before pip and CMake:"
  echo "    export CMAKE_PREFIX_PATH=$folder/usr"
  for headers in "$folder"/usr/include/python3.*; do
    [ ! -d "$headers" ] || echo "    export CPATH=$folder/usr/include CMAKE_ARGS=-DPython_INCLUDE_DIR=$headers"
  done
}

if ! command -v dpkg-query >/dev/null; then
  ! asks --missing || exit 0
  echo "not a Debian system; these packages are expected: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1 || true)
  [ "$state" = installed ] || missing+=("$package")
done
if asks --prefix; then
  lacks=()
  for package in "${missing[@]}"; do
    case $package in
      cmake | ninja-build) echo "pip has it: pip install ${package%-build}" ;;
      g++) echo "a compiler is not unpacked: g++ 12 or newer" ;;
      python3-dev) lacks+=("lib$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')-dev") ;;
      *) lacks+=("$package") ;;
    esac
  done
  [ ${#lacks[@]} -eq 0 ] || unpack "$2" "${lacks[@]}"
  exit
fi
if asks --missing; then
  echo "${missing[*]}"
  exit
fi
if [ ${#missing[@]} -eq 0 ]; then
  ! asks --venv || make_venv
  exit
fi

echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "this needs root; docs/no-root.md does without" >&2 && exit 1; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
! asks --venv || make_venv
