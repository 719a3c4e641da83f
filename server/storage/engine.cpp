#include "server/storage/engine.h"

#include "common/base/error.h"
#include "server/storage/memory_table.h"
#include "server/storage/merge_tree.h"

namespace shardd::storage {

std::string Argument::word(const char* what) const {
    if (!identifier.empty()) {
        std::string joined;
        for (const std::string& part : identifier) joined += (joined.empty() ? "" : ".") + part;
        return joined;
    }
    if (value && value->kind() == Value::Kind::String) return value->get<std::string>();
    throw Error(ErrorCode::BAD_ARGUMENTS, "Argument {} must be a string or a name, not {}", what, text);
}

uint64_t Argument::unsignedNumber(const char* what) const {
    if (value && value->kind() == Value::Kind::UInt64) return value->get<uint64_t>();
    if (value && value->kind() == Value::Kind::Int64 && value->get<int64_t>() >= 0)
        return value->to<uint64_t>();
    throw Error(ErrorCode::BAD_ARGUMENTS, "Argument {} must be a number that is not negative, not {}", what,
                text);
}

void checkEngineTakes(const EngineInfo& engine, const TableDefinition& definition) {
    if (!definition.arguments.empty() && !engine.takes_arguments)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Engine {} doesn't support any arguments ({} given)", engine.name,
                    definition.arguments.size());
    const auto refuse = [&](const char* what) {
        throw Error(ErrorCode::BAD_ARGUMENTS, "Engine {} doesn't support {}", engine.name, what);
    };
    if (!definition.settings.empty() && !engine.takes_settings) refuse("SETTINGS clause");
    const bool has_keys = !definition.schema.sorting_key.empty() ||
                          !definition.schema.partition_key.empty() ||
                          !definition.schema.primary_key.empty() || definition.has_sampling_key;
    if (has_keys && !engine.takes_keys) refuse("PARTITION_BY, PRIMARY_KEY, ORDER_BY or SAMPLE_BY clauses");
    if (definition.has_ttl && !engine.takes_ttl) refuse("TTL clause");
    if (definition.has_indices && !engine.takes_indices) refuse("skipping indices");
}

std::vector<EngineInfo> storageEngines() {
    std::vector<EngineInfo> engines;
    engines.push_back({.name = "Memory",
                       .create = [](const TableDefinition& definition, const EngineContext&) -> TablePtr {
                           return std::make_shared<MemoryTable>(definition.schema);
                       },
                       .takes_settings = true});
    // The right side of IN, kept in memory; duplicates do no harm there.
    engines.push_back({.name = "Set", .create = [](const TableDefinition& definition, const EngineContext&) -> TablePtr {
                           return std::make_shared<MemoryTable>(definition.schema);
                       }});
    engines.push_back(
        {.name = "Null", .create = [](const TableDefinition& definition, const EngineContext&) -> TablePtr {
             return std::make_shared<NullTable>(definition.schema);
         }});
    engines.push_back(
        {.name = "View", .create = [](const TableDefinition& definition, const EngineContext&) -> TablePtr {
             return std::make_shared<ViewTable>(definition.schema);
         }});
    for (EngineInfo& engine : mergeTreeEngines()) engines.push_back(std::move(engine));
    return engines;
}

}  // namespace shardd::storage
