#include "server/daemon/cluster_setup.h"

#include "server/cluster/cluster_engines.h"
#include "server/functions/definition.h"
#include "server/plan/key_function.h"

namespace shardd::daemon {

namespace {

ColumnPtr convert(const ColumnPtr& column, const TypePtr& from, const TypePtr& to) {
    return full(functions::castArgument({"", from, column}, to, column->size()));
}

}  // namespace

cluster::ClusterServicePtr makeClusterService(boost::asio::io_context& context,
                                              const Config& config,
                                              const storage::Catalog& catalog) {
    auto topology = std::make_shared<cluster::Topology>(config.clusters, config.tcp_port.value_or(0));
    auto service = std::make_shared<cluster::ClusterService>(context, std::move(topology));
    service->hooks.convert = convert;
    service->hooks.compile_key = [&catalog](const std::string& text,
                                            const std::vector<std::pair<std::string, TypePtr>>& columns) {
        plan::PlannerContext planning;
        planning.catalog = &catalog;
        planning.functions = std::make_shared<functions::FunctionContext>();
        // rand() is a sharding key that many use: any shard will do.
        return plan::makeKeyElement(text, columns, planning, true);
    };
    return service;
}

void addClusterEngines(const cluster::ClusterServicePtr& service, storage::Catalog& catalog) {
    for (auto& engine : cluster::clusterEngines(service)) catalog.addEngine(std::move(engine));
    for (auto& function : cluster::clusterTableFunctions(service))
        catalog.addTableFunction(std::move(function));
}

}  // namespace shardd::daemon
