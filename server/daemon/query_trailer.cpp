#include "server/daemon/query_trailer.h"

#include <chrono>

#include <unistd.h>

#include "common/base/log.h"
#include "common/columns/create_column.h"
#include "common/protocol/peer.h"
#include "common/types/type_parser.h"
#include "server/cluster/shard_notes.h"
#include "server/exec/group_places.h"

namespace shardd::daemon {

namespace {

namespace shard_event = cluster::shard_event;
using session::QueryOutput;
using setting_types::LogsLevel;
using storage::ShardAnswer;

constexpr Log kLog("distributed");

/// The priorities of log lines, as they travel.
enum class Priority : int64_t { Warning = 4, Debug = 7 };

int64_t microsecondsNow() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

/// Rows of texts and numbers under ClickHouse's column names and types.
class BlockBuilder {
public:
    explicit BlockBuilder(std::initializer_list<std::pair<const char*, const char*>> columns) {
        for (const auto& [name, type_name] : columns) {
            TypePtr type = parseType(type_name);
            values_.push_back(createColumn(*type));
            block_.columns.push_back({name, std::move(type), nullptr});
        }
    }

    void row(std::initializer_list<Value> values) {
        size_t at = 0;
        for (const Value& value : values) values_[at++]->insert(value);
        ++block_.rows;
    }

    void send(session::QueryChannel& channel, QueryOutput::Kind kind) {
        if (block_.rows == 0) return;
        QueryOutput output;
        output.kind = kind;
        for (size_t i = 0; i < values_.size(); ++i) block_.columns[i].column = std::move(values_[i]);
        output.block = std::move(block_);
        const size_t weight = output.weight();
        channel.output.push(std::move(output), weight);
    }

private:
    Block block_;
    std::vector<MutableColumnPtr> values_;
};

/// A ProfileEvents packet.
class Events {
public:
    Events()
        : rows_({{"host_name", "String"},
                 {"current_time", "DateTime"},
                 {"thread_id", "UInt64"},
                 {"type", "Enum8('increment' = 1, 'gauge' = 2)"},
                 {"name", "String"},
                 {"value", "Int64"}}) {}

    void increment(const std::string& host, const char* name, uint64_t value) { add(host, 1, name, value); }

    void gauge(const std::string& host, const char* name, uint64_t value) { add(host, 2, name, value); }

    void send(session::QueryChannel& channel) { rows_.send(channel, QueryOutput::Kind::ProfileEvents); }

private:
    void add(const std::string& host, int64_t kind, const char* name, uint64_t value) {
        if (value == 0) return;  // as ClickHouse: what did not happen is not told
        rows_.row({Value(host), Value(static_cast<uint64_t>(microsecondsNow() / 1000000)), Value(uint64_t{0}), Value(kind),
                   Value(std::string(name)), Value(static_cast<int64_t>(value))});
    }

