#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/arena.h"
#include "common/columns/create_column.h"
#include "common/columns/state_column.h"
#include "common/types/type_parser.h"
#include "server/aggregates/aggregate.h"
#include "server/aggregates/aggregate_list.h"
#include "server/aggregates/binary_form.h"

namespace shardd::aggregates {

namespace {

enum class Bytes { Exact, AnyOrder, Decoded };

/// Rows of a function over values in binary form (hexadecimal, one row after another, a column of one type
/// each), with the state's bytes and the result's binary form as ClickHouse 26.7 makes them.
struct Case {
    const char* name;
    std::vector<Value> parameters;
    const char* types;  // separated by "; "
    const char* rows;   // separated by ","
    const char* state;
    Bytes bytes;
    const char* result_type;
    const char* result;

    friend void PrintTo(const Case& c, std::ostream* out) {
        *out << c.name << "(" << c.types << ") over " << c.rows;
    }
};

std::string unhex(std::string_view text) {
    std::string bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}

std::string hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string text;
    for (const char byte : bytes) {
        text.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
        text.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
    }
    return text;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const size_t end = std::min(text.find(separator), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + separator.size(), text.size()));
    }
    return parts;
}

std::string sortedBytes(std::string bytes) {
    std::ranges::sort(bytes);
    return bytes;
}

/// A function with the columns of a case.
class Call {
public:
    explicit Call(const Case& c) : rows_(split(c.rows, ",").size()) {
        std::vector<TypePtr> types;
        for (const std::string& name : split(c.types, "; ")) types.push_back(parseType(name));
        function_ = resolveAggregateFunction(c.name, c.parameters, types);
        for (const TypePtr& type : types)
            columns_.push_back(createColumn(*removeLowCardinalityRecursively(type)));
        for (const std::string& row : split(c.rows, ",")) {
            const std::string bytes = unhex(row);
            Reader in(bytes);
            for (size_t i = 0; i < columns_.size(); ++i)
                readBinary(*removeLowCardinalityRecursively(types[i]), *columns_[i], in);
        }
        for (const MutableColumnPtr& column : columns_) arguments_.push_back(column.get());
    }

    const AggregateFunction& function() const { return *function_; }

    size_t rows() const { return rows_; }

    const Column* const* arguments() const { return arguments_.data(); }

private:
    size_t rows_;
    AggregateFunctionPtr function_;
    std::vector<MutableColumnPtr> columns_;
    std::vector<const Column*> arguments_;
};

class OneState {
public:
    explicit OneState(const AggregateFunction& function)
        : function_(function),
          place_(
              arena_.allocateAligned(std::max<size_t>(function.stateSize(), 1), function.stateAlignment())) {
        function_.create(place_);
    }

    OneState(const OneState&) = delete;
    OneState& operator=(const OneState&) = delete;

    ~OneState() { function_.destroy(place_); }

    char* place() { return place_; }

    Arena& arena() { return arena_; }

    std::string bytes() const {
        Writer out;
        function_.serialize(place_, out);
        return std::string(out.view());
    }

    std::string result() {
        const MutableColumnPtr column = createColumn(*function_.resultType());
        function_.insertResult(place_, *column, arena_);
        EXPECT_EQ(column->size(), 1U);
        Writer out;
        writeBinary(*column, 0, out);
        return hex(out.view());
    }

private:
    const AggregateFunction& function_;
    Arena arena_;
    char* place_;
};

class States : public testing::TestWithParam<Case> {
protected:
    void expectState(OneState& state, const char* how) {
        const std::string wanted = unhex(GetParam().state);
        if (GetParam().bytes == Bytes::Exact) {
            EXPECT_EQ(hex(state.bytes()), GetParam().state) << how;
        }
        if (GetParam().bytes == Bytes::AnyOrder) {
            EXPECT_EQ(sortedBytes(state.bytes()), sortedBytes(wanted)) << how;
        }
        EXPECT_EQ(state.result(), GetParam().result) << how;
    }
};

}  // namespace

TEST_P(States, AreClickHousesHoweverRowsComeIn) {
    const Call call(GetParam());
    const AggregateFunction& function = call.function();
    EXPECT_EQ(function.resultType()->name(), GetParam().result_type);

    OneState whole(function);
    function.addBatchSingle(call.arguments(), whole.place(), 0, call.rows(), whole.arena());
    expectState(whole, "addBatchSingle");

    OneState one_by_one(function);
    for (size_t row = 0; row < call.rows(); ++row)
        function.add(one_by_one.place(), call.arguments(), row, one_by_one.arena());
    expectState(one_by_one, "add");

    OneState by_places(function);
    const std::vector<char*> places(call.rows(), by_places.place());
    function.addBatch(call.arguments(), places.data(), 0, 0, call.rows(), by_places.arena());
    expectState(by_places, "addBatch");

    // Two halves by masks, then merged.
    OneState left(function);
    OneState right(function);
    std::vector<uint8_t> mask(call.rows() + 1);
    for (size_t row = 0; row < call.rows() / 2; ++row) mask[row] = 1;
    function.addBatchSingleIf(call.arguments(), left.place(), 0, call.rows(), mask.data(), left.arena());
    for (uint8_t& bit : mask) bit = !bit;
    function.addBatchSingleIf(call.arguments(), right.place(), 0, call.rows(), mask.data(), right.arena());
    function.merge(left.place(), right.place(), left.arena());
    EXPECT_EQ(left.result(), GetParam().result) << "merge";
}

