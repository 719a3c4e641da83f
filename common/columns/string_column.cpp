#include "common/columns/string_column.h"

#include "common/base/city_hash.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

namespace {

constexpr size_t kCopySlack = 32;

/// Copies without a call where it is short: up to kCopySlack bytes behind either text may be touched.
inline void copyText(const char* from, size_t size, char* to) {
    if (size > 2 * kCopySlack) {
        std::memcpy(to, from, size);
        return;
    }
    for (size_t done = 0; done < size; done += kCopySlack) std::memcpy(to + done, from + done, kCopySlack);
}

}  // namespace

int StringColumn::compareAt(size_t row, const Column& other, size_t other_row, int /*nulls_direction*/) const {
    const int order = bytesAt(row).compare(other.bytesAt(other_row));
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

void StringColumn::insert(const Value& value) { insertText(value.get<std::string>()); }

void StringColumn::insertFrom(const Column& source, size_t row) { insertText(source.bytesAt(row)); }

void StringColumn::insertRange(const Column& source, size_t from, size_t count) {
    if (count == 0) return;
    const auto& other = static_cast<const StringColumn&>(source);
    const size_t start = other.startAt(from);
    const size_t shift = chars_.size() - start;  // wraps, and wraps back below
    chars_.append(other.chars_.data() + start, other.ends_[from + count - 1] - start);
    const size_t before = ends_.size();
    ends_.resize(before + count);
    for (size_t i = 0; i < count; ++i) ends_[before + i] = other.ends_[from + i] + shift;
}

void StringColumn::popBack(size_t count) {
    ends_.resize(ends_.size() - count);
    chars_.resize(ends_.empty() ? 0 : ends_.back());
}

ColumnPtr StringColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    if (kept == SIZE_MAX) kept = countKept(mask);
    PodVector<uint64_t> ends(kept);
    uint64_t* next_end = ends.data();
    uint64_t total = 0;
    forEachRun(mask, [&](size_t from, size_t count) {
        const uint64_t shift = total - startAt(from);  // wraps, and wraps back below
        for (size_t row = from; row < from + count; ++row) *next_end++ = ends_[row] + shift;
        total = next_end[-1];
    });
    PodVector<char> chars;
    chars.reserve(total + kCopySlack);
    chars.resize(total);
    char* out = chars.data();
    forEachRun(mask, [&](size_t from, size_t count) {
        const uint64_t start = startAt(from);
        const uint64_t size = ends_[from + count - 1] - start;
        copyText(chars_.data() + start, size, out);
        out += size;
    });
    return std::make_shared<StringColumn>(std::move(chars), std::move(ends));
}

ColumnPtr StringColumn::gather(std::span<const RowIndex> rows) const {
    PodVector<uint64_t> ends(rows.size());
    uint64_t total = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        total += ends_[rows[i]] - startAt(rows[i]);
        ends[i] = total;
    }
    PodVector<char> chars;
    chars.reserve(total + kCopySlack);
    chars.resize(total);
    char* out = chars.data();
    for (const RowIndex row : rows) {
        const std::string_view text = bytesAt(row);
        copyText(text.data(), text.size(), out);
        out += text.size();
    }
    return std::make_shared<StringColumn>(std::move(chars), std::move(ends));
}

ColumnPtr StringColumn::slice(size_t from, size_t count) const {
    auto result = std::make_shared<StringColumn>();
    result->insertRange(*this, from, count);
    return result;
}

void StringColumn::updateHashes(std::span<uint64_t> hashes) const {
    for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = hash128To64(hashes[row], cityHash64(bytesAt(row)));
}

void StringColumn::updateSipHash(size_t row, SipHash& hash) const {
    const std::string_view text = bytesAt(row);
    hash.updateFixed<uint64_t>(text.size() + 1);
    hash.update(text);
    hash.updateFixed<uint8_t>(0);
}

void StringColumn::serializeKey(size_t row, Writer& out) const {
    const std::string_view text = bytesAt(row);
    out.writeFixed<uint64_t>(text.size() + 1);
    out.writeBytes(text);
    out.writeByte(0);
}

const char* StringColumn::insertKey(const char* position) {
    uint64_t size = 0;
    std::memcpy(&size, position, sizeof(size));
    position += sizeof(size);
    insertText({position, size - 1});
    return position + size;
}

}  // namespace shardd
