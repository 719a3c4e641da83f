#include <algorithm>

#include "server/exec/operators.h"
#include "server/exec/scan.h"
#include "server/storage/merge_tree.h"
#include "server/storage/merge_tree_scan.h"

namespace shardd::exec {

namespace {

/// Which ranges one worker reads alone, and which are so large that the others would wait for it.
struct RangePlan {
    std::vector<size_t> alone;
    std::vector<size_t> shared;
};

RangePlan planRanges(const storage::KeyRangeScan& scan, size_t threads, bool from_the_end) {
    uint64_t rows = 0;
    for (size_t range = 0; range < scan.count(); ++range) rows += scan.rowsAbout(range);
    const uint64_t most = std::max(2 * scan.targetRows(), rows / (2 * threads));
    RangePlan plan;
    for (size_t range = 0; range < scan.count(); ++range)
        (threads > 1 && scan.rowsAbout(range) > most ? plan.shared : plan.alone).push_back(range);
    if (from_the_end)
        for (std::vector<size_t>* numbers : {&plan.alone, &plan.shared})
            std::reverse(numbers->begin(), numbers->end());
    return plan;
}

class RangeReader {
public:
    RangeReader(const storage::KeyRangeScan& scan, ScanStop& stop, QueryContext& context, Sink& sink)
        : scan_(scan), stop_(stop), context_(context), sink_(sink), ranges_(*sink.keyRanges()) {}

    void readAlone(const std::vector<size_t>& numbers) {
        ranges_.startRanges(false);
        std::atomic<size_t> next = 0;
        parallel(context_, std::min(numbers.size(), context_.settings.max_threads), [&](size_t worker) {
            for (size_t i = next.fetch_add(1); i < numbers.size() && !stop_.ended(); i = next.fetch_add(1)) {
                if (!mayMatter(numbers[i])) return;
                for (const BlockSourcePtr& source : scan_.open(numbers[i], 1))
                    drain(*source, worker, stop_, context_, sink_);
                endRange(worker);
            }
        });
    }

    void readShared(const std::vector<size_t>& numbers) {
        if (numbers.empty()) return;
        ranges_.startRanges(true);
        for (const size_t number : numbers) {
            if (stop_.ended() || !mayMatter(number)) return;
            const std::vector<BlockSourcePtr> sources = scan_.open(number, context_.settings.max_threads);
            parallel(context_, sources.size(),
                     [&](size_t worker) { drain(*sources[worker], worker, stop_, context_, sink_); });
            endRange(0);
        }
    }

private:
    /// If not, no later range does.
    bool mayMatter(size_t number) const {
        const bool from_the_end = ranges_.fromTheEnd();
        if (number == (from_the_end ? scan_.count() - 1 : 0)) return true;
        return ranges_.mayMatterFrom(scan_.boundary(from_the_end ? number + 1 : number));
    }

    /// Not of a range whose reading was cut short: that is the sink's to judge when it is finished.
    void endRange(size_t worker) {
        if (!stop_.ended() && ranges_.endRange(worker) == Flow::Enough) stop_.enough();
    }

    const storage::KeyRangeScan& scan_;
    ScanStop& stop_;
    QueryContext& context_;
    Sink& sink_;
    KeyRangeSink& ranges_;
};

}  // namespace

bool scanKeyRanges(const plan::ScanStep& step,
                   const storage::ScanRequest& request,
                   ScanStop& stop,
                   QueryContext& context,
                   Sink& sink) {
    KeyRangeSink* ranges = sink.keyRanges();
    const auto* table = ranges ? dynamic_cast<const storage::MergeTree*>(step.table.get()) : nullptr;
    if (!table) return false;
    const std::unique_ptr<storage::KeyRangeScan> scan =
        table->scanKeyRanges(request, ranges->keyElements(), context.settings.key_range_rows);
    if (!scan) return false;
    const RangePlan plan = planRanges(*scan, context.settings.max_threads, ranges->fromTheEnd());
    RangeReader reader(*scan, stop, context, sink);
    reader.readAlone(plan.alone);
    reader.readShared(plan.shared);
    return true;
}

}  // namespace shardd::exec
