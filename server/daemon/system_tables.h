#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "server/cluster/topology.h"
#include "server/daemon/distributed_history.h"
#include "server/daemon/process_list.h"
#include "server/storage/catalog.h"

namespace shardd::daemon {

/// What system tables show.
struct SystemSources {
    storage::Catalog* catalog = nullptr;
    ProcessList* processes = nullptr;
    std::shared_ptr<MemoryBudget> memory;  ///< of the server
    DistributedHistory* distributed = nullptr;
    /// The configuration in force; replaced by a reload.
    std::function<std::shared_ptr<const Config>()> config;
    /// Those of the configuration and those that were formed, by name.
    std::function<std::vector<cluster::ClusterPtr>()> clusters;
    std::function<uint16_t()> tcp_port;
    std::string version;  ///< "26.7.1.1"
    std::string path;     ///< of the data
    std::chrono::steady_clock::time_point started;
};

/// One row in the making: the columns that are known, by name; all others get their type's default.
class SystemRow {
public:
    void set(std::string_view column, std::string_view text);

    void set(std::string_view column, const char* text) { set(column, std::string_view(text)); }

    void set(std::string_view column, const std::string& text) { set(column, std::string_view(text)); }

    void set(std::string_view column, const std::vector<std::string>& texts);

    void set(std::string_view column, Value value) { values_.emplace_back(column, std::move(value)); }

    void setNumber(std::string_view column, uint64_t number) { set(column, Value(number)); }

    void setSigned(std::string_view column, int64_t number) { set(column, Value(number)); }

    void setFloat(std::string_view column, double number) { set(column, Value(number)); }

    void setUuid(std::string_view column, std::string_view uuid);

    const std::vector<std::pair<std::string, Value>>& values() const { return values_; }

private:
    std::vector<std::pair<std::string, Value>> values_;
};

using SystemRows = std::vector<SystemRow>;
using FillSystemTable = std::function<SystemRows(const SystemSources&)>;

/// Who fills which table. A new one is a row here and its columns in system_table_list.inc.
struct SystemTableFiller {
    std::string_view name;
    FillSystemTable fill;
};

std::vector<SystemTableFiller> catalogFillers();  ///< databases, tables, columns, engines
std::vector<SystemTableFiller> distributedFillers();  ///< distributed_queries
std::vector<SystemTableFiller> serverFillers();   ///< settings, functions, clusters, processes
std::vector<SystemTableFiller> clusterFillers();  ///< what Distributed tables have queued

/// The tables of the database `system` that show the server itself.
std::vector<storage::TablePtr> makeSystemTables(const SystemSources& sources);

}  // namespace shardd::daemon
