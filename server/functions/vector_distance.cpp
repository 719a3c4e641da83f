// Norms and distances of vectors: arrays of numbers, or tuples of them.

#include <cmath>

#include "common/columns/create_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/array_support.h"

namespace shardd::functions {

namespace {

// -- arrays ---------------------------------------------------------------------------------------

/// Float32 when all elements are; otherwise Float64.
TypePtr floatOf(const Signature& call, size_t arrays) {
    bool narrow = true;
    for (size_t i = 0; i < arrays; ++i) {
        const Type& element = *call.type(i)->child();
        if (!element.isNumber()) illegalArgument(call, i, "Array of numbers");
        narrow &= element.kind() == TypeKind::Float32 || element.kind() == TypeKind::BFloat16;
    }
    return types::simple(narrow ? TypeKind::Float32 : TypeKind::Float64);
}

/// Numbers of an argument's arrays.
struct Vectors {
    Vectors(const Call& call, size_t i)
        : arrays(call.column(i)), values(arrays.elements(), call.argumentType(i)->child()) {}

    ArrayArgument arrays;
    DoubleArgument values;
};

enum class Norm { L1, L2, L2Squared, Linf, Lp };

/// Sums what single differences contribute.
class Sum {
public:
    Sum(Norm norm, double p) : norm_(norm), p_(p) {}

    void add(double x) {
        x = std::abs(x);
        switch (norm_) {
            case Norm::L1:
                sum_ += x;
                break;
            case Norm::L2:
            case Norm::L2Squared:
                sum_ += x * x;
                break;
            case Norm::Linf:
                sum_ = std::fmax(sum_, x);
                break;
            case Norm::Lp:
                sum_ += std::pow(x, p_);
                break;
        }
    }

    double result() const {
        if (norm_ == Norm::L2) return std::sqrt(sum_);
        return norm_ == Norm::Lp ? std::pow(sum_, 1 / p_) : sum_;
    }

private:
    Norm norm_;
    double p_;
    double sum_ = 0;
};

ColumnPtr asFloats(const TypePtr& type, std::vector<double>&& values) {
    if (type->kind() == TypeKind::Float32)
        return eachRow<float>(values.size(), [&](size_t i) { return static_cast<float>(values[i]); });
    return eachRow<double>(values.size(), [&](size_t i) { return values[i]; });
}

double powerOf(const Call& call, Norm norm, size_t i) {
    if (norm != Norm::Lp || call.rows == 0) return 2;
    const double p = DoubleArgument(call.column(i), call.argumentType(i))[0];
    if (!(p >= 1) || !std::isfinite(p))
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "Argument p of function {} must be not less than one and not be an infinity", call.name);
    return p;
}

template <Norm kNorm, size_t kVectors>
ColumnPtr runOnArrays(const Call& call) {
    const double p = powerOf(call, kNorm, kVectors);
    const Vectors a(call, 0);
    const Vectors b(call, kVectors - 1);
    std::vector<double> results(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        const size_t length = a.arrays.length(row);
        if (kVectors == 2 && b.arrays.length(row) != length)
            throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        "Array arguments for function {} must have equal sizes", call.name);
        Sum sum(kNorm, p);
        for (size_t i = 0; i < length; ++i) {
            const double x = a.values[a.arrays.start(row) + i];
            sum.add(kVectors == 2 ? x - b.values[b.arrays.start(row) + i] : x);
        }
        results[row] = sum.result();
    }
    return asFloats(call.type, std::move(results));
}

ColumnPtr runCosineOnArrays(const Call& call) {
    const Vectors a(call, 0);
    const Vectors b(call, 1);
    std::vector<double> results(call.rows);
    for (size_t row = 0; row < call.rows; ++row) {
        if (a.arrays.length(row) != b.arrays.length(row))
            throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        "Array arguments for function {} must have equal sizes", call.name);
        double dot = 0;
        double aa = 0;
        double bb = 0;
        for (size_t i = 0; i < a.arrays.length(row); ++i) {
            const double x = a.values[a.arrays.start(row) + i];
            const double y = b.values[b.arrays.start(row) + i];
            dot += x * y;
            aa += x * x;
            bb += y * y;
        }
        results[row] = 1 - dot / std::sqrt(aa * bb);
    }
    return asFloats(call.type, std::move(results));
}

// -- tuples: by the functions of numbers, so that types are theirs --------------------------------

NamedColumn apply(std::string_view function, std::vector<NamedColumn> arguments, size_t rows, bool run) {
    const auto resolved = resolveFunction(function, arguments, nullptr);
    return {"", resolved->resultType(), run ? resolved->execute(arguments, rows) : nullptr};
}

NamedColumn elementOf(const NamedColumn& tuple, size_t i, bool run) {
    if (!run) return {"", tuple.type->child(i), nullptr};
    const ColumnPtr column = full(tuple.column);
    return {"", tuple.type->child(i), full(as<TupleColumn>(*column).element(i))};
}

