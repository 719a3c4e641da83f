#pragma once

#include <memory>

#include "common/base/arena.h"
#include "common/base/pod_vector.h"
#include "server/exec/group_rows.h"
#include "server/exec/key_layout.h"

namespace shardd::exec {

/// How rows of groups are laid out: keys (KeyLayout), then states, each aligned, then perhaps a flag.
/// Everything behind the keys of a new row is zero.
struct GroupRowFormat {
    size_t states_offset = 0;
    size_t row_bytes = 0;
};

/// Where new groups of a worker go: one row of bytes each, by partition (the hash's bits 40..47) once there
/// are many.
class GroupStore {
public:
    static constexpr size_t kPartitions = 256;

    static size_t partitionOf(uint64_t hash) { return (hash >> 40) & (kPartitions - 1); }

    char* allocate(uint64_t hash, size_t row_bytes) {
        ++allocated_;
        GroupRows& rows = partitioned_ ? partitions_[partitionOf(hash)] : first_;
        return rows.allocate(row_bytes);
    }

    /// Rows from now on go to partitions.
    void partition() {
        if (!partitions_) partitions_ = std::make_unique<GroupRows[]>(kPartitions);
        partitioned_ = true;
    }

    bool partitioned() const { return partitioned_; }

    /// Rows made so far, also those given back since.
    size_t allocatedRows() const { return allocated_; }

    /// Rows from before partition().
    GroupRows& first() { return first_; }

    /// Only when partitioned().
    GroupRows& at(size_t partition) { return partitions_[partition]; }

    size_t rows() const {
        size_t total = first_.rows();
        for (size_t i = 0; partitioned_ && i < kPartitions; ++i) total += partitions_[i].rows();
        return total;
    }

private:
    GroupRows first_;
    std::unique_ptr<GroupRows[]> partitions_;
    bool partitioned_ = false;
    size_t allocated_ = 0;
};

/// From keys to the rows of their groups: open addressing, a slot is the row's address (48 bits) under 16
/// bits of the hash, so that other keys are seldom touched. Rows are owned by somebody else and never move.
/// Threads: one at a time.
class KeyTable {
public:
    enum class Mode {
        Insert,    // keys that are not there get a new row
        FindOnly,  // keys that are not there get nullptr
        Append,    // every key gets a new row, without looking
    };

    virtual ~KeyTable() = default;

    /// places[i] becomes the row of key i. Rows made here have their key, and are appended to `fresh` if that
    /// is given. The table must have room: see fits().
    virtual void lookUp(const KeyBatch& batch,
                        GroupStore& store,
                        const GroupRowFormat& format,
                        Arena& arena,
                        Mode mode,
                        char** places,
                        PodVector<char*>* fresh) = 0;

    /// For merging: owners[i] becomes the row that holds the key of rows[i], which is rows[i] itself when it
    /// is the first one. The table must have room.
    virtual void adopt(char* const* rows, size_t count, char** owners) = 0;

    /// The partition of a row, from its stored key.
    virtual void hashesOf(char* const* rows, size_t count, uint64_t* hashes) const = 0;

    size_t size() const { return size_; }

    size_t capacity() const { return slots_.size(); }

    /// Room for `more` keys without growing.
    bool fits(size_t more) const { return (size_ + more) * 2 <= slots_.size(); }

    /// Twice as many slots, or as many as hold `keys`.
    virtual void growFor(size_t keys) = 0;

    /// Forgets all keys; makes room for `keys`.
    void reset(size_t keys);

protected:
    static constexpr uint64_t kAddress = (uint64_t{1} << 48) - 1;

    PodVector<uint64_t> slots_;  // NOLINT(readability-identifier-naming): as private members
    size_t size_ = 0;            // NOLINT(readability-identifier-naming)
};

std::unique_ptr<KeyTable> makeKeyTable(const KeyLayout& layout);

}  // namespace shardd::exec
