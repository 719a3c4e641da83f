#include <algorithm>
#include <cstring>

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"
#include "common/wire/native.h"
#include "common/wire/native_format.h"

namespace shardd {

namespace {

void writePrefix(const Type& type, Writer& out) {
    if (type.kind() == TypeKind::LowCardinality) {
        out.writeFixed(native::kDictionaryVersion);
        return;
    }
    if (type.kind() == TypeKind::AggregateFunction) return;
    for (const TypePtr& child : type.children()) writePrefix(*child, out);
}

template <typename T>
void writeRaw(const PodVector<T>& values, Writer& out) {
    out.writeBytes(values.data(), values.size() * sizeof(T));
}

void writeStrings(const StringColumn& column, Writer& out) {
    constexpr size_t kMaxLengthBytes = 10;
    const size_t rows = column.size();
    const size_t before = out.size();
    const char* chars = column.chars().data();
    const uint64_t* ends = column.ends().data();
    const size_t chars_bytes = rows == 0 ? 0 : ends[rows - 1];
    char* const start = out.extend(chars_bytes + rows * kMaxLengthBytes);
    char* place = start;
    uint64_t from = 0;
    for (size_t row = 0; row < rows; ++row) {
        uint64_t length = ends[row] - from;
        while (length >= 0x80) {
            *place++ = static_cast<char>(length | 0x80);
            length >>= 7;
        }
        *place++ = static_cast<char>(length);
        const uint64_t size = ends[row] - from;
        if (size != 0) std::memcpy(place, chars + from, size);
        place += size;
        from = ends[row];
    }
    out.shrink(before + static_cast<size_t>(place - start));
}

void writeData(const Type& type, const Column& column, Writer& out);

void writeDictionary(const Type& type, const DictionaryColumn& whole, Writer& out) {
    if (whole.empty()) return;
    // A small slice of a large dictionary must not send the whole dictionary.
    ColumnPtr compacted;
    if (whole.keys()->size() > whole.size() + 2) compacted = whole.compacted();
    const DictionaryColumn& column = compacted ? as<DictionaryColumn>(*compacted) : whole;
    const size_t keys = column.keys()->size();
    const uint64_t code = keys <= 0x100 ? 0 : keys <= 0x10000 ? 1 : 2;
    out.writeFixed(native::kHasAdditionalKeys | native::kNeedsUpdate | code);
    out.writeFixed(static_cast<uint64_t>(keys));
    writeData(*removeNullable(type.child()), *column.keys(), out);
    const PodVector<uint32_t>& codes = column.codes();
    out.writeFixed(static_cast<uint64_t>(codes.size()));
    if (code == 2) return writeRaw(codes, out);
    char* place = out.extend(codes.size() << code);
    if (code == 0) {
        for (size_t row = 0; row < codes.size(); ++row) place[row] = static_cast<char>(codes[row]);
    } else {
        for (size_t row = 0; row < codes.size(); ++row) {
            const auto narrow = static_cast<uint16_t>(codes[row]);
            std::memcpy(place + row * sizeof(narrow), &narrow, sizeof(narrow));
        }
    }
}

/// NULL rows hold anything in memory; on the wire they hold the default.
void writeNullable(const Type& type, const NullableColumn& column, Writer& out) {
    writeRaw(column.nulls(), out);
    writeData(*type.child(), *column.values(), out);
}

void writeTuple(const Type& type, const TupleColumn& column, Writer& out) {
    if (column.elements().empty()) {
        std::memset(out.extend(column.size()), native::kEmptyTupleByte, column.size());
        return;
    }
    for (size_t i = 0; i < column.elements().size(); ++i) writeData(*type.child(i), *column.element(i), out);
}

void writeMap(const Type& type, const ArrayColumn& column, Writer& out) {
    writeRaw(column.ends(), out);
    const auto& entries = as<TupleColumn>(*column.elements());
    writeData(*type.child(0), *entries.element(0), out);
    writeData(*type.child(1), *entries.element(1), out);
}

void writeData(const Type& type, const Column& column, Writer& out) {
    if (column.kind() == ColumnKind::Const) return writeData(type, *as<ConstColumn>(column).expand(), out);
    switch (type.kind()) {
        case TypeKind::String:
            return writeStrings(as<StringColumn>(column), out);
        case TypeKind::FixedString:
            return writeRaw(as<FixedStringColumn>(column).chars(), out);
        case TypeKind::Nullable:
            return writeNullable(type, as<NullableColumn>(column), out);
        case TypeKind::LowCardinality:
            return writeDictionary(type, as<DictionaryColumn>(column), out);
        case TypeKind::Array: {
            const auto& array = as<ArrayColumn>(column);
            writeRaw(array.ends(), out);
            return writeData(*type.child(), *array.elements(), out);
        }
        case TypeKind::Tuple:
            return writeTuple(type, as<TupleColumn>(column), out);
        case TypeKind::Map:
            return writeMap(type, as<ArrayColumn>(column), out);
        case TypeKind::AggregateFunction: {
            const auto& states = as<StateColumn>(column);
            return states.ops()->serializeBatch(states.states().data(), states.size(), out);
        }
        default:
            break;
    }
    const bool fixed = dispatchPhysical(type.physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        writeRaw(as<FixedColumn<T>>(column).values(), out);
    });
    if (!fixed) throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be sent", type.name());
}

/// The column with every dictionary in it written out; `type` still has its LowCardinality.
ColumnPtr withoutDictionaries(const Type& type, const ColumnPtr& given) {
    const ColumnPtr column = full(given);
    switch (type.kind()) {
        case TypeKind::LowCardinality:
            return as<DictionaryColumn>(*column).plain();
        case TypeKind::Array: {
            const auto& array = as<ArrayColumn>(*column);
            ColumnPtr elements = withoutDictionaries(*type.child(), array.elements());
            if (elements == array.elements()) return column;
            return std::make_shared<ArrayColumn>(std::move(elements), array.ends());
        }
        case TypeKind::Map: {
            const auto& array = as<ArrayColumn>(*column);
            const auto& entries = as<TupleColumn>(*array.elements());
            std::vector<ColumnPtr> both = {withoutDictionaries(*type.child(0), entries.element(0)),
                                           withoutDictionaries(*type.child(1), entries.element(1))};
            auto tuple = std::make_shared<TupleColumn>(std::move(both), entries.size());
            return std::make_shared<ArrayColumn>(std::move(tuple), array.ends());
        }
        case TypeKind::Tuple: {
            const auto& tuple = as<TupleColumn>(*column);
            std::vector<ColumnPtr> elements;
            for (size_t i = 0; i < tuple.elements().size(); ++i)
                elements.push_back(withoutDictionaries(*type.child(i), tuple.element(i)));
            return std::make_shared<TupleColumn>(std::move(elements), tuple.size());
        }
        default:
            return column;
    }
}

void writeInfo(const Block& block, const NativeOptions& options, Writer& out) {
    out.writeVarUInt(native::kInfoOverflows);
    out.writeByte(block.is_overflows ? 1 : 0);
    out.writeVarUInt(native::kInfoBucket);
    out.writeFixed(block.bucket);
    if (options.out_of_order_buckets) {
        out.writeVarUInt(native::kInfoOutOfOrder);
        out.writeVarUInt(0);
    }
    out.writeVarUInt(native::kInfoEnd);
}

/// The name with what `options` takes away, or nothing when it stays as it is.
std::optional<std::string> changedName(const Type& type, const NativeOptions& options);

std::string nameOf(const Type& type, const NativeOptions& options) {
    std::optional<std::string> changed = changedName(type, options);
    return changed ? *std::move(changed) : type.name();
}

std::optional<std::string> changedComposite(const Type& type,
                                            const NativeOptions& options,
                                            const char* family) {
    const auto& children = type.children();
    if (std::ranges::none_of(children,
                             [&](const TypePtr& child) { return changedName(*child, options).has_value(); }))
        return std::nullopt;
    std::string name = family;
    for (size_t i = 0; i < children.size(); ++i) {
        name += i == 0 ? "(" : ", ";
        if (!type.elementNames().empty()) name += quoteIdentifierIfNeeded(type.elementNames()[i]) + " ";
        name += nameOf(*children[i], options);
    }
    return name + ")";
}

std::string aggregateName(const Type& type, const NativeOptions& options) {
    const AggregateOps& ops = *type.aggregate();
    std::string name = "AggregateFunction(";
    if (options.aggregate_versions && ops.stateVersion() != 0)
        name += fmt::format("{}, ", ops.stateVersion());
    name += ops.name();
    if (!ops.parametersText().empty()) name += "(" + ops.parametersText() + ")";
    for (const TypePtr& argument : ops.argumentTypes()) name += ", " + nameOf(*argument, options);
    return name + ")";
}

std::optional<std::string> changedName(const Type& type, const NativeOptions& options) {
    switch (type.kind()) {
        case TypeKind::DateTime:
            if (options.time_zones || type.timeZone().empty()) return std::nullopt;
            return "DateTime";
        case TypeKind::LowCardinality:
            if (!options.low_cardinality) return nameOf(*type.child(), options);
            return changedComposite(type, options, "LowCardinality");
        case TypeKind::AggregateFunction: {
            std::string name = aggregateName(type, options);
            return name == type.name() ? std::nullopt : std::optional(std::move(name));
        }
        case TypeKind::Nullable:
            return changedComposite(type, options, "Nullable");
        case TypeKind::Array:
            return changedComposite(type, options, "Array");
        case TypeKind::Tuple:
            return changedComposite(type, options, "Tuple");
        case TypeKind::Map:
            return changedComposite(type, options, "Map");
        default:
            return std::nullopt;
    }
}

}  // namespace

std::string wireTypeName(const Type& type, const NativeOptions& options) {
    if (options.low_cardinality && options.time_zones && options.aggregate_versions) return type.name();
    return nameOf(type, options);
}

void writeColumn(const Type& type, const Column& column, Writer& out) {
    if (column.empty()) return;
    writePrefix(type, out);
    writeData(type, column, out);
}

void writeBlock(const Block& block, const NativeOptions& options, Writer& out) {
    if (options.block_info) writeInfo(block, options, out);
    out.writeVarUInt(block.columns.size());
    out.writeVarUInt(block.rows);
    for (const NamedColumn& column : block.columns) {
        out.writeString(column.name);
        out.writeString(wireTypeName(*column.type, options));
        if (options.column_kinds) out.writeByte(0);
        if (block.rows == 0) continue;
        SHARDD_CHECK(column.column->size() == block.rows);
        if (options.low_cardinality) {
            writeColumn(*column.type, *column.column, out);
        } else {
            const ColumnPtr plain = withoutDictionaries(*column.type, column.column);
            writeColumn(*removeLowCardinalityRecursively(column.type), *plain, out);
        }
    }
}

}  // namespace shardd
