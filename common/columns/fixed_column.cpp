#include "common/columns/fixed_column.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "common/base/city_hash.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

BFloat16 BFloat16::fromFloat(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return {static_cast<uint16_t>(bits >> 16)};
}

namespace {

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, BFloat16>;

template <typename T>
bool isNan(T value) {
    if constexpr (std::is_same_v<T, BFloat16>)
        return std::isnan(value.toFloat());
    else if constexpr (std::is_floating_point_v<T>)
        return std::isnan(value);
    else
        return false;
}

/// By bits, as ClickHouse groups: -0 and 0 are two keys, and so are NaNs of different bits.
template <typename T>
uint64_t hashOf(const T& value, uint64_t seed) {
    uint64_t words[4] = {0, 0, 0, 0};
    std::memcpy(words, &value, sizeof(T));
    uint64_t hash = mixHash64(words[0] ^ seed);
    for (size_t word = 1; word * 8 < sizeof(T); ++word) hash = mixHash64(hash ^ words[word]) + word;
    return hash;
}

template <typename T>
T fromValue(const Value& value) {
    if constexpr (std::is_same_v<T, IPv6Bytes>) {
        const std::string& bytes = value.get<std::string>();
        SHARDD_CHECK(bytes.size() == sizeof(T));
        T result;
        std::memcpy(&result, bytes.data(), sizeof(T));
        return result;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return BFloat16::fromFloat(value.to<float>());
    } else {
        return value.to<T>();
    }
}

}  // namespace

template <typename T>
Value FixedColumn<T>::value(size_t row) const {
    const T& element = values_[row];
    if constexpr (std::is_same_v<T, IPv6Bytes>)
        return Value(std::string(bytesAt(row)));
    else if constexpr (std::is_same_v<T, BFloat16>)
        return Value(static_cast<double>(element.toFloat()));
    else if constexpr (std::is_floating_point_v<T>)
        return Value(static_cast<double>(element));
    else if constexpr (sizeof(T) > 8)
        return Value(T(element));
    else if constexpr (std::is_signed_v<T>)
        return Value(static_cast<int64_t>(element));
    else
        return Value(static_cast<uint64_t>(element));
}

template <typename T>
bool FixedColumn<T>::isDefaultAt(size_t row) const {
    const T zero{};
    return std::memcmp(&values_[row], &zero, sizeof(T)) == 0;
}

template <typename T>
int FixedColumn<T>::compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const {
    const T& a = values_[row];
    const T& b = static_cast<const FixedColumn&>(other).values_[other_row];
    if constexpr (kIsFloat<T>) {
        const bool a_nan = isNan(a);
        const bool b_nan = isNan(b);
        if (a_nan || b_nan) return a_nan == b_nan ? 0 : (a_nan ? nulls_direction : -nulls_direction);
    }
    return a < b ? -1 : (b < a ? 1 : 0);
}

template <typename T>
MutableColumnPtr FixedColumn<T>::cloneEmpty() const {
    return std::make_unique<FixedColumn>();
}

template <typename T>
void FixedColumn<T>::insertDefault(size_t count) {
    values_.resizeZeroed(values_.size() + count);
}

template <typename T>
void FixedColumn<T>::insert(const Value& value) {
    values_.push_back(fromValue<T>(value));
}

template <typename T>
void FixedColumn<T>::insertFrom(const Column& source, size_t row) {
    values_.push_back(static_cast<const FixedColumn&>(source).values_[row]);
}

template <typename T>
void FixedColumn<T>::insertRange(const Column& source, size_t from, size_t count) {
    values_.append(static_cast<const FixedColumn&>(source).values_.data() + from, count);
}

template <typename T>
ColumnPtr FixedColumn<T>::filter(std::span<const uint8_t> mask, size_t kept) const {
    if (kept == SIZE_MAX) kept = countKept(mask);
    PodVector<T> result = keptValues(values_, mask, kept);
    return std::make_shared<FixedColumn>(std::move(result));
}

template <typename T>
ColumnPtr FixedColumn<T>::gather(std::span<const RowIndex> rows) const {
    PodVector<T> result(rows.size());
    T* out = result.data();
    const T* in = values_.data();
    for (size_t i = 0; i < rows.size(); ++i) out[i] = in[rows[i]];
    return std::make_shared<FixedColumn>(std::move(result));
}

template <typename T>
ColumnPtr FixedColumn<T>::slice(size_t from, size_t count) const {
    PodVector<T> result;
    result.append(values_.data() + from, count);
    return std::make_shared<FixedColumn>(std::move(result));
}

template <typename T>
void FixedColumn<T>::updateHashes(std::span<uint64_t> hashes) const {
    for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = hashOf(values_[row], hashes[row]);
}

template <typename T>
void FixedColumn<T>::updateSipHash(size_t row, SipHash& hash) const {
    hash.updateFixed(values_[row]);
}

template <typename T>
void FixedColumn<T>::serializeKey(size_t row, Writer& out) const {
    out.writeFixed(values_[row]);
}

template <typename T>
const char* FixedColumn<T>::insertKey(const char* position) {
    T value;
    std::memcpy(&value, position, sizeof(T));
    values_.push_back(value);
    return position + sizeof(T);
}

#define DEFINE(name, type) template class FixedColumn<type>;
SHARDD_FIXED_TYPES(DEFINE)
#undef DEFINE

}  // namespace shardd
