#include "server/storage/value_binary.h"

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::storage {

namespace {

constexpr size_t kMaxElements = size_t{1} << 24;

/// Containers are read as a Value: keys of such types are rare.
Value readValue(const Type& type, Reader& in);

template <typename T>
Value readNumber(Reader& in) {
    FixedColumn<T> one;
    one.values().push_back(in.readFixed<T>());
    return one.value(0);
}

Value readElements(const Type& type, Reader& in) {
    if (type.kind() == TypeKind::Tuple) {
        TupleValue tuple;
        for (const TypePtr& child : type.children()) tuple.elements.push_back(readValue(*child, in));
        return Value(std::move(tuple));
    }
    const uint64_t count = in.readVarUInt();
    if (count > kMaxElements)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "A stored array claims {} elements", count);
    ArrayValue array;
    for (uint64_t i = 0; i < count; ++i) {
        if (type.kind() == TypeKind::Map) {
            TupleValue pair;
            pair.elements.push_back(readValue(*type.child(0), in));
            pair.elements.push_back(readValue(*type.child(1), in));
            array.elements.emplace_back(std::move(pair));
        } else {
            array.elements.push_back(readValue(*type.child(), in));
        }
    }
    return Value(std::move(array));
}

Value readValue(const Type& type, Reader& in) {
    Value value;
    if (dispatchPhysical(type.physical(),
                         [&](auto tag) { value = readNumber<typename decltype(tag)::Type>(in); }))
        return value;
    switch (type.kind()) {
        case TypeKind::String:
            return Value(in.readString());
        case TypeKind::FixedString: {
            std::string text(type.fixedSize(), '\0');
            in.readBytes(text.data(), text.size());
            return Value(std::move(text));
        }
        case TypeKind::Nullable:
            return in.readByte() != 0 ? Value() : readValue(*type.child(), in);
        case TypeKind::LowCardinality:
            return readValue(*type.child(), in);
        case TypeKind::Array:
        case TypeKind::Map:
        case TypeKind::Tuple:
            return readElements(type, in);
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be in a key", type.name());
    }
}

}  // namespace

void writeValueBinary(const Type& type, const Column& column, size_t row, Writer& out) {
    switch (column.kind()) {
        case ColumnKind::Fixed:
        case ColumnKind::FixedString:
            out.writeBytes(column.bytesAt(row));
            return;
        case ColumnKind::String:
            out.writeString(column.bytesAt(row));
            return;
        case ColumnKind::Nullable: {
            const bool is_null = column.isNullAt(row);
            out.writeByte(is_null ? 1 : 0);
            const Type& inner = type.isLowCardinality() ? *type.child()->child() : *type.child();
            if (!is_null) writeValueBinary(inner, *as<NullableColumn>(column).values(), row, out);
            return;
        }
        case ColumnKind::Dictionary: {
            const auto& dictionary = as<DictionaryColumn>(column);
            const bool is_null = dictionary.isNullAt(row);
            if (dictionary.nullable()) out.writeByte(is_null ? 1 : 0);
            if (!is_null)
                writeValueBinary(*removeNullable(type.child()), *dictionary.keys(), dictionary.codes()[row],
                                 out);
            return;
        }
        case ColumnKind::Tuple: {
            const auto& tuple = as<TupleColumn>(column);
            for (size_t i = 0; i < tuple.elements().size(); ++i)
                writeValueBinary(*type.child(i), *tuple.element(i), row, out);
            return;
        }
        case ColumnKind::Array: {
            const auto& array = as<ArrayColumn>(column);
            out.writeVarUInt(array.lengthAt(row));
            for (size_t i = array.startAt(row); i < array.ends()[row]; ++i) {
                if (type.kind() == TypeKind::Map) {
                    const auto& pair = as<TupleColumn>(*array.elements());
                    writeValueBinary(*type.child(0), *pair.element(0), i, out);
                    writeValueBinary(*type.child(1), *pair.element(1), i, out);
                } else {
                    writeValueBinary(*type.child(), *array.elements(), i, out);
                }
            }
            return;
        }
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be in a key", type.name());
    }
}

void readValueBinary(const Type& type, Reader& in, Column& column) { column.insert(readValue(type, in)); }

}  // namespace shardd::storage
