#include <array>
#include <random>

#include "tests/support/forgetful_file_system.h"
#include "tests/unit/server/exec/group_by.h"
#include "tests/unit/server/exec/ordered_table.h"

/// However an aggregation goes — over how many threads, in blocks of what size, with tables of what size, in
/// memory or by way of the disk, in one step or as states, all at once or key range by key range — its groups
/// are the same.
namespace shardd::exec {
namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t bound) { return random() % bound; }

struct KeyType {
    const char* type;
    Value (*make)(uint64_t number);
};

Value numbered(uint64_t n) { return Value(n * uint64_t{0x9E3779B97F4A7C15}); }

Value texted(uint64_t n) {
    return Value(n % 5 == 0 ? std::string(n % 60, 'x') + std::to_string(n) : std::to_string(n));
}

const std::vector<KeyType> kKeyTypes = {
    {"UInt8", [](uint64_t n) { return Value(n % 251); }},
    {"Int16", [](uint64_t n) { return Value(static_cast<int64_t>(n % 60000) - 30000); }},
    {"UInt32", [](uint64_t n) { return Value(n * 2654435761 % 4294967296); }},
    {"UInt64", numbered},
    {"Float64", [](uint64_t n) { return Value(static_cast<double>(n) - 7); }},
    {"Nullable(UInt32)", [](uint64_t n) { return n % 7 == 0 ? Value() : Value(n); }},
    {"String", texted},
    {"Nullable(String)", [](uint64_t n) { return n % 7 == 0 ? Value() : texted(n); }},
    {"LowCardinality(String)", [](uint64_t n) { return texted(n % 3000); }},
    {"FixedString(4)", [](uint64_t n) { return Value(std::string(reinterpret_cast<const char*>(&n), 4)); }},
    {"Array(UInt8)",
     [](uint64_t n) {
         return Value(ArrayValue{{Value(n % 256), Value(n / 256 % 256)}});
     }},
};

/// Functions whose result does not depend on the order of rows, over n UInt64, i Int32, f Float64 (whole
/// numbers), s String, o Nullable(UInt64).
const std::vector<std::pair<const char*, const char*>> kFunctions = {
    {"count", ""},        {"sum", "n"},           {"sum", "f"},          {"avg", "f"},
    {"min", "i"},         {"max", "i"},           {"min", "s"},          {"max", "s"},
    {"sum", "o"},         {"count", "o"},         {"uniqExact", "s"},    {"uniqExact", "n"},
    {"groupBitXor", "n"}, {"quantileExact", "i"}, {"avg", "o"},          {"sumOrNull", "n"},
    {"uniq", "n"},        {"max", "o"},           {"minOrDefault", "s"}, {"groupBitmap", "u"},
};

struct Case {
    std::vector<std::pair<std::string, std::string>> columns;
    std::vector<Block> blocks;
    plan::StepPtr input;
    std::vector<std::string> keys;
    std::vector<plan::AggregateCall> calls;
};

