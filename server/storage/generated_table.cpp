#include "server/storage/generated_table.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "common/base/error.h"
#include "common/columns/const_column.h"
#include "common/columns/fixed_column.h"

namespace shardd::storage {

namespace {

constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

/// What the sources of one scan share: the numbers not yet taken.
struct SequenceWork {
    NumberSequence sequence;
    uint64_t count = 0;
    size_t block_rows = 0;
    std::atomic<uint64_t> next = 0;
    std::stop_token stop;
    std::function<void(uint64_t, uint64_t)> progress;
};

class SequenceSource final : public BlockSource {
public:
    SequenceSource(Block header, std::shared_ptr<SequenceWork> work)
        : header_(std::move(header)), work_(std::move(work)) {}

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        if (work_->stop.stop_requested()) return std::nullopt;
        const uint64_t from = work_->next.fetch_add(work_->block_rows, std::memory_order_relaxed);
        if (from >= work_->count) return std::nullopt;
        const size_t rows = std::min<uint64_t>(work_->block_rows, work_->count - from);
        Block block;
        block.rows = rows;
        for (const NamedColumn& column : header_.columns)
            block.columns.push_back({column.name, column.type, makeColumn(from, rows)});
        const size_t width = work_->sequence.type ? work_->sequence.type->width() : sizeof(uint64_t);
        if (work_->progress) work_->progress(rows, rows * width);
        return block;
    }

private:
    ColumnPtr makeColumn(uint64_t from, size_t rows) const {
        const NumberSequence& sequence = work_->sequence;
        if (sequence.type && sequence.type->kind() == TypeKind::UInt8)
            return std::make_shared<FixedColumn<uint8_t>>(
                PodVector<uint8_t>(rows, static_cast<uint8_t>(sequence.start)));
        PodVector<uint64_t> numbers(rows);
        uint64_t value = sequence.start + from * sequence.step;
        for (uint64_t& number : numbers) {
            number = value;
            value += sequence.step;
        }
        return std::make_shared<FixedColumn<uint64_t>>(std::move(numbers));
    }

    Block header_;
    std::shared_ptr<SequenceWork> work_;
};

/// Conditions on the number cut the sequence at both ends, so that `system.numbers WHERE number < 10` ends.
void applyRanges(SequenceWork& work, const std::vector<ColumnRange>& ranges) {
    NumberSequence& sequence = work.sequence;
    if (sequence.constant || sequence.step != 1) return;
    for (const ColumnRange& range : ranges) {
        if (range.column != sequence.column) continue;
        uint64_t lower = 0;
        uint64_t upper = kForever;
        if (range.lower && range.lower->kind() == Value::Kind::UInt64) lower = range.lower->get<uint64_t>();
        if (range.upper && range.upper->kind() == Value::Kind::UInt64) upper = range.upper->get<uint64_t>();
        for (size_t i = 0; i < range.values.size(); ++i) {
            if (range.values[i].kind() != Value::Kind::UInt64) return;
            const uint64_t value = range.values[i].get<uint64_t>();
            lower = i == 0 ? value : std::min(lower, value);
            upper = i == 0 ? value : std::max(upper, value);
        }
        // A sequence that wraps is left alone.
        if (work.count != kForever && sequence.start > kForever - work.count) return;
        const uint64_t end = work.count == kForever ? kForever : sequence.start + work.count;
        const uint64_t first = std::max(sequence.start, lower);
        const uint64_t behind = upper == kForever ? end : std::min(end, upper + 1);
        work.count = behind > first ? behind - first : 0;
        if (behind == kForever && work.count != 0) work.count = kForever;
        sequence.start = first;
    }
}

TablePtr makeGenerated(std::string database, std::string name, std::string engine, NumberSequence sequence) {
    if (!sequence.type) sequence.type = types::uint64();
    TableSchema schema;
    schema.database = std::move(database);
    schema.name = std::move(name);
    schema.engine = std::move(engine);
    schema.uuid = "00000000-0000-0000-0000-000000000000";
    schema.columns.push_back({.name = sequence.column, .type = sequence.type});
    return std::make_shared<GeneratedTable>(std::move(schema), std::move(sequence));
}

uint64_t numericArgument(const TableFunctionRequest& request, size_t position) {
    const Argument& argument = request.arguments[position];
    if (!argument.value || argument.value->kind() == Value::Kind::String || argument.value->isNull())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} expression, must be numeric type",
                    argument.type ? argument.type->name() : argument.text);
    const Value& value = *argument.value;
    const bool fits =
        value.kind() == Value::Kind::UInt64 || value.kind() == Value::Kind::Bool ||
        (value.kind() == Value::Kind::Int64 && value.get<int64_t>() >= 0) ||
        (value.kind() == Value::Kind::Float64 && value.get<double>() >= 0 &&
         value.get<double>() == static_cast<double>(static_cast<uint64_t>(value.get<double>())));
    if (!fits)
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "The value {} is not representable as UInt64",
                    argument.text);
    return value.to<uint64_t>();
}

