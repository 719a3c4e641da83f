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
                                              const std::function<std::shared_ptr<const Config>()>& config,
                                              const storage::Catalog& catalog,
                                              std::shared_ptr<MemoryBudget> memory) {
    const std::shared_ptr<const Config> now = config();
    const cluster::OwnPorts own_ports(now->tcp_port.value_or(0), now->tcp_port_secure.value_or(0));
    auto topology = std::make_shared<cluster::Topology>(now->clusters, own_ports);
    auto service = std::make_shared<cluster::ClusterService>(context, std::move(topology), std::move(memory));
    service->hooks.profile = [config] {
        const std::shared_ptr<const Config> current = config();
        const auto found = current->profiles.find(current->default_profile);
        if (found == current->profiles.end()) return std::make_shared<const Settings>();
        return std::shared_ptr<const Settings>(current, &found->second.settings);
    };
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
