#include <algorithm>

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "server/aggregates/binary_form.h"
#include "server/aggregates/combinators.h"
#include "server/aggregates/compact_set.h"
#include "server/aggregates/row_hash.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

namespace {

constexpr size_t kSortedSize = 4096;

/// One argument of constant width.
template <typename T>
struct DistinctFixed {
    using Key = KeyOf<T>;
    CompactSet<Key> set;

    void add(const Column* const* arguments, size_t, size_t row, Arena& arena) {
        set.insert(toKey(static_cast<const FixedColumn<T>&>(*arguments[0]).data()[row]), arena);
    }

    void write(Writer& out) const {
        out.writeVarUInt(set.size());
        set.forEach([&](const Key& key) { out.writeFixed(key); });
    }

    void read(const std::vector<TypePtr>&, Reader& in, Arena& arena) {
        const size_t count = readCount(in, kMaxElements, "set");
        for (size_t i = 0; i < count; ++i) set.insert(in.readFixed<Key>(), arena);
    }

    void appendTo(std::vector<MutableColumnPtr>& columns) const {
        auto& values = static_cast<FixedColumn<T>&>(*columns[0]).values();
        set.forEach([&](const Key& key) { values.push_back(fromKey<T>(key)); });
    }
};

/// One String, FixedString, or anything in its arena form; several arguments: the arena form of the row.
template <bool is_string>
struct DistinctText {
    TextSet set;

    void add(const Column* const* arguments, size_t count, size_t row, Arena& arena) {
        if constexpr (is_string) {
            set.insert(arguments[0]->bytesAt(row), arena);
        } else {
            Writer form;
            for (size_t i = 0; i < count; ++i) arguments[i]->serializeKey(row, form);
            set.insert(form.view(), arena);
        }
    }

    void write(Writer& out) const {
        out.writeVarUInt(set.size());
        set.forEach([&](std::string_view text) { out.writeString(text); });
    }

    void read(const std::vector<TypePtr>& types, Reader& in, Arena& arena) {
        const size_t count = readCount(in, kMaxElements, "set");
        std::string text;
        for (size_t i = 0; i < count; ++i) {
            in.readString(text);
            if constexpr (!is_string)
                checkArenaForm(types.size() == 1 ? *types[0] : *types::tuple(types), text);
            set.insert(text, arena);
        }
    }

    void appendTo(std::vector<MutableColumnPtr>& columns) const {
        std::vector<std::string_view> texts;
        texts.reserve(set.size());
        set.forEach([&](std::string_view text) { texts.push_back(text); });
        // Few values come in ascending order, so that answers of small groups do not depend on hashes.
        if (texts.size() <= kSortedSize) std::ranges::sort(texts);
        for (std::string_view text : texts) {
            if constexpr (is_string) {
                static_cast<StringColumn&>(*columns[0]).insertText(text);
            } else {
                const char* position = text.data();
                for (const MutableColumnPtr& column : columns) position = column->insertKey(position);
            }
        }
    }
};

/// One Array of values of constant width: the bytes of its elements.
struct DistinctArrays {
    TextSet set;

    void add(const Column* const* arguments, size_t, size_t row, Arena& arena) {
        set.insert(contiguousBytes(*arguments[0], row), arena);
    }

    void write(Writer& out) const {
        out.writeVarUInt(set.size());
        set.forEach([&](std::string_view text) { out.writeString(text); });
    }

    void read(const std::vector<TypePtr>& types, Reader& in, Arena& arena) {
        const size_t count = readCount(in, kMaxElements, "set");
        std::string text;
        for (size_t i = 0; i < count; ++i) {
            in.readString(text);
            if (text.size() % types[0]->child()->width() != 0)
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong size {} of an array in an aggregate state",
                            text.size());
            set.insert(text, arena);
        }
    }

    void appendTo(std::vector<MutableColumnPtr>& columns) const {
        auto& array = static_cast<ArrayColumn&>(*columns[0]);
        set.forEach([&](std::string_view text) {
            for (const char* at = text.data(); at != text.data() + text.size();)
                at = array.mutableElements().insertKey(at);
            array.endRow();
        });
    }
};

/// Keeps distinct rows and hands them to the nested function at the end.
template <typename Set>
class Distinct final : public Wrapper {
public:
    Distinct(Signature signature, AggregateFunctionPtr nested)
        : Wrapper(std::move(signature), nested->resultType(), nested) {}

    size_t stateVersion() const override { return 0; }

    size_t stateSize() const override { return sizeof(Set); }

    size_t stateAlignment() const override { return alignof(Set); }

    bool emptyIsZero() const override { return true; }

    bool trivialDestroy() const override { return false; }

    void create(char* place) const override { new (place) Set(); }

    void destroy(char* place) const noexcept override { at(place).~Set(); }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        at(place).add(arguments, argumentTypes().size(), row, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        at(place).set.mergeFrom(at(const_cast<char*>(other)).set, arena);
    }

    void serialize(const char* place, Writer& out) const override { at(const_cast<char*>(place)).write(out); }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        at(place).read(argumentTypes(), in, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        std::vector<MutableColumnPtr> columns;
        for (const TypePtr& type : argumentTypes()) columns.push_back(createColumn(*type));
        at(place).appendTo(columns);
        std::vector<const Column*> arguments;
        for (const MutableColumnPtr& column : columns) arguments.push_back(column.get());
        char* state = arena.allocateAligned(nested().stateSize(), nested().stateAlignment());
        nested().create(state);
        try {
            nested().addBatchSingle(arguments.data(), state, 0, columns[0]->size(), arena);
            nested().insertResult(state, to, arena);
        } catch (...) {
            nested().destroy(state);
            throw;
        }
        nested().destroy(state);
    }

private:
    static Set& at(char* place) { return *std::launder(reinterpret_cast<Set*>(place)); }
};

}  // namespace

AggregateFunctionPtr createDistinct(Signature signature,
                                    const std::string& nested_name,
                                    NestedResolver resolve) {
    if (signature.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with Distinct suffix");
    AggregateFunctionPtr nested = resolve(nested_name, signature.parameters, signature.arguments);
    if (signature.arguments.size() > 1)
        return std::make_shared<Distinct<DistinctText<false>>>(std::move(signature), nested);
    const TypePtr argument = signature.arguments[0];
    if (argument->kind() == TypeKind::String)
        return std::make_shared<Distinct<DistinctText<true>>>(std::move(signature), nested);
    AggregateFunctionPtr function;
    // Dates, Decimals and the other types of constant width travel as strings of bytes.
    if (argument->isInteger() || argument->isFloat() || argument->isEnum() ||
        argument->kind() == TypeKind::Bool)
        dispatchPhysical(argument->physical(), [&]<typename T>(Tag<T>) {
            function = std::make_shared<Distinct<DistinctFixed<T>>>(std::move(signature), nested);
        });
    if (function) return function;
    if (argument->kind() == TypeKind::Array && isContiguous(*argument))
        return std::make_shared<Distinct<DistinctArrays>>(std::move(signature), nested);
    return std::make_shared<Distinct<DistinctText<false>>>(std::move(signature), nested);
}

}  // namespace shardd::aggregates
