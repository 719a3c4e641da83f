#include "server/formats/json_pretty.h"

#include "common/base/error.h"
#include "server/formats/text_input.h"

namespace shardd::formats {

namespace {

const Type& bare(const Type& type) {
    const bool is_wrapper = type.kind() == TypeKind::Nullable || type.kind() == TypeKind::LowCardinality;
    return is_wrapper ? bare(*type.children()[0]) : type;
}

bool isNested(const Type& type) {
    const TypeKind kind = bare(type).kind();
    return kind == TypeKind::Tuple || kind == TypeKind::Map || kind == TypeKind::Array;
}

/// Takes one string, with its quotes.
void skipString(TextInput& in) {
    in.skip('"');
    while (!in.atEnd()) {
        const char c = *in.position++;
        if (c == '\\' && !in.atEnd()) ++in.position;
        if (c == '"') return;
    }
}

/// Takes one value, whatever is inside.
void skipValue(TextInput& in) {
    size_t depth = 0;
    while (!in.atEnd()) {
        const char c = in.peek();
        if (c == '"') {
            skipString(in);
            if (depth == 0) return;
            continue;
        }
        if (depth == 0 && (c == ',' || c == ']' || c == '}')) return;
        if (c == '[' || c == '{') ++depth;
        ++in.position;
        if ((c == ']' || c == '}') && --depth == 0) return;
    }
}

void writeValue(TextInput& in, const Type& outer, size_t depth, Writer& out);

/// Elements a line each; those of an object have their names in front.
template <typename TypeOf>
void writeElements(TextInput& in, size_t depth, Writer& out, TypeOf type_of) {
    const char opening = *in.position++;
    const char closing = opening == '[' ? ']' : '}';
    out.writeByte(static_cast<uint8_t>(opening));
    out.writeByte('\n');
    size_t element = 0;
    do {
        if (element > 0) out.writeBytes(",\n");
        writeIndent(depth + 1, out);
        if (opening == '{') {
            const char* from = in.position;
            skipString(in);
            out.writeBytes({from, static_cast<size_t>(in.position - from)});
            out.writeBytes(": ");
            in.skip(':');
        }
        writeValue(in, type_of(element++), depth + 1, out);
    } while (in.skip(','));
    out.writeByte('\n');
    writeIndent(depth, out);
    out.writeByte(static_cast<uint8_t>(closing));
    in.skip(closing);
}

void writeValue(TextInput& in, const Type& outer, size_t depth, Writer& out) {
    const Type& type = bare(outer);
    const bool is_empty = (in.peek() == '[' && in.peek(1) == ']') || (in.peek() == '{' && in.peek(1) == '}');
    const bool is_open = in.peek() == '[' || in.peek() == '{';
    if (is_empty && type.kind() == TypeKind::Tuple) {
        in.position += 2;
        out.writeBytes("[\n\n");
        writeIndent(depth, out);
        return out.writeByte(']');
    }
    if (is_open && !is_empty && type.kind() == TypeKind::Tuple)
        return writeElements(in, depth, out, [&](size_t i) -> const Type& { return *type.children()[i]; });
    if (is_open && !is_empty && type.kind() == TypeKind::Map)
        return writeElements(in, depth, out, [&](size_t) -> const Type& { return *type.children()[1]; });
    if (is_open && !is_empty && type.kind() == TypeKind::Array && isNested(*type.children()[0]))
        return writeElements(in, depth, out, [&](size_t) -> const Type& { return *type.children()[0]; });
    const char* from = in.position;
    skipValue(in);
    out.writeBytes({from, static_cast<size_t>(in.position - from)});
}

}  // namespace

void writeIndent(size_t depth, Writer& out) {
    for (size_t i = 0; i < depth; ++i) out.writeByte('\t');
}

bool isLaidOut(const Type& type) {
    const Type& plain = bare(type);
    return plain.kind() == TypeKind::Tuple || plain.kind() == TypeKind::Map ||
           (plain.kind() == TypeKind::Array && isNested(*plain.children()[0]));
}

void writePrettyJson(std::string_view compact, const Type& type, size_t depth, Writer& out) {
    TextInput in(compact);
    writeValue(in, type, depth, out);
}

}  // namespace shardd::formats
