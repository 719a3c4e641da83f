#pragma once

#include "common/base/city_hash.h"
#include "common/base/hash.h"
#include "common/base/sip_hash.h"
#include "common/columns/fixed_column.h"
#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/compact_set.h"

namespace shardd::aggregates {

/// Whether one value of `type` is one run of bytes that tells it from all others: what ClickHouse hashes at
/// once.
bool isContiguous(const Type& type);

/// The bytes of a contiguous value: of an Array, those of its elements.
std::string_view contiguousBytes(const Column& column, size_t row);

/// SipHash-128 of a row, all arguments in turn.
UInt128 sipRow(const Column* const* columns, size_t count, size_t row);

inline UInt128 toUInt128(Hash128 hash) { return (static_cast<UInt128>(hash.high) << 64) | hash.low; }

/// The 64-bit key of a number, from which the hashes of uniq and its kin are made: integers sign-extended,
/// floats by their bits, wide ones folded.
template <typename T>
uint64_t numberKey(const T& value) {
    if constexpr (std::is_same_v<T, UInt256> || std::is_same_v<T, Int256>)
        return mixHash64(value.words[0] ^ value.words[1] ^ value.words[2] ^ value.words[3]);
    else if constexpr (sizeof(T) == 16)
        return mixHash64(static_cast<uint64_t>(toKey(value)) ^ static_cast<uint64_t>(toKey(value) >> 64));
    else if constexpr (std::is_integral_v<T>)
        return static_cast<uint64_t>(static_cast<int64_t>(value));
    else
        return toKey(value);
}

/// Types whose values uniq, uniqExact … keep as numbers; all others they hash as bytes.
bool isNumberKey(const Type& type);

/// The 64-bit hash by which uniq and uniqCombined64 know a row of any types but plain numbers.
class RowHash64 {
public:
    explicit RowHash64(const std::vector<TypePtr>& arguments);

    uint64_t operator()(const Column* const* columns, size_t row) const;

private:
    enum class Way { Bytes, Chain, ChainTuple, Sip };

    Way way_;
    size_t count_;
};

}  // namespace shardd::aggregates
