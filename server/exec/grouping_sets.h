#pragma once

#include "server/exec/operator.h"

namespace shardd::exec {

/// Groups of one grouping set (or one level of WITH ROLLUP) to the columns of all of them: __grouping_set,
/// the number of the set, comes first; keys that the set leaves out hold defaults, which are NULL where their
/// type is Nullable.
class GroupingSetOutput final : public ForwardingSink {
public:
    GroupingSetOutput(const Block& header, uint64_t set, Sink& next)
        : ForwardingSink(next), header_(header), set_(set) {}

    Flow consume(size_t worker, Block block) override;

    /// Groups of the set as rows of all of them.
    Block complete(const Block& block) const;

private:
    const Block& header_;
    const uint64_t set_;
};

}  // namespace shardd::exec
