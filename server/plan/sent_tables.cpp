#include "server/plan/sent_tables.h"

#include <algorithm>

namespace shardd::plan {

bool isSent(const Settings& settings, bool sharded) {
    using Mode = setting_types::DistributedProductMode;
    const Mode mode = settings->distributed_product_mode;
    const bool prefers_global = settings->prefer_global_in_and_join;
    if (!sharded) return prefers_global;
    if (mode == Mode::Local) return false;
    if (mode == Mode::Global || prefers_global) return true;
    if (mode == Mode::Deny)
        throw Error(ErrorCode::DISTRIBUTED_IN_JOIN_SUBQUERY_DENIED,
                    "Double-distributed IN/JOIN subqueries is denied (distributed_product_mode = 'deny'). "
                    "You may rewrite query to use local tables in subqueries, or use GLOBAL keyword, or set "
                    "distributed_product_mode to suitable value.");
    return false;
}

bool readsTables(const QueryTree& tree) {
    for (const QueryTreePtr& operand : tree.operands)
        if (readsTables(*operand)) return true;
    return tree.select && std::ranges::any_of(tree.select->sources, [](const TableSourcePtr& source) {
               return source->kind == TableSource::Kind::Table ||
                      (source->subquery && readsTables(*source->subquery));
           });
}

void limitTransfer(const Settings& settings, Block& rows) {
    const uint64_t most_rows = settings->max_rows_to_transfer;
    const uint64_t most_bytes = settings->max_bytes_to_transfer;
    const uint64_t bytes = rows.dataBytes();
    const bool too_many_rows = most_rows != 0 && rows.rows > most_rows;
    const bool too_many_bytes = most_bytes != 0 && bytes > most_bytes;
    if (!too_many_rows && !too_many_bytes) return;
    if (settings->transfer_overflow_mode == setting_types::OverflowMode::Throw) {
        if (too_many_rows)
            throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
                        "Limit for IN/JOIN external table exceeded, max rows: {}, current rows: {}",
                        most_rows, rows.rows);
        throw Error(ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
                    "Limit for IN/JOIN external table exceeded, max bytes: {}, current bytes: {}", most_bytes,
                    bytes);
    }
    const uint64_t rows_of_bytes = too_many_bytes ? most_bytes * rows.rows / bytes : rows.rows;
    const uint64_t kept = std::min<uint64_t>(too_many_rows ? most_rows : rows.rows, rows_of_bytes);
    const uint64_t block = std::max<uint64_t>(settings->max_block_size, 1);
    rows = rows.slice(0, std::min<uint64_t>(rows.rows, (kept / block + 1) * block));
}

}  // namespace shardd::plan
