#pragma once

#include <cmath>
#include <memory>

#include "common/columns/create_column.h"
#include "server/aggregates/aggregate_base.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/value_bits.h"

namespace shardd::aggregates {

/// One value or none: what min, max, any, argMin … keep. Three layouts: constant width, String (short ones
/// inside the state, longer ones in the arena), and anything else as a column of one row. Each has:
/// Input<position>; has(); set(input, row) and set(other); less/greater(input, row) and (other): whether that
/// value comes before/after the one kept; equals; write(), read(); appendTo() for a column of the value's
/// type. An empty one is all zeros.
template <typename T>
struct FixedSingle {
    T value{};
    uint8_t set_ = 0;

    template <size_t position>
    using Input = FixedInput<T, position>;

    static constexpr bool kTrivial = true;

    bool has() const { return set_ != 0; }

    template <typename Input>
    void set(const Input& input, size_t row, Arena&) {
        value = input[row];
        set_ = 1;
    }

    void set(const FixedSingle& other, Arena&) { *this = other; }

    template <typename Input>
    bool less(const Input& input, size_t row) const {
        return before(input[row], value);
    }

    template <typename Input>
    bool greater(const Input& input, size_t row) const {
        return after(input[row], value);
    }

    template <typename Input>
    bool equals(const Input& input, size_t row) const {
        return input[row] == value;
    }

    bool less(const FixedSingle& other) const { return before(other.value, value); }

    bool greater(const FixedSingle& other) const { return after(other.value, value); }

    bool equals(const FixedSingle& other) const { return other.value == value; }

    void writeValue(Writer& out) const { out.writeFixed(value); }

    void write(Writer& out) const {
        out.writeByte(set_);
        if (set_) out.writeFixed(value);
    }

    void readValue(const Type&, Reader& in, Arena&) {
        in.readFixed(value);
        set_ = 1;
    }

    void read(const Type& type, Reader& in, Arena& arena) {
        set_ = in.readByte() != 0;
        if (set_) readValue(type, in, arena);
    }

    void appendTo(Column& to) const { appendFixed(to, value); }

    /// A NaN gives way to any number and never displaces one.
    static bool before(const T& a, const T& b) {
        if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
        return a < b;
    }

    static bool after(const T& a, const T& b) {
        if constexpr (std::is_floating_point_v<T>) return a > b || (std::isnan(b) && !std::isnan(a));
        return a > b;
    }
};

/// A FixedSingle of any type as wide as K, for functions that never compare.
template <typename K>
struct BitsSingle : FixedSingle<K> {
    template <size_t position>
    using Input = BitsInput<K, position>;

    void appendTo(Column& to) const { to.insertKey(reinterpret_cast<const char*>(&this->value)); }
};

struct StringSingle {
    static constexpr uint32_t kInline = 16;

    uint32_t size_plus_one = 0;
    uint32_t capacity = 0;  // of `data`; 0 while the bytes are inside

    union {
        char small[kInline] = {};
        char* data;
    };

    template <size_t position>
    using Input = StringInput<position>;

    static constexpr bool kTrivial = true;

    bool has() const { return size_plus_one != 0; }

    std::string_view view() const { return {capacity ? data : small, size_plus_one ? size_plus_one - 1 : 0}; }

    void assign(std::string_view text, Arena& arena) {
        if (text.size() >= 0x7FFFFFFF)
            throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "String size is too big ({})", text.size());
        const auto size = static_cast<uint32_t>(text.size());
        if (size > (capacity ? capacity : kInline)) grow(size, arena);
        if (size > 0) std::memcpy(capacity ? data : small, text.data(), size);
        size_plus_one = size + 1;
    }

    template <typename Input>
    void set(const Input& input, size_t row, Arena& arena) {
        assign(input[row], arena);
    }

    void set(const StringSingle& other, Arena& arena) { assign(other.view(), arena); }

    template <typename Input>
    bool less(const Input& input, size_t row) const {
        return input[row] < view();
    }

