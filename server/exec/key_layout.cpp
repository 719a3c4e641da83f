#include "server/exec/key_layout.h"

#include <algorithm>
#include <cstring>

#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/string_column.h"
#include "server/exec/key_hash.h"

namespace shardd::exec {

KeyLayout::KeyLayout(std::vector<TypePtr> types) : types_(std::move(types)) {
    size_t strings = 0;
    for (size_t i = 0; i < types_.size(); ++i) {
        const bool nullable = types_[i]->isNullable();
        const Type& type = nullable ? *types_[i]->child() : *types_[i];
        const bool is_string = type.kind() == TypeKind::String;
        const size_t width = is_string ? 0 : type.width();
        if ((!is_string && width == 0) || type.kind() == TypeKind::Nothing) serialized_ = true;
        strings += is_string;
        parts_.push_back({i, 0, width, nullable});
    }
    // The widest first, so that values lie aligned.
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.width > b.width; });
    for (Part& part : parts_) {
        part.offset = packed_bytes_;
        packed_bytes_ += part.width + part.nullable;
    }
    if (packed_bytes_ > 32 || strings > 1) serialized_ = true;
    if (serialized_) {
        parts_.clear();
        packed_bytes_ = 0;
    }
    has_string_ = serialized_ || strings == 1;
    words_ = (packed_bytes_ + 7) / 8;
    if (words_ == 3) words_ = 4;
}

std::optional<size_t> KeyLayout::stringKey() const {
    for (const Part& part : parts_)
        if (part.width == 0) return part.key;
    return std::nullopt;
}

namespace {

/// Values of Width bytes to every `stride` bytes from `out` on.
template <size_t Width>
void scatter(const char* values, size_t rows, char* out, size_t stride) {
    for (size_t i = 0; i < rows; ++i) std::memcpy(out + i * stride, values + i * Width, Width);
}

/// The same of a Nullable key: the flag follows the value, and the value beside NULL, which may be anything, is 0.
template <typename Number, typename Flag = uint8_t>
void scatterNullable(const char* values, const uint8_t* nulls, size_t rows, char* out, size_t stride) {
    for (size_t i = 0; i < rows; ++i, out += stride) {
        const Flag is_null = nulls[i] != 0;
        Number value{};
        std::memcpy(&value, values + i * sizeof(Number), sizeof(Number));
        value = static_cast<Number>(value & static_cast<Number>(is_null - 1));
        std::memcpy(out, &value, sizeof(Number));
        std::memcpy(out + sizeof(Number), &is_null, sizeof(Flag));
    }
}

template <size_t Width>
void collect(char* const* rows, size_t count, size_t offset, char* out) {
    for (size_t i = 0; i < count; ++i) std::memcpy(out + i * Width, rows[i] + offset, Width);
}

/// Calls action<width>() for the common widths; false for the others.
template <typename Action>
bool withWidth(size_t width, Action&& action) {
    switch (width) {
        case 1:
            action.template operator()<1>();
            return true;
        case 2:
            action.template operator()<2>();
            return true;
        case 4:
            action.template operator()<4>();
            return true;
        case 8:
            action.template operator()<8>();
            return true;
        case 16:
            action.template operator()<16>();
            return true;
        case 32:
            action.template operator()<32>();
            return true;
        default:
            return false;
    }
}

template <typename T>
void widen(const T* values, size_t rows, uint64_t* out) {
    for (size_t i = 0; i < rows; ++i) out[i] = values[i];
}

/// The values' bytes, one after another.
const char* fixedBytes(const Column& column, size_t from, size_t width) {
    if (column.kind() == ColumnKind::FixedString)
        return static_cast<const FixedStringColumn&>(column).chars().data() + from * width;
    return column.size() == 0 ? nullptr : column.bytesAt(from).data();
}

}  // namespace

