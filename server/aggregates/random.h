#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "common/base/error.h"

namespace shardd::aggregates {

/// The generator that ClickHouse's samplers carry in their states: PCG's multiplicative congruential one with
/// 64 bits of state and the XSH-RS output, written as three decimal numbers.
class SamplerRandom {
public:
    explicit SamplerRandom(uint64_t seed) : state_(seed | 3) {}

    uint32_t next() {
        const uint64_t old = state_;
        state_ *= kMultiplier;
        return static_cast<uint32_t>((old ^ (old >> 22)) >> (22 + (old >> 61)));
    }

    /// 0 … limit-1.
    uint64_t below(uint64_t limit) {
        if (limit <= UINT32_MAX) [[likely]] return next() % static_cast<uint32_t>(limit);
        return belowLarge(limit);
    }

    std::string text() const { return "6364136223846793005 0 " + std::to_string(state_); }

    void parse(std::string_view text) {
        const size_t space = text.rfind(' ');
        uint64_t state = 0;
        if (space != std::string_view::npos) {
            const auto [end, error] =
                std::from_chars(text.data() + space + 1, text.data() + text.size(), state);
            if (error == std::errc() && end == text.data() + text.size()) {
                state_ = state;
                return;
            }
        }
        throw Error(ErrorCode::INCORRECT_DATA, "Wrong random generator in an aggregate state: {}",
                    text.substr(0, 100));
    }

private:
    static constexpr uint64_t kMultiplier = 6364136223846793005ULL;

    [[gnu::noinline]] uint64_t belowLarge(uint64_t limit) {
        const uint64_t high = next();
        return ((high << 32) + next()) % limit;
    }

    uint64_t state_;
};

}  // namespace shardd::aggregates