    template <typename Input>
    bool greater(const Input& input, size_t row) const {
        return input[row] > view();
    }

    template <typename Input>
    bool equals(const Input& input, size_t row) const {
        return input[row] == view();
    }

    bool less(const StringSingle& other) const { return other.view() < view(); }

    bool greater(const StringSingle& other) const { return other.view() > view(); }

    bool equals(const StringSingle& other) const { return other.view() == view(); }

    void writeValue(Writer& out) const { out.writeString(view()); }

    void write(Writer& out) const;
    void readValue(const Type& type, Reader& in, Arena& arena);
    void read(const Type& type, Reader& in, Arena& arena);

    void appendTo(Column& to) const { static_cast<StringColumn&>(to).insertText(view()); }

private:
    void grow(uint32_t size, Arena& arena);
};

struct AnySingle {
    /// One row, or no column at all.
    std::unique_ptr<Column> column;

    static constexpr bool kTrivial = false;

    template <size_t position>
    struct Input {
        const Column* column;

        explicit Input(const Column* const* arguments) : column(arguments[position]) {}
    };

    bool has() const { return column != nullptr; }

    template <typename Input>
    void set(const Input& input, size_t row, Arena&) {
        assign(*input.column, row);
    }

    void set(const AnySingle& other, Arena&) {
        if (other.column) assign(*other.column, 0);
    }

    template <typename Input>
    bool less(const Input& input, size_t row) const {
        return input.column->compareAt(row, *column, 0, 1) < 0;
    }

    template <typename Input>
    bool greater(const Input& input, size_t row) const {
        return input.column->compareAt(row, *column, 0, -1) > 0;
    }

    template <typename Input>
    bool equals(const Input& input, size_t row) const {
        return input.column->compareAt(row, *column, 0, 1) == 0;
    }

    bool less(const AnySingle& other) const { return other.column->compareAt(0, *column, 0, 1) < 0; }

    bool greater(const AnySingle& other) const { return other.column->compareAt(0, *column, 0, -1) > 0; }

    bool equals(const AnySingle& other) const { return other.column->compareAt(0, *column, 0, 1) == 0; }

    void writeValue(Writer& out) const { writeBinary(*column, 0, out); }

    void write(Writer& out) const {
        out.writeByte(has());
        if (has()) writeValue(out);
    }

    void readValue(const Type& type, Reader& in, Arena&) {
        std::unique_ptr<Column> read_column = createColumn(type);
        readBinary(type, *read_column, in);
        column = std::move(read_column);
    }

    void read(const Type& type, Reader& in, Arena& arena) {
        if (in.readByte()) readValue(type, in, arena);
    }

    void appendTo(Column& to) const { to.insertFrom(*column, 0); }

private:
    void assign(const Column& from, size_t row) {
        std::unique_ptr<Column> next = from.cloneEmpty();
        next->insertFrom(from, row);
        column = std::move(next);
    }
};

/// Calls action(Tag<Single>) with the layout for values of `type`.
template <typename Action>
void dispatchSingle(const Type& type, Action&& action) {
    if (type.kind() == TypeKind::String) {
        action(Tag<StringSingle>{});
        return;
    }
    if (dispatchPhysical(type.physical(), [&]<typename T>(Tag<T>) { action(Tag<FixedSingle<T>>{}); })) return;
    action(Tag<AnySingle>{});
}

/// The same for functions that never compare.
template <typename Action>
void dispatchKept(const Type& type, Action&& action) {
    if (type.kind() == TypeKind::String) {
        action(Tag<StringSingle>{});
        return;
    }
    if (dispatchWidth(type.physical(), [&]<typename K>(Tag<K>) { action(Tag<BitsSingle<K>>{}); })) return;
    action(Tag<AnySingle>{});
}

/// The value, or the type's default where there is none.
template <typename Single>
void appendOrDefault(const Single& single, const Type& type, Column& to) {
    if (single.has())
        single.appendTo(to);
    else
        insertDefaults(type, to, 1);
}

}  // namespace shardd::aggregates
