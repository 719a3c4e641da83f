// Chance: rand, rand64, randUniform, randomString …

#include <cmath>
#include <random>

#include "common/columns/create_column.h"
#include "server/functions/definition.h"

namespace shardd::functions {

namespace {

std::mt19937_64& generator() {
    thread_local std::mt19937_64 random{std::random_device()()};
    return random;
}

template <TypeKind kResult>
TypePtr typeOfRandom(const Signature& call) {
    needCount(call, 0, 1);
    return types::simple(kResult);
}

template <typename T>
ColumnPtr runRandom(const Call& call) {
    auto& random = generator();
    return eachRow<T>(call.rows, [&](size_t) { return static_cast<T>(random()); });
}

ColumnPtr runCanonical(const Call& call) {
    auto& random = generator();
    return eachRow<double>(call.rows,
                           [&](size_t) { return static_cast<double>(random() >> 11) * 0x1.0p-53; });
}

/// One number for all rows of a query.
ColumnPtr runConstant(const Call& call) {
    const auto seed = static_cast<uint64_t>(call.context.now_microseconds) * 0x9E3779B97F4A7C15ULL;
    return createConstColumn(*call.type, Value(uint64_t{static_cast<uint32_t>(seed >> 32)}), call.rows);
}

// -- distributions --------------------------------------------------------------------------------

template <size_t kParameters>
TypePtr typeOfDistribution(const Signature& call) {
    needCount(call, kParameters, kParameters + 1);
    for (size_t i = 0; i < kParameters; ++i) {
        needNumber(call, i);
        needConstant(call, i);
    }
    return types::float64();
}

template <size_t kParameters>
TypePtr typeOfCounting(const Signature& call) {
    typeOfDistribution<kParameters>(call);
    return types::uint64();
}

double parameter(const Call& call, size_t i) {
    return DoubleArgument(call.column(i), call.argumentType(i))[0];
}

template <typename T, typename Distribution>
ColumnPtr draw(size_t rows, Distribution distribution) {
    auto& random = generator();
    return eachRow<T>(rows, [&](size_t) { return static_cast<T>(distribution(random)); });
}

void check(bool right, std::string_view words) {
    if (!right) throw Error(ErrorCode::BAD_ARGUMENTS, "{}", words);
}

ColumnPtr runUniform(const Call& call) {
    const double low = parameter(call, 0);
    const double high = parameter(call, 1);
    check(low < high, "The lower bound of a uniform distribution must be less than the upper one");
    return draw<double>(call.rows, std::uniform_real_distribution<double>(low, high));
}

ColumnPtr runNormal(const Call& call) {
    return draw<double>(call.rows, std::normal_distribution<double>(parameter(call, 0), parameter(call, 1)));
}

ColumnPtr runLogNormal(const Call& call) {
    return draw<double>(call.rows,
                        std::lognormal_distribution<double>(parameter(call, 0), parameter(call, 1)));
}

ColumnPtr runExponential(const Call& call) {
    check(parameter(call, 0) > 0, "The parameter of an exponential distribution must be positive");
    return draw<double>(call.rows, std::exponential_distribution<double>(parameter(call, 0)));
}

ColumnPtr runPoisson(const Call& call) {
    check(parameter(call, 0) > 0, "The parameter of a Poisson distribution must be positive");
    return draw<uint64_t>(call.rows, std::poisson_distribution<int64_t>(parameter(call, 0)));
}

ColumnPtr runBernoulli(const Call& call) {
    const double p = parameter(call, 0);
    check(p >= 0 && p <= 1, "A probability must be between 0 and 1");
    return draw<uint64_t>(call.rows, std::bernoulli_distribution(p));
}

ColumnPtr runBinomial(const Call& call) {
    const double p = parameter(call, 1);
    check(p >= 0 && p <= 1, "A probability must be between 0 and 1");
    return draw<uint64_t>(call.rows,
                          std::binomial_distribution<int64_t>(static_cast<int64_t>(parameter(call, 0)), p));
}

// -- strings --------------------------------------------------------------------------------------

TypePtr typeOfString(const Signature& call) {
    needCount(call, 1, 2);
    needInteger(call, 0);
    return types::string();
}

enum class Letters { Bytes, Printable };

template <Letters kLetters>
ColumnPtr runString(const Call& call) {
    const IntegerArgument lengths(call.column(0));
    auto& random = generator();
    return eachText(call.rows, 0, [&](size_t row, TextBuilder& out) {
        if (lengths[row] < 0 || lengths[row] > (1 << 24))
            throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "Too large string size {} in function {}",
                        lengths[row], call.name);
        for (int64_t i = 0; i < lengths[row]; ++i) {
            const uint64_t word = random() >> 24;
            out.append(static_cast<char>(kLetters == Letters::Bytes ? word : 32 + word % 95));
        }
    });
}

TypePtr typeOfFixed(const Signature& call) {
    needCount(call, 1, 2);
    needInteger(call, 0);
    needConstant(call, 0);
    const auto size = constantValue(call.arguments[0])->to<int64_t>();
    if (size <= 0 || size > (1 << 24))
        throw Error(ErrorCode::ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive");
    return types::fixedString(static_cast<size_t>(size));
}

ColumnPtr runFixed(const Call& call) {
    auto& random = generator();
    PodVector<char> bytes(call.rows * call.type->fixedSize());
    for (char& byte : bytes) byte = static_cast<char>(random() >> 24);
    return std::make_shared<FixedStringColumn>(call.type->fixedSize(), std::move(bytes));
}

}  // namespace

std::span<const FunctionInfo> randomFunctions() {
    static const FunctionInfo kList[] = {
        define<"rand", typeOfRandom<TypeKind::UInt32>, runRandom<uint32_t>,
               kVaries | kSeesConstants | kSeesNulls>("rand([x])", "A random UInt32."),
        define<"rand64", typeOfRandom<TypeKind::UInt64>, runRandom<uint64_t>,
               kVaries | kSeesConstants | kSeesNulls>("rand64([x])", "A random UInt64."),
        define<"randCanonical", typeOfRandom<TypeKind::Float64>, runCanonical,
               kVaries | kSeesConstants | kSeesNulls>("randCanonical([x])",
                                                      "A random number from 0 up to 1."),
        define<"randConstant", typeOfRandom<TypeKind::UInt32>, runConstant, kOncePerQuery | kSeesNulls>(
            "randConstant([x])", "A random number, the same in all rows."),
        define<"randUniform", typeOfDistribution<2>, runUniform, kVaries | kSeesConstants, 3>(
            "randUniform(low, high)", "Uniformly distributed."),
        define<"randNormal", typeOfDistribution<2>, runNormal, kVaries | kSeesConstants, 3>(
            "randNormal(mean, deviation)", "Normally distributed."),
        define<"randLogNormal", typeOfDistribution<2>, runLogNormal, kVaries | kSeesConstants, 3>(
            "randLogNormal(mean, deviation)", "Log-normally distributed."),
        define<"randExponential", typeOfDistribution<1>, runExponential, kVaries | kSeesConstants, 1>(
            "randExponential(rate)", "Exponentially distributed."),
        define<"randPoisson", typeOfCounting<1>, runPoisson, kVaries | kSeesConstants, 1>(
            "randPoisson(mean)", "Poisson distributed."),
        define<"randBernoulli", typeOfCounting<1>, runBernoulli, kVaries | kSeesConstants, 1>(
            "randBernoulli(p)", "1 with probability p."),
        define<"randBinomial", typeOfCounting<2>, runBinomial, kVaries | kSeesConstants, 3>(
            "randBinomial(n, p)", "Successes in n attempts."),
        define<"randomString", typeOfString, runString<Letters::Bytes>, kVaries | kSeesConstants>(
            "randomString(length)", "Random bytes."),
        define<"randomPrintableASCII", typeOfString, runString<Letters::Printable>, kVaries | kSeesConstants>(
            "randomPrintableASCII(length)", "Random letters of ASCII."),
        define<"randomFixedString", typeOfFixed, runFixed, kVaries | kSeesConstants, 1>(
            "randomFixedString(length)", "A random FixedString."),
    };
    return kList;
}

}  // namespace shardd::functions
