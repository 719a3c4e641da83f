#include "common/columns/dictionary_column.h"

#include <string>
#include <unordered_map>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/columns/nullable_column.h"
#include "common/columns/selection.h"

namespace shardd {

struct DictionaryColumn::KeyIndex {
    std::unordered_map<std::string, uint32_t> codes;
    /// The last source dictionary seen, and our codes of its keys (UINT32_MAX: not looked up yet).
    std::weak_ptr<const Column> source;
    PodVector<uint32_t> translated;
};

DictionaryColumn::DictionaryColumn(ColumnPtr keys, PodVector<uint32_t> codes, bool nullable)
    : keys_(std::move(keys)), codes_(std::move(codes)), nullable_(nullable) {
    SHARDD_CHECK(keys_->size() >= (nullable_ ? 2u : 1u));
}

DictionaryColumn::~DictionaryColumn() = default;

std::unique_ptr<DictionaryColumn> DictionaryColumn::create(const Column& prototype, bool nullable) {
    MutableColumnPtr keys = prototype.cloneEmpty();
    keys->insertDefault(nullable ? 2 : 1);
    return std::make_unique<DictionaryColumn>(ColumnPtr(std::move(keys)), PodVector<uint32_t>(), nullable);
}

ColumnPtr DictionaryColumn::keysWithNull() const {
    if (!nullable_) return keys_;
    Mask nulls;
    nulls.assign(keys_->size(), 0);
    nulls[0] = 1;
    return std::make_shared<NullableColumn>(keys_, std::move(nulls));
}

ColumnPtr DictionaryColumn::plain() const { return keysWithNull()->gather(codes_.span()); }

ColumnPtr DictionaryColumn::compacted() const {
    const uint32_t reserved = nullable_ ? 2 : 1;
    PodVector<uint32_t> new_code;
    new_code.assign(keys_->size(), UINT32_MAX);
    PodVector<RowIndex> used;
    for (uint32_t i = 0; i < reserved; ++i) {
        new_code[i] = i;
        used.push_back(i);
    }
    PodVector<uint32_t> codes(codes_.size());
    for (size_t row = 0; row < codes_.size(); ++row) {
        uint32_t& code = new_code[codes_[row]];
        if (code == UINT32_MAX) {
            code = static_cast<uint32_t>(used.size());
            used.push_back(codes_[row]);
        }
        codes[row] = code;
    }
    return std::make_shared<DictionaryColumn>(keys_->gather(used.span()), std::move(codes), nullable_);
}

int DictionaryColumn::compareAt(size_t row, const Column& other, size_t other_row, int nulls_direction) const {
    const auto& right = static_cast<const DictionaryColumn&>(other);
    const bool left_null = isNullAt(row);
    const bool right_null = right.isNullAt(other_row);
    if (left_null || right_null) return left_null == right_null ? 0 : (left_null ? nulls_direction : -nulls_direction);
    if (keys_ == right.keys_ && codes_[row] == right.codes_[other_row]) return 0;
    return keys_->compareAt(codes_[row], *right.keys_, right.codes_[other_row], nulls_direction);
}

MutableColumnPtr DictionaryColumn::cloneEmpty() const { return create(*keys_, nullable_); }

void DictionaryColumn::beginInserting() {
    if (index_ && keys_.use_count() == 1) return;
    if (keys_.use_count() > 1) keys_ = keys_->slice(0, keys_->size());
    if (index_) return;
    index_ = std::make_unique<KeyIndex>();
    for (size_t i = nullable_ ? 1 : 0; i < keys_->size(); ++i)
        index_->codes.emplace(std::string(keys_->bytesAt(i)), static_cast<uint32_t>(i));
}

uint32_t DictionaryColumn::codeOf(const Column& source, size_t row) {
    const auto [entry, added] = index_->codes.try_emplace(std::string(source.bytesAt(row)), static_cast<uint32_t>(keys_->size()));
    if (added) const_cast<Column&>(*keys_).insertFrom(source, row);
    return entry->second;
}

void DictionaryColumn::insert(const Value& value) {
    if (value.isNull()) {
        codes_.push_back(0);
        return;
    }
    MutableColumnPtr one = keys_->cloneEmpty();
    one->insert(value);
    beginInserting();
    codes_.push_back(codeOf(*one, 0));
}

void DictionaryColumn::insertFrom(const Column& source, size_t row) { insertRange(source, row, 1); }

void DictionaryColumn::insertRange(const Column& source, size_t from, size_t count) {
    if (source.kind() == ColumnKind::Dictionary) {
        const auto& other = static_cast<const DictionaryColumn&>(source);
        if (other.keys_ == keys_ && other.nullable_ == nullable_) {
            codes_.append(other.codes_.data() + from, count);
            return;
        }
        if (codes_.empty() && !index_ && other.nullable_ == nullable_) {
            keys_ = other.keys_;  // nothing to translate yet: take the dictionary as it is
            codes_.append(other.codes_.data() + from, count);
            return;
        }
        beginInserting();
        if (index_->source.lock() != other.keys_) {
            index_->source = other.keys_;
            index_->translated.assign(other.keys_->size(), UINT32_MAX);
        }
        for (size_t row = from; row < from + count; ++row) {
            const uint32_t theirs = other.codes_[row];
            uint32_t& ours = index_->translated[theirs];
            if (ours == UINT32_MAX) ours = other.nullable_ && theirs == 0 ? 0 : codeOf(*other.keys_, theirs);
            codes_.push_back(ours);
        }
        return;
    }
    beginInserting();
    const bool with_nulls = source.kind() == ColumnKind::Nullable;
    const Column& values = with_nulls ? *static_cast<const NullableColumn&>(source).values() : source;
    for (size_t row = from; row < from + count; ++row)
        codes_.push_back(with_nulls && source.isNullAt(row) ? 0 : codeOf(values, row));
}

ColumnPtr DictionaryColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    PodVector<uint32_t> codes = keptValues(codes_, mask, kept == SIZE_MAX ? countKept(mask) : kept);
    return std::make_shared<DictionaryColumn>(keys_, std::move(codes), nullable_);
}

ColumnPtr DictionaryColumn::gather(std::span<const RowIndex> rows) const {
    PodVector<uint32_t> codes(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) codes[i] = codes_[rows[i]];
    return std::make_shared<DictionaryColumn>(keys_, std::move(codes), nullable_);
}

ColumnPtr DictionaryColumn::slice(size_t from, size_t count) const {
    PodVector<uint32_t> codes;
    codes.append(codes_.data() + from, count);
    return std::make_shared<DictionaryColumn>(keys_, std::move(codes), nullable_);
}

void DictionaryColumn::updateHashes(std::span<uint64_t> hashes) const {
    // Like the plain column's: NULL mixes as NullableColumn does, so that both forms of a key meet.
    plain()->updateHashes(hashes);
}

void DictionaryColumn::updateSipHash(size_t row, SipHash& hash) const { keysWithNull()->updateSipHash(codes_[row], hash); }

void DictionaryColumn::serializeKey(size_t row, Writer& out) const { keysWithNull()->serializeKey(codes_[row], out); }

const char* DictionaryColumn::insertKey(const char* position) {
    if (nullable_) {
        if (*position++ != 0) {
            codes_.push_back(0);
            return position;
        }
    }
    MutableColumnPtr one = keys_->cloneEmpty();
    position = one->insertKey(position);
    beginInserting();
    codes_.push_back(codeOf(*one, 0));
    return position;
}

}  // namespace shardd
