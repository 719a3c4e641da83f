#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/arena.h"
#include "common/base/pod_vector.h"
#include "common/base/writer.h"
#include "common/columns/column.h"
#include "common/types/type.h"

namespace shardd::exec {

/// The bytes of a string key, kept beside its group's other keys.
struct KeyString {
    const char* data;
    uint64_t size;
};

/// How the keys of a GROUP BY lie at the start of a group's row:
///   words * 8 bytes  keys of constant width (and flags of NULL) one after another, zero-padded
///   24 bytes         only with has_string: hash, KeyString
/// Keys of constant width up to 32 bytes in all, and at most one String among them, are kept as they are;
/// anything else is serialised into the string.
class KeyLayout {
public:
    /// `types` without LowCardinality at the top.
    explicit KeyLayout(std::vector<TypePtr> types);

    size_t words() const { return words_; }

    bool hasString() const { return has_string_; }

    bool isSerialized() const { return serialized_; }

    /// The key whose strings a batch points into, when they lie in a column.
    std::optional<size_t> stringKey() const;

    size_t keyCount() const { return types_.size(); }

    size_t rowBytes() const { return words_ * 8 + (has_string_ ? 24 : 0); }

    size_t stringOffset() const { return words_ * 8; }

    /// Only packed bytes, and at most two of them: the value itself numbers the group.
    bool isTiny() const { return !has_string_ && packed_bytes_ <= 2; }

    /// Bytes of the only key, where its values are numbers of 1, 2, 4 or 8 bytes as they lie in the column; else 0.
    size_t plainWidth() const;

    /// Those values from row `from` on.
    const char* plainBytes(const Column& column, size_t from) const;

    /// Keys of rows from..from+rows-1 of `columns` (full, plain, of the layout's types).
    void pack(std::span<const ColumnPtr> columns, size_t from, size_t rows, class KeyBatch& batch) const;

    /// The same without their hashes.
    void packKeys(std::span<const ColumnPtr> columns, size_t from, size_t rows, class KeyBatch& batch) const;

    /// The same for keys of one word that are in batch.words_buffer already.
    void packWords(size_t rows, class KeyBatch& batch) const;

    /// The keys of groups back to columns of the layout's types.
    std::vector<MutableColumnPtr> unpack(char* const* rows, size_t count) const;

private:
    struct Part {
        size_t key;
        size_t offset;  // in the packed bytes
        size_t width;   // 0 for a string
        bool nullable;  // a flag byte follows the value
    };

    /// The only key is a Nullable one of 8 bytes: its value is one word, and its flag the whole next one.
    bool flagTakesWord() const { return parts_.size() == 1 && parts_[0].nullable && parts_[0].width == 8; }

    void packFixed(const Part& part, const Column& column, size_t from, size_t rows, KeyBatch& batch) const;
    void packString(const Part& part, const Column& column, size_t from, size_t rows, KeyBatch& batch) const;
    void packSerialized(std::span<const ColumnPtr> columns, size_t from, size_t rows, KeyBatch& batch) const;
    void unpackFixed(const Part& part, char* const* rows, size_t count, Column& column) const;
    void unpackString(char* const* rows, size_t count, Column& column) const;

    std::vector<TypePtr> types_;
    std::vector<Part> parts_;  // none when serialised
    size_t packed_bytes_ = 0;
    size_t words_ = 0;
    bool has_string_ = false;
    bool serialized_ = false;
};

/// The keys of a batch of rows, packed, with their hashes; buffers are kept from batch to batch.
class KeyBatch {
public:
    size_t rows = 0;
    const uint64_t* words = nullptr;  // rows * layout.words(); into a column where that is possible
    const KeyString* strings = nullptr;
    /// Whoever owns the strings keeps them as long as the groups; else new groups copy theirs.
    bool strings_stay = false;
    PodVector<uint64_t> hashes;

    PodVector<uint64_t> words_buffer;
    PodVector<KeyString> strings_buffer;
    Writer serialized;
    PodVector<uint64_t> serialized_ends;
};

}  // namespace shardd::exec
