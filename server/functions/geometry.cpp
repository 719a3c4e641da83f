// Points and curves: pointInPolygon, pointInEllipses, mortonEncode, mortonDecode.

#include <tuple>

#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

// -- polygons -----------------------------------------------------------------------------------------

bool isPoint(const Type& type) {
    return type.kind() == TypeKind::Tuple && type.children().size() == 2 && type.child(0)->isNumber() &&
           type.child(1)->isNumber();
}

bool isRing(const Type& type) { return type.kind() == TypeKind::Array && isPoint(*type.child()); }

/// (point, ring, hole, …) or (point, [ring, hole, …]).
TypePtr typeOfInPolygon(const Signature& call) {
    needCount(call, 2, SIZE_MAX);
    if (!isPoint(*call.type(0))) illegalArgument(call, 0, "Tuple of two numbers");
    for (size_t i = 1; i < call.count(); ++i) {
        const Type& type = *call.type(i);
        const bool rings = call.count() == 2 && type.kind() == TypeKind::Array && isRing(*type.child());
        if (!isRing(type) && !rings) illegalArgument(call, i, "Array of points");
    }
    return types::uint8();
}

/// Coordinates of a column of points.
struct Points {
    Points(const Column& column, const Type& type)
        : x(full(as<TupleColumn>(column).element(0)), type.child(0)),
          y(full(as<TupleColumn>(column).element(1)), type.child(1)) {}

    DoubleArgument x;
    DoubleArgument y;
};

/// By the crossings of a ray; the border is inside.
bool inRing(double x, double y, const Points& ring, size_t from, size_t to) {
    bool inside = false;
    for (size_t i = from, j = to - 1; i < to; j = i++) {
        const double turn =
            (ring.x[j] - ring.x[i]) * (y - ring.y[i]) - (x - ring.x[i]) * (ring.y[j] - ring.y[i]);
        const bool within = std::min(ring.x[i], ring.x[j]) <= x && x <= std::max(ring.x[i], ring.x[j]) &&
                            std::min(ring.y[i], ring.y[j]) <= y && y <= std::max(ring.y[i], ring.y[j]);
        if (turn == 0 && within) return true;
        const bool crosses = (ring.y[i] > y) != (ring.y[j] > y);
        if (crosses && x < (ring.x[j] - ring.x[i]) * (y - ring.y[i]) / (ring.y[j] - ring.y[i]) + ring.x[i])
            inside = !inside;
    }
    return inside;
}

ColumnPtr runInPolygon(const Call& call) {
    const ColumnPtr point_column = full(call.column(0));
    const Points points(*point_column, *call.argumentType(0));
    PodVector<uint8_t> result(call.rows, 0);
    for (size_t i = 1; i < call.count(); ++i) {
        const ArrayArgument rings(call.column(i));
        const bool nested = !isRing(*call.argumentType(i));
        const ArrayColumn* inner = nested ? &as<ArrayColumn>(*rings.elements()) : nullptr;
        const Type& type = nested ? *call.argumentType(i)->child()->child() : *call.argumentType(i)->child();
        const Points corners(nested ? *inner->elements() : *rings.elements(), type);
        for (size_t row = 0; row < call.rows; ++row) {
            const double x = points.x[row];
            const double y = points.y[row];
            if (!nested) {
                const bool in =
                    rings.length(row) > 0 && inRing(x, y, corners, rings.start(row), rings.end(row));
                result[row] = i == 1 ? in : result[row] && !in;
                continue;
            }
            for (size_t ring = rings.start(row); ring < rings.end(row); ++ring) {
                const bool in = inner->lengthAt(ring) > 0 &&
                                inRing(x, y, corners, inner->startAt(ring), inner->ends()[ring]);
                result[row] = ring == rings.start(row) ? in : result[row] && !in;
            }
        }
    }
    return fixedColumn(std::move(result));
}

