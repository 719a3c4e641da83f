#include "config/nearest.h"

#include <algorithm>
#include <cctype>

namespace shardd {

namespace {

bool sameLetter(char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
}

}  // namespace

size_t editDistance(std::string_view left, std::string_view right) {
    const size_t width = right.size() + 1;
    std::vector<size_t> before(width), previous(width), current(width);
    for (size_t j = 0; j < width; ++j) previous[j] = j;
    for (size_t i = 1; i <= left.size(); ++i) {
        current[0] = i;
        for (size_t j = 1; j < width; ++j) {
            const size_t change = previous[j - 1] + (sameLetter(left[i - 1], right[j - 1]) ? 0 : 1);
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
            const bool swapped = i > 1 && j > 1 && sameLetter(left[i - 1], right[j - 2]) &&
                                 sameLetter(left[i - 2], right[j - 1]);
            if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
        }
        before.swap(previous);
        previous.swap(current);
    }
    return previous[right.size()];
}

std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::string_view>& candidates,
                                      size_t limit) {
    // Names longer than any of ours come from elsewhere; comparing them would cost their square.
    constexpr size_t kLongestName = 256;
    if (name.size() > kLongestName) return {};
    const size_t allowed = (name.size() + 2) / 3;
    std::vector<std::pair<size_t, std::string_view>> found;
    for (const std::string_view candidate : candidates) {
        const size_t longer = std::max(candidate.size(), name.size());
        const size_t shorter = std::min(candidate.size(), name.size());
        if (longer - shorter > allowed) continue;
        const size_t distance = editDistance(name, candidate);
        if (distance <= allowed) found.emplace_back(distance, candidate);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& left, const auto& right) { return left.first < right.first; });
    std::vector<std::string> names;
    for (size_t i = 0; i < found.size() && i < limit; ++i) names.emplace_back(found[i].second);
    return names;
}

}  // namespace shardd
