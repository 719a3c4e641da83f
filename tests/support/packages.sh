# shellcheck shell=bash disable=SC2034
# The Debian packages that shardd needs, in one place, and how they get onto the machine. Sourced by quickstart,
# tests/run and docker/Dockerfile.

# To build the program.
build_packages=(g++ cmake ninja-build libboost1.81-dev libpoco-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libssl-dev
    liblz4-dev libzstd-dev libre2-dev libicu-dev libxxhash-dev libfarmhash-dev libmetrohash-dev libcctz-dev libjemalloc-dev
    libsimdjson-dev tzdata)

# To build it sooner, and again: not needed, but worth their size.
comfort_packages=(ccache mold)

# To run it once it is built.
runtime_packages=(libfmt9 libpocoutil80 libspdlog1.10 libyaml-cpp0.7 libssl3 liblz4-1 libzstd1 libre2-9 libicu72 libxxhash0
    libfarmhash0 libmetrohash1 libcctz2 libjemalloc2 libsimdjson14 tzdata)

# For the tests beyond that.
test_packages=(libgtest-dev libgmock-dev python3 clickhouse-client clickhouse-server python3-clickhouse-driver python3-yaml curl)

missing_packages() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
    done
}

# install_packages NAME...: installs what is missing without asking anything; as root, else by sudo without a password,
# else it says what to type and fails. No service is started: clickhouse-server would take ports 9000 and 8123.
install_packages() {
    local missing as_root=()
    # Not <(…): that needs /proc, which a bare container may not have. Names of packages hold no blanks.
    # shellcheck disable=SC2207
    missing=($(missing_packages "$@"))
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "These packages are missing, and installing them needs root. Type:" >&2
            echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo -n)
    fi
    echo "installing: ${missing[*]}"
    local policy=/usr/sbin/policy-rc.d kept=0 status=0
    # Whatever policy was there is put back, also when the installation fails.
    if [ -e "$policy" ]; then
        "${as_root[@]}" mv "$policy" "$policy.before-shardd" && kept=1
    fi
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
    { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o Dpkg::Options::=--force-confold "${missing[@]}" >/dev/null; } || status=1
    "${as_root[@]}" rm -f "$policy"
    [ "$kept" = 1 ] && "${as_root[@]}" mv "$policy.before-shardd" "$policy"
    [ "$status" = 0 ] || echo "apt-get could not install: ${missing[*]}" >&2
    return "$status"
}
