#include "common/columns/nullable_column.h"

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

NullableColumn::NullableColumn(ColumnPtr values, Mask nulls) : values_(std::move(values)), nulls_(std::move(nulls)) {
    SHARDD_CHECK(values_->size() == nulls_.size());
}

Column& NullableColumn::mutableValues() {
    if (values_.use_count() > 1) values_ = values_->slice(0, values_->size());
    return const_cast<Column&>(*values_);
}

int NullableColumn::compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const {
    const auto& right = static_cast<const NullableColumn&>(other);
    if (nulls_[row] || right.nulls_[other_row])
        return nulls_[row] == right.nulls_[other_row] ? 0 : (nulls_[row] ? nulls_direction : -nulls_direction);
    return values_->compareAt(row, *right.values_, other_row, nulls_direction);
}

MutableColumnPtr NullableColumn::cloneEmpty() const {
    return std::make_unique<NullableColumn>(ColumnPtr(values_->cloneEmpty()), Mask());
}

void NullableColumn::reserve(size_t rows) {
    mutableValues().reserve(rows);
    nulls_.reserve(rows);
}

void NullableColumn::insertDefault(size_t count) {
    mutableValues().insertDefault(count);
    nulls_.appendRepeated(1, count);
}

void NullableColumn::insert(const Value& value) {
    if (value.isNull()) {
        insertDefault(1);
        return;
    }
    mutableValues().insert(value);
    nulls_.push_back(0);
}

void NullableColumn::insertFrom(const Column& source, size_t row) {
    if (source.kind() != ColumnKind::Nullable) {
        mutableValues().insertFrom(source, row);
        nulls_.push_back(0);
        return;
    }
    const auto& other = static_cast<const NullableColumn&>(source);
    mutableValues().insertFrom(*other.values_, row);
    nulls_.push_back(other.nulls_[row]);
}

void NullableColumn::insertRange(const Column& source, size_t from, size_t count) {
    if (source.kind() != ColumnKind::Nullable) {
        mutableValues().insertRange(source, from, count);
        nulls_.appendRepeated(0, count);
        return;
    }
    const auto& other = static_cast<const NullableColumn&>(source);
    mutableValues().insertRange(*other.values_, from, count);
    nulls_.append(other.nulls_.data() + from, count);
}

void NullableColumn::popBack(size_t count) {
    mutableValues().popBack(count);
    nulls_.resize(nulls_.size() - count);
}

ColumnPtr NullableColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    if (kept == SIZE_MAX) kept = countKept(mask);
    Mask nulls = keptValues(nulls_, mask, kept);
    return std::make_shared<NullableColumn>(values_->filter(mask, kept), std::move(nulls));
}

ColumnPtr NullableColumn::gather(std::span<const RowIndex> rows) const {
    Mask nulls(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) nulls[i] = nulls_[rows[i]];
    return std::make_shared<NullableColumn>(values_->gather(rows), std::move(nulls));
}

ColumnPtr NullableColumn::slice(size_t from, size_t count) const {
    Mask nulls;
    nulls.append(nulls_.data() + from, count);
    return std::make_shared<NullableColumn>(values_->slice(from, count), std::move(nulls));
}

void NullableColumn::updateHashes(std::span<uint64_t> hashes) const {
    PodVector<uint64_t> with_values;
    with_values.append(hashes.data(), hashes.size());
    values_->updateHashes({with_values.data(), with_values.size()});
    for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = nulls_[row] ? mixHash64(hashes[row] + 1) : with_values[row];
}

void NullableColumn::updateSipHash(size_t row, SipHash& hash) const {
    hash.updateFixed<uint8_t>(nulls_[row]);
    if (!nulls_[row]) values_->updateSipHash(row, hash);
}

void NullableColumn::serializeKey(size_t row, Writer& out) const {
    out.writeByte(nulls_[row]);
    if (!nulls_[row]) values_->serializeKey(row, out);
}

const char* NullableColumn::insertKey(const char* position) {
    if (*position++ != 0) {
        insertDefault(1);
        return position;
    }
    position = mutableValues().insertKey(position);
    nulls_.push_back(0);
    return position;
}

}  // namespace shardd
