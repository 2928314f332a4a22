#!/usr/bin/env bash
# Installs the wheel that make_wheel.sh made into a venv, as users do, and runs its tests:
#   tests/python/run.sh build/release
# numpy and pytest are Debian's.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=$(echo "$PWD/$1"/wheel/bundled/maskctl-*.whl)
tests=$PWD/tests

cd "$1/wheel"  # so that no test imports the source tree
/usr/bin/python3 -m venv --clear --system-site-packages venv
venv/bin/pip install -q --no-index --no-deps "$wheel"
export PATH=$PWD/venv/bin:$PATH
run() { python -m pytest -q -p no:cacheprovider --rootdir=/ -c /dev/null "$@"; }
run "$tests/python"
PYTHONMALLOC=debug run "$tests/python/test_arrays.py" "$tests/python/test_bad_input.py" \
  "$tests/python/test_every_verb.py" "$tests/python/test_laws.py" "$tests/python/test_producers.py"
maskctl --version
test -s venv/share/man/man1/maskctl.1.gz

# Every library in the wheel has its licence beside it. For example, libpng16-0a0c6ccf.so.16.39.0
# has the licence of the Debian package libpng-dev.
package=$(echo venv/lib/python3*/site-packages/maskctl)
for library in "$package".libs/*; do
  name=$(basename "$library" | sed -E 's/[-0-9].*//; s/^lib(ncursesw|tinfo)$/libncurses/')
  test -s "$package/licenses/$name-dev" || { echo "no licence of $library" >&2 && exit 1; }
done

# Where Debian's packages are missing, install-deps.sh names them in one line.
mkdir -p lacks && printf '#!/bin/sh\nexit 1\n' >lacks/dpkg-query && chmod +x lacks/dpkg-query
[[ "$(PATH=$PWD/lacks:$PATH bash "$tests/install-deps.sh" --missing)" == *" libfmt-dev "*" python3-dev" ]]
