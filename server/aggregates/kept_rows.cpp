#include "server/aggregates/kept_rows.h"

#include <cstring>

#include "common/columns/selection.h"

namespace shardd::aggregates {

namespace {

/// Of one kept row in so many, each is worth a call of its own.
constexpr size_t kFew = 16;
/// States that nobody looks at take the rows that are not kept, one after another: each addition to the same state would
/// wait for the one before.
constexpr size_t kIdleStates = 8;
/// A Kernel's state takes at most 33 bytes.
constexpr size_t kIdleStateBytes = 64;

void countKeptRows(char* const* places, size_t offset, std::span<const uint8_t> kept) {
    for (size_t i = 0; i < kept.size(); ++i) {
        if (!places[i]) continue;
        uint64_t count = 0;
        std::memcpy(&count, places[i] + offset, sizeof(count));
        count += kept[i] != 0;
        std::memcpy(places[i] + offset, &count, sizeof(count));
    }
}

}  // namespace

void addKeptRows(const AggregateFunction& function,
                 const Column* const* arguments,
                 char* const* places,
                 size_t offset,
                 size_t from,
                 std::span<const uint8_t> kept,
                 Arena& arena) {
    if (function.kernel() == Kernel::Count) return countKeptRows(places, offset, kept);
    const size_t count = countKept(kept);
    if (count == kept.size()) return function.addBatch(arguments, places, offset, from, count, arena);
    if (count <= kept.size() / kFew)
        return forEachRun(kept, [&](size_t first, size_t rows) {
            function.addBatch(arguments, places + first, offset, from + first, rows, arena);
        });
    PodVector<char*> wanted(kept.size());
    alignas(16) char idle[kIdleStates * kIdleStateBytes] = {};
    if (function.kernel() == Kernel::None) {
        for (size_t i = 0; i < kept.size(); ++i) wanted[i] = kept[i] ? places[i] : nullptr;
    } else {
        const uintptr_t first_idle = reinterpret_cast<uintptr_t>(idle) - offset;  // which is added to every place
        for (size_t i = 0; i < kept.size(); ++i) {
            const uintptr_t unwanted = first_idle + i % kIdleStates * kIdleStateBytes;
            wanted[i] = kept[i] ? places[i] : reinterpret_cast<char*>(unwanted);
        }
    }
    function.addBatch(arguments, wanted.data(), offset, from, kept.size(), arena);
}

}  // namespace shardd::aggregates
