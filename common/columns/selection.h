#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/pod_vector.h"
#include "common/columns/column.h"

namespace shardd {

/// Rows of a mask that are not 0.
inline size_t countKept(std::span<const uint8_t> mask) {
    size_t kept = 0;
    for (const uint8_t byte : mask) kept += byte != 0;
    return kept;
}

/// Calls `run(from, count)` for each run of rows that stay. Masks are looked at eight rows at a time, so that long runs
/// of kept or dropped rows cost little.
template <typename Run>
void forEachRun(std::span<const uint8_t> mask, Run&& run) {
    const size_t size = mask.size();
    size_t row = 0;
    while (row < size) {
        uint64_t word = 0;
        while (row + 8 <= size && (std::memcpy(&word, mask.data() + row, 8), word == 0)) row += 8;
        while (row < size && mask[row] == 0) ++row;
        const size_t start = row;
        while (row < size && mask[row] != 0) ++row;
        if (row > start) run(start, row - start);
    }
}

}  // namespace shardd
