#pragma once

#include "common/columns/column.h"

namespace shardd {

/// Values and a null map (1 = NULL). A NULL row of the values holds anything; writers put the default there.
class NullableColumn final : public Column {
public:
    NullableColumn(ColumnPtr values, Mask nulls);

    const ColumnPtr& values() const { return values_; }

    const Mask& nulls() const { return nulls_; }

    ColumnKind kind() const override { return ColumnKind::Nullable; }

    size_t size() const override { return nulls_.size(); }

    size_t allocatedBytes() const override { return values_->allocatedBytes() + nulls_.allocatedBytes(); }

    size_t dataBytes() const override { return values_->dataBytes() + nulls_.size(); }

    Value value(size_t row) const override { return nulls_[row] ? Value() : values_->value(row); }

    bool isNullAt(size_t row) const override { return nulls_[row] != 0; }

    bool isDefaultAt(size_t row) const override { return nulls_[row] != 0; }

    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;

    void reserve(size_t rows) override;
    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    /// Also from a column of the values' kind, which has no NULLs.
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

    /// The values, owned alone, to grow them; the null map must be kept at their length.
    Column& mutableValues();

    Mask& mutableNulls() { return nulls_; }

private:
    ColumnPtr values_;
    Mask nulls_;
};

}  // namespace shardd
