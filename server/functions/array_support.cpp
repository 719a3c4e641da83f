#include "server/functions/array_support.h"

#include <bit>

#include "common/columns/create_column.h"

namespace shardd::functions {

ColumnPtr withDefaultBehind(const ColumnPtr& elements, const TypePtr& type) {
    MutableColumnPtr extended = elements->cloneEmpty();
    extended->reserve(elements->size() + 1);
    extended->insertRange(*elements, 0, elements->size());
    insertDefaults(*type, *extended, 1);
    return extended;
}

ColumnPtr concatenateColumns(std::span<const ColumnPtr> columns, const TypePtr& type) {
    MutableColumnPtr all = createColumn(*type);
    size_t rows = 0;
    for (const ColumnPtr& column : columns) rows += column->size();
    all->reserve(rows);
    for (const ColumnPtr& column : columns) all->insertRange(*column, 0, column->size());
    return all;
}

PlaceIndex::PlaceIndex(std::vector<const Column*> columns) : columns_(std::move(columns)) {
    hashes_.resizeZeroed(columns_.empty() ? 0 : columns_[0]->size());
    for (const Column* column : columns_) column->updateHashes({hashes_.data(), hashes_.size()});
}

void PlaceIndex::begin(size_t expected) {
    const size_t size = std::bit_ceil(std::max<size_t>(expected * 2, 8));
    if (size > slots_.size() || slots_.size() > size * 16) slots_.resize(size);
    std::fill(slots_.begin(), slots_.end(), 0);
    mask_ = slots_.size() - 1;
    count_ = 0;
}

bool PlaceIndex::equal(size_t a, size_t b) const {
    if (hashes_[a] != hashes_[b]) return false;
    return std::all_of(columns_.begin(), columns_.end(),
                       [&](const Column* c) { return c->compareAt(a, *c, b, 1) == 0; });
}

size_t PlaceIndex::add(size_t place) {
    size_t slot = (hashes_[place] * 0x9E3779B97F4A7C15ULL >> 20) & mask_;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask_)
        if (equal(slots_[slot] - 1, place)) return slots_[slot] - 1;
    slots_[slot] = place + 1;
    return place;
}

size_t PlaceIndex::find(size_t place) const {
    for (size_t slot = (hashes_[place] * 0x9E3779B97F4A7C15ULL >> 20) & mask_; slots_[slot] != 0;
         slot = (slot + 1) & mask_)
        if (equal(slots_[slot] - 1, place)) return slots_[slot] - 1;
    return SIZE_MAX;
}

TypePtr comparableType(const TypePtr& a, const TypePtr& b) {
    try {
        return commonType({a, b});
    } catch (const Error&) {
        const TypePtr bare_a = removeNullable(a);
        const TypePtr bare_b = removeNullable(b);
        if (!bare_a->isNumber() || !bare_b->isNumber()) throw;
        const bool integers = bare_a->isInteger() && bare_b->isInteger();
        const TypePtr& type = types::simple(integers ? TypeKind::Int256 : TypeKind::Float64);
        return a->isNullable() || b->isNullable() ? types::nullable(type) : type;
    }
}

void needSameLengths(const Call& call, std::span<const ArrayArgument> arrays) {
    for (size_t i = 1; i < arrays.size(); ++i)
        for (size_t row = 0; row < call.rows; ++row)
            if (arrays[i].length(row) != arrays[0].length(row))
                throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                            "All arrays passed to {} must have equal size", call.name);
}

}  // namespace shardd::functions
