#include <algorithm>

#include "common/columns/create_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/types/type_parser.h"
#include "server/functions/definition.h"

/// Bytes of one type seen as another.
namespace shardd::functions {

namespace {

bool hasBytes(const Type& type) {
    return type.isString() || (type.width() != 0 && type.kind() != TypeKind::Nothing);
}

/// `texts` (bytes of anything) as values of `type`: cut off, or filled up with zero bytes.
ColumnPtr reinterpretAs(const ColumnPtr& source, const Type& from, const TypePtr& type, size_t rows) {
    const ColumnPtr column = full(source);
    const auto bytesOf = [&](size_t row) {
        std::string_view bytes = column->bytesAt(row);
        // A number as text ends where its zeros begin.
        if (type->kind() == TypeKind::String && !from.isString())
            while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
        return bytes;
    };
    if (type->kind() == TypeKind::String)
        return eachText(rows, column->dataBytes(),
                        [&](size_t row, TextBuilder& out) { out.append(bytesOf(row)); });
    if (type->kind() == TypeKind::FixedString) {
        auto out = std::make_shared<FixedStringColumn>(type->fixedSize());
        for (size_t i = 0; i < rows; ++i) out->insertText(bytesOf(i).substr(0, type->fixedSize()));
        return out;
    }
    ColumnPtr result;
    dispatchPhysical(type->physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        result = eachRow<T>(rows, [&](size_t row) {
            T value{};
            const std::string_view bytes = bytesOf(row);
            std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(T)));
            return value;
        });
    });
    SHARDD_CHECK(result != nullptr);
    return result;
}

void needBytes(const Signature& call) {
    if (!hasBytes(*call.type(0))) illegalArgument(call, 0, "a value of constant width or a string");
}

template <TypeKind kKind>
TypePtr typeOfReinterpretAs(const Signature& call) {
    needCount(call, 1);
    needBytes(call);
    return types::simple(kKind);
}

TypePtr typeOfFixedString(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->width() == 0 || call.type(0)->kind() == TypeKind::FixedString)
        illegalArgument(call, 0, "a value of constant width");
    return types::fixedString(call.type(0)->width());
}

ColumnPtr runReinterpretAs(const Call& call) {
    return reinterpretAs(call.column(0), *call.argumentType(0), call.type, call.rows);
}

TypePtr typeOfReinterpret(const Signature& call) {
    needCount(call, 2);
    const auto name = constantValue(call.arguments[1]);
    if (!name || name->kind() != Value::Kind::String) illegalArgument(call, 1, "a constant name of a type");
    const TypePtr type = parseType(name->get<std::string>());
    if (call.type(0)->kind() == TypeKind::Array && type->kind() == TypeKind::Array &&
        sameType(call.type(0), type))
        return type;
    needBytes(call);
    if (!hasBytes(*type))
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Cannot reinterpret {} as {} because it is not fixed size in contiguous memory",
                    call.type(0)->name(), type->name());
    return type;
}

}  // namespace

#define REINTERPRET(kind)                                                                 \
    define<"reinterpretAs" #kind, typeOfReinterpretAs<TypeKind::kind>, runReinterpretAs>( \
        "reinterpretAs" #kind "(value)", "The bytes of a value as a " #kind ".")

std::span<const FunctionInfo> reinterpretFunctions() {
    static const FunctionInfo list[] = {
        REINTERPRET(UInt8),
        REINTERPRET(UInt16),
        REINTERPRET(UInt32),
        REINTERPRET(UInt64),
        REINTERPRET(UInt128),
        REINTERPRET(UInt256),
        REINTERPRET(Int8),
        REINTERPRET(Int16),
        REINTERPRET(Int32),
        REINTERPRET(Int64),
        REINTERPRET(Int128),
        REINTERPRET(Int256),
        REINTERPRET(Float32),
        REINTERPRET(Float64),
        REINTERPRET(Date),
        REINTERPRET(DateTime),
        REINTERPRET(UUID),
        REINTERPRET(String),
        define<"reinterpretAsFixedString", typeOfFixedString, runReinterpretAs>(
            "reinterpretAsFixedString(value)", "The bytes of a value as a FixedString of its width."),
        define<"reinterpret", typeOfReinterpret, runReinterpretAs, kPlainManner, 2>(
            "reinterpret(value, 'type')", "The bytes of a value as another type.",
            "reinterpret(toInt8(-1), 'UInt8')", "255"),
    };
    return list;
}

}  // namespace shardd::functions
