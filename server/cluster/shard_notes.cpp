#include "server/cluster/shard_notes.h"

#include <algorithm>

#include "common/columns/create_column.h"

namespace shardd::cluster {

namespace {

/// Peers of any age send these blocks: what is not as expected is not looked at.
const NamedColumn* findColumn(const Block& block, std::string_view name, TypeKind kind) {
    const auto position = block.find(name);
    if (!position) return nullptr;
    const NamedColumn& column = block.columns[*position];
    return column.type->kind() == kind && column.column->size() == block.rows ? &column : nullptr;
}

template <typename Visit>
void forEachEvent(const Block& events, Visit&& visit) {
    const NamedColumn* names = findColumn(events, "name", TypeKind::String);
    const NamedColumn* values = findColumn(events, "value", TypeKind::Int64);
    if (!values) values = findColumn(events, "value", TypeKind::UInt64);
    if (!names || !values) return;
    const ColumnPtr name_column = fullPlain(names->column);
    const ColumnPtr value_column = fullPlain(values->column);
    for (size_t row = 0; row < events.rows; ++row) {
        const auto value = value_column->value(row).to<int64_t>();
        visit(name_column->bytesAt(row), value > 0 ? static_cast<uint64_t>(value) : 0);
    }
}

}  // namespace

void noteProfileEvents(const Block& events, storage::ShardAnswer& answer) {
    forEachEvent(events, [&](std::string_view name, uint64_t value) {
        if (name == shard_event::kPeakMemory) answer.peak_memory_bytes = std::max(answer.peak_memory_bytes, value);
        if (name == shard_event::kGroups) answer.groups += value;
        if (name == shard_event::kMisplacedGroups) answer.misplaced_groups += value;
    });
}

bool saysThatGroupsAreChecked(const Block& events) {
    bool says = false;
    forEachEvent(events, [&](std::string_view name, uint64_t value) {
        says = says || (name == shard_event::kChecksGroups && value > 0);
    });
    return says;
}

std::vector<std::string> truthWarnings(const Block& lines) {
    std::vector<std::string> texts;
    const NamedColumn* sources = findColumn(lines, "source", TypeKind::String);
    const NamedColumn* messages = findColumn(lines, "text", TypeKind::String);
    if (!sources || !messages) return texts;
    const ColumnPtr source_column = fullPlain(sources->column);
    const ColumnPtr message_column = fullPlain(messages->column);
    for (size_t row = 0; row < lines.rows; ++row)
        if (source_column->bytesAt(row) == kTruthSource) texts.emplace_back(message_column->bytesAt(row));
    return texts;
}

}  // namespace shardd::cluster
