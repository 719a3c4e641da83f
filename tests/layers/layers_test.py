#!/usr/bin/env python3
"""Fails on an #include that points upwards.

usage: layers_test.py SOURCE_DIR LAYERS_JSON

LAYERS_JSON is written by CMake from the same shardd_layer() calls that build the layers: a map from a
layer's folder to the folders it may include. A layer may also include what those may (their headers do).
Third parties have their place too: Asio, yaml-cpp and Poco are kept out of the layers that compute.
"""
import json
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')

# Third party headers and the folders whose files may include them.
THIRD_PARTIES = {
    "boost/asio": ("server/net", "server/cluster", "server/bootstrap", "server/session", "server/daemon", "server/http"),
    "yaml-cpp/": ("config",),
    "Poco/": ("server/main.cpp", "server/daemon", "server/http"),
    "spdlog/": ("server/daemon",),
}

# Headers of third parties that other headers of ours must not hand on.
ONLY_IN_SOURCES = ("yaml-cpp/", "spdlog/", "Poco/")


def allowed_layers(layers, layer):
    """The layer itself, those it may use, and theirs."""
    seen, waiting = set(), [layer]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting.extend(layers.get(current, []))
    return seen


def layer_of(layers, path):
    """The layer that a path such as server/exec/scan.h belongs to, None for tests and main.cpp."""
    found = [layer for layer in layers if path.startswith(layer + "/")]
    return max(found, key=len) if found else None


def includes(file):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def mistakes_of(root, layers, file):
    path = file.relative_to(root).as_posix()
    layer = layer_of(layers, path)
    allowed = allowed_layers(layers, layer) if layer else set()
    for number, bracket, header in includes(file):
        place = f"{path}:{number}"
        if bracket == '"' and header.split("/")[0] not in ("common", "config", "server", "tests"):
            yield f"{place}: {header}: ours are included by their full path"
        target = layer_of(layers, header)
        if layer and bracket == '"' and target and target not in allowed:
            yield f"{place}: {layer} may not include {target} ({header})"
        if layer and header.startswith("tests/"):
            yield f"{place}: the product may not include tests ({header})"
        for prefix, places in THIRD_PARTIES.items():
            if header.startswith(prefix) and not path.startswith(places) and not path.startswith("tests/"):
                yield f"{place}: {prefix} belongs to {', '.join(places)}"
        if path.endswith(".h") and header.startswith(ONLY_IN_SOURCES):
            yield f"{place}: {header} belongs into sources only"


def cycles(layers):
    for layer in layers:
        for used in layers[layer]:
            if used != layer and layer in allowed_layers(layers, used):
                yield f"CMakeLists.txt: {layer} and {used} may include each other"


def main():
    root, layers_file = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    layers = json.loads(layers_file.read_text(encoding="utf-8"))
    files = [f for top in ("common", "config", "server", "tests") for f in sorted((root / top).rglob("*")) if f.suffix in (".h", ".cpp")]
    mistakes = list(cycles(layers))
    for file in files:
        mistakes.extend(mistakes_of(root, layers, file))
    for mistake in mistakes:
        print(mistake)
    print(f"{len(files)} files, {len(layers)} layers, {len(mistakes)} mistakes")
    return 1 if mistakes or not files else 0


if __name__ == "__main__":
    sys.exit(main())
