#include "server/aggregates/binary_form.h"

#include "common/base/error.h"
#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"

namespace shardd::aggregates {

void writeBinary(const Column& column, size_t row, Writer& out) {
    switch (column.kind()) {
        case ColumnKind::Fixed:
        case ColumnKind::FixedString:
            out.writeBytes(column.bytesAt(row));
            return;
        case ColumnKind::String:
            out.writeString(column.bytesAt(row));
            return;
        case ColumnKind::Nullable:
            out.writeByte(column.isNullAt(row) ? 1 : 0);
            if (!column.isNullAt(row))
                writeBinary(*static_cast<const NullableColumn&>(column).values(), row, out);
            return;
        case ColumnKind::Array: {
            const auto& array = static_cast<const ArrayColumn&>(column);
            out.writeVarUInt(array.lengthAt(row));
            for (size_t i = array.startAt(row); i < array.ends()[row]; ++i)
                writeBinary(*array.elements(), i, out);
            return;
        }
        case ColumnKind::Tuple:
            for (const ColumnPtr& element : static_cast<const TupleColumn&>(column).elements())
                writeBinary(*element, row, out);
            return;
        case ColumnKind::State: {
            const auto& states = static_cast<const StateColumn&>(column);
            states.ops()->serialize(states.states()[row], out);
            return;
        }
        case ColumnKind::Dictionary: {
            const auto& dictionary = static_cast<const DictionaryColumn&>(column);
            if (dictionary.nullable()) {
                out.writeByte(dictionary.isNullAt(row) ? 1 : 0);
                if (dictionary.isNullAt(row)) return;
            }
            writeBinary(*dictionary.keys(), dictionary.codes()[row], out);
            return;
        }
        default:
            failColumnCast(column, "a plain column");
    }
}

size_t readCount(Reader& in, size_t limit, const char* what) {
    const uint64_t count = in.readVarUInt();
    if (count > limit)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too large {} in an aggregate state: {}, maximum: {}",
                    what, count, limit);
    return count;
}

Value readBinaryValue(const Type& type, Reader& in) {
    switch (type.kind()) {
        case TypeKind::String:
            return Value(in.readString());
        case TypeKind::FixedString: {
            std::string text(type.fixedSize(), '\0');
            in.readBytes(text.data(), text.size());
            return Value(std::move(text));
        }
        case TypeKind::Nullable:
            return in.readByte() ? Value() : readBinaryValue(*type.child(), in);
        case TypeKind::LowCardinality:
            return readBinaryValue(*type.child(), in);
        case TypeKind::Array: {
            const size_t count = readCount(in, kMaxElements, "array");
            ArrayValue array;
            for (size_t i = 0; i < count; ++i) array.elements.push_back(readBinaryValue(*type.child(), in));
            return Value(std::move(array));
        }
        case TypeKind::Map: {
            const size_t count = readCount(in, kMaxElements, "map");
            ArrayValue array;
            for (size_t i = 0; i < count; ++i) {
                TupleValue pair;
                pair.elements.push_back(readBinaryValue(*type.child(0), in));
                pair.elements.push_back(readBinaryValue(*type.child(1), in));
                array.elements.emplace_back(std::move(pair));
            }
            return Value(std::move(array));
        }
        case TypeKind::Tuple: {
            TupleValue tuple;
            for (const TypePtr& child : type.children())
                tuple.elements.push_back(readBinaryValue(*child, in));
            return Value(std::move(tuple));
        }
        case TypeKind::Nothing:
            return Value();
        default: {
            const MutableColumnPtr column = createColumn(type);
            readBinary(type, *column, in);
            return column->value(0);
        }
    }
}

void readBinary(const Type& type, Column& to, Reader& in) {
    if (to.kind() == ColumnKind::Fixed) {
        const bool known = dispatchPhysical(type.physical(), [&]<typename T>(Tag<T>) {
            static_cast<FixedColumn<T>&>(to).values().push_back(in.readFixed<T>());
        });
        if (known) return;
    }
    if (to.kind() == ColumnKind::State) {
        auto& states = static_cast<StateColumn&>(to);
        char* place = states.addState();
        states.ops()->deserialize(place, in, states.arena());
        return;
    }
    to.insert(readBinaryValue(type, in));
}

namespace {

uint64_t readFormCount(Reader& in) {
    const auto count = in.readFixed<uint64_t>();
    // An element takes at least a byte but for empty tuples, which nobody sends.
    if (count > in.available())
        throw Error(ErrorCode::INCORRECT_DATA, "Wrong count {} in a value of an aggregate state", count);
    return count;
}

void checkForm(const Type& type, Reader& in) {
    switch (type.kind()) {
        case TypeKind::String: {
            const uint64_t size = readFormCount(in);
            if (size == 0)
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong size of a string in an aggregate state");
            in.skip(size);
            return;
        }
        case TypeKind::FixedString:
            in.skip(type.fixedSize());
            return;
        case TypeKind::Nullable:
            if (in.readByte() == 0) checkForm(*type.child(), in);
            return;
        case TypeKind::LowCardinality:
            checkForm(*type.child(), in);
            return;
        case TypeKind::Array:
        case TypeKind::Map: {
            const uint64_t count = readFormCount(in);
            for (uint64_t i = 0; i < count; ++i)
                for (const TypePtr& child : type.children()) checkForm(*child, in);
            return;
        }
        case TypeKind::Tuple:
            for (const TypePtr& child : type.children()) checkForm(*child, in);
            return;
        default:
            if (type.width() == 0)
                throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be in this aggregate state",
                            type.name());
            in.skip(type.width());
    }
}

}  // namespace

void checkArenaForm(const Type& type, std::string_view bytes) {
    Reader in(bytes);
    checkForm(type, in);
    if (!in.atEnd())
        throw Error(ErrorCode::INCORRECT_DATA, "A value of type {} in an aggregate state is too long",
                    type.name());
}

}  // namespace shardd::aggregates
