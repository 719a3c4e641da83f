#include "server/exec/remote_groups.h"

#include <array>
#include <mutex>

#include "common/base/hash.h"
#include "server/exec/group_places.h"

namespace shardd::exec {

namespace {

/// Which shard first answered a group, by the 64-bit hash of its keys. Two keys of one hash are one in 2^64 pairs: at ten
/// million groups a false alarm comes once in some 400,000 queries.
/// Threads: one at a time.
class OwnersTable {
public:
    /// Room for so many more, so that none of the next add()s grows.
    void makeRoom(size_t more) {
        while (2 * (used_ + more) > slots_.size()) grow();
    }

    /// The slot will be needed soon.
    void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1); }

    /// The shard that has the group already; `shard` itself when it is new.
    uint32_t add(uint64_t hash, uint32_t shard) {
        Slot* slot = find(slots_, hash);
        if (slot->hash == hash) return slot->shard;
        *slot = {hash, shard};
        ++used_;
        return shard;
    }

private:
    struct [[gnu::packed]] Slot {
        uint64_t hash;  // 0 is free
        uint32_t shard;
    };

    static Slot* find(PodVector<Slot>& slots, uint64_t hash) {
        const size_t mask = slots.size() - 1;
        size_t at = hash & mask;
        while (slots[at].hash != 0 && slots[at].hash != hash) at = (at + 1) & mask;
        return &slots[at];
    }

    void grow() {
        PodVector<Slot> larger;
        larger.resizeZeroed(std::max<size_t>(1024, 2 * slots_.size()));
        for (const Slot& slot : slots_)
            if (slot.hash != 0) *find(larger, slot.hash) = slot;
        slots_ = std::move(larger);
    }

    PodVector<Slot> slots_;
    size_t used_ = 0;
};

/// The groups of all shards of one read.
/// Threads: any.
class GroupOwners {
public:
    explicit GroupOwners(const plan::GroupComparison& comparison) : comparison_(comparison) {}

    void add(const Block& block, uint32_t shard) {
        PodVector<uint64_t> hashes;
        hashes.resizeZeroed(block.rows);
        for (const auto& [name, label] : comparison_.keys)
            fullPlain(block.get(name).column)->updateHashes({hashes.data(), hashes.size()});
        for (uint64_t& hash : hashes) hash = std::max<uint64_t>(mixHash64(hash + 1), 1);

        // Rows by partition, so that each lock is taken once a block.
        std::array<size_t, kPartitions + 1> ends{};
        for (const uint64_t hash : hashes) ++ends[partitionOf(hash) + 1];
        for (size_t p = 0; p < kPartitions; ++p) ends[p + 1] += ends[p];
        PodVector<RowIndex> order(block.rows);
        std::array<size_t, kPartitions> next{};
        std::copy(ends.begin(), ends.end() - 1, next.begin());
        for (size_t row = 0; row < block.rows; ++row) order[next[partitionOf(hashes[row])]++] = static_cast<RowIndex>(row);

        PodVector<RowIndex> twice;
        PodVector<uint32_t> owners;
        for (size_t p = 0; p < kPartitions; ++p) {
            if (ends[p] == ends[p + 1]) continue;
            const std::lock_guard lock(partitions_[p].mutex);
            OwnersTable& table = partitions_[p].table;
            table.makeRoom(ends[p + 1] - ends[p]);
            for (size_t i = ends[p]; i < ends[p + 1]; ++i) {
                if (i + kAhead < ends[p + 1]) table.prefetch(hashes[order[i + kAhead]]);
                const uint32_t owner = table.add(hashes[order[i]], shard);
                if (owner == shard) continue;
                twice.push_back(order[i]);
                owners.push_back(owner);
            }
        }
        comparison_.activity->findings.countChecked(block.rows);
        if (!twice.empty()) tell(block, shard, twice, owners);
    }

private:
    static constexpr size_t kPartitions = 32;
    static constexpr size_t kAhead = 12;  // rows whose slots are on their way from memory

    struct alignas(64) Partition {
        std::mutex mutex;  // guards table
        OwnersTable table;
    };

    static size_t partitionOf(uint64_t hash) { return hash >> 59; }

