#pragma once

#include <memory>

#include "common/columns/column.h"

namespace shardd {

/// LowCardinality(T): distinct keys, and a code for each row. Blocks of one source may share one dictionary object, so
/// that work done once a key (hashes, functions, groups) can be kept by the dictionary's address.
/// Keys:  a plain column of T, distinct; entry 0 is T's default. For LowCardinality(Nullable(T)) the keys are plain T,
///        entry 0 stands for NULL and entry 1 is the default.
class DictionaryColumn final : public Column {
public:
    DictionaryColumn(ColumnPtr keys, PodVector<uint32_t> codes, bool nullable);
    ~DictionaryColumn() override;

    /// No rows, and the keys that must be there; `prototype` is an empty column of T.
    static std::unique_ptr<DictionaryColumn> create(const Column& prototype, bool nullable);

    const ColumnPtr& keys() const { return keys_; }

    const PodVector<uint32_t>& codes() const { return codes_; }

    bool nullable() const { return nullable_; }

    /// The keys as a column of the inner type: Nullable when nullable().
    ColumnPtr keysWithNull() const;
    /// Every row written out: plain T or Nullable(T).
    ColumnPtr plain() const;
    /// Only the keys in use, in order of first use after the reserved ones; for small slices of large dictionaries.
    ColumnPtr compacted() const;

    ColumnKind kind() const override { return ColumnKind::Dictionary; }

    size_t size() const override { return codes_.size(); }

    size_t allocatedBytes() const override { return keys_->allocatedBytes() + codes_.allocatedBytes(); }

    size_t dataBytes() const override { return keys_->dataBytes() + codes_.size() * sizeof(uint32_t); }

    Value value(size_t row) const override { return isNullAt(row) ? Value() : keys_->value(codes_[row]); }

    bool isNullAt(size_t row) const override { return nullable_ && codes_[row] == 0; }

    bool isDefaultAt(size_t row) const override { return codes_[row] == 0; }

    std::string_view bytesAt(size_t row) const override { return keys_->bytesAt(codes_[row]); }

    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override;

    void reserve(size_t rows) override { codes_.reserve(rows); }

    void insertDefault(size_t count) override { codes_.appendRepeated(0, count); }

    void insert(const Value& value) override;
    /// Also from plain T or Nullable(T).
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override { codes_.resize(codes_.size() - count); }

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

private:
    struct KeyIndex;  // from a key's bytes to its code, built when a row is first inserted

    uint32_t codeOf(const Column& source, size_t row);
    /// Keys owned alone and indexed.
    void beginInserting();

    ColumnPtr keys_;
    PodVector<uint32_t> codes_;
    bool nullable_;
    std::unique_ptr<KeyIndex> index_;
};

}  // namespace shardd
