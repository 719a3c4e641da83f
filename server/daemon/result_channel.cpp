#include "server/daemon/result_channel.h"

#include "common/columns/create_column.h"
#include "common/types/type_parser.h"

namespace shardd::daemon {

using session::QueryOutput;

bool ChannelSink::send(QueryOutput::Kind kind, Block block) {
    QueryOutput output;
    output.kind = kind;
    output.block = std::move(block);
    const size_t weight = output.weight();
    return channel_.output.push(std::move(output), weight);
}

void ChannelSink::header(const Block& block) { send(QueryOutput::Kind::Header, block.header()); }

void ChannelSink::sendTotalStates() {
    if (!activity_ || sent_total_states_) return;
    std::optional<Block> states = activity_->totalStates();
    if (!states) return;
    sent_total_states_ = true;
    send(QueryOutput::Kind::Totals, std::move(*states));
}

bool ChannelSink::data(Block block) {
    sendTotalStates();
    rows_ += block.rows;
    ++blocks_;
    bytes_ += block.dataBytes();
    return send(QueryOutput::Kind::Data, std::move(block));
}

void ChannelSink::totals(Block block) { send(QueryOutput::Kind::Totals, std::move(block)); }

void ChannelSink::extremes(Block block) { send(QueryOutput::Kind::Extremes, std::move(block)); }

void ChannelSink::profile(std::optional<uint64_t> rows_before_limit) {
    QueryOutput output;
    output.kind = QueryOutput::Kind::ProfileInfo;
    output.profile.rows = rows_;
    output.profile.blocks = blocks_;
    output.profile.bytes = bytes_;
    output.profile.applied_limit = rows_before_limit.has_value();
    output.profile.rows_before_limit = rows_before_limit.value_or(rows_);
    const size_t weight = output.weight();
    channel_.output.push(std::move(output), weight);
}

void sendTexts(session::QueryChannel& channel,
               const std::vector<std::string>& columns,
               const std::vector<std::vector<std::string>>& rows) {
    const TypePtr text = parseType("String");
    Block block;
    for (size_t i = 0; i < columns.size(); ++i) {
        MutableColumnPtr column = createColumn(*text);
        for (const auto& row : rows) column->insert(Value(row[i]));
        block.add({columns[i], text, std::move(column)});
    }
    block.rows = rows.size();
    ChannelSink sink(channel);
    sink.header(block);
    if (block.rows > 0) sink.data(std::move(block));
    sink.profile(std::nullopt);
}

void sendRow(session::QueryChannel& channel,
             const std::string& column,
             const std::string& type,
             Value value) {
    const TypePtr parsed = parseType(type);
    MutableColumnPtr values = createColumn(*parsed);
    values->insert(value);
    Block block;
    block.add({column, parsed, std::move(values)});
    block.rows = 1;
    ChannelSink sink(channel);
    sink.header(block);
    sink.data(std::move(block));
    sink.profile(std::nullopt);
}

}  // namespace shardd::daemon