TypePtr typeOfInEllipses(const Signature& call) {
    if (call.count() < 6 || call.count() % 4 != 2)
        throw Error(ErrorCode::BAD_ARGUMENTS, "Incorrect number of arguments of function {}", call.name);
    for (size_t i = 0; i < call.count(); ++i)
        if (call.type(i)->kind() != TypeKind::Float64) illegalArgument(call, i, "Float64");
    return types::uint8();
}

ColumnPtr runInEllipses(const Call& call) {
    std::vector<DoubleArgument> values;
    for (const NamedColumn& argument : call.arguments) values.emplace_back(argument.column, argument.type);
    return eachRow<uint8_t>(call.rows, [&](size_t row) -> uint8_t {
        for (size_t i = 2; i + 3 < values.size(); i += 4) {
            const double x = (values[0][row] - values[i][row]) / values[i + 2][row];
            const double y = (values[1][row] - values[i + 1][row]) / values[i + 3][row];
            if (x * x + y * y <= 1) return 1;
        }
        return 0;
    });
}

// -- Morton's curve -----------------------------------------------------------------------------------

TypePtr typeOfMorton(const Signature& call) {
    needCount(call, 1, 8);
    for (size_t i = 0; i < call.count(); ++i)
        if (!call.type(i)->isUnsigned() || call.type(i)->width() > 8)
            illegalArgument(call, i, "an unsigned integer");
    return types::uint64();
}

ColumnPtr runMorton(const Call& call) {
    std::vector<IntegerArgument> values;
    for (const NamedColumn& argument : call.arguments) values.emplace_back(argument.column);
    const size_t count = values.size();
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        uint64_t code = 0;
        if (count == 1) return static_cast<uint64_t>(values[0][row]);
        for (size_t bit = 0; bit < 64; ++bit)
            code |= (static_cast<uint64_t>(values[bit % count][row]) >> (bit / count) & 1) << bit;
        return code;
    });
}

TypePtr typeOfMortonDecode(const Signature& call) {
    needCount(call, 2);
    needConstant(call, 0);
    if (!call.type(0)->isUnsigned()) illegalArgument(call, 0, "a constant number");
    if (!call.type(1)->isUnsigned() || call.type(1)->width() > 8)
        illegalArgument(call, 1, "an unsigned integer");
    const auto count = constantValue(call.arguments[0])->to<uint64_t>();
    if (count < 1 || count > 8)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "First argument for function {} should be a number in range 1-8", call.name);
    return types::tuple(std::vector<TypePtr>(count, types::uint64()));
}

