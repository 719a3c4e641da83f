#pragma once

#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/reader.h"
#include "common/base/writer.h"
#include "common/columns/fixed_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"
#include "server/aggregates/aggregate.h"
#include "server/aggregates/aggregate_list.h"

namespace shardd::aggregates {

/// The part of an aggregate function that is the same for all: its signature and result type.
class NamedAggregate : public AggregateFunction {
public:
    NamedAggregate(Signature signature, TypePtr result_type);

    const std::string& name() const override { return signature_.name; }

    const std::vector<Value>& parameters() const override { return signature_.parameters; }

    const std::string& parametersText() const override { return parameters_text_; }

    const std::vector<TypePtr>& argumentTypes() const override { return signature_.arguments; }

    const TypePtr& resultType() const override { return result_type_; }

protected:
    const Signature& signature() const { return signature_; }

private:
    Signature signature_;
    std::string parameters_text_;
    TypePtr result_type_;
};

/// A function whose loops over many rows are its own; one row is a batch of one, so that no loop's body is
/// compiled twice. Adding to a single state is addBatch() too, unless it is overridden.
class BatchAggregate : public NamedAggregate {
public:
    using NamedAggregate::NamedAggregate;

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override;
    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override;

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        addBatch(arguments, &place, 0, row, 1, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        mergeBatch(&place, &other, 0, 1, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        insertResultBatch(&place, 0, 1, to, arena);
    }
};

/// Writes the loops of an aggregate function so that nothing virtual is called a row.
/// Derived has
///   void addRow(State&, const Input&, size_t row, Arena&) const;
///   void mergeStates(State&, const State&, Arena&) const;
///   void write(const State&, Writer&) const;
///   void read(State&, Reader&, Arena&) const;
///   void finish(State&, Column& to, Arena&) const;
/// and may have kEmptyIsZero and inputOf(arguments) where Input needs more than the columns.
/// Input is made once a batch from the argument columns and lets a row be read cheaply.
template <typename Derived, typename State, typename Input>
class AggregateBase : public BatchAggregate {
public:
    using BatchAggregate::BatchAggregate;
    using StateType = State;

    static constexpr bool kEmptyIsZero = false;

    size_t stateSize() const override { return sizeof(State); }

    size_t stateAlignment() const override { return alignof(State); }

    bool emptyIsZero() const override { return Derived::kEmptyIsZero; }

    bool trivialDestroy() const override { return std::is_trivially_destructible_v<State>; }

    void create(char* place) const override { new (place) State(); }

    void destroy(char* place) const noexcept override { at(place).~State(); }

    Input inputOf(const Column* const* arguments) const { return Input(arguments); }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        const Input input = self().inputOf(arguments);
        for (size_t i = 0; i < rows; ++i)
            if (places[i]) self().addRow(at(places[i] + offset), input, from + i, arena);
    }

    void mergeBatch(char* const* places,
                    const char* const* others,
                    size_t offset,
                    size_t rows,
                    Arena& arena) const override {
        for (size_t i = 0; i < rows; ++i)
            self().mergeStates(at(places[i] + offset), at(others[i] + offset), arena);
    }

    void serialize(const char* place, Writer& out) const override { self().write(at(place), out); }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        self().read(at(place), in, arena);
    }

    void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const override {
        for (size_t i = 0; i < rows; ++i) self().finish(at(places[i] + offset), to, arena);
    }

protected:
    static State& at(char* place) { return *std::launder(reinterpret_cast<State*>(place)); }

    static const State& at(const char* place) { return *std::launder(reinterpret_cast<const State*>(place)); }

    const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// With loops of its own for a single state too: for functions so cheap a row that a place a row would be
/// felt. Derived may have its own addAll() and addMasked() for whole columns.
template <typename Derived, typename State, typename Input>
class QuickAggregate : public AggregateBase<Derived, State, Input> {
public:
    using ByRow = AggregateBase<Derived, State, Input>;
    using ByRow::AggregateBase;

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        const Input input = this->self().inputOf(arguments);
        this->self().addAll(ByRow::at(place), input, from, rows, arena);
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        const Input input = this->self().inputOf(arguments);
        this->self().addMasked(ByRow::at(place), input, from, rows, mask, arena);
    }

    void addAll(State& state, const Input& input, size_t from, size_t rows, Arena& arena) const {
        for (size_t row = from; row < from + rows; ++row) this->self().addRow(state, input, row, arena);
    }

    void addMasked(
        State& state, const Input& input, size_t from, size_t rows, const uint8_t* mask, Arena& arena) const {
        for (size_t row = from; row < from + rows; ++row)
            if (mask[row]) this->self().addRow(state, input, row, arena);
    }
};

/// The argument at `position` as a FixedColumn<T>'s values.
template <typename T, size_t position = 0>
struct FixedInput {
    const T* values;

    explicit FixedInput(const Column* const* arguments) : values(columnOf(*arguments[position]).data()) {}

    const T& operator[](size_t row) const { return values[row]; }

private:
    static const FixedColumn<T>& columnOf(const Column& column) {
        if (column.kind() != ColumnKind::Fixed) [[unlikely]]
            failColumnCast(column, "FixedColumn");
        return static_cast<const FixedColumn<T>&>(column);
    }
};

/// The argument at `position` as strings: a StringColumn.
template <size_t position = 0>
struct StringInput {
    const char* chars;
    const uint64_t* ends;

    explicit StringInput(const Column* const* arguments) {
        const Column& column = *arguments[position];
        if (column.kind() != ColumnKind::String) [[unlikely]]
            failColumnCast(column, "StringColumn");
        chars = static_cast<const StringColumn&>(column).chars().data();
        ends = static_cast<const StringColumn&>(column).ends().data();
    }

    std::string_view operator[](size_t row) const {
        const uint64_t start = row == 0 ? 0 : ends[row - 1];
        return {chars + start, ends[row] - start};
    }
};

/// The arguments as they are, for functions that work on any type.
struct ColumnsInput {
    const Column* const* columns;

    explicit ColumnsInput(const Column* const* arguments) : columns(arguments) {}
};

struct NoInput {
    explicit NoInput(const Column* const* /*arguments*/) {}
};

/// Appends to a column of constant width that insertResult() was given.
template <typename T>
void appendFixed(Column& to, const T& value) {
    static_cast<FixedColumn<T>&>(to).values().push_back(value);
}

/// Appends a row to a column of Tuples of constant widths.
template <typename... Ts>
void appendTuple(Column& to, const Ts&... values) {
    auto& tuple = static_cast<TupleColumn&>(to);
    size_t i = 0;
    (appendFixed(tuple.mutableElement(i++), values), ...);
    tuple.endRow();
}

/// A value as ClickHouse prints it in type names: 0.5, 1., 'text', [1, 2].
std::string literalText(const Value& value);

// What ClickHouse says to wrong calls.
void expectArguments(const Signature& signature, size_t count);
void expectNoParameters(const Signature& signature);
[[noreturn]] void failArgumentType(const Signature& signature, size_t position = 0);

}  // namespace shardd::aggregates
