// Maps and lambdas: mapApply, mapFilter, mapExists, mapAll, mapSort.

#include <numeric>

#include "common/columns/tuple_column.h"
#include "server/functions/array_lambda.h"
#include "server/functions/map_support.h"
#include "server/functions/simple_function.h"

namespace shardd::functions {

namespace {

enum class MapOperation { Apply, Filter, Exists, All, Sort, ReverseSort, PartialSort, PartialReverseSort };

/// f(lambda (key, value), map); the lambda may be left out of the sorts, and may take one tuple.
template <FixedName kName, MapOperation kOperation>
class MapLambda final : public SimpleFunction {
public:
    MapLambda() : SimpleFunction(kName.text) { traits_.sees_constants = true; }

    TypePtr resultType(Arguments arguments) const override {
        check(arguments);
        const TypePtr& map = arguments.back().type;
        if (!hasLambda(arguments)) return map;
        const TypePtr result = lambdaResult(name_, arguments[0]);
        if (kOperation == MapOperation::Apply) {
            if (result->kind() == TypeKind::Tuple && result->children().size() == 2)
                return types::map(result->child(0), result->child(1));
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "Expected return type is tuple of two elements, got {}", result->name());
        }
        if (kSorts) return map;
        needCondition(LambdaSignature{name_, {}, result, true});
        return kOperation == MapOperation::Filter ? map : types::uint8();
    }

    std::vector<TypePtr> lambdaParameterTypes(Arguments arguments, size_t, size_t parameters) const override {
        check(arguments);
        const TypePtr map = removeLowCardinalityRecursively(arguments.back().type);
        if (parameters == 1) return {types::tuple(map->children(), {"keys", "values"})};
        if (parameters != 2)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "The function of {} must take 2 arguments, found {}", name_, parameters);
        return map->children();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const ColumnPtr column = full(arguments.back().column);
        const auto& maps = as<ArrayColumn>(*column);
        const auto& entries = as<TupleColumn>(*maps.elements());
        std::vector<ColumnPtr> parameters = entries.elements();
        ColumnPtr values = entries.element(0);
        TypePtr value_type = arguments.back().type->child(0);
        if (hasLambda(arguments)) {
            const LambdaColumn& lambda = lambdaOf(name_, arguments[0]);
            if (lambda.parameterTypes().size() == 1) parameters = {maps.elements()};
            values = runLambda(lambda, maps.ends().span(), parameters, entries.size());
            value_type = lambdaResult(name_, arguments[0]);
        }
        if (kOperation == MapOperation::Apply) return std::make_shared<ArrayColumn>(values, maps.ends());
        if (kSorts) return sort(maps, *values);
        const std::vector<TypePtr> no_types;
        const std::vector<ColumnPtr> no_columns;
        const Mask mask = conditionsOf(LambdaCall{name_, result_type, rows, no_types, no_columns, maps.ends(),
                                                  value_type, values, true, nullptr});
        if (kOperation == MapOperation::Filter) return keep(maps, mask);
        return eachRow<uint8_t>(rows, [&](size_t row) -> uint8_t {
            constexpr bool kAll = kOperation == MapOperation::All;
            for (size_t i = maps.startAt(row); i < maps.ends()[row]; ++i)
                if ((mask[i] != 0) != kAll) return !kAll;
            return kAll;
        });
    }

private:
    static constexpr bool kSorts = kOperation >= MapOperation::Sort;
    static constexpr bool kPartial = kOperation >= MapOperation::PartialSort;
    static constexpr bool kDescending =
        kOperation == MapOperation::ReverseSort || kOperation == MapOperation::PartialReverseSort;

    static bool hasLambda(Arguments arguments) {
        return !arguments.empty() && arguments[0].type->kind() == TypeKind::Lambda;
    }

    void check(Arguments arguments) const {
        const size_t extra = kPartial ? 1 : 0;
        checkArgumentCount(name_, arguments, (kSorts ? 1 : 2) + extra, 2 + extra);
        if (arguments.back().type->kind() != TypeKind::Map)
            failArgumentType(name_, arguments, arguments.size() - 1);
        if (!kSorts && !hasLambda(arguments))
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "First argument for function {} must be a function", name_);
    }

    static ColumnPtr sort(const ArrayColumn& maps, const Column& values) {
        PodVector<RowIndex> places(values.size());
        std::iota(places.begin(), places.end(), RowIndex{0});
        for (size_t row = 0; row < maps.size(); ++row)
            std::stable_sort(places.begin() + maps.startAt(row), places.begin() + maps.ends()[row],
                             [&](RowIndex a, RowIndex b) {
                                 return kDescending ? values.compareAt(b, values, a, -1) < 0
                                                    : values.compareAt(a, values, b, 1) < 0;
                             });
        return std::make_shared<ArrayColumn>(maps.elements()->gather(places.span()), maps.ends());
    }

    static ColumnPtr keep(const ArrayColumn& maps, const Mask& mask) {
        PodVector<uint64_t> ends(maps.size());
        uint64_t kept = 0;
        for (size_t row = 0; row < maps.size(); ++row) {
            for (size_t i = maps.startAt(row); i < maps.ends()[row]; ++i) kept += mask[i];
            ends[row] = kept;
        }
        return std::make_shared<ArrayColumn>(maps.elements()->filter(mask.span(), kept), std::move(ends));
    }
};

template <FixedName kName, MapOperation kOperation>
FunctionInfo defineMap(std::string_view syntax,
                       std::string_view description,
                       std::string_view example = {},
                       std::string_view result = {}) {
    return FunctionInfo{.name = kName.view(),
                        .create = [](const std::shared_ptr<const FunctionContext>&) -> FunctionPtr {
                            return std::make_shared<MapLambda<kName, kOperation>>();
                        },
                        .case_insensitive = false,
                        .syntax = syntax,
                        .description = description,
                        .example = example,
                        .example_result = result};
}

}  // namespace

std::span<const FunctionInfo> mapLambdaFunctions() {
    static const FunctionInfo kList[] = {
        defineMap<"mapApply", MapOperation::Apply>("mapApply(f, map)", "A map of what f makes of each entry.",
                                                   "mapApply((k, v) -> (k, v + 1), map('a', 1))", "{'a':2}"),
        defineMap<"mapFilter", MapOperation::Filter>("mapFilter(f, map)", "The entries for which f is not 0.",
                                                     "mapFilter((k, v) -> v > 1, map('a', 1, 'b', 2))",
                                                     "{'b':2}"),
        defineMap<"mapExists", MapOperation::Exists>("mapExists(f, map)", "Whether f is not 0 for any entry.",
                                                     "mapExists((k, v) -> v = 1, map('a', 1))", "1"),
        defineMap<"mapAll", MapOperation::All>("mapAll(f, map)", "Whether f is not 0 for all entries.",
                                               "mapAll((k, v) -> v = 1, map('a', 1))", "1"),
        defineMap<"mapSort", MapOperation::Sort>("mapSort([f, ]map)", "Sorted by keys, or by f.",
                                                 "mapSort(map('b', 1, 'a', 2))", "{'a':2,'b':1}"),
        defineMap<"mapReverseSort", MapOperation::ReverseSort>("mapReverseSort([f, ]map)",
                                                               "Sorted downwards."),
        defineMap<"mapPartialSort", MapOperation::PartialSort>("mapPartialSort([f, ]limit, map)",
                                                               "At least the first entries sorted."),
        defineMap<"mapPartialReverseSort", MapOperation::PartialReverseSort>(
            "mapPartialReverseSort([f, ]limit, map)", "The same downwards."),
    };
    return kList;
}

}  // namespace shardd::functions
