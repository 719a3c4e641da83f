#pragma once

#include "common/columns/column.h"

namespace shardd {

/// Strings: 64-bit end offsets over one buffer of bytes, without terminators. ends()[i] is where string i ends.
class StringColumn final : public Column {
public:
    StringColumn() = default;

    StringColumn(PodVector<char> chars, PodVector<uint64_t> ends) : chars_(std::move(chars)), ends_(std::move(ends)) {}

    PodVector<char>& chars() { return chars_; }

    const PodVector<char>& chars() const { return chars_; }

    PodVector<uint64_t>& ends() { return ends_; }

    const PodVector<uint64_t>& ends() const { return ends_; }

    size_t startAt(size_t row) const { return row == 0 ? 0 : ends_[row - 1]; }

    void insertText(std::string_view text) {
        chars_.append(text.data(), text.size());
        ends_.push_back(chars_.size());
    }

    ColumnKind kind() const override { return ColumnKind::String; }

    size_t size() const override { return ends_.size(); }

    size_t allocatedBytes() const override { return chars_.allocatedBytes() + ends_.allocatedBytes(); }

    /// As ClickHouse 26.7: the bytes and 8 for each offset.
    size_t dataBytes() const override { return chars_.size() + ends_.size() * sizeof(uint64_t); }

    Value value(size_t row) const override { return Value(std::string(bytesAt(row))); }

    bool isDefaultAt(size_t row) const override { return startAt(row) == ends_[row]; }

    std::string_view bytesAt(size_t row) const override {
        const size_t start = startAt(row);
        return {chars_.data() + start, ends_[row] - start};
    }

    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override { return std::make_unique<StringColumn>(); }

    void reserve(size_t rows) override { ends_.reserve(rows); }

    void insertDefault(size_t count) override { ends_.appendRepeated(chars_.size(), count); }

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
    PodVector<char> chars_;
    PodVector<uint64_t> ends_;
};

}  // namespace shardd
