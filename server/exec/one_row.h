#pragma once

#include "server/exec/operator.h"

namespace shardd::exec {

/// Takes the one row of an aggregation without keys.
class OneRow final : public Sink {
public:
    Flow consume(size_t /*worker*/, Block block) override {
        row = std::move(block);
        return Flow::More;
    }

    void totals(Block /*block*/) override {}

    void extremes(Block /*block*/) override {}

    void finish() override {}

    Block row;
};

}  // namespace shardd::exec
