#include "server/exec/group_places.h"

#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/formats/value_text.h"

namespace shardd::exec {

namespace {

constexpr size_t kMostValueBytes = 200;

class GroupCheckSink final : public ForwardingSink {
public:
    GroupCheckSink(const plan::GroupCheckStep& step, Sink& next)
        : ForwardingSink(next), step_(step), places_(step.slots) {}

    Flow consume(size_t worker, Block block) override {
        // Rows beyond max_rows_to_group_by are of no group.
        if (!block.is_overflows)
            checkPlaces(places_, step_.slots.key.text, block, step_.keys, step_.own_shard, step_.throws,
                        step_.activity->findings);
        return next_.consume(worker, std::move(block));
    }

private:
    const plan::GroupCheckStep& step_;
    const GroupPlaces places_;
};

}  // namespace

GroupPlaces::GroupPlaces(const plan::GroupSlots& groups) : groups_(groups), slots_(groups.weights) {
    SHARDD_CHECK(slots_.total() > 0);
}

void GroupPlaces::slotsOf(const Block& block, PodVector<uint64_t>& slots) const {
    Block table;
    table.rows = block.rows;
    for (const auto& [column, table_column] : groups_.columns) {
        const NamedColumn& key = block.get(column);
        table.columns.push_back({table_column, key.type, full(key.column)});
    }
    slots_.slotsOf(*removeLowCardinality(groups_.key.type), *fullPlain(groups_.key.compute(table)), slots);
    SHARDD_CHECK(slots.size() == block.rows);
}

void GroupPlaces::findMisplaced(const Block& block, size_t own_shard, PodVector<RowIndex>& rows) const {
    PodVector<uint64_t> slots;
    slotsOf(block, slots);
    const uint64_t begin = slots_.begin(own_shard);
    const uint64_t count = slots_.end(own_shard) - begin;
    size_t outside = 0;
    for (size_t row = 0; row < block.rows; ++row) outside += slots[row] - begin >= count;
    rows.clear();
    if (outside == 0) return;
    for (size_t row = 0; row < block.rows; ++row)
        if (slots[row] - begin >= count) rows.push_back(static_cast<RowIndex>(row));
}

size_t GroupPlaces::shardOf(const Block& block, size_t row) const {
    PodVector<uint64_t> slots;
    slotsOf(block.slice(row, 1), slots);
    return slots_.shardOf(slots[0]);
}

std::string groupText(const Block& block, const GroupLabels& keys, size_t row) {
    std::string text;
    for (const auto& [name, label] : keys) {
        const NamedColumn& column = block.get(name);
        Writer out;
        formats::valueText(column.type)->write(*full(column.column), row, formats::TextStyle::Quoted, out);
        std::string value(out.view());
        if (value.size() > kMostValueBytes) value = value.substr(0, kMostValueBytes) + "…";
        text += (text.empty() ? "" : ", ") + label + " = " + value;
    }
    return keys.empty() ? "the one group of all rows" : "(" + text + ")";
}

std::string notDisjointText(const std::string& what, const std::vector<std::string>& samples) {
    std::string text = "Groups are not disjoint: " + what + ": ";
    for (size_t i = 0; i < samples.size(); ++i) text += (i == 0 ? "" : "; ") + samples[i];
    return text +
           ". Every shard answers such a group from its own rows alone, so the answer may hold it several times, each with a part "
           "of what it should be. Merge groups over shards with distributed_group_by_no_merge = 0, or keep all rows of a group on "
           "one shard: group by the sharding key, and insert through the Distributed table. (verify_disjoint_groups: 1 warns, 2 is "
           "this error, 0 trusts)";
}

void checkPlaces(const GroupPlaces& places,
                 const std::string& sharding_key,
                 const Block& block,
                 const GroupLabels& keys,
                 size_t own_shard,
                 bool throws,
                 storage::GroupFindings& findings) {
    PodVector<RowIndex> rows;
    places.findMisplaced(block, own_shard, rows);
    findings.countChecked(block.rows);
    if (rows.empty()) return;
    const bool wants_samples = findings.found(rows.size());
    for (size_t i = 0; i < rows.size() && i < storage::GroupFindings::kMostSamples && wants_samples; ++i)
        findings.addSample(fmt::format("{} is on shard {} and belongs to shard {}", groupText(block, keys, rows[i]), own_shard + 1,
                                       places.shardOf(block, rows[i]) + 1));
    if (throws)
        throw Error(ErrorCode::VIOLATED_CONSTRAINT, "{}",
                    notDisjointText(fmt::format("the sharding key {} places some elsewhere", sharding_key), findings.samples()));
}

void run(const plan::GroupCheckStep& step, const StepPlace& place, Sink& sink) {
    GroupCheckSink check(step, sink);
    runStep(*step.input, place.context, check);
}

}  // namespace shardd::exec