ColumnPtr runMortonDecode(const Call& call) {
    const IntegerArgument codes(call.column(1));
    const size_t count = call.type->children().size();
    std::vector<ColumnPtr> elements;
    for (size_t i = 0; i < count; ++i)
        elements.push_back(eachRow<uint64_t>(call.rows, [&](size_t row) {
            const auto code = static_cast<uint64_t>(codes[row]);
            uint64_t value = 0;
            for (size_t bit = i; bit < 64; bit += count) value |= (code >> bit & 1) << (bit / count);
            return value;
        }));
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

// -- Hilbert's curve ----------------------------------------------------------------------------------

/// Turns the quadrant in which a step of the curve lies.
void turnQuadrant(uint64_t side, uint64_t& x, uint64_t& y, uint64_t rx, uint64_t ry) {
    if (ry != 0) return;
    if (rx != 0) {
        x = side - 1 - x;
        y = side - 1 - y;
    }
    std::swap(x, y);
}

uint64_t hilbertCode(uint64_t first, uint64_t second) {
    uint64_t x = second;
    uint64_t y = first;
    if (x > UINT32_MAX || y > UINT32_MAX) return 0;
    uint64_t code = 0;
    for (uint64_t side = uint64_t{1} << 31; side > 0; side >>= 1) {
        const uint64_t rx = (x & side) != 0;
        const uint64_t ry = (y & side) != 0;
        code = code << 2 | ((3 * rx) ^ ry);
        x &= side - 1;
        y &= side - 1;
        turnQuadrant(side, x, y, rx, ry);
    }
    return code;
}

std::pair<uint64_t, uint64_t> hilbertPoint(uint64_t code) {
    uint64_t x = 0;
    uint64_t y = 0;
    for (size_t bit = 0; bit < 32; ++bit, code >>= 2) {
        const uint64_t rx = code >> 1 & 1;
        const uint64_t ry = (code ^ rx) & 1;
        const uint64_t side = uint64_t{1} << bit;
        turnQuadrant(side, x, y, rx, ry);
        x |= rx << bit;
        y |= ry << bit;
    }
    return {y, x};
}

TypePtr typeOfHilbert(const Signature& call) {
    needCount(call, 1, 2);
    for (size_t i = 0; i < call.count(); ++i)
        if (!call.type(i)->isUnsigned() || call.type(i)->width() > 8)
            illegalArgument(call, i, "an unsigned integer");
    return types::uint64();
}

ColumnPtr runHilbert(const Call& call) {
    const IntegerArgument x(call.column(0));
    if (call.count() == 1)
        return eachRow<uint64_t>(call.rows, [&](size_t row) { return static_cast<uint64_t>(x[row]); });
    const IntegerArgument y(call.column(1));
    return eachRow<uint64_t>(call.rows, [&](size_t row) {
        return hilbertCode(static_cast<uint64_t>(x[row]), static_cast<uint64_t>(y[row]));
    });
}

TypePtr typeOfHilbertDecode(const Signature& call) {
    const TypePtr type = typeOfMortonDecode(call);
    if (type->children().size() > 2)
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "First argument for function {} should be a number in range 1-2", call.name);
    return type;
}

ColumnPtr runHilbertDecode(const Call& call) {
    if (call.type->children().size() == 1) return runMortonDecode(call);
    const IntegerArgument codes(call.column(1));
    PodVector<uint64_t> x(call.rows);
    PodVector<uint64_t> y(call.rows);
    for (size_t row = 0; row < call.rows; ++row)
        std::tie(x[row], y[row]) = hilbertPoint(static_cast<uint64_t>(codes[row]));
    return std::make_shared<TupleColumn>(
        std::vector<ColumnPtr>{fixedColumn(std::move(x)), fixedColumn(std::move(y))}, call.rows);
}

}  // namespace

std::span<const FunctionInfo> geometryFunctions() {
    static const FunctionInfo kList[] = {
        define<"pointInPolygon", typeOfInPolygon, runInPolygon>(
            "pointInPolygon((x, y), ring, hole, …)", "Whether a point is inside.",
            "pointInPolygon((3, 3), [(0, 0), (10, 0), (10, 10), (0, 10)])", "1"),
        define<"pointInEllipses", typeOfInEllipses, runInEllipses>(
            "pointInEllipses(x, y, x1, y1, a1, b1, …)", "Whether a point is in any of the ellipses."),
        define<"mortonEncode", typeOfMorton, runMorton>(
            "mortonEncode(a, b, …)", "The bits of all numbers in turn.", "mortonEncode(5, 2)", "25"),
        define<"hilbertEncode", typeOfHilbert, runHilbert>(
            "hilbertEncode(x, y)", "The place of a point on Hilbert's curve.", "hilbertEncode(1, 7)", "22"),
        define<"hilbertDecode", typeOfHilbertDecode, runHilbertDecode, kPlainManner, 1>(
            "hilbertDecode(count, code)", "The point again.", "hilbertDecode(2, 31)", "(3,4)"),
        define<"mortonDecode", typeOfMortonDecode, runMortonDecode, kPlainManner, 1>(
            "mortonDecode(count, code)", "The numbers again.", "mortonDecode(2, 55)", "(7,5)"),
    };
    return kList;
}

}  // namespace shardd::functions