TEST_P(States, ReadClickHousesBytes) {
    const Call call(GetParam());
    const std::string bytes = unhex(GetParam().state);
    OneState state(call.function());
    Reader in(bytes);
    call.function().deserialize(state.place(), in, state.arena());
    EXPECT_TRUE(in.atEnd());
    EXPECT_EQ(state.result(), GetParam().result);
}

TEST_P(States, RefuseBytesThatAreCutShort) {
    const Call call(GetParam());
    const std::string bytes = unhex(GetParam().state);
    for (size_t size = 0; size < bytes.size(); ++size) {
        OneState state(call.function());
        Reader in(std::string_view(bytes).substr(0, size));
        EXPECT_THROW(call.function().deserialize(state.place(), in, state.arena()), Error)
            << size << " bytes";
    }
}

TEST_P(States, TravelManyAtATime) {
    constexpr size_t kStates = 5;
    const Call call(GetParam());
    const std::string one = unhex(GetParam().state);
    std::string bytes;
    for (size_t i = 0; i < kStates; ++i) bytes += one;

    StateColumn column(call.function().shared_from_this());
    Reader in(bytes);
    column.readStates(kStates, in);
    EXPECT_TRUE(in.atEnd());
    ASSERT_EQ(column.size(), kStates);
    Writer together;
    call.function().serializeBatch(column.states().data(), kStates, together);
    Writer one_by_one;
    for (const char* state : column.states()) call.function().serialize(state, one_by_one);
    EXPECT_EQ(hex(together.view()), hex(one_by_one.view()));
    if (GetParam().bytes == Bytes::Exact) {
        EXPECT_EQ(hex(together.view()), hex(bytes));
    }
    for (char* state : column.states()) {
        const MutableColumnPtr result = createColumn(*call.function().resultType());
        call.function().insertResult(state, *result, column.arena());
        Writer out;
        writeBinary(*result, 0, out);
        EXPECT_EQ(hex(out.view()), GetParam().result);
    }
}

TEST_P(States, StayWholeWhereBytesEnd) {
    constexpr size_t kStates = 3;
    const Call call(GetParam());
    const std::string one = unhex(GetParam().state);
    if (one.empty()) GTEST_SKIP() << "no bytes, no end";
    const std::string bytes = one + one + one;
    const size_t step = std::max<size_t>(1, one.size() / 100);
    for (size_t size = 0; size < bytes.size(); size += step) {
        StateColumn column(call.function().shared_from_this());
        Reader in(std::string_view(bytes).substr(0, size));
        const char* whole_end = nullptr;
        EXPECT_THROW(column.continueStates(kStates, in, whole_end), Error) << size << " bytes";
        ASSERT_EQ(column.size(), size / one.size());
        ASSERT_EQ(whole_end, bytes.data() + column.size() * one.size());
        // What comes later is put behind them.
        Reader rest(std::string_view(bytes).substr(column.size() * one.size()));
        column.continueStates(kStates, rest, whole_end);
        EXPECT_TRUE(rest.atEnd());
        Writer out;
        call.function().serializeBatch(column.states().data(), kStates, out);
        if (GetParam().bytes == Bytes::Exact) {
            EXPECT_EQ(hex(out.view()), hex(bytes));
        }
        if (GetParam().bytes == Bytes::AnyOrder) {
            EXPECT_EQ(sortedBytes(std::string(out.view())), sortedBytes(bytes));
        }
    }
}

const Case kCases[] = {
#include "tests/unit/server/aggregates/states_cases.inc"
};

INSTANTIATE_TEST_SUITE_P(ClickHouse, States, testing::ValuesIn(kCases));

TEST(Resolve, TellsWhatClickHouseTells) {
    const std::vector<TypePtr> text = {types::string()};
    const std::vector<TypePtr> number = {types::uint64()};
    const auto code = [](std::string_view name, const std::vector<Value>& parameters,
                         const std::vector<TypePtr>& arguments) {
        try {
            resolveAggregateFunction(name, parameters, arguments);
            return 0;
        } catch (const Error& error) {
            return error.code();
        }
    };
    EXPECT_EQ(code("sum", {}, text), 43);
    EXPECT_EQ(code("sum", {}, {}), 42);
    EXPECT_EQ(code("sum", {Value(uint64_t{1})}, number), 133);
    EXPECT_EQ(code("nosuch", {}, number), 63);
    EXPECT_EQ(code("sumIf", {}, {types::uint64(), types::string()}), 43);
    EXPECT_EQ(code("sumIfIf", {}, {types::uint64(), types::uint8(), types::uint8()}), 184);
    EXPECT_EQ(code("quantile", {Value(2.0)}, number), 12);
    EXPECT_EQ(code("groupArray", {Value(uint64_t{0})}, number), 36);
    EXPECT_EQ(code("uniqUpTo", {Value(uint64_t{101})}, number), 69);
    EXPECT_EQ(code("sumMerge", {}, number), 43);
}

TEST(Resolve, KnowsAliasesCombinatorsAndCase) {
    EXPECT_TRUE(isAggregateFunction("sumIfOrNull"));
    EXPECT_TRUE(isAggregateFunction("COUNT"));
    EXPECT_FALSE(isAggregateFunction("SUMMAP"));
    EXPECT_FALSE(isAggregateFunction("If"));
    EXPECT_EQ(canonicalAggregateName("first_valueIf"), "anyIf");
    EXPECT_EQ(canonicalAggregateName("median"), "quantile");
    const auto state =
        resolveAggregateFunction("quantilesState", {Value(0.5), Value(1.0)}, {types::uint64()});
    EXPECT_EQ(state->resultType()->name(), "AggregateFunction(quantiles(0.5, 1.), UInt64)");
}

}  // namespace shardd::aggregates