/// Norm of a tuple, or of the difference of two.
NamedColumn normOfTuples(Norm norm, Arguments arguments, size_t vectors, size_t rows, bool run) {
    NamedColumn sum;
    const size_t count = arguments[0].type->children().size();
    for (size_t i = 0; i < count; ++i) {
        NamedColumn x = elementOf(arguments[0], i, run);
        if (vectors == 2) x = apply("minus", {x, elementOf(arguments[1], i, run)}, rows, run);
        if (norm == Norm::L2 || norm == Norm::L2Squared)
            x = apply("multiply", {x, x}, rows, run);
        else
            x = apply("abs", {x}, rows, run);
        if (norm == Norm::Lp) x = apply("pow", {x, arguments[vectors]}, rows, run);
        if (!sum.type)
            sum = std::move(x);
        else
            sum = apply(norm == Norm::Linf ? "max2" : "plus", {sum, x}, rows, run);
    }
    if (!sum.type) return {"", types::uint8(), createConstColumn(*types::uint8(), Value(uint64_t{0}), rows)};
    if (norm == Norm::L2) return apply("sqrt", {sum}, rows, run);
    if (norm == Norm::Lp) {
        const NamedColumn one{"", types::float64(),
                              run ? createConstColumn(*types::float64(), Value(1.0), rows) : nullptr};
        return apply("pow", {sum, apply("divide", {one, arguments[vectors]}, rows, run)}, rows, run);
    }
    return sum;
}

std::vector<NamedColumn> bare(Arguments arguments) {
    std::vector<NamedColumn> result(arguments.begin(), arguments.end());
    for (NamedColumn& argument : result) argument.column = nullptr;
    return result;
}

void needVectors(const Signature& call, size_t vectors, size_t others) {
    needCount(call, vectors + others);
    for (size_t i = 0; i < vectors; ++i)
        if (call.type(i)->kind() != call.type(0)->kind() ||
            (call.type(i)->kind() != TypeKind::Tuple && call.type(i)->kind() != TypeKind::Array))
            illegalArgument(call, i, "Tuple or Array");
    if (vectors == 2 && call.type(0)->kind() == TypeKind::Tuple &&
        call.type(0)->children().size() != call.type(1)->children().size())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Expected tuples of the same size as arguments of function {}", call.name);
}

TypePtr normType(const Signature& call, Norm norm, size_t vectors) {
    needVectors(call, vectors, norm == Norm::Lp ? 1 : 0);
    if (call.type(0)->kind() == TypeKind::Array) return floatOf(call, vectors);
    return normOfTuples(norm, bare(call.arguments), vectors, 0, false).type;
}

template <Norm kNorm, size_t kVectors>
TypePtr typeOfNorm(const Signature& call) {
    return normType(call, kNorm, kVectors);
}

template <Norm kNorm, size_t kVectors>
ColumnPtr runNorm(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::Array) return runOnArrays<kNorm, kVectors>(call);
    return full(normOfTuples(kNorm, call.arguments, kVectors, call.rows, true).column);
}

NamedColumn dotOfTuples(Arguments arguments, size_t rows, bool run) {
    NamedColumn sum;
    for (size_t i = 0; i < arguments[0].type->children().size(); ++i) {
        NamedColumn x =
            apply("multiply", {elementOf(arguments[0], i, run), elementOf(arguments[1], i, run)}, rows, run);
        sum = sum.type ? apply("plus", {sum, x}, rows, run) : std::move(x);
    }
    if (!sum.type) return {"", types::uint8(), createConstColumn(*types::uint8(), Value(uint64_t{0}), rows)};
    return sum;
}

/// Of arrays: the type of the product of two elements.
TypePtr typeOfDot(const Signature& call) {
    needVectors(call, 2, 0);
    if (call.type(0)->kind() == TypeKind::Tuple) return dotOfTuples(bare(call.arguments), 0, false).type;
    if (call.name == "arrayDotProduct" && call.type(0)->kind() != TypeKind::Array)
        illegalArgument(call, 0, "Array");
    const TypePtr& a = call.type(0)->child();
    const TypePtr& b = call.type(1)->child();
    if (a->kind() == TypeKind::Float32 && b->kind() == TypeKind::Float32) return a;
    if (a->isFloat() || b->isFloat()) return types::float64();
    return apply("multiply", {{"", a, nullptr}, {"", b, nullptr}}, 0, false).type;
}

