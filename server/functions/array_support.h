#pragma once

#include "common/columns/nullable_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/definition.h"

namespace shardd::functions {

/// Arrays (or maps) of an argument; a constant is read in place.
class ArrayArgument {
public:
    explicit ArrayArgument(const ColumnPtr& column) : holder_(column) {
        if (holder_->kind() == ColumnKind::Const) {
            holder_ = as<ConstColumn>(*holder_).one();
            row_mask_ = 0;
        }
        arrays_ = &as<ArrayColumn>(*holder_);
    }

    bool constant() const { return row_mask_ == 0; }

    size_t start(size_t row) const { return arrays_->startAt(row & row_mask_); }

    size_t end(size_t row) const { return arrays_->ends()[row & row_mask_]; }

    size_t length(size_t row) const { return end(row) - start(row); }

    const ColumnPtr& elements() const { return arrays_->elements(); }

    const ArrayColumn& arrays() const { return *arrays_; }

private:
    ColumnPtr holder_;
    const ArrayColumn* arrays_;
    size_t row_mask_ = ~size_t{0};
};

/// Arrays whose elements are picked from a column by their place in it.
class ArrayPicker {
public:
    explicit ArrayPicker(size_t rows) { ends_.reserve(rows); }

    void pick(size_t element) { places_.push_back(static_cast<RowIndex>(element)); }

    void endRow() { ends_.push_back(places_.size()); }

    ColumnPtr finish(const Column& elements) {
        return std::make_shared<ArrayColumn>(elements.gather(places_.span()), std::move(ends_));
    }

private:
    PodVector<RowIndex> places_;
    PodVector<uint64_t> ends_;
};

/// The elements with one default row behind them: place `elements->size()` stands for "none".
ColumnPtr withDefaultBehind(const ColumnPtr& elements, const TypePtr& type);

/// One column of the rows of several, one after another.
ColumnPtr concatenateColumns(std::span<const ColumnPtr> columns, const TypePtr& type);

/// Numbers equal values of a column alike: result[i] is the first place of a value equal to that at i, looked
/// up among the places since `begin()` was called.
class PlaceIndex {
public:
    explicit PlaceIndex(std::vector<const Column*> columns);

    /// Forgets all places.
    void begin(size_t expected);

    /// The first place equal to this one: itself when it is new.
    size_t add(size_t place);

    /// Without adding; SIZE_MAX when there is none.
    size_t find(size_t place) const;

private:
    bool equal(size_t a, size_t b) const;

    std::vector<const Column*> columns_;
    PodVector<uint64_t> hashes_;
    std::vector<uint64_t> slots_;  // place + 1
    size_t mask_ = 0;
    size_t count_ = 0;
};

/// Types of arrays of numbers, dates, strings … as functions compare them: the common type, or Int256 and
/// Float64 for numbers that have none.
TypePtr comparableType(const TypePtr& a, const TypePtr& b);

/// SIZES_OF_ARRAYS_DONT_MATCH (190) unless the arrays of all these arguments are equally long in every row.
void needSameLengths(const Call& call, std::span<const ArrayArgument> arrays);

}  // namespace shardd::functions