TablePtr createNumbers(const TableFunctionRequest& request) {
    const size_t given = request.arguments.size();
    if (given > 3)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function '{}' cannot have more than three params", request.name);
    NumberSequence sequence{.type = types::uint64()};
    sequence.parallel = request.name.ends_with("_mt");
    if (given == 1) sequence.count = numericArgument(request, 0);
    if (given >= 2) {
        sequence.start = numericArgument(request, 0);
        sequence.count = numericArgument(request, 1);
    }
    if (given == 3) {
        sequence.step = numericArgument(request, 2);
        if (sequence.step == 0)
            throw Error(ErrorCode::BAD_ARGUMENTS, "Table function {} requires step to be a positive number",
                        request.name);
        sequence.count = (*sequence.count + sequence.step - 1) / sequence.step;
    }
    return makeGenerated("_table_function", request.name, "SystemNumbers", std::move(sequence));
}

TablePtr createSeries(const TableFunctionRequest& request) {
    if (request.arguments.size() != 2 && request.arguments.size() != 3)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function '{}' requires 'length' or 'offset, length'", request.name);
    NumberSequence sequence{.column = "generate_series", .type = types::uint64()};
    sequence.start = numericArgument(request, 0);
    const uint64_t last = numericArgument(request, 1);
    if (request.arguments.size() == 3) sequence.step = numericArgument(request, 2);
    if (sequence.step == 0)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Table function '{}' requires step to be a non-zero number",
                    request.name);
    sequence.count = last < sequence.start ? 0 : (last - sequence.start) / sequence.step + 1;
    return makeGenerated("_table_function", request.name, "SystemNumbers", std::move(sequence));
}

TablePtr createZeros(const TableFunctionRequest& request) {
    if (request.arguments.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Table function '{}' requires 'limit'",
                    request.name);
    NumberSequence sequence{.column = "zero", .type = types::simple(TypeKind::UInt8), .constant = true};
    sequence.parallel = request.name.ends_with("_mt");
    if (!request.arguments.empty()) sequence.count = numericArgument(request, 0);
    return makeGenerated("_table_function", request.name, "SystemZeros", std::move(sequence));
}

TablePtr createOne(const TableFunctionRequest& request) {
    if (!request.arguments.empty())
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Table function 'one' takes no arguments");
    return makeGenerated(
        "_table_function", "one", "SystemOne",
        {.column = "dummy", .type = types::simple(TypeKind::UInt8), .count = 1, .constant = true});
}

TablePtr createNull(const TableFunctionRequest& request) {
    if (request.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Table function 'null' requires one argument: structure");
    TableSchema schema;
    schema.database = "_table_function";
    schema.name = "null";
    schema.engine = "Null";
    schema.columns = request.parse_structure(request.arguments[0].word("structure"));
    return std::make_shared<NullTable>(std::move(schema));
}

}  // namespace

std::vector<BlockSourcePtr> GeneratedTable::scan(const ScanRequest& request) const {
    auto work = std::make_shared<SequenceWork>();
    work->sequence = sequence_;
    work->count = sequence_.count.value_or(kForever);
    work->stop = request.stop;
    work->progress = request.progress;
    applyRanges(*work, request.ranges);
    work->block_rows = std::max<size_t>(1, request.max_block_rows);
    if (request.limit_rows != 0) {
        work->block_rows = std::min<uint64_t>(work->block_rows, request.limit_rows);
        work->count = std::min(work->count, request.limit_rows);
    }
    const Block header = headerFor(request.columns);
    std::vector<BlockSourcePtr> sources;
    if (work->count == 0) return sources;
    const uint64_t blocks = (work->count - 1) / work->block_rows + 1;
    const size_t streams =
        sequence_.parallel ? std::min<uint64_t>(std::max<size_t>(1, request.max_streams), blocks) : 1;
    for (size_t i = 0; i < streams; ++i) sources.push_back(std::make_unique<SequenceSource>(header, work));
    return sources;
}

std::vector<TablePtr> generatedSystemTables() {
    const TypePtr byte = types::simple(TypeKind::UInt8);
    return {
        makeGenerated("system", "numbers", "SystemNumbers", {.type = types::uint64()}),
        makeGenerated("system", "numbers_mt", "SystemNumbers", {.type = types::uint64(), .parallel = true}),
        makeGenerated("system", "zeros", "SystemZeros", {.column = "zero", .type = byte, .constant = true}),
        makeGenerated("system", "zeros_mt", "SystemZeros",
                      {.column = "zero", .type = byte, .constant = true, .parallel = true}),
        makeGenerated("system", "one", "SystemOne",
                      {.column = "dummy", .type = byte, .count = 1, .constant = true}),
    };
}

std::vector<TableFunctionInfo> storageTableFunctions() {
    return {
        {.name = "numbers", .create = createNumbers, .case_insensitive = true},
        {.name = "numbers_mt", .create = createNumbers, .case_insensitive = true},
        {.name = "zeros", .create = createZeros, .case_insensitive = true},
        {.name = "zeros_mt", .create = createZeros, .case_insensitive = true},
        {.name = "generate_series", .create = createSeries, .case_insensitive = true},
        {.name = "generateSeries", .create = createSeries, .case_insensitive = true},
        {.name = "one", .create = createOne, .case_insensitive = true},
        {.name = "null", .create = createNull, .case_insensitive = true},
    };
}

}  // namespace shardd::storage