void KeyLayout::packFixed(
    const Part& part, const Column& column, size_t from, size_t rows, KeyBatch& batch) const {
    const Column* values = &column;
    char* out = reinterpret_cast<char*>(batch.words_buffer.data()) + part.offset;
    const size_t stride = words_ * 8;
    const uint8_t* nulls = nullptr;
    if (part.nullable) {
        const auto& nullable = as<NullableColumn>(column);
        values = nullable.values().get();
        nulls = nullable.nulls().data() + from;
    }
    const char* bytes = fixedBytes(*values, from, part.width);
    if (nulls && part.width == 1) return scatterNullable<uint8_t>(bytes, nulls, rows, out, stride);
    if (nulls && part.width == 2) return scatterNullable<uint16_t>(bytes, nulls, rows, out, stride);
    if (nulls && part.width == 4) return scatterNullable<uint32_t>(bytes, nulls, rows, out, stride);
    if (nulls && flagTakesWord()) return scatterNullable<uint64_t, uint64_t>(bytes, nulls, rows, out, stride);
    if (nulls && part.width == 8) return scatterNullable<uint64_t>(bytes, nulls, rows, out, stride);
    if (!withWidth(part.width, [&]<size_t Width>() { scatter<Width>(bytes, rows, out, stride); }))
        for (size_t i = 0; i < rows; ++i) std::memcpy(out + i * stride, bytes + i * part.width, part.width);
    if (!nulls) return;
    for (size_t i = 0; i < rows; ++i) {
        const uint8_t is_null = nulls[i] != 0;
        out[i * stride + part.width] = static_cast<char>(is_null);
        if (is_null) std::memset(out + i * stride, 0, part.width);  // the value beside NULL may be anything
    }
}

void KeyLayout::packString(
    const Part& part, const Column& column, size_t from, size_t rows, KeyBatch& batch) const {
    const Column* values = &column;
    const uint8_t* nulls = nullptr;
    if (part.nullable) {
        const auto& nullable = as<NullableColumn>(column);
        values = nullable.values().get();
        nulls = nullable.nulls().data() + from;
    }
    const auto& strings = as<StringColumn>(*values);
    batch.strings_buffer.resize(rows);
    KeyString* out = batch.strings_buffer.data();
    const char* chars = strings.chars().data();
    uint64_t start = strings.startAt(from);
    for (size_t i = 0; i < rows; ++i) {
        const uint64_t end = strings.ends()[from + i];
        out[i] = {chars + start, end - start};
        start = end;
    }
    batch.strings = out;
    if (!nulls) return;
    char* flags = reinterpret_cast<char*>(batch.words_buffer.data()) + part.offset;
    for (size_t i = 0; i < rows; ++i) {
        flags[i * words_ * 8] = static_cast<char>(nulls[i] != 0);
        if (nulls[i]) out[i].size = 0;
    }
}

void KeyLayout::packSerialized(std::span<const ColumnPtr> columns,
                               size_t from,
                               size_t rows,
                               KeyBatch& batch) const {
    batch.serialized.clear();
    batch.serialized_ends.resize(rows);
    for (size_t i = 0; i < rows; ++i) {
        for (const ColumnPtr& column : columns) column->serializeKey(from + i, batch.serialized);
        batch.serialized_ends[i] = batch.serialized.size();
    }
    batch.strings_buffer.resize(rows);
    uint64_t start = 0;
    for (size_t i = 0; i < rows; ++i) {
        batch.strings_buffer[i] = {batch.serialized.data() + start, batch.serialized_ends[i] - start};
        start = batch.serialized_ends[i];
    }
    batch.strings = batch.strings_buffer.data();
}

size_t KeyLayout::plainWidth() const {
    if (has_string_ || parts_.size() != 1 || parts_[0].nullable) return 0;
    const size_t width = parts_[0].width;
    return width == 1 || width == 2 || width == 4 || width == 8 ? width : 0;
}

const char* KeyLayout::plainBytes(const Column& column, size_t from) const {
    return fixedBytes(column, from, parts_[0].width);
}

void KeyLayout::pack(std::span<const ColumnPtr> columns, size_t from, size_t rows, KeyBatch& batch) const {
    packKeys(columns, from, rows, batch);
    batch.hashes.resize(rows);
    hashKeys(words_, batch.words, batch.strings, rows, batch.hashes.data());
}

