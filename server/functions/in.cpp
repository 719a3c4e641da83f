#include <algorithm>

#include "common/columns/array_column.h"
#include "common/columns/const_column.h"
#include "common/columns/create_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "server/functions/column_tools.h"
#include "server/functions/convert.h"
#include "server/functions/function_list.h"
#include "server/functions/set.h"
#include "server/functions/simple_function.h"

/// in, notIn and their kin: membership of a set, which the planner makes, or of a constant list.
namespace shardd::functions {

namespace {

struct InInfo {
    std::string_view name;
    bool negate;
    /// NULL is a value that may be in the set.
    bool nulls_count;
    /// Only the types are of interest.
    bool ignore_set = false;
};

constexpr InInfo kKinds[] = {
    {"in", false, false},
    {"notIn", true, false},
    {"globalIn", false, false},
    {"globalNotIn", true, false},
    {"nullIn", false, true},
    {"notNullIn", true, true},
    {"globalNullIn", false, true},
    {"globalNotNullIn", true, true},
    {"inIgnoreSet", false, false, true},
    {"notInIgnoreSet", true, false, true},
    {"globalInIgnoreSet", false, false, true},
    {"globalNotInIgnoreSet", true, false, true},
};

class In final : public SimpleFunction {
public:
    explicit In(const InInfo& info)
        : SimpleFunction(std::string(info.name),
                         Traits{.default_nulls = !info.nulls_count, .sees_constants = true}),
          info_(info) {}

    TypePtr resultType(Arguments arguments) const override {
        checkArgumentCount(name_, arguments, 2, 2);
        return types::uint8();
    }

    ColumnPtr execute(Arguments arguments, const TypePtr& result_type, size_t rows) const override {
        if (info_.ignore_set) return createConstColumn(*result_type, Value(uint64_t{0}), rows);
        SetPtr set = arguments[1].type->kind() == TypeKind::Set
                         ? setOf(*arguments[1].column)
                         : setOfConstant(arguments[0].type, arguments[1]);
        Mask mask(rows, 0);
        if (set->rows() != 0) lookUp(*set, arguments[0], rows, mask);
        if (info_.negate)
            for (size_t i = 0; i < rows; ++i) mask[i] ^= 1;
        return std::make_shared<FixedColumn<uint8_t>>(std::move(mask));
    }

private:
    static void lookUp(const Set& set, const NamedColumn& left, size_t rows, Mask& mask) {
        std::vector<NamedColumn> sides = {{"", left.type, full(left.column)}};
        const bool split = left.type->kind() == TypeKind::Tuple &&
                           !(set.types().size() == 1 && set.types()[0]->kind() == TypeKind::Tuple);
        if (split) {
            const auto tuple = std::static_pointer_cast<const TupleColumn>(sides[0].column);
            sides.clear();
            for (size_t i = 0; i < left.type->children().size(); ++i)
                sides.push_back({"", left.type->child(i), tuple->element(i)});
        }
        if (sides.size() != set.types().size())
            throw Error(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH,
                        "Number of columns in section IN doesn't match: {} at left, {} at right",
                        sides.size(), set.types().size());
        std::vector<ColumnPtr> columns;
        Mask lost(rows, 0);
        for (size_t i = 0; i < sides.size(); ++i) columns.push_back(convert(sides[i], set.types()[i], lost));
        set.contains(columns, rows, mask);
        for (size_t i = 0; i < rows; ++i) mask[i] &= static_cast<uint8_t>(!lost[i]);
    }

    /// As the set's type; what does not fit it exactly is lost, as it can equal nothing.
    static ColumnPtr convert(const NamedColumn& side, const TypePtr& type, Mask& lost) {
        const TypePtr plain = removeLowCardinality(side.type);
        const ColumnPtr column = writeOutDictionaries(side.column, side.type);
        if (sameType(plain, type)) return column;
        const TypePtr bare = removeNullable(type);
        if (type->isNullable()) return full(castColumn({"", plain, column}, type));
        if (sameType(removeNullable(plain), bare) && column->kind() == ColumnKind::Nullable) {
            const auto& nullable = as<NullableColumn>(*column);
            for (size_t i = 0; i < lost.size(); ++i) lost[i] |= nullable.nulls()[i];
            return nullable.values();
        }
        if (!bare->canBeInsideNullable()) return full(castColumn({"", plain, column}, bare));
        const ColumnPtr checked = accurateCastOrNull({"", plain, column}, bare);
        const auto& nullable = as<NullableColumn>(*checked);
        for (size_t i = 0; i < lost.size(); ++i) lost[i] |= nullable.nulls()[i];
        return nullable.values();
    }

    static bool holdsTuples(const Type& type) {
        return std::all_of(type.children().begin(), type.children().end(), [](const TypePtr& t) { return t->kind() == TypeKind::Tuple; });
    }

    /// A constant list that did not become a set before: an array, a tuple, or a single value.
    static SetPtr setOfConstant(const TypePtr& left_type, const NamedColumn& right) {
        if (right.column->kind() != ColumnKind::Const)
            throw Error(ErrorCode::ILLEGAL_COLUMN, "The right side of IN must be a set or a constant");
        const ColumnPtr one = as<ConstColumn>(*right.column).one();
        std::vector<NamedColumn> items;
        if (right.type->kind() == TypeKind::Array && left_type->kind() != TypeKind::Array) {
            items.push_back({"", right.type->child(), as<ArrayColumn>(*one).elements()});
        } else if (right.type->kind() == TypeKind::Tuple &&
                   (left_type->kind() != TypeKind::Tuple || holdsTuples(*right.type))) {
            for (size_t i = 0; i < right.type->children().size(); ++i)
                items.push_back({"", right.type->child(i), as<TupleColumn>(*one).element(i)});
        } else {
            items.push_back({"", right.type, one});
        }
        const bool rows_are_tuples = left_type->kind() == TypeKind::Tuple;
        SetBuilder builder(rows_are_tuples ? left_type->children() : std::vector<TypePtr>{left_type});
        for (const NamedColumn& item : items) {
            Block block;
            block.rows = item.column->size();
            if (rows_are_tuples && item.type->kind() == TypeKind::Tuple) {
                const auto& tuple = as<TupleColumn>(*item.column);
                for (size_t i = 0; i < tuple.elements().size(); ++i)
                    block.columns.push_back({"", item.type->child(i), tuple.element(i)});
            } else {
                block.columns.push_back(item);
            }
            builder.add(block);
        }
        return builder.finish();
    }

    InInfo info_;
};

template <size_t kIndex>
FunctionPtr createIn(const std::shared_ptr<const FunctionContext>&) {
    return std::make_shared<In>(kKinds[kIndex]);
}

template <size_t... kIndexes>
std::vector<FunctionInfo> listIn(std::index_sequence<kIndexes...>) {
    return {FunctionInfo{.name = kKinds[kIndexes].name,
                         .create = createIn<kIndexes>,
                         .syntax = "value IN set",
                         .description = "Whether a value is in a set."}...};
}

}  // namespace

std::span<const FunctionInfo> inFunctions() {
    static const std::vector<FunctionInfo> list = listIn(std::make_index_sequence<std::size(kKinds)>());
    return list;
}

}  // namespace shardd::functions
