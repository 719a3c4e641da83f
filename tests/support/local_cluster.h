#pragma once

#include <memory>
#include <vector>

#include "tests/support/local_node.h"

namespace shardd::test {

/// An initiator and its shards in one process: the table engine Distributed and the functions remote() and
/// cluster() ask the shards by calling them. Every cluster name means all of them.
class LocalCluster {
public:
    explicit LocalCluster(size_t shards);

    LocalNode& initiator() { return initiator_; }

    std::vector<std::unique_ptr<LocalNode>>& shards() { return shards_; }

private:
    LocalNode initiator_;
    std::vector<std::unique_ptr<LocalNode>> shards_;
};

}  // namespace shardd::test
