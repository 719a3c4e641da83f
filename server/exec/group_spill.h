#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "server/aggregates/aggregate.h"
#include "server/exec/key_table.h"
#include "server/exec/temporary_file.h"

namespace shardd::exec {

/// What must be known of groups to put them on the disk and to take them back.
struct SpillFormat {
    const KeyLayout& layout;
    std::span<const aggregates::AggregateFunctionPtr> functions;
    std::span<const size_t> offsets;  // of the functions' states in a row

    /// Whether a state is its bytes and nothing else; others go through serialize().
    bool isPlain(size_t function) const { return functions[function]->kernel() != aggregates::Kernel::None; }
};

/// What all aggregations of the process put on the disk so far.
struct ExternalAggregationCounters {
    std::atomic<uint64_t> written_parts = 0;  // runs of a worker
    std::atomic<uint64_t> merges = 0;         // aggregations that came back from the disk
    std::atomic<uint64_t> data_bytes = 0;     // before compression
    std::atomic<uint64_t> file_bytes = 0;
};

ExternalAggregationCounters& externalAggregationCounters();

/// Groups of one worker on the disk, by partition, run after run. A run is what the worker held when its
/// memory was taken from it. Partitions consist of pieces of some thousand groups, each column by column, in
/// compressed frames:
///     UInt64 groups | words of keys | UInt64 sizes of strings | strings | states of each function
/// Threads: one at a time while writing; pieces may then be read by any number of threads.
class GroupSpill {
public:
    GroupSpill(const SpillFormat& format, const TemporarySpace& space);

    /// The next groups of a partition. Partitions of a run may come in any order.
    void write(size_t partition, std::span<char* const> rows);

    /// The end of a run: what is still buffered goes to the disk.
    void finishRun();

    /// Groups that were written, the same one perhaps several times.
    uint64_t rows(size_t partition) const { return rows_[partition]; }

    /// Bytes of keys and states before compression.
    uint64_t dataBytes(size_t partition) const { return data_bytes_[partition]; }


private:
    friend class SpilledGroups;

    struct Extent {
        uint64_t offset;
        uint64_t bytes;
    };

    void writePiece(std::span<char* const> rows);
    void flush();

    const SpillFormat& format_;
    const FrameOptions codec_;
    TemporaryFile file_;
    Writer piece_;
    size_t piece_rows_;  // of the next piece, at most
    Writer frames_;      // not yet in the file
    std::array<std::vector<Extent>, GroupStore::kPartitions> extents_;
    std::array<uint64_t, GroupStore::kPartitions> rows_{};
    std::array<uint64_t, GroupStore::kPartitions> data_bytes_{};
};

/// The groups of one partition from several spills, piece by piece: first their keys, then their states.
class SpilledGroups {
public:
    /// Of the groups only those that fall into `share` of `shares` (a power of two, at most 256).
    SpilledGroups(const SpillFormat& format,
                  std::span<const GroupSpill* const> spills,
                  size_t partition,
                  size_t share = 0,
                  size_t shares = 1);
    ~SpilledGroups();

    /// Reads the next keys into keys(); false at the end.
    bool next();

    KeyBatch& keys() { return keys_; }

    /// Merges the states of the piece into the rows places[i] of keys i; must follow each next() once.
    /// `fresh` are those that were made for these keys, with empty states, in order.
    void mergeInto(std::span<char* const> places, std::span<char* const> fresh, Arena& arena);

private:
    class ExtentReader;

    void keepShare();
    void mergePlain(size_t function, std::span<char* const> places, Arena& arena);
    void mergeSerialized(size_t function,
                         std::span<char* const> places,
                         std::span<char* const> fresh,
                         Arena& arena);

    const SpillFormat& format_;
    const size_t share_;
    const size_t shares_;
    std::unique_ptr<ExtentReader> extents_;
    FrameReader reader_;
    KeyBatch keys_;
    PodVector<uint64_t> words_;
    PodVector<uint64_t> sizes_;
    PodVector<char> chars_;
    PodVector<KeyString> strings_;
    PodVector<uint32_t> kept_;  // the groups of the piece that keys_ has, in order
    size_t piece_rows_ = 0;
    PodVector<char> states_;
    PodVector<const char*> others_;
};

}  // namespace shardd::exec
