#include "server/plan/shard_text.h"

#include "server/plan/node_syntax.h"
#include "server/sql/printer.h"

namespace shardd::plan {

std::string shardText(const QueryNode& query, const std::map<std::string, std::string>& sent_sets) {
    const SyntaxOptions options{
        .dialect = SyntaxOptions::Dialect::Analyzer,
        .sent_sets = sent_sets,
        .read = query.sources.empty() ? nullptr : query.sources[0].get(),
        .all_local = query.settings->distributed_product_mode == setting_types::DistributedProductMode::Local};
    return sql::toText(*selectSyntax(query, options),
                       {.multi_line = false, .quoting = sql::PrintOptions::Quoting::Always});
}

}  // namespace shardd::plan
