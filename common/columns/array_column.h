#pragma once

#include "common/columns/column.h"

namespace shardd {

/// Arrays: end offsets over one column of elements. A Map is such a column whose elements are Tuples (key, value).
class ArrayColumn final : public Column {
public:
    ArrayColumn(ColumnPtr elements, PodVector<uint64_t> ends);

    explicit ArrayColumn(ColumnPtr elements) : ArrayColumn(std::move(elements), {}) {}

    const ColumnPtr& elements() const { return elements_; }

    const PodVector<uint64_t>& ends() const { return ends_; }

    size_t startAt(size_t row) const { return row == 0 ? 0 : ends_[row - 1]; }

    size_t lengthAt(size_t row) const { return ends_[row] - startAt(row); }

    ColumnKind kind() const override { return ColumnKind::Array; }

    size_t size() const override { return ends_.size(); }

    size_t allocatedBytes() const override { return elements_->allocatedBytes() + ends_.allocatedBytes(); }

    size_t dataBytes() const override { return elements_->dataBytes() + ends_.size() * sizeof(uint64_t); }

    Value value(size_t row) const override;

    bool isDefaultAt(size_t row) const override { return lengthAt(row) == 0; }

    /// Lexicographic, then by length.
    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;

    void reserve(size_t rows) override { ends_.reserve(rows); }

    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override;

    /// To build a row by hand: grow the elements, then end the row.
    Column& mutableElements();

    void endRow() { ends_.push_back(elements_->size()); }

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

private:
    ColumnPtr elements_;
    PodVector<uint64_t> ends_;
};

}  // namespace shardd
