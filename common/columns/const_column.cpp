#include "common/columns/const_column.h"

#include "common/base/error.h"
#include "common/columns/selection.h"

namespace shardd {

namespace {

[[noreturn]] void failGrowing() { throw Error(ErrorCode::LOGICAL_ERROR, "A constant column cannot grow: write it out first"); }

}  // namespace

ConstColumn::ConstColumn(ColumnPtr one, size_t rows) : one_(std::move(one)), rows_(rows) { SHARDD_CHECK(one_->size() == 1); }

ColumnPtr ConstColumn::expand() const {
    if (rows_ == 1) return one_;
    if (one_->kind() == ColumnKind::Other) return one_;
    PodVector<RowIndex> rows;
    rows.assign(rows_, 0);
    return one_->gather(rows.span());
}

int ConstColumn::compareAt(size_t /*row*/, const Column& other, size_t other_row, int nulls_direction) const {
    if (other.kind() == ColumnKind::Const)
        return one_->compareAt(0, *static_cast<const ConstColumn&>(other).one_, 0, nulls_direction);
    return one_->compareAt(0, other, other_row, nulls_direction);
}

void ConstColumn::insertDefault(size_t /*count*/) { failGrowing(); }

void ConstColumn::insert(const Value& /*value*/) { failGrowing(); }

void ConstColumn::insertFrom(const Column& /*source*/, size_t /*row*/) { failGrowing(); }

void ConstColumn::insertRange(const Column& /*source*/, size_t /*from*/, size_t /*count*/) { failGrowing(); }

void ConstColumn::popBack(size_t /*count*/) { failGrowing(); }

const char* ConstColumn::insertKey(const char* /*position*/) { failGrowing(); }

ColumnPtr ConstColumn::filter(std::span<const uint8_t> mask, size_t kept) const {
    return std::make_shared<ConstColumn>(one_, kept == SIZE_MAX ? countKept(mask) : kept);
}

ColumnPtr ConstColumn::gather(std::span<const RowIndex> rows) const { return std::make_shared<ConstColumn>(one_, rows.size()); }

ColumnPtr ConstColumn::slice(size_t /*from*/, size_t count) const { return std::make_shared<ConstColumn>(one_, count); }

ColumnPtr ConstColumn::replicate(std::span<const uint64_t> ends) const {
    return std::make_shared<ConstColumn>(one_, ends.empty() ? 0 : ends.back());
}

void ConstColumn::updateHashes(std::span<uint64_t> hashes) const { expand()->updateHashes(hashes); }

void ConstColumn::updateSipHash(size_t /*row*/, SipHash& hash) const { one_->updateSipHash(0, hash); }

void ConstColumn::serializeKey(size_t /*row*/, Writer& out) const { one_->serializeKey(0, out); }

}  // namespace shardd
