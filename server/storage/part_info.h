#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardd::storage {

/// What a part's name says: <partition_id>_<min_block>_<max_block>_<level>[_<mutation>].
struct PartInfo {
    std::string partition_id;
    int64_t min_block = 0;
    int64_t max_block = 0;
    uint32_t level = 0;
    int64_t mutation = 0;

    /// Nothing for a text that is no part's name.
    static std::optional<PartInfo> parse(std::string_view name);

    std::string name() const;

    /// This part holds the rows of `other` (merged or mutated), which is therefore no longer read.
    bool covers(const PartInfo& other) const;

    friend bool operator==(const PartInfo&, const PartInfo&) = default;
    /// By partition, then blocks.
    friend std::strong_ordering operator<=>(const PartInfo&, const PartInfo&) = default;
};

}  // namespace shardd::storage
