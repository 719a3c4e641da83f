#pragma once

#include <string>
#include <string_view>

#include "common/types/type.h"
#include "server/storage/file_names.h"

namespace shardd::storage {

/// Where one is inside a column, and so how its streams are called. Source: docs/storage-format.md,
/// "Streams".
struct StreamPath {
    std::string base;  // the escaped column, with %2E… for elements
    std::string
        nested_base;     // the escaped table of a Nested column, whose outermost sizes are shared; else empty
    unsigned depth = 0;  // arrays and maps entered so far

    static StreamPath ofColumn(std::string_view name, const Type& type) {
        StreamPath path{.base = escapeFileName(name), .nested_base = {}};
        const size_t dot = name.find('.');
        if (type.kind() == TypeKind::Array && dot != std::string_view::npos && dot > 0 &&
            dot + 1 < name.size())
            path.nested_base = escapeFileName(name.substr(0, dot));
        return path;
    }

    std::string values() const { return base; }

    std::string nulls() const { return base + ".null"; }

    std::string stringSizes() const { return base + ".size"; }

    std::string arraySizes() const {
        return (depth == 0 && !nested_base.empty() ? nested_base : base) + ".size" + std::to_string(depth);
    }

    std::string dictionary() const { return base + ".dict"; }

    std::string sparseOffsets() const { return base + ".sparse.idx"; }

    StreamPath insideArray() const { return {.base = base, .nested_base = nested_base, .depth = depth + 1}; }

    StreamPath element(std::string_view name) const {
        return {.base = base + "%2E" + escapeFileName(name), .nested_base = nested_base, .depth = depth};
    }
};

/// The name of a Tuple's element in streams: its own, or its number from 1 on.
inline std::string tupleElementName(const Type& tuple, size_t i) {
    return tuple.elementNames().empty() ? std::to_string(i + 1) : tuple.elementNames()[i];
}

/// A stream's file without its ending: names longer than 127 bytes are hashed.
std::string streamFileName(const std::string& stream);

}  // namespace shardd::storage
