#include "common/columns/array_column.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

ArrayColumn::ArrayColumn(ColumnPtr elements, PodVector<uint64_t> ends) : elements_(std::move(elements)), ends_(std::move(ends)) {
    SHARDD_CHECK(elements_->size() == (ends_.empty() ? 0 : ends_.back()));
}

Column& ArrayColumn::mutableElements() {
    if (elements_.use_count() > 1) elements_ = elements_->slice(0, elements_->size());
    return const_cast<Column&>(*elements_);
}

Value ArrayColumn::value(size_t row) const {
    ArrayValue array;
    array.elements.reserve(lengthAt(row));
    for (size_t i = startAt(row); i < ends_[row]; ++i) array.elements.push_back(elements_->value(i));
    return Value(std::move(array));
}

int ArrayColumn::compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const {
    const auto& right = static_cast<const ArrayColumn&>(other);
    const size_t common = std::min(lengthAt(row), right.lengthAt(other_row));
    for (size_t i = 0; i < common; ++i)
        if (const int order = elements_->compareAt(startAt(row) + i, *right.elements_, right.startAt(other_row) + i, nulls_direction))
            return order;
    return lengthAt(row) < right.lengthAt(other_row) ? -1 : (lengthAt(row) > right.lengthAt(other_row) ? 1 : 0);
}

MutableColumnPtr ArrayColumn::cloneEmpty() const {
    return std::make_unique<ArrayColumn>(ColumnPtr(elements_->cloneEmpty()), PodVector<uint64_t>());
}

void ArrayColumn::insertDefault(size_t count) { ends_.appendRepeated(elements_->size(), count); }

void ArrayColumn::insert(const Value& value) {
    Column& elements = mutableElements();
    for (const Value& element : value.elements()) elements.insert(element);
    endRow();
}

void ArrayColumn::insertFrom(const Column& source, size_t row) { insertRange(source, row, 1); }

void ArrayColumn::insertRange(const Column& source, size_t from, size_t count) {
    if (count == 0) return;
    const auto& other = static_cast<const ArrayColumn&>(source);
    const size_t start = other.startAt(from);
    const size_t shift = elements_->size() - start;  // wraps, and wraps back below
    mutableElements().insertRange(*other.elements_, start, other.ends_[from + count - 1] - start);
    const size_t before = ends_.size();
    ends_.resize(before + count);
    for (size_t i = 0; i < count; ++i) ends_[before + i] = other.ends_[from + i] + shift;
}

void ArrayColumn::popBack(size_t count) {
    ends_.resize(ends_.size() - count);
    mutableElements().popBack(elements_->size() - (ends_.empty() ? 0 : ends_.back()));
}

ColumnPtr ArrayColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    MutableColumnPtr result = cloneEmpty();
    result->reserve(kept == SIZE_MAX ? countKept(mask) : kept);
    forEachRun(mask, [&](size_t from, size_t count) { result->insertRange(*this, from, count); });
    return result;
}

ColumnPtr ArrayColumn::gather(std::span<const RowIndex> rows) const {
    PodVector<uint64_t> ends(rows.size());
    uint64_t total = 0;
    for (size_t i = 0; i < rows.size(); ++i) ends[i] = total += lengthAt(rows[i]);
    PodVector<RowIndex> elements(total);
    size_t at = 0;
    for (const RowIndex row : rows)
        for (size_t i = startAt(row); i < ends_[row]; ++i) elements[at++] = static_cast<RowIndex>(i);
    return std::make_shared<ArrayColumn>(elements_->gather(elements.span()), std::move(ends));
}

ColumnPtr ArrayColumn::slice(size_t from, size_t count) const {
    PodVector<uint64_t> ends(count);
    const size_t start = startAt(from);
    for (size_t i = 0; i < count; ++i) ends[i] = ends_[from + i] - start;
    return std::make_shared<ArrayColumn>(elements_->slice(start, count == 0 ? 0 : ends[count - 1]), std::move(ends));
}

void ArrayColumn::updateHashes(std::span<uint64_t> hashes) const {
    PodVector<uint64_t> each;
    each.assign(elements_->size(), 0);
    elements_->updateHashes({each.data(), each.size()});
    for (size_t row = 0; row < hashes.size(); ++row) {
        uint64_t hash = mixHash64(hashes[row] ^ lengthAt(row));
        for (size_t i = startAt(row); i < ends_[row]; ++i) hash = mixHash64(hash ^ each[i]) + 1;
        hashes[row] = hash;
    }
}

void ArrayColumn::updateSipHash(size_t row, SipHash& hash) const {
    hash.updateFixed<uint64_t>(lengthAt(row));
    for (size_t i = startAt(row); i < ends_[row]; ++i) elements_->updateSipHash(i, hash);
}

void ArrayColumn::serializeKey(size_t row, Writer& out) const {
    out.writeFixed<uint64_t>(lengthAt(row));
    for (size_t i = startAt(row); i < ends_[row]; ++i) elements_->serializeKey(i, out);
}

const char* ArrayColumn::insertKey(const char* position) {
    uint64_t size = 0;
    std::memcpy(&size, position, sizeof(size));
    position += sizeof(size);
    Column& elements = mutableElements();
    for (uint64_t i = 0; i < size; ++i) position = elements.insertKey(position);
    endRow();
    return position;
}

}  // namespace shardd
