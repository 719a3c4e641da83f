#include <unordered_map>

#include "common/base/writer.h"
#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/functions/convert.h"
#include "server/functions/function_list.h"
#include "server/functions/selection.h"
#include "server/functions/simple_function.h"
#include "server/functions/supertype.h"

/// transform(): values replaced by a table of pairs.
namespace shardd::functions {

namespace {

class Transform final : public SimpleFunction {
public:
    explicit Transform(std::shared_ptr<const FunctionContext> context)
        : SimpleFunction(
              "transform",
              Traits{.default_nulls = false, .constant_arguments = {1, 2}, .sees_constants = true}),
          context_(context ? std::move(context) : std::make_shared<FunctionContext>()) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 3, 4);
        for (const size_t i : {size_t{1}, size_t{2}})
            if (arguments[i].type->kind() != TypeKind::Array) failSignature();
        const TypePtr to = arguments[2].type->child();
        const TypePtr other = arguments.size() == 4 ? arguments[3].type : arguments[0].type;
        const TypePtr both[] = {to, other};
        const TypePtr type = tryLeastSupertype(both);
        if (!type) failSignature();
        return type;
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        const ColumnPtr from = arrayOf(arguments[1]);
        const ColumnPtr to = arrayOf(arguments[2]);
        if (from->size() != to->size())
            throw Error(ErrorCode::BAD_ARGUMENTS,
                        "Second and third arguments of function {} must be arrays of the same size", name_);
        const NamedColumn& otherwise = arguments[arguments.size() == 4 ? 3 : 0];
        ColumnPtr defaults = castColumn(otherwise, result_type, *context_);
        if (from->empty()) return defaults;

        // A number of a row: 0 is no match, else 1 and the place in the arrays.
        const PodVector<uint32_t> places =
            placesOf(arguments[0], {"", arguments[1].type->child(), from}, rows);
        const ColumnPtr results =
            full(castColumn({"", arguments[2].type->child(), to}, result_type, *context_));
        std::vector<RowIndex> rows_of_results(rows);
        PodVector<uint8_t> which(rows);
        for (size_t i = 0; i < rows; ++i) {
            which[i] = places[i] != 0;
            rows_of_results[i] = places[i] == 0 ? 0 : places[i] - 1;
        }
        const ColumnPtr branches[] = {defaults, results->gather(rows_of_results)};
        return selectRows(branches, which.span());
    }

private:
    [[noreturn]] void failSignature() const {
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Function {} has signature: transform(T, Array(T), Array(U), U) -> U; or transform(T, "
                    "Array(T), Array(T)) -> T",
                    name_);
    }

    static ColumnPtr arrayOf(const NamedColumn& argument) {
        return as<ArrayColumn>(*as<ConstColumn>(*argument.column).one()).elements();
    }

    PodVector<uint32_t> placesOf(const NamedColumn& value, const NamedColumn& from, size_t rows) const {
        PodVector<uint32_t> places(rows, 0);
        const TypePtr bare = removeNullable(value.type);
        if (bare->kind() == TypeKind::Nothing) return places;
        const TypePtr pair[] = {bare, removeNullable(from.type)};
        TypePtr common = tryLeastSupertype(pair);
        const bool text_to_other = pair[1]->isString() && !bare->isString();
        if (!common || text_to_other) common = bare;
        const TypePtr nullable = makeNullable(common);

        // A key that the common type cannot hold matches nothing; the first of equal keys counts.
        ColumnPtr keys = full(text_to_other ? castColumn(from, nullable, *context_)
                                            : accurateCastOrNull(from, common, *context_));
        std::unordered_map<std::string, uint32_t> index;
        Writer bytes;
        for (size_t i = 0; i < keys->size(); ++i) {
            if (keys->isNullAt(i)) continue;
            bytes.clear();
            keys->serializeKey(i, bytes);
            index.emplace(std::string(bytes.view()), static_cast<uint32_t>(i + 1));
        }
        const ColumnPtr values = full(castColumn(value, nullable, *context_));
        for (size_t i = 0; i < rows; ++i) {
            if (values->isNullAt(i)) continue;
            bytes.clear();
            values->serializeKey(i, bytes);
            const auto found = index.find(std::string(bytes.view()));
            if (found != index.end()) places[i] = found->second;
        }
        return places;
    }

    std::shared_ptr<const FunctionContext> context_;
};

constexpr FunctionInfo kFunctions[] = {
    {.name = "transform",
     .create = [](const std::shared_ptr<const FunctionContext>& context) -> FunctionPtr {
         return std::make_shared<Transform>(context);
     },
     .syntax = "transform(value, from, to[, default])",
     .description = "The element of `to` at the place where the value stands in `from`; the default, or the "
                    "value, where it does not.",
     .example = "transform(2, [1, 2], ['one', 'two'], 'other')",
     .example_result = "two"},
};

}  // namespace

std::span<const FunctionInfo> transformFunctions() { return kFunctions; }

}  // namespace shardd::functions