    BlockBuilder rows_;
};

void sendLogLine(const StatementContext& query, Priority priority, const char* source, const std::string& text) {
    BlockBuilder line({{"event_time", "DateTime"},
                       {"event_time_microseconds", "UInt32"},
                       {"host_name", "String"},
                       {"query_id", "String"},
                       {"thread_id", "UInt64"},
                       {"priority", "Int8"},
                       {"source", "String"},
                       {"text", "String"}});
    const int64_t now = microsecondsNow();
    line.row({Value(static_cast<uint64_t>(now / 1000000)), Value(static_cast<uint64_t>(now % 1000000)), Value(query.services.host_name),
              Value(query.request.query_id), Value(static_cast<uint64_t>(::gettid())), Value(static_cast<int64_t>(priority)), Value(std::string(source)),
              Value(text)});
    line.send(query.channel, QueryOutput::Kind::Log);
}

/// Whether a client that asked for send_logs_level = `level` wants lines of this priority.
bool wantsLogs(LogsLevel level, Priority priority) {
    switch (level) {
        case LogsLevel::Trace:
        case LogsLevel::Debug:
        case LogsLevel::Test:
            return true;
        case LogsLevel::Information:
        case LogsLevel::Warning:
            return priority == Priority::Warning;
        default:
            return false;
    }
}

/// The query came from an initiator that is shardd.
bool askedByShardd(const StatementContext& query) {
    const protocol::ClientInfo& client = query.running->client_info;
    return client.kind == protocol::QueryKind::Secondary && client.client_name == protocol::kOwnName;
}

/// What the check of groups found here, as one text; empty when there is nothing to tell.
std::string findingsText(const storage::GroupFindings& findings, const std::string& place) {
    if (findings.misplaced() == 0) return "";
    return exec::notDisjointText(fmt::format("{} of {} groups {}", findings.misplaced(), findings.checked(), place), findings.samples());
}

void sendShardTrailer(const StatementContext& query) {
    const storage::GroupFindings& findings = query.running->activity->findings;
    const std::string& host = query.services.host_name;
    Events events;
    events.gauge(host, shard_event::kPeakMemory, query.running->memory->peakBytes());
    events.increment(host, shard_event::kGroups, query.context.progress.groups);
    events.increment(host, shard_event::kMisplacedGroups, findings.misplaced());
    events.send(query.channel);
    const std::string text = findingsText(findings, "are where they do not belong");
    if (!text.empty()) sendLogLine(query, Priority::Warning, cluster::kTruthSource, text);
}

void addShardEvents(const ShardAnswer& shard, Events& events) {
    const std::string host = shard.address.empty() ? fmt::format("shard {}", shard.number) : shard.address;
    events.increment(host, "ShardRows", shard.rows);
    events.increment(host, "ShardBlocks", shard.blocks);
    events.increment(host, "NetworkReceiveBytes", shard.received_bytes);
    events.increment(host, "SelectedRows", shard.read_rows);
    events.increment(host, "SelectedBytes", shard.read_bytes);
    events.increment(host, shard_event::kGroups, shard.groups);
    events.increment(host, shard_event::kMisplacedGroups, shard.misplaced_groups);
    events.increment(host, "RealTimeMicroseconds", shard.microseconds);
    events.gauge(host, shard_event::kPeakMemory, shard.peak_memory_bytes);
}

const char* eventOf(ShardAnswer::State state) {
    switch (state) {
        case ShardAnswer::State::Answered:
            return "DistributedShardsAnswered";
        case ShardAnswer::State::Unneeded:
            return "DistributedShardsNotNeeded";
        case ShardAnswer::State::LeftOut:
            return "DistributedShardsLeftOut";
        case ShardAnswer::State::Failed:
            return "DistributedShardsFailed";
        default:
            return "DistributedShardsStopped";
    }
}

std::string lineOf(const storage::ReadActivity& read, const ShardAnswer& shard) {
    return fmt::format(
        "{} of {}, mode {}, stage {} ({}): shard {}{} {}{}; {} rows, {} groups, {} bytes received, {} rows read, {} us, {} bytes "
        "of memory",
        read.table, read.cluster.empty() ? "addresses" : "cluster " + read.cluster, read.mode, read.stage, read.reason, shard.number, shard.address.empty() ? "" : " at " + shard.address,
        nameOf(shard.state), shard.reason.empty() ? "" : ": " + shard.reason, shard.rows, shard.groups, shard.received_bytes,
        shard.read_rows, shard.microseconds, shard.peak_memory_bytes);
}

void sendInitiatorTrailer(const StatementContext& query, const std::vector<storage::ReadActivity>& reads) {
    const storage::GroupFindings& findings = query.running->activity->findings;
    const std::string& host = query.services.host_name;
    const Settings settings = query.running->currentSettings();
    uint64_t misplaced = findings.misplaced();
    Events events;
    std::vector<std::string> warnings;
    for (const storage::ReadActivity& read : reads) {
        for (const ShardAnswer& shard : read.report->answers()) {
            addShardEvents(shard, events);
            events.increment(host, eventOf(shard.state), 1);
            misplaced += shard.misplaced_groups;
            if (wantsLogs(settings->send_logs_level, Priority::Debug)) sendLogLine(query, Priority::Debug, "distributed", lineOf(read, shard));
        }
        for (std::string& text : read.report->warnings()) warnings.push_back(std::move(text));
    }
    events.increment(host, "DistributedGroupsCompared", findings.checked());
    events.increment(host, "DistributedGroupsNotDisjoint", misplaced);
    if (std::string text = findingsText(findings, "that shards finished are on more than one, or not where they belong"); !text.empty())
        warnings.push_back(std::move(text));
    for (const std::string& text : warnings) {
        kLog.warning("{}: {}", query.request.query_id, text);
        if (wantsLogs(settings->send_logs_level, Priority::Warning)) sendLogLine(query, Priority::Warning, cluster::kTruthSource, text);
    }
    if (settings->send_profile_events) events.send(query.channel);
}

}  // namespace

void sendPromises(const StatementContext& query) {
    if (!askedByShardd(query) || !query.running->activity->checksGroups()) return;
    Events events;
    events.increment(query.services.host_name, shard_event::kChecksGroups, 1);
    events.send(query.channel);
}

void sendTrailer(const StatementContext& query) {
    if (query.running->client_info.kind == protocol::QueryKind::Secondary) {
        if (askedByShardd(query)) sendShardTrailer(query);
        return;
    }
    const std::vector<storage::ReadActivity> reads = query.running->activity->reads();
    if (!reads.empty()) sendInitiatorTrailer(query, reads);
}

}  // namespace shardd::daemon
