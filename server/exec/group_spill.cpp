#include "server/exec/group_spill.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "server/exec/key_hash.h"

namespace shardd::exec {

namespace {

constexpr size_t kPieceRows = 8192;
/// A piece with long keys or states ends sooner: how long states are is learnt from the pieces before.
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kFirstPieceRows = 64;
constexpr size_t kBufferBytes = size_t{1} << 20;

KeyString stringOf(const char* row, size_t offset) {
    KeyString text{};
    std::memcpy(&text, row + offset + 8, sizeof(text));
    return text;
}

}  // namespace

ExternalAggregationCounters& externalAggregationCounters() {
    static ExternalAggregationCounters counters;
    return counters;
}

GroupSpill::GroupSpill(const SpillFormat& format, const TemporarySpace& space)
    : format_(format), codec_(space.codec), file_(space) {
    piece_rows_ = kPieceRows;
    for (size_t f = 0; f < format.functions.size(); ++f)
        if (!format.isPlain(f)) piece_rows_ = kFirstPieceRows;
}

void GroupSpill::write(size_t partition, std::span<char* const> rows) {
    if (rows.empty()) return;
    const uint64_t begin = file_.size() + frames_.size();
    uint64_t data_bytes = 0;
    for (size_t from = 0; from < rows.size();) {
        const size_t most = std::min(piece_rows_, rows.size() - from);
        size_t count = most;
        if (format_.layout.hasString()) {
            size_t bytes = 0;
            for (count = 0; count < most && bytes < kPieceBytes; ++count)
                bytes += stringOf(rows[from + count], format_.layout.stringOffset()).size;
        }
        writePiece(rows.subspan(from, count));
        data_bytes += piece_.size();
        from += count;
        const size_t bytes_a_row = piece_.size() / count + 1;
        piece_rows_ = std::clamp<size_t>(kPieceBytes / bytes_a_row, 1, std::min(4 * piece_rows_, kPieceRows));
        encodeFrames(piece_.view(), codec_, frames_);
        if (frames_.size() >= kBufferBytes) flush();
    }
    extents_[partition].push_back({begin, file_.size() + frames_.size() - begin});
    rows_[partition] += rows.size();
    data_bytes_[partition] += data_bytes;
    externalAggregationCounters().data_bytes.fetch_add(data_bytes);
}

void GroupSpill::finishRun() {
    flush();
    externalAggregationCounters().written_parts.fetch_add(1);
}

void GroupSpill::flush() {
    file_.append(frames_.view());
    externalAggregationCounters().file_bytes.fetch_add(frames_.size());
    frames_.clear();
}

void GroupSpill::writePiece(std::span<char* const> rows) {
    const KeyLayout& layout = format_.layout;
    piece_.clear();
    piece_.writeFixed<uint64_t>(rows.size());
    const size_t width = layout.words() * 8;
    if (width != 0) {
        char* out = piece_.extend(width * rows.size());
        for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * width, rows[i], width);
    }
    if (layout.hasString()) {
        for (const char* row : rows) piece_.writeFixed(stringOf(row, layout.stringOffset()).size);
        for (const char* row : rows) {
            const KeyString text = stringOf(row, layout.stringOffset());
            piece_.writeBytes(text.data, text.size);
        }
    }
    for (size_t f = 0; f < format_.functions.size(); ++f) {
        const aggregates::AggregateFunction& function = *format_.functions[f];
        const size_t offset = format_.offsets[f];
        if (!format_.isPlain(f)) {
            for (const char* row : rows) function.serialize(row + offset, piece_);
            continue;
        }
        const size_t size = function.stateSize();
        char* out = piece_.extend(size * rows.size());
        for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * size, rows[i] + offset, size);
    }
}

/// The bytes of extents of several files as one stream.
class SpilledGroups::ExtentReader final : public Reader {
public:
    ExtentReader(std::span<const GroupSpill* const> spills, size_t partition) : Reader(nullptr, 0) {
        for (const GroupSpill* spill : spills)
            for (const GroupSpill::Extent& extent : spill->extents_[partition])
                extents_.push_back({&spill->file_, extent});
    }

protected:
    bool refill() override {
        if (at_ == extents_.size()) return false;
        auto& [file, extent] = extents_[at_];
        const size_t bytes = std::min<uint64_t>(extent.bytes, kBufferBytes);
        buffer_.resize(bytes);
        file->read(extent.offset, buffer_.data(), bytes);
        extent.offset += bytes;
        extent.bytes -= bytes;
        if (extent.bytes == 0) ++at_;
        position_ = buffer_.data();
        end_ = position_ + bytes;
        return true;
    }

private:
    struct Place {
        const TemporaryFile* file;
        GroupSpill::Extent extent;
    };

    std::vector<Place> extents_;
    size_t at_ = 0;
    PodVector<char> buffer_;
};

SpilledGroups::SpilledGroups(const SpillFormat& format,
                             std::span<const GroupSpill* const> spills,
                             size_t partition,
                             size_t share,
                             size_t shares)
    : format_(format),
      share_(share),
      shares_(shares),
      extents_(std::make_unique<ExtentReader>(spills, partition)),
      reader_(*extents_) {}

SpilledGroups::~SpilledGroups() = default;

