#pragma once

#include "common/columns/column.h"

namespace shardd {

/// One value, `rows` times. Functions see it as it is; whoever needs the rows calls full().
class ConstColumn final : public Column {
public:
    /// `one` has exactly one row.
    ConstColumn(ColumnPtr one, size_t rows);

    /// The column of one row.
    const ColumnPtr& one() const { return one_; }

    ColumnPtr expand() const;

    ColumnKind kind() const override { return ColumnKind::Const; }

    size_t size() const override { return rows_; }

    size_t allocatedBytes() const override { return one_->allocatedBytes(); }

    size_t dataBytes() const override { return one_->dataBytes() * rows_; }

    Value value(size_t /*row*/) const override { return one_->value(0); }

    bool isNullAt(size_t /*row*/) const override { return one_->isNullAt(0); }

    bool isDefaultAt(size_t /*row*/) const override { return one_->isDefaultAt(0); }

    std::string_view bytesAt(size_t /*row*/) const override { return one_->bytesAt(0); }

    /// The other one may be a constant or a column of the value's kind.
    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    /// An empty column of the value's kind, not a constant.
    MutableColumnPtr cloneEmpty() const override { return one_->cloneEmpty(); }

    /// Constants do not grow: LOGICAL_ERROR for all of these.
    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override;
    const char* insertKey(const char* position) override;

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    ColumnPtr replicate(std::span<const uint64_t> ends) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;

private:
    ColumnPtr one_;
    size_t rows_;
};

}  // namespace shardd
