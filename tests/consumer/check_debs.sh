# Makes the Debian packages of a build with a shared library, installs them into a folder of their
# own, and builds and runs a project that uses them there.
# usage: check_debs.sh BUILD DIRECTORY
set -euo pipefail
build=$(cd "$1" && pwd)
mkdir -p "$2"
directory=$(cd "$2" && pwd)
project=$(cd "$(dirname "$0")" && pwd)/find_package
root=$directory/root

(cd "$directory" && cpack -G DEB --config "$build/CPackConfig.cmake")
packages=("$directory"/*.deb)
[ ${#packages[@]} -eq 3 ] || { echo "not three packages: ${packages[*]}"; exit 1; }

# dpkg installs as for another system: it knows no package of this one.
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status"
dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless \
    --log="$directory/dpkg.log" --install "${packages[@]}"
dpkg --root="$root" --list 'libheddle*' heddle
for package in "${packages[@]}"; do
    if [ -n "$(dpkg-deb --field "$package" License)" ]; then echo "$package: a licence"; exit 1; fi
done

# The program finds the library beside itself.
env -u LD_LIBRARY_PATH HEDDLE_DEVICE=cpu "$root/usr/bin/heddle" devices
cmake -S "$project" -B "$directory/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$root/usr" "${@:3}"
cmake --build "$directory/consumer"
ctest --test-dir "$directory/consumer" --output-on-failure --no-tests=error
readelf -d "$directory/consumer/consumer" | grep -q 'NEEDED.*libheddle\.so\.' ||
    { echo "the project does not use the shared library"; exit 1; }
# pkg-config's file, too.
if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$root/usr/lib" -name heddle.pc)")
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs heddle)
    # shellcheck disable=SC2086
    "${CXX:-c++}" -O1 -o "$directory/by_pkg_config" "$project"/../*.cpp $flags
    LD_LIBRARY_PATH=$(dirname "$pc") "$directory/by_pkg_config"
fi
