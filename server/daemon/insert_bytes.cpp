#include "server/daemon/insert_bytes.h"

#include <cstring>
#include <map>

#include "common/base/error.h"
#include "common/columns/create_column.h"
#include "server/daemon/query_planning.h"
#include "server/exec/expression.h"
#include "server/formats/input_format.h"
#include "server/plan/binder.h"
#include "server/plan/compile.h"
#include "server/sql/parser.h"

namespace shardd::daemon {

namespace {

/// The data inside the text, then the rest of the body.
class DataSource final : public ByteSource {
public:
    DataSource(std::string_view head, std::shared_ptr<ByteSource> rest)
        : head_(head), rest_(std::move(rest)) {}

    size_t read(char* out, size_t size) override {
        if (head_.empty()) return rest_->read(out, size);
        const size_t taken = std::min(size, head_.size());
        std::memcpy(out, head_.data(), taken);
        head_.remove_prefix(taken);
        return taken;
    }

private:
    std::string_view head_;
    std::shared_ptr<ByteSource> rest_;
};

/// The value that an expression in Values stands for.
Value evaluateExpression(const std::string& text, const TypePtr& type, const plan::PlannerContext& context) {
    const auto node = plan::bindExpression(sql::parseExpression(text), {}, context);
    const Block one{.columns = {}, .rows = 1};
    plan::Compiler compiler(one, context, true);
    const auto expression = plan::castExpression(compiler.compile(node), type, context);
    return full(exec::evaluate(expression, one))->value(0);
}

formats::InputSettings inputSettings(const Settings& settings, const plan::PlannerContext& context) {
    formats::InputSettings result;
    result.text.time_zone = &TimeZone::get(context.functions->time_zone);
    if (const std::string delimiter = settings.get("format_csv_delimiter"); delimiter.size() == 1)
        result.csv_delimiter = delimiter[0];
    const auto flag = [&](std::string_view name) { return settings.get(name) == "1"; };
    result.csv_empty_as_default = flag("input_format_csv_empty_as_default");
    result.null_as_default = flag("input_format_null_as_default");
    result.skip_unknown_fields = flag("input_format_skip_unknown_fields");
    result.with_names_use_header = flag("input_format_with_names_use_header");
    if (flag("input_format_values_interpret_expressions"))
        result.evaluate = [&context](const std::string& text, const TypePtr& type) {
            return evaluateExpression(text, type, context);
        };
    return result;
}

/// Makes rows with gaps into rows of the table, in their order.
class GapFiller {
public:
    GapFiller(const ByteInsert& insert, const plan::PlannerContext& context)
        : insert_(insert), context_(context) {}

    Block fill(formats::InputRows rows) {
        std::vector<Block> blocks;
        PodVector<RowIndex> from(rows.rows, 0);
        RowIndex next = 0;
        for (formats::InputRows::Part& part : rows.parts) {
            for (const RowIndex place : part.places) from[place] = next++;
            blocks.push_back(completerOf(part.given).complete(std::move(part.block)));
        }
        if (blocks.size() == 1) return std::move(blocks[0]);
        return concatenate(std::move(blocks)).gather(from.span());
    }

private:
    const RowCompleter& completerOf(const std::vector<bool>& given) {
        if (const auto found = completers_.find(given); found != completers_.end()) return found->second;
        std::vector<std::string> names;
        for (size_t i = 0; i < given.size(); ++i)
            if (given[i]) names.push_back(insert_.given[i]);
        return completers_.try_emplace(given, insert_.schema, std::move(names), context_).first->second;
    }

    const ByteInsert& insert_;
    const plan::PlannerContext& context_;
    std::map<std::vector<bool>, RowCompleter> completers_;
};

/// Blocks worth writing.
class Gatherer {
public:
    Gatherer(BlockSink& table, session::ProgressCounters& progress, const Settings& settings)
        : table_(table), progress_(progress), settings_(settings) {}

    void add(Block block) {
        rows_ += block.rows;
        bytes_ += block.dataBytes();
        waiting_.push_back(std::move(block));
        const uint64_t most_rows = settings_->min_insert_block_size_rows;
        const uint64_t most_bytes = settings_->min_insert_block_size_bytes;
        if ((most_rows && rows_ >= most_rows) || (most_bytes && bytes_ >= most_bytes)) flush();
    }

    void flush() {
        if (waiting_.empty()) return;
        progress_.written_rows += rows_;
        progress_.written_bytes += bytes_;
        rows_ = bytes_ = 0;
        table_.write(concatenate(std::exchange(waiting_, {})));
    }

private:
    BlockSink& table_;
    session::ProgressCounters& progress_;
    const Settings& settings_;
    std::vector<Block> waiting_;
    uint64_t rows_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace

void insertFromBytes(const ByteInsert& insert,
                     const StatementContext& query,
                     const Settings& settings,
                     const plan::PlannerContext& context) {
    constexpr size_t kRowsAtOnce = 65409;  // ClickHouse's block of a text format
    std::vector<std::pair<std::string, TypePtr>> columns;
    for (const std::string& name : insert.given) columns.emplace_back(name, insert.schema->find(name)->type);
    const std::string_view text = query.request.text;
    auto source = std::make_shared<DataSource>(
        text.substr(std::min(insert.statement.data_begin, text.size())), query.request.body);
    const auto format = formats::makeInputFormat(insert.statement.data_format, makeHeader(columns),
                                                 std::move(source), inputSettings(settings, context));
    GapFiller filler(insert, context);
    Gatherer gatherer(insert.table, query.channel.progress, settings);
    while (true) {
        formats::InputRows rows = format->read(kRowsAtOnce);
        query.context.check();
        if (rows.rows == 0) break;
        query.channel.progress.rows += rows.rows;
        gatherer.add(filler.fill(std::move(rows)));
    }
    gatherer.flush();
}

}  // namespace shardd::daemon
