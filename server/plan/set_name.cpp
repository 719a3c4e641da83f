#include "server/plan/set_name.h"

#include "common/base/error.h"
#include "common/base/sip_hash.h"
#include "common/columns/array_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::plan {

namespace {

/// ClickHouse's numbers of types inside hashes: never renumber.
std::optional<uint8_t> typeNumber(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::UInt8:
            return 1;
        case TypeKind::UInt16:
            return 2;
        case TypeKind::UInt32:
            return 3;
        case TypeKind::UInt64:
            return 4;
        case TypeKind::UInt128:
            return 5;
        case TypeKind::UInt256:
            return 6;
        case TypeKind::Int8:
            return 7;
        case TypeKind::Int16:
            return 8;
        case TypeKind::Int32:
            return 9;
        case TypeKind::Int64:
            return 10;
        case TypeKind::Int128:
            return 11;
        case TypeKind::Int256:
            return 12;
        case TypeKind::Float32:
            return 14;
        case TypeKind::Float64:
            return 15;
        case TypeKind::Date:
            return 16;
        case TypeKind::Date32:
            return 17;
        case TypeKind::String:
            return 22;
        case TypeKind::UUID:
            return 30;
        case TypeKind::Array:
            return 31;
        case TypeKind::Tuple:
            return 32;
        default:
            return std::nullopt;
    }
}

bool hashType(const Type& type, SipHash& hash) {
    const std::optional<uint8_t> number = typeNumber(type);
    if (!number) return false;
    if (type.kind() == TypeKind::Bool) {
        hash.updateFixed<uint64_t>(type.name().size());
        hash.update(type.name());
    } else {
        hash.updateFixed<uint64_t>(0);
    }
    hash.updateFixed(*number);
    if (type.kind() == TypeKind::Array) return hashType(*type.child(), hash);
    if (type.kind() != TypeKind::Tuple) return true;
    if (!type.elementNames().empty()) return false;
    hash.updateFixed<uint64_t>(type.children().size());
    for (const TypePtr& child : type.children())
        if (!hashType(*child, hash)) return false;
    hash.updateFixed<uint8_t>(0);
    return true;
}

/// As a whole column of these rows lies in ClickHouse's memory: fixed widths raw; strings as their ends, then their bytes.
bool hashRows(const Type& type, const Column& column, SipHash& hash) {
    switch (type.kind()) {
        case TypeKind::Tuple: {
            const auto& tuple = as<TupleColumn>(column);
            for (size_t i = 0; i < tuple.elements().size(); ++i)
                if (!hashRows(*type.child(i), *tuple.element(i), hash)) return false;
            return true;
        }
        case TypeKind::Array: {
            const auto& array = as<ArrayColumn>(column);
            hash.update(array.ends().data(), array.ends().size() * sizeof(uint64_t));
            return hashRows(*type.child(), *array.elements(), hash);
        }
        case TypeKind::String: {
            uint64_t end = 0;
            for (size_t row = 0; row < column.size(); ++row) hash.updateFixed(end += column.bytesAt(row).size());
            for (size_t row = 0; row < column.size(); ++row) hash.update(column.bytesAt(row));
            return true;
        }
        default:
            if (type.physical() == Physical::None) return false;
            for (size_t row = 0; row < column.size(); ++row) hash.update(column.bytesAt(row));
            return true;
    }
}

std::string leftText(const Type& left) {
    if (left.kind() != TypeKind::Tuple) return left.name();
    std::string text;
    for (const TypePtr& child : left.children()) text += (text.empty() ? "" : "_") + leftText(*child);
    return text;
}

}  // namespace

std::optional<std::string> literalSetName(const Type& left, const Type& right, const Column& one) {
    constexpr uint64_t kConstantNode = 4;
    SipHash hash;
    hash.updateFixed(kConstantNode);
    if (!hashRows(right, one, hash) || !hashType(right, hash)) return std::nullopt;
    hash.updateFixed<uint64_t>(0);  // no nodes below,
    hash.updateFixed<uint64_t>(0);  // none beside
    const Hash128 value = hash.get128();
    return fmt::format("__set_{}_{}_{}", leftText(left), value.low, value.high);
}

}  // namespace shardd::plan