bool SpilledGroups::next() {
    if (reader_.atEnd()) return false;
    const KeyLayout& layout = format_.layout;
    piece_rows_ = reader_.readFixed<uint64_t>();
    words_.resize(piece_rows_ * layout.words());
    reader_.readBytes(words_.data(), words_.size() * sizeof(uint64_t));
    if (layout.hasString()) {
        sizes_.resize(piece_rows_);
        reader_.readBytes(sizes_.data(), piece_rows_ * sizeof(uint64_t));
        chars_.resize(std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0}));
        reader_.readBytes(chars_.data(), chars_.size());
        strings_.resize(piece_rows_);
        const char* text = chars_.data();
        for (size_t i = 0; i < piece_rows_; ++i) {
            strings_[i] = {text, sizes_[i]};
            text += sizes_[i];
        }
    }
    keys_.rows = piece_rows_;
    keys_.words = words_.data();
    keys_.strings = layout.hasString() ? strings_.data() : nullptr;
    keys_.strings_stay = false;
    keys_.hashes.resize(piece_rows_);
    hashKeys(layout.words(), keys_.words, keys_.strings, piece_rows_, keys_.hashes.data());
    kept_.resize(piece_rows_);
    std::iota(kept_.begin(), kept_.end(), 0);
    if (shares_ != 1) keepShare();
    return true;
}

/// By bits of the hash that choose neither the partition nor, in tables of any usual size, the slot.
void SpilledGroups::keepShare() {
    const size_t words = format_.layout.words();
    size_t kept = 0;
    for (uint32_t i = 0; i < piece_rows_; ++i) {
        if (((keys_.hashes[i] >> 32) & (shares_ - 1)) != share_) continue;
        kept_[kept] = i;
        keys_.hashes[kept] = keys_.hashes[i];
        for (size_t w = 0; w < words; ++w) words_[kept * words + w] = words_[i * words + w];
        if (keys_.strings) strings_[kept] = strings_[i];
        ++kept;
    }
    kept_.resize(kept);
    keys_.hashes.resize(kept);
    keys_.rows = kept;
}

void SpilledGroups::mergeInto(std::span<char* const> places, std::span<char* const> fresh, Arena& arena) {
    for (size_t f = 0; f < format_.functions.size(); ++f) {
        if (format_.isPlain(f))
            mergePlain(f, places, arena);
        else
            mergeSerialized(f, places, fresh, arena);
    }
}

void SpilledGroups::mergePlain(size_t function, std::span<char* const> places, Arena& arena) {
    const size_t size = format_.functions[function]->stateSize();
    const size_t offset = format_.offsets[function];
    states_.resize(size * piece_rows_);
    reader_.readBytes(states_.data(), states_.size());
    others_.resize(kept_.size());
    // mergeBatch() adds the offset of the state in a row, and these are no rows.
    for (size_t i = 0; i < kept_.size(); ++i) others_[i] = states_.data() + kept_[i] * size - offset;
    format_.functions[function]->mergeBatch(places.data(), others_.data(), offset, kept_.size(), arena);
}

namespace {

/// A state of its own between two rows, ended whatever happens.
class ScratchState {
public:
    explicit ScratchState(const aggregates::AggregateFunction& function)
        : function_(function), memory_(function.stateSize() + function.stateAlignment()) {
        const auto at = reinterpret_cast<uintptr_t>(memory_.data());
        const size_t alignment = function.stateAlignment();
        place_ = memory_.data() + (alignment - at % alignment) % alignment;
    }

    ~ScratchState() { end(); }

    ScratchState(const ScratchState&) = delete;
    ScratchState& operator=(const ScratchState&) = delete;

    /// A new empty state; the one before is ended.
    char* renew() {
        end();
        std::memset(place_, 0, function_.stateSize());
        function_.create(place_);
        alive_ = true;
        return place_;
    }

private:
    void end() noexcept {
        if (alive_) function_.destroy(place_);
        alive_ = false;
    }

    const aggregates::AggregateFunction& function_;
    PodVector<char> memory_;
    char* place_ = nullptr;
    bool alive_ = false;
};

}  // namespace

void SpilledGroups::mergeSerialized(size_t f,
                                    std::span<char* const> places,
                                    std::span<char* const> fresh,
                                    Arena& arena) {
    const aggregates::AggregateFunction& function = *format_.functions[f];
    const size_t offset = format_.offsets[f];
    std::optional<Arena> scratch_arena(std::in_place);
    ScratchState scratch(function);
    size_t next_kept = 0;
    size_t next_fresh = 0;
    for (size_t i = 0; i < piece_rows_; ++i) {
        const bool is_kept = next_kept < kept_.size() && kept_[next_kept] == i;
        char* place = is_kept ? places[next_kept++] : nullptr;
        if (place && next_fresh < fresh.size() && fresh[next_fresh] == place) {
            ++next_fresh;
            function.deserialize(place + offset, reader_, arena);
            continue;
        }
        char* state = scratch.renew();
        function.deserialize(state, reader_, *scratch_arena);
        if (place) function.merge(place + offset, state, arena);
        if (scratch_arena->allocatedBytes() < kBufferBytes) continue;
        scratch.renew();
        scratch_arena.emplace();
    }
}

}  // namespace shardd::exec