Case makeCase(Random& random) {
    std::vector<const KeyType*> key_types;
    Case result;
    auto& columns = result.columns;
    const size_t keys = below(random, 12) == 0 ? 0 : 1 + below(random, 3);
    for (size_t k = 0; k < keys; ++k) {
        key_types.push_back(&kKeyTypes[below(random, kKeyTypes.size())]);
        result.keys.push_back("k" + std::to_string(k));
        columns.emplace_back(result.keys.back(), key_types.back()->type);
    }
    for (const auto& [name, type] :
         std::vector<std::pair<const char*, const char*>>{{"n", "UInt64"},
                                                          {"i", "Int32"},
                                                          {"f", "Float64"},
                                                          {"s", "String"},
                                                          {"o", "Nullable(UInt64)"},
                                                          {"u", "UInt32"}})
        columns.emplace_back(name, type);
    const size_t rows = 500 + below(random, 5000);
    const uint64_t groups = std::array<uint64_t, 4>{3, 300, 3000, 1000000}[below(random, 4)];
    for (size_t done = 0; done < rows;) {
        const size_t count = std::min<size_t>(rows - done, 1 + below(random, 1500));
        Rows values(count);
        for (auto& row : values) {
            const uint64_t group = below(random, groups);
            for (size_t k = 0; k < keys; ++k) row.push_back(key_types[k]->make(k == 0 ? group : group / 3));
            const uint64_t n = below(random, 1000);
            row.insert(row.end(),
                       {Value(n), Value(static_cast<int64_t>(n) - 500), Value(static_cast<double>(n) - 300),
                        texted(n), n % 3 == 0 ? Value() : Value(n), Value(n)});
        }
        result.blocks.push_back(makeBlock(columns, values));
        done += count;
    }
    result.input = scanOf(result.blocks);
    const size_t calls = below(random, 5);
    for (size_t c = 0; c < calls; ++c) {
        const auto& [function, argument] = kFunctions[below(random, kFunctions.size())];
        auto made = call(function, result.input->header,
                         *argument ? std::vector<std::string>{argument} : std::vector<std::string>{});
        made.name += "#" + std::to_string(c);
        result.calls.push_back(std::move(made));
    }
    return result;
}

enum class Shape : uint64_t { Finished, ThroughStates, Totals, Rollup, Cube, GroupingSets, Maximum };

plan::StepPtr withHeader(plan::StepPtr step, auto node) {
    Block header = step->header;
    header.columns.insert(header.columns.begin(), emptyColumn("__grouping_set", types::uint64()));
    return plan::makeStep(std::move(node), std::move(header));
}

plan::StepPtr planOf(const Case& c, Shape shape, const std::vector<std::string>& key_order = {}) {
    const plan::StepPtr finished = inKeyOrder(groupBy(c.input, c.keys, c.calls), key_order);
    const plan::StepPtr states = inKeyOrder(groupBy(c.input, c.keys, c.calls, false), key_order);
    std::vector<plan::AggregateCall> over_states = c.calls;
    for (plan::AggregateCall& call : over_states) call.arguments = {call.name};
    switch (shape) {
        case Shape::Finished:
            return finished;
        case Shape::ThroughStates:
            return mergeStates(states, c.keys, c.calls);
        case Shape::Totals: {
            plan::TotalsStep totals{states, c.keys, over_states, nullptr};
            return plan::makeStep(std::move(totals), finished->header);
        }
        case Shape::Rollup:
        case Shape::Cube: {
            plan::RollupStep rollup{states, c.keys, over_states};
            rollup.cube = shape == Shape::Cube;
            return withHeader(finished, rollup);
        }
        case Shape::GroupingSets: {
            auto sets = std::get<plan::AggregateStep>(finished->node);
            sets.grouping_sets = {{0}, {}, {0}};
            return withHeader(finished, sets);
        }
        case Shape::Maximum: {
            auto limited = std::get<plan::AggregateStep>(finished->node);
            limited.max_groups = 6000;  // more than there are, fewer than workers have together
            limited.overflow = static_cast<plan::OverflowMode>(c.calls.size() % 3);
            return plan::makeStep(std::move(limited), finished->header);
        }
    }
    return finished;
}

void appendRows(const Block& block, std::vector<std::string>& rows) {
    for (size_t i = 0; i < block.rows; ++i) {
        Writer line;
        for (const NamedColumn& column : block.columns) column.column->serializeKey(i, line);
        rows.emplace_back(line.view());
    }
}

/// One text a row: the groups in any order, then the totals.
std::vector<std::string> rowsAsText(const Answer& answer) {
    std::vector<std::string> rows;
    for (const Block& block : answer.blocks) appendRows(block, rows);
    std::sort(rows.begin(), rows.end());
    appendRows(answer.totals_block, rows);
    return rows;
}