void KeyLayout::packKeys(std::span<const ColumnPtr> columns, size_t from, size_t rows, KeyBatch& batch) const {
    batch.rows = rows;
    batch.words = nullptr;
    batch.strings = nullptr;
    if (serialized_) {
        packSerialized(columns, from, rows, batch);
    } else if (plainWidth() == 8) {
        batch.words = reinterpret_cast<const uint64_t*>(fixedBytes(*columns[0], from, 8));
    } else if (plainWidth() != 0) {
        batch.words_buffer.resize(rows);
        const char* bytes = fixedBytes(*columns[0], from, parts_[0].width);
        if (parts_[0].width == 1)
            widen(reinterpret_cast<const uint8_t*>(bytes), rows, batch.words_buffer.data());
        else if (parts_[0].width == 2)
            widen(reinterpret_cast<const uint16_t*>(bytes), rows, batch.words_buffer.data());
        else
            widen(reinterpret_cast<const uint32_t*>(bytes), rows, batch.words_buffer.data());
        batch.words = batch.words_buffer.data();
    } else {
        batch.words_buffer.resize(rows * words_);
        if (words_ != 0 && !flagTakesWord()) std::memset(batch.words_buffer.data(), 0, rows * words_ * 8);
        batch.words = batch.words_buffer.data();
        for (const Part& part : parts_) {
            if (part.width == 0)
                packString(part, *columns[part.key], from, rows, batch);
            else
                packFixed(part, *columns[part.key], from, rows, batch);
        }
    }
}

void KeyLayout::packWords(size_t rows, KeyBatch& batch) const {
    batch.rows = rows;
    batch.words = batch.words_buffer.data();
    batch.strings = nullptr;
    batch.hashes.resize(rows);
    hashKeys(1, batch.words, nullptr, rows, batch.hashes.data());
}

void KeyLayout::unpackFixed(const Part& part, char* const* rows, size_t count, Column& column) const {
    if (column.kind() == ColumnKind::FixedString) {
        PodVector<char>& chars = static_cast<FixedStringColumn&>(column).chars();
        chars.resize(count * part.width);
        for (size_t i = 0; i < count; ++i)
            std::memcpy(chars.data() + i * part.width, rows[i] + part.offset, part.width);
        return;
    }
    const auto attempt = [&]<typename T>(Tag<T>) {
        auto* fixed = dynamic_cast<FixedColumn<T>*>(&column);
        if (!fixed) return;
        fixed->values().resize(count);
        collect<sizeof(T)>(rows, count, part.offset, reinterpret_cast<char*>(fixed->values().data()));
    };
#define TRY(name, type) attempt(Tag<type>{});
    SHARDD_FIXED_TYPES(TRY)
#undef TRY
}

void KeyLayout::unpackString(char* const* rows, size_t count, Column& column) const {
    auto& strings = static_cast<StringColumn&>(column);
    const size_t offset = stringOffset() + 8;
    uint64_t total = 0;
    strings.ends().resize(count);
    for (size_t i = 0; i < count; ++i) {
        KeyString key{};
        std::memcpy(&key, rows[i] + offset, sizeof(key));
        total += key.size;
        strings.ends()[i] = total;
    }
    strings.chars().resize(total);
    char* out = strings.chars().data();
    constexpr size_t kAhead = 8;
    for (size_t i = 0; i < count; ++i) {
        KeyString key{};
        if (i + kAhead < count) {
            std::memcpy(&key, rows[i + kAhead] + offset, sizeof(key));
            __builtin_prefetch(key.data);
            __builtin_prefetch(key.data + 64);
        }
        std::memcpy(&key, rows[i] + offset, sizeof(key));
        if (key.size != 0) std::memcpy(out, key.data, key.size);
        out += key.size;
    }
}

std::vector<MutableColumnPtr> KeyLayout::unpack(char* const* rows, size_t count) const {
    std::vector<MutableColumnPtr> columns(types_.size());
    if (serialized_) {
        for (size_t i = 0; i < types_.size(); ++i) columns[i] = createColumn(*types_[i]);
        for (size_t row = 0; row < count; ++row) {
            KeyString key{};
            std::memcpy(&key, rows[row] + stringOffset() + 8, sizeof(key));
            const char* position = key.data;
            for (MutableColumnPtr& column : columns) position = column->insertKey(position);
        }
        return columns;
    }
    for (const Part& part : parts_) {
        const TypePtr& type = types_[part.key];
        MutableColumnPtr values = createColumn(part.nullable ? *type->child() : *type);
        if (part.width == 0)
            unpackString(rows, count, *values);
        else
            unpackFixed(part, rows, count, *values);
        if (part.nullable) {
            Mask nulls(count);
            collect<1>(rows, count, part.offset + part.width, reinterpret_cast<char*>(nulls.data()));
            values = std::make_unique<NullableColumn>(ColumnPtr(std::move(values)), std::move(nulls));
        }
        columns[part.key] = std::move(values);
    }
    return columns;
}

}  // namespace shardd::exec
