#pragma once

#include "common/columns/array_column.h"
#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

/// A growing array in the arena; what it outgrows stays there until the arena goes. All zeros is empty.
template <typename T>
struct ArenaArray {
    T* data = nullptr;
    uint32_t size = 0;
    uint32_t capacity = 0;

    void reserve(size_t wanted, Arena& arena) {
        if (wanted <= capacity) return;
        if (wanted > UINT32_MAX / 2)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large array in an aggregate state: {}", wanted);
        const size_t grown =
            std::max<size_t>({wanted, size_t{capacity} * 2, sizeof(T) >= 8 ? size_t{2} : 16 / sizeof(T)});
        T* moved = static_cast<T*>(static_cast<void*>(arena.allocateAligned(grown * sizeof(T), alignof(T))));
        if (size > 0)
            std::memcpy(static_cast<void*>(moved), static_cast<const void*>(data), size * sizeof(T));
        data = moved;
        capacity = static_cast<uint32_t>(grown);
    }

    void push(const T& value, Arena& arena) {
        if (size == capacity) reserve(size_t{size} + 1, arena);
        data[size++] = value;
    }

    T* begin() { return data; }

    T* end() { return data + size; }

    const T* begin() const { return data; }

    const T* end() const { return data + size; }

    T& operator[](size_t i) { return data[i]; }

    const T& operator[](size_t i) const { return data[i]; }
};

/// Bytes in the arena.
struct StoredText {
    const char* data = nullptr;
    uint64_t size = 0;

    std::string_view view() const { return {data, size}; }

    static StoredText copy(std::string_view text, Arena& arena) {
        if (text.empty()) return {};
        const std::string_view stored = arena.insert(text);
        return {stored.data(), stored.size()};
    }
};

/// How groupArray and its kin keep one value, in three layouts: by its bits, a String, and anything else.
/// Each has Element; Input; load(input, row, arena); keep(element of another state, arena); write, read;
/// append all to a column of the values' type.
template <typename K>
struct FixedElements {
    using Element = K;
    using Input = BitsInput<K>;

    static K load(const Input& input, size_t row, Arena&) { return input[row]; }

    static K keep(const K& element, Arena&) { return element; }

    static void write(const K& element, Writer& out) { out.writeFixed(element); }

    static K read(const Type&, Reader& in, Arena&) { return in.readFixed<K>(); }

    static void append(const ArenaArray<K>& elements, const Type& type, Column& to) {
        appendBits(type.physical(), to, elements.data, elements.size);
    }
};

struct TextElements {
    using Element = StoredText;
    using Input = StringInput<0>;

    static StoredText load(const Input& input, size_t row, Arena& arena) {
        return StoredText::copy(input[row], arena);
    }

    static StoredText keep(const StoredText& element, Arena& arena) {
        return StoredText::copy(element.view(), arena);
    }

    static void write(const StoredText& element, Writer& out) { out.writeString(element.view()); }

    static StoredText read(const Type&, Reader& in, Arena& arena) {
        return StoredText::copy(in.readString(), arena);
    }

    static void append(const ArenaArray<StoredText>& elements, const Type&, Column& to) {
        for (const StoredText& element : elements) static_cast<StringColumn&>(to).insertText(element.view());
    }
};

/// The arena form of any value; of those of constant width simply their bytes.
struct FormElements {
    using Element = StoredText;

    struct Input {
        const Column* column;

        explicit Input(const Column* const* arguments) : column(arguments[0]) {}
    };

    static StoredText load(const Input& input, size_t row, Arena& arena) {
        const ColumnKind kind = input.column->kind();
        if (kind == ColumnKind::Fixed || kind == ColumnKind::FixedString)
            return StoredText::copy(input.column->bytesAt(row), arena);
        Writer form;
        input.column->serializeKey(row, form);
        return StoredText::copy(form.view(), arena);
    }

    static StoredText keep(const StoredText& element, Arena& arena) {
        return StoredText::copy(element.view(), arena);
    }

    static void write(const StoredText& element, Writer& out) { out.writeString(element.view()); }

    static StoredText read(const Type& type, Reader& in, Arena& arena) {
        const std::string text = in.readString();
        checkArenaForm(type, text);
        return StoredText::copy(text, arena);
    }

    static void append(const ArenaArray<StoredText>& elements, const Type&, Column& to) {
        for (const StoredText& element : elements) to.insertKey(element.data);
    }
};

/// Types that groupArray, groupUniqArray, topK … write as raw numbers; all others but String travel as bytes.
bool isNumberElement(const Type& type);

template <typename Action>
void dispatchElements(const Type& type, Action&& action) {
    if (type.kind() == TypeKind::String) {
        action(Tag<TextElements>{});
        return;
    }
    if (isNumberElement(type) &&
        dispatchWidth(type.physical(), [&]<typename K>(Tag<K>) { action(Tag<FixedElements<K>>{}); }))
        return;
    action(Tag<FormElements>{});
}

/// The only parameter, which must be a positive integer; `name` is the function's.
uint64_t positiveParameter(const Value& value, const std::string& name);

}  // namespace shardd::aggregates