class AggregationProperty : public ExecTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(AggregationProperty, TheWayDoesNotChangeTheGroups) {
    Random random(GetParam());
    for (size_t round = 0; round < 12; ++round) {
        const Case c = makeCase(random);
        const auto shape = static_cast<Shape>(c.keys.empty() ? 0 : below(random, 7));
        const plan::StepPtr plan = planOf(c, shape);
        const std::vector<std::string> expected = rowsAsText(run(plan));
        for (size_t way = 0; way < 3; ++way) {
            ExecSettings settings;
            settings.max_threads = 1 + below(random, 16);
            settings.max_block_rows = 1 + below(random, below(random, 2) == 0 ? 20 : 100000);
            settings.group_table_bytes = below(random, 2) == 0 ? 1 : size_t{3} << 19;
            settings.max_bytes_before_external_group_by = below(random, 3) == 0 ? 0 : 1;
            settings.group_by_two_level_threshold = 1 + below(random, 2000);
            tests::ForgetfulFileSystem disk;
            disk.createDirectories("tmp");
            Answer answer;
            context(settings).temporary = {.files = &disk, .path = "tmp"};
            context_->temporary.codec.method = below(random, 2) == 0 ? FrameMethod::Lz4 : FrameMethod::None;
            execute(plan, *context_, answer);
            EXPECT_TRUE(disk.list("tmp").empty());
            ASSERT_TRUE(rowsAsText(answer) == expected)
                << "round " << round << " shape " << static_cast<int>(shape) << " threads "
                << settings.max_threads << " block " << settings.max_block_rows << " table "
                << settings.group_table_bytes << " spills " << settings.max_bytes_before_external_group_by
                << " from " << settings.group_by_two_level_threshold;
        }
        context_.reset();
    }
}

TEST_P(AggregationProperty, RangesOfKeysDoNotChangeTheGroups) {
    Random random(GetParam());
    for (size_t round = 0; round < 12; ++round) {
        Case c = makeCase(random);
        size_t sorted_keys = 0;
        while (sorted_keys < c.keys.size() && !c.columns[sorted_keys].second.starts_with("Array"))
            ++sorted_keys;
        if (sorted_keys == 0) continue;
        const auto shape = static_cast<Shape>(below(random, 5));
        const std::vector<std::string> expected = rowsAsText(run(planOf(c, shape)));
        std::vector<std::string> order(
            c.keys.begin(), c.keys.begin() + 1 + static_cast<ptrdiff_t>(below(random, sorted_keys)));
        if (below(random, 2) == 0) order.push_back("n");
        tests::ForgetfulFileSystem disk;
        OrderedTable table(disk, c.columns, order, 1 + below(random, 200), below(random, 2) == 0);
        for (const Block& block : c.blocks) table.insert(block);
        c.input = table.scan();
        if (order.back() == "n") order.pop_back();
        for (size_t way = 0; way < 4; ++way) {
            ExecSettings settings;
            settings.max_threads = 1 + below(random, 16);
            settings.max_block_rows = 1 + below(random, below(random, 2) == 0 ? 20 : 100000);
            settings.group_table_bytes = below(random, 2) == 0 ? 1 : size_t{3} << 19;
            settings.key_range_rows = 1 + below(random, below(random, 2) == 0 ? 50 : 2000);
            settings.max_bytes_before_external_group_by = below(random, 3) == 0 ? 1 : 0;
            settings.group_by_two_level_threshold = 1 + below(random, 200);
            tests::ForgetfulFileSystem temporary;
            temporary.createDirectories("tmp");
            Answer answer;
            context(settings).temporary = {.files = &temporary, .path = "tmp"};
            execute(planOf(c, shape, order), *context_, answer);
            ASSERT_TRUE(rowsAsText(answer) == expected)
                << "round " << round << " shape " << static_cast<int>(shape) << " threads "
                << settings.max_threads << " range " << settings.key_range_rows << " elements "
                << order.size();
        }
        context_.reset();
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AggregationProperty, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace shardd::exec
