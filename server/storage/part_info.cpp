#include "server/storage/part_info.h"

#include <charconv>
#include <vector>

#include <fmt/core.h>

namespace shardd::storage {

namespace {

template <typename T>
bool parseNumber(std::string_view text, T& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc() && end == text.data() + text.size();
}

bool isPartitionId(std::string_view text) {
    if (text.empty()) return false;
    for (const char c : text) {
        const bool allowed =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (!allowed) return false;
    }
    return true;
}

}  // namespace

std::optional<PartInfo> PartInfo::parse(std::string_view name) {
    std::vector<std::string_view> pieces;
    for (size_t start = 0; start <= name.size();) {
        const size_t end = std::min(name.find('_', start), name.size());
        pieces.push_back(name.substr(start, end - start));
        start = end + 1;
    }
    if (pieces.size() != 4 && pieces.size() != 5) return std::nullopt;
    PartInfo info;
    info.partition_id = std::string(pieces[0]);
    const bool whole = isPartitionId(pieces[0]) && parseNumber(pieces[1], info.min_block) &&
                       parseNumber(pieces[2], info.max_block) && parseNumber(pieces[3], info.level) &&
                       (pieces.size() == 4 || parseNumber(pieces[4], info.mutation));
    if (!whole || info.min_block < 0 || info.max_block < info.min_block) return std::nullopt;
    return info;
}

std::string PartInfo::name() const {
    const std::string text = fmt::format("{}_{}_{}_{}", partition_id, min_block, max_block, level);
    return mutation == 0 ? text : fmt::format("{}_{}", text, mutation);
}

bool PartInfo::covers(const PartInfo& other) const {
    const bool same_blocks = min_block == other.min_block && max_block == other.max_block;
    return partition_id == other.partition_id && min_block <= other.min_block &&
           max_block >= other.max_block && level >= other.level && mutation >= other.mutation &&
           (same_blocks || level > other.level) && !(*this == other);
}

}  // namespace shardd::storage