ColumnPtr runDot(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::Tuple)
        return full(dotOfTuples(call.arguments, call.rows, true).column);
    const Vectors a(call, 0);
    const Vectors b(call, 1);
    MutableColumnPtr result = createColumn(*call.type);
    for (size_t row = 0; row < call.rows; ++row) {
        if (a.arrays.length(row) != b.arrays.length(row))
            throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        "Array arguments for function {} must have equal sizes", call.name);
        double dot = 0;
        for (size_t i = 0; i < a.arrays.length(row); ++i)
            dot += a.values[a.arrays.start(row) + i] * b.values[b.arrays.start(row) + i];
        result->insert(call.type->isFloat() ? Value(dot) : Value(static_cast<int64_t>(dot)));
    }
    return result;
}

NamedColumn cosineOfTuples(Arguments arguments, size_t rows, bool run) {
    const NamedColumn dot = dotOfTuples(arguments, rows, run);
    const NamedColumn norms = apply("multiply",
                                    {normOfTuples(Norm::L2, arguments.subspan(0, 1), 1, rows, run),
                                     normOfTuples(Norm::L2, arguments.subspan(1, 1), 1, rows, run)},
                                    rows, run);
    const NamedColumn one{"", types::uint8(),
                          run ? createConstColumn(*types::uint8(), Value(uint64_t{1}), rows) : nullptr};
    return apply("minus", {one, apply("divide", {dot, norms}, rows, run)}, rows, run);
}

TypePtr typeOfCosine(const Signature& call) {
    needVectors(call, 2, 0);
    if (call.type(0)->kind() == TypeKind::Array) return floatOf(call, 2);
    return cosineOfTuples(bare(call.arguments), 0, false).type;
}

ColumnPtr runCosine(const Call& call) {
    if (call.argumentType(0)->kind() == TypeKind::Array) return runCosineOnArrays(call);
    return full(cosineOfTuples(call.arguments, call.rows, true).column);
}

TypePtr normalizedType(const Signature& call, Norm kind) {
    needCount(call, kind == Norm::Lp ? 2 : 1);
    needTuple(call, 0);
    const std::vector<NamedColumn> arguments = bare(call.arguments);
    const NamedColumn norm = normOfTuples(kind, arguments, 1, 0, false);
    std::vector<TypePtr> elements;
    for (size_t i = 0; i < call.type(0)->children().size(); ++i)
        elements.push_back(apply("divide", {elementOf(arguments[0], i, false), norm}, 0, false).type);
    return types::tuple(std::move(elements));
}

ColumnPtr normalized(const Call& call, Norm kind) {
    const NamedColumn norm = normOfTuples(kind, call.arguments, 1, call.rows, true);
    std::vector<ColumnPtr> elements;
    for (size_t i = 0; i < call.argumentType(0)->children().size(); ++i)
        elements.push_back(
            full(apply("divide", {elementOf(call.arguments[0], i, true), norm}, call.rows, true).column));
    return std::make_shared<TupleColumn>(std::move(elements), call.rows);
}

template <Norm kNorm>
TypePtr typeOfNormalize(const Signature& call) {
    return normalizedType(call, kNorm);
}

template <Norm kNorm>
ColumnPtr runNormalize(const Call& call) {
    return normalized(call, kNorm);
}

#define NORM(kind)                                                                                \
    define<#kind "Norm", typeOfNorm<Norm::kind, 1>, runNorm<Norm::kind, 1>>(#kind "Norm(vector)", \
                                                                            "The " #kind " norm.")
#define DISTANCE(kind)                                                                      \
    define<#kind "Distance", typeOfNorm<Norm::kind, 2>, runNorm<Norm::kind, 2>, kMayThrow>( \
        #kind "Distance(a, b)", "The " #kind " distance.")
#define NORMALIZE(kind)                                                               \
    define<#kind "Normalize", typeOfNormalize<Norm::kind>, runNormalize<Norm::kind>>( \
        #kind "Normalize(tuple)", "The tuple divided by its " #kind " norm.")

}  // namespace

std::span<const FunctionInfo> vectorDistanceFunctions() {
    static const FunctionInfo kList[] = {
        NORM(L1),
        NORM(L2),
        NORM(L2Squared),
        NORM(Linf),
        NORM(Lp),
        DISTANCE(L1),
        DISTANCE(L2),
        DISTANCE(L2Squared),
        DISTANCE(Linf),
        DISTANCE(Lp),
        NORMALIZE(L1),
        NORMALIZE(L2),
        NORMALIZE(Linf),
        NORMALIZE(Lp),
        define<"cosineDistance", typeOfCosine, runCosine, kMayThrow>(
            "cosineDistance(a, b)", "One less the cosine between two vectors."),
        define<"dotProduct", typeOfDot, runDot, kMayThrow>("dotProduct(a, b)", "The scalar product.",
                                                           "dotProduct((1, 2), (3, 4))", "11"),
        define<"arrayDotProduct", typeOfDot, runDot, kMayThrow>(
            "arrayDotProduct(a, b)", "The scalar product.", "arrayDotProduct([1, 2], [3, 4])", "11"),
    };
    return kList;
}

}  // namespace shardd::functions
