#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/exec/operator.h"
#include "server/session/query.h"
#include "server/storage/distributed_activity.h"

namespace shardd::daemon {

/// Hands a query's rows to its conversation; waits while the client is slow.
class ChannelSink final : public exec::ResultSink {
public:
    /// `activity`: where the states behind the totals come from, which an initiator may want before the first row.
    explicit ChannelSink(session::QueryChannel& channel, const storage::DistributedActivity* activity = nullptr)
        : channel_(channel), activity_(activity) {}

    void header(const Block& block) override;
    bool data(Block block) override;
    void totals(Block block) override;
    void extremes(Block block) override;

    /// As soon as they are known, and once; they stand for the totals.
    void sendTotalStates();

    /// The last packet: how much there was. `rows_before_limit` when a LIMIT was applied.
    void profile(std::optional<uint64_t> rows_before_limit);

    uint64_t rows() const { return rows_; }

private:
    bool send(session::QueryOutput::Kind kind, Block block);

    session::QueryChannel& channel_;
    const storage::DistributedActivity* activity_;
    bool sent_total_states_ = false;
    uint64_t rows_ = 0;
    uint64_t blocks_ = 0;
    uint64_t bytes_ = 0;
};

/// The answer of a statement that is no query: a few rows of texts. No columns, no answer but the end.
void sendTexts(session::QueryChannel& channel,
               const std::vector<std::string>& columns,
               const std::vector<std::vector<std::string>>& rows);

/// One row of one column.
void sendRow(session::QueryChannel& channel, const std::string& column, const std::string& type, Value value);

}  // namespace shardd::daemon