    void tell(const Block& block, uint32_t shard, const PodVector<RowIndex>& rows, const PodVector<uint32_t>& owners) const {
        storage::GroupFindings& findings = comparison_.activity->findings;
        const bool wants_samples = findings.found(rows.size());
        for (size_t i = 0; i < rows.size() && i < storage::GroupFindings::kMostSamples && wants_samples; ++i)
            findings.addSample(fmt::format("{} is on shards {} and {}", groupText(block, comparison_.keys, rows[i]),
                                           std::min(owners[i], shard) + 1, std::max(owners[i], shard) + 1));
        if (comparison_.throws)
            throw Error(ErrorCode::VIOLATED_CONSTRAINT, "{}", notDisjointText("shards share some", findings.samples()));
    }

    const plan::GroupComparison& comparison_;
    std::array<Partition, kPartitions> partitions_;
};

class CheckedStream final : public storage::RemoteStream {
public:
    CheckedStream(const plan::RemoteScanStep& step,
                  storage::RemoteStreamPtr stream,
                  std::shared_ptr<GroupOwners> owners,
                  std::shared_ptr<const GroupPlaces> places)
        : step_(step), stream_(std::move(stream)), owners_(std::move(owners)), places_(std::move(places)), header_(stream_->header()) {
        strip(header_);
    }

    const Block& header() const override { return header_; }

    std::optional<Block> next() override {
        std::optional<Block> block = stream_->next();
        if (block)
            take(*block);
        else
            takeRest();
        return block;
    }

    void want() override { stream_->want(); }

    Polled poll() override {
        Polled polled = stream_->poll();
        if (polled.block) take(*polled.block);
        if (polled.ended) takeRest();
        return polled;
    }

    void onReadable(std::function<void()> callback) override { stream_->onReadable(std::move(callback)); }

    const std::optional<Block>& totals() const override { return step_.exact_totals ? stream_->totals() : totals_; }

    const std::optional<Block>& extremes() const override { return extremes_; }

    std::optional<uint64_t> rowsBeforeLimit() const override { return stream_->rowsBeforeLimit(); }

    size_t shard() const override { return stream_->shard(); }

    bool checksGroups() const override { return stream_->checksGroups(); }

private:
    void take(Block& block) {
        if (block.rows > 0) check(block);
        strip(block);
    }

    void check(const Block& block) {
        const plan::GroupComparison& comparison = *step_.comparison;
        if (places_ && stream_->checksGroups()) return;
        if (!comparison.impossible.empty())
            return cannotCheck();
        if (places_)
            checkPlaces(*places_, comparison.slots->key.text, block, comparison.keys, shard(), comparison.throws,
                        comparison.activity->findings);
        else
            owners_->add(block, static_cast<uint32_t>(shard()));
    }

    void cannotCheck() {
        const std::string text = fmt::format("Groups of shard {} cannot be checked (verify_disjoint_groups): {}", shard() + 1,
                                             step_.comparison->impossible);
        if (step_.comparison->throws) throw Error(ErrorCode::NOT_IMPLEMENTED, "{}", text);
        if (!warned_ && step_.query.report) step_.query.report->warn(text);
        warned_ = true;
    }

    void strip(Block& block) const { block.columns.resize(block.columns.size() - std::min(block.columns.size(), step_.hidden_columns)); }

    void takeRest() {
        totals_ = stream_->totals();
        extremes_ = stream_->extremes();
        if (totals_) strip(*totals_);
        if (extremes_) strip(*extremes_);
    }

    const plan::RemoteScanStep& step_;
    storage::RemoteStreamPtr stream_;
    std::shared_ptr<GroupOwners> owners_;
    std::shared_ptr<const GroupPlaces> places_;
    Block header_;
    std::optional<Block> totals_;
    std::optional<Block> extremes_;
    bool warned_ = false;
};

}  // namespace

std::vector<storage::RemoteStreamPtr> withCheckedGroups(const plan::RemoteScanStep& step,
                                                        std::vector<storage::RemoteStreamPtr> streams) {
    if (!step.comparison) return streams;
    const auto owners = std::make_shared<GroupOwners>(*step.comparison);
    const auto places = step.comparison->slots ? std::make_shared<const GroupPlaces>(*step.comparison->slots) : nullptr;
    for (storage::RemoteStreamPtr& stream : streams)
        stream = std::make_unique<CheckedStream>(step, std::move(stream), owners, places);
    return streams;
}

}  // namespace shardd::exec
