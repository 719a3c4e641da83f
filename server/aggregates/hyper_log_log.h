#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/base/arena.h"
#include "common/base/reader.h"
#include "common/base/writer.h"

namespace shardd::aggregates {

/// HyperLogLog over hashes of 32 or 64 bits, its ranks packed as they travel: docs/aggregates.md,
/// "HyperLogLog". The registers lie in the arena; without them the counter is empty.
template <typename Hash>
class HyperLogLog {
public:
    static constexpr unsigned kRankBits = sizeof(Hash) == 4 ? 5 : 6;

    bool empty() const { return registers_ == nullptr; }

    void allocate(unsigned precision, Arena& arena) {
        const size_t bytes = bytesFor(precision);
        registers_ = arena.allocate(bytes + kPadding);
        std::memset(registers_, 0, bytes + kPadding);
    }

    void insert(Hash hash, unsigned precision) {
        const size_t bucket = hash & ((Hash{1} << precision) - 1);
        const Hash tail = static_cast<Hash>(hash >> precision);
        const unsigned rank =
            tail == 0 ? maxRank(precision) : static_cast<unsigned>(std::countr_zero(tail)) + 1;
        if (rank > rankAt(bucket)) setRank(bucket, rank);
    }

    void merge(const HyperLogLog& other, unsigned precision) {
        for (size_t bucket = 0; bucket < size_t{1} << precision; ++bucket) {
            const unsigned rank = other.rankAt(bucket);
            if (rank > rankAt(bucket)) setRank(bucket, rank);
        }
    }

    void write(unsigned precision, Writer& out) const {
        out.writeBytes(registers_, bytesFor(precision));
        const Counts counts = countRanks(precision);
        for (unsigned rank = 0; rank <= maxRank(precision); ++rank) out.writeFixed(counts.ranks[rank]);
        if (precision < 16)
            out.writeFixed(static_cast<uint16_t>(counts.ranks[0]));
        else
            out.writeFixed(counts.ranks[0]);
    }

    void read(unsigned precision, Reader& in, Arena& arena) {
        // The counts that follow the registers can be told from them.
        allocate(precision, arena);
        in.readBytes(registers_, bytesFor(precision));
        in.skip((maxRank(precision) + 1) * sizeof(uint32_t) + (precision < 16 ? 2 : 4));
        for (size_t bucket = 0; bucket < size_t{1} << precision; ++bucket)
            if (rankAt(bucket) > maxRank(precision))
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong rank {} in a HyperLogLog", rankAt(bucket));
    }

    /// The classic estimate: linear counting while that is better, then the harmonic mean.
    uint64_t estimate(unsigned precision) const {
        const Counts counts = countRanks(precision);
        const auto buckets = static_cast<double>(uint64_t{1} << precision);
        double sum = 0;
        for (unsigned rank = 0; rank <= maxRank(precision); ++rank)
            sum += std::ldexp(counts.ranks[rank], -static_cast<int>(rank));
        const double alpha = 0.7213 / (1 + 1.079 / buckets);
        double result = alpha * buckets * buckets / sum;
        if (result <= 2.5 * buckets && counts.ranks[0] != 0)
            result = buckets * std::log(buckets / counts.ranks[0]);
        return static_cast<uint64_t>(result + 0.5);
    }

private:
    static constexpr size_t kPadding = 2;  // ranks are read as two bytes

    struct Counts {
        uint32_t ranks[65] = {};
    };

    static unsigned maxRank(unsigned precision) {
        return static_cast<unsigned>(sizeof(Hash) * 8) - precision + 1;
    }

    static size_t bytesFor(unsigned precision) { return (size_t{1} << precision) * kRankBits / 8; }

    unsigned rankAt(size_t bucket) const {
        uint16_t word = 0;
        std::memcpy(&word, registers_ + bucket * kRankBits / 8, sizeof(word));
        return (word >> (bucket * kRankBits % 8)) & ((1U << kRankBits) - 1);
    }

    void setRank(size_t bucket, unsigned rank) {
        char* at = registers_ + bucket * kRankBits / 8;
        const unsigned shift = static_cast<unsigned>(bucket * kRankBits % 8);
        uint16_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        word = static_cast<uint16_t>((word & ~(((1U << kRankBits) - 1) << shift)) | (rank << shift));
        std::memcpy(at, &word, sizeof(word));
    }

    Counts countRanks(unsigned precision) const {
        Counts counts;
        for (size_t bucket = 0; bucket < size_t{1} << precision; ++bucket) ++counts.ranks[rankAt(bucket)];
        return counts;
    }

    char* registers_ = nullptr;
};

}  // namespace shardd::aggregates
