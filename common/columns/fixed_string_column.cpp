#include "common/columns/fixed_string_column.h"

#include <algorithm>

#include "common/base/city_hash.h"
#include "common/base/error.h"
#include "common/base/sip_hash.h"
#include "common/base/writer.h"
#include "common/columns/selection.h"

namespace shardd {

void FixedStringColumn::insertText(std::string_view text) {
    if (text.size() > width_)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "String too long for type FixedString({}): {} bytes", width_, text.size());
    const size_t before = chars_.size();
    chars_.resize(before + width_);
    std::memcpy(chars_.data() + before, text.data(), text.size());
    std::memset(chars_.data() + before + text.size(), 0, width_ - text.size());
}

bool FixedStringColumn::isDefaultAt(size_t row) const {
    const std::string_view bytes = bytesAt(row);
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

int FixedStringColumn::compareAt(size_t row, const Column& other, size_t other_row, int /*nulls_direction*/) const {
    const int order = bytesAt(row).compare(other.bytesAt(other_row));
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

void FixedStringColumn::insertDefault(size_t count) { chars_.resizeZeroed(chars_.size() + count * width_); }

void FixedStringColumn::insert(const Value& value) { insertText(value.get<std::string>()); }

void FixedStringColumn::insertFrom(const Column& source, size_t row) { insertText(source.bytesAt(row)); }

void FixedStringColumn::insertRange(const Column& source, size_t from, size_t count) {
    const auto& other = static_cast<const FixedStringColumn&>(source);
    SHARDD_CHECK(other.width_ == width_);
    chars_.append(other.chars_.data() + from * width_, count * width_);
}

ColumnPtr FixedStringColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    PodVector<char> result;
    result.reserve((kept == SIZE_MAX ? countKept(mask) : kept) * width_);
    forEachRun(mask, [&](size_t from, size_t count) { result.append(chars_.data() + from * width_, count * width_); });
    return std::make_shared<FixedStringColumn>(width_, std::move(result));
}

ColumnPtr FixedStringColumn::gather(std::span<const RowIndex> rows) const {
    PodVector<char> result(rows.size() * width_);
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(result.data() + i * width_, chars_.data() + rows[i] * width_, width_);
    return std::make_shared<FixedStringColumn>(width_, std::move(result));
}

ColumnPtr FixedStringColumn::slice(size_t from, size_t count) const {
    PodVector<char> result;
    result.append(chars_.data() + from * width_, count * width_);
    return std::make_shared<FixedStringColumn>(width_, std::move(result));
}

void FixedStringColumn::updateHashes(std::span<uint64_t> hashes) const {
    for (size_t row = 0; row < hashes.size(); ++row) hashes[row] = hash128To64(hashes[row], cityHash64(bytesAt(row)));
}

void FixedStringColumn::updateSipHash(size_t row, SipHash& hash) const { hash.update(bytesAt(row)); }

void FixedStringColumn::serializeKey(size_t row, Writer& out) const { out.writeBytes(bytesAt(row)); }

const char* FixedStringColumn::insertKey(const char* position) {
    chars_.append(position, width_);
    return position + width_;
}

}  // namespace shardd
