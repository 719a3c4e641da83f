#include "common/columns/tuple_column.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

namespace {

template <typename Make>
std::vector<ColumnPtr> mapElements(const std::vector<ColumnPtr>& elements, Make&& make) {
    std::vector<ColumnPtr> result;
    result.reserve(elements.size());
    for (const ColumnPtr& element : elements) result.push_back(make(*element));
    return result;
}

}  // namespace

TupleColumn::TupleColumn(std::vector<ColumnPtr> elements, size_t rows) : elements_(std::move(elements)), rows_(rows) {
    for (const ColumnPtr& element : elements_) SHARDD_CHECK(element->size() == rows_);
}

Column& TupleColumn::mutableElement(size_t i) {
    if (elements_[i].use_count() > 1) elements_[i] = elements_[i]->slice(0, elements_[i]->size());
    return const_cast<Column&>(*elements_[i]);
}

size_t TupleColumn::allocatedBytes() const {
    size_t bytes = 0;
    for (const ColumnPtr& element : elements_) bytes += element->allocatedBytes();
    return bytes;
}

size_t TupleColumn::dataBytes() const {
    size_t bytes = 0;
    for (const ColumnPtr& element : elements_) bytes += element->dataBytes();
    return bytes;
}

Value TupleColumn::value(size_t row) const {
    TupleValue tuple;
    tuple.elements.reserve(elements_.size());
    for (const ColumnPtr& element : elements_) tuple.elements.push_back(element->value(row));
    return Value(std::move(tuple));
}

bool TupleColumn::isDefaultAt(size_t row) const {
    return std::all_of(elements_.begin(), elements_.end(), [row](const ColumnPtr& element) { return element->isDefaultAt(row); });
}

int TupleColumn::compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const {
    const auto& right = static_cast<const TupleColumn&>(other);
    for (size_t i = 0; i < elements_.size(); ++i)
        if (const int order = elements_[i]->compareAt(row, *right.elements_[i], other_row, nulls_direction)) return order;
    return 0;
}

MutableColumnPtr TupleColumn::cloneEmpty() const {
    return std::make_unique<TupleColumn>(mapElements(elements_, [](const Column& c) { return ColumnPtr(c.cloneEmpty()); }), 0);
}

void TupleColumn::reserve(size_t rows) {
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).reserve(rows);
}

void TupleColumn::insertDefault(size_t count) {
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).insertDefault(count);
    rows_ += count;
}

void TupleColumn::insert(const Value& value) {
    const std::vector<Value>& values = value.elements();
    SHARDD_CHECK(values.size() == elements_.size());
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).insert(values[i]);
    ++rows_;
}

void TupleColumn::insertFrom(const Column& source, size_t row) {
    const auto& other = static_cast<const TupleColumn&>(source);
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).insertFrom(*other.elements_[i], row);
    ++rows_;
}

void TupleColumn::insertRange(const Column& source, size_t from, size_t count) {
    const auto& other = static_cast<const TupleColumn&>(source);
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).insertRange(*other.elements_[i], from, count);
    rows_ += count;
}

void TupleColumn::popBack(size_t count) {
    for (size_t i = 0; i < elements_.size(); ++i) mutableElement(i).popBack(count);
    rows_ -= count;
}

ColumnPtr TupleColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    if (kept == SIZE_MAX) kept = countKept(mask);
    return std::make_shared<TupleColumn>(mapElements(elements_, [&](const Column& c) { return c.filter(mask, kept); }), kept);
}

ColumnPtr TupleColumn::gather(std::span<const RowIndex> rows) const {
    return std::make_shared<TupleColumn>(mapElements(elements_, [&](const Column& c) { return c.gather(rows); }), rows.size());
}

ColumnPtr TupleColumn::slice(size_t from, size_t count) const {
    return std::make_shared<TupleColumn>(mapElements(elements_, [&](const Column& c) { return c.slice(from, count); }), count);
}

void TupleColumn::updateHashes(std::span<uint64_t> hashes) const {
    for (const ColumnPtr& element : elements_) element->updateHashes(hashes);
}

void TupleColumn::updateSipHash(size_t row, SipHash& hash) const {
    for (const ColumnPtr& element : elements_) element->updateSipHash(row, hash);
}

void TupleColumn::serializeKey(size_t row, Writer& out) const {
    for (const ColumnPtr& element : elements_) element->serializeKey(row, out);
}

const char* TupleColumn::insertKey(const char* position) {
    for (size_t i = 0; i < elements_.size(); ++i) position = mutableElement(i).insertKey(position);
    ++rows_;
    return position;
}

}  // namespace shardd
