#pragma once

#include <vector>

#include "common/columns/column.h"

namespace shardd {

/// A column for each element; `rows` is kept apart because a Tuple may be empty.
class TupleColumn final : public Column {
public:
    TupleColumn(std::vector<ColumnPtr> elements, size_t rows);

    const std::vector<ColumnPtr>& elements() const { return elements_; }

    const ColumnPtr& element(size_t i) const { return elements_[i]; }

    ColumnKind kind() const override { return ColumnKind::Tuple; }

    size_t size() const override { return rows_; }

    size_t allocatedBytes() const override;
    size_t dataBytes() const override;
    Value value(size_t row) const override;
    bool isDefaultAt(size_t row) const override;
    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;

    void reserve(size_t rows) override;
    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override;

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

    /// To build a row by hand: grow every element by one, then end the row.
    Column& mutableElement(size_t i);

    void endRow() { ++rows_; }

private:
    std::vector<ColumnPtr> elements_;
    size_t rows_;
};

}  // namespace shardd
