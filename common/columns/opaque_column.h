#pragma once

#include "common/columns/column.h"

namespace shardd {

/// A column that carries one thing for all of its rows and has no values: a lambda, a set, frames that are only
/// passed on. Everything that needs values is a LOGICAL_ERROR; a subclass overrides what it can do after all.
class OpaqueColumn : public Column {
public:
    /// `misuse` is what the error says and lives as long as the program.
    OpaqueColumn(size_t rows, const char* misuse) : rows_(rows), misuse_(misuse) {}

    ColumnKind kind() const final { return ColumnKind::Other; }

    size_t size() const final { return rows_; }

    size_t allocatedBytes() const override { return 0; }

    size_t dataBytes() const override { return 0; }

    Value value(size_t row) const override;
    bool isDefaultAt(size_t row) const override;
    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;
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

private:
    [[noreturn]] void fail() const;

    size_t rows_;
    const char* misuse_;
};

}  // namespace shardd
