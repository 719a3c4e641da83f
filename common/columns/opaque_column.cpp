#include "common/columns/opaque_column.h"

#include "common/base/error.h"

namespace shardd {

void OpaqueColumn::fail() const { throw Error(ErrorCode::LOGICAL_ERROR, "{}", misuse_); }

Value OpaqueColumn::value(size_t) const { fail(); }

bool OpaqueColumn::isDefaultAt(size_t) const { fail(); }

int OpaqueColumn::compareAt(size_t, const Column&, size_t, int) const { fail(); }

MutableColumnPtr OpaqueColumn::cloneEmpty() const { fail(); }

void OpaqueColumn::insertDefault(size_t) { fail(); }

void OpaqueColumn::insert(const Value&) { fail(); }

void OpaqueColumn::insertFrom(const Column&, size_t) { fail(); }

void OpaqueColumn::insertRange(const Column&, size_t, size_t) { fail(); }

void OpaqueColumn::popBack(size_t) { fail(); }

ColumnPtr OpaqueColumn::filter(std::span<const uint8_t>, size_t) const { fail(); }

ColumnPtr OpaqueColumn::gather(std::span<const RowIndex>) const { fail(); }

ColumnPtr OpaqueColumn::slice(size_t, size_t) const { fail(); }

void OpaqueColumn::updateHashes(std::span<uint64_t>) const { fail(); }

void OpaqueColumn::updateSipHash(size_t, SipHash&) const { fail(); }

void OpaqueColumn::serializeKey(size_t, Writer&) const { fail(); }

const char* OpaqueColumn::insertKey(const char*) { fail(); }

}  // namespace shardd
