#pragma once

#include "common/columns/column.h"

namespace shardd {

/// Strings of `width` bytes each, zero-padded, one after another.
class FixedStringColumn final : public Column {
public:
    explicit FixedStringColumn(size_t width) : width_(width) {}

    FixedStringColumn(size_t width, PodVector<char> chars) : width_(width), chars_(std::move(chars)) {}

    size_t width() const { return width_; }

    PodVector<char>& chars() { return chars_; }

    const PodVector<char>& chars() const { return chars_; }

    /// Shorter text is padded; longer is TOO_LARGE_STRING_SIZE (131).
    void insertText(std::string_view text);

    ColumnKind kind() const override { return ColumnKind::FixedString; }

    size_t size() const override { return chars_.size() / width_; }

    size_t allocatedBytes() const override { return chars_.allocatedBytes(); }

    size_t dataBytes() const override { return chars_.size(); }

    Value value(size_t row) const override { return Value(std::string(bytesAt(row))); }

    bool isDefaultAt(size_t row) const override;

    std::string_view bytesAt(size_t row) const override { return {chars_.data() + row * width_, width_}; }

    int compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const override;
    MutableColumnPtr cloneEmpty() const override { return std::make_unique<FixedStringColumn>(width_); }

    void reserve(size_t rows) override { chars_.reserve(rows * width_); }

    void insertDefault(size_t count) override;
    void insert(const Value& value) override;
    void insertFrom(const Column& source, size_t row) override;
    void insertRange(const Column& source, size_t from, size_t count) override;
    void popBack(size_t count) override { chars_.resize(chars_.size() - count * width_); }

    ColumnPtr filter(std::span<const uint8_t> mask, size_t kept) const override;
    ColumnPtr gather(std::span<const RowIndex> rows) const override;
    ColumnPtr slice(size_t from, size_t count) const override;
    void updateHashes(std::span<uint64_t> hashes) const override;
    void updateSipHash(size_t row, SipHash& hash) const override;
    void serializeKey(size_t row, Writer& out) const override;
    const char* insertKey(const char* position) override;

private:
    size_t width_;
    PodVector<char> chars_;
};

}  // namespace shardd
