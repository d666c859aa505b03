#!/usr/bin/env bash
# Install mercer where no C++ compiler is to be found, and check that the NumPy engine serves.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="$(python3 -c 'import sys; print(sys.executable)')"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The only programs in sight. pip brings CMake and Ninja of its own, and they find no compiler.
mkdir "$work/bin"
for program in env sh uname; do
    ln -s "$(command -v "$program")" "$work/bin/$program"
done
alone() {
    env -u CC -u CXX -u CMAKE_GENERATOR -u CMAKE_ARGS -u CMAKE_TOOLCHAIN_FILE \
        -u MERCER_ENGINE -u MERCER_REQUIRE_NATIVE -u PYTHONPATH PATH="$work/bin" "$@"
}
for compiler in c++ g++ clang++ cc gcc clang; do
    if alone sh -c "command -v $compiler" >/dev/null; then
        echo "no_compiler: $compiler is still on the path" >&2
        exit 1
    fi
done

"$python" -m venv "$work/venv"
cd "$work"
alone venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps \
    --config-settings=build-dir="$work/build" --wheel-dir wheels "$root"
wheel="$(echo wheels/*.whl)"
case "$wheel" in
    *-py3-none-any.whl) echo "no_compiler: built ${wheel#wheels/}" ;;
    *)
        echo "no_compiler: expected a pure wheel (py3-none-any), got $wheel" >&2
        exit 1
        ;;
esac

alone venv/bin/python -m pip install -q --disable-pip-version-check "$wheel"
alone venv/bin/python "$root/.ci/no_compiler.py"
alone venv/bin/mercer info
