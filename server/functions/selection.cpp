#include "server/functions/selection.h"

#include "common/columns/const_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/string_column.h"
#include "server/functions/column_tools.h"

namespace shardd::functions {

namespace {

/// The column behind a constant, and what to multiply row numbers with.
struct Branch {
    const Column* column;
    size_t step;

    explicit Branch(const ColumnPtr& from)
        : column(from->kind() == ColumnKind::Const ? as<ConstColumn>(*from).one().get() : from.get()),
          step(from->kind() == ColumnKind::Const ? 0 : 1) {}
};

template <typename T>
ColumnPtr selectFixed(std::span<const ColumnPtr> branches, std::span<const uint8_t> which) {
    const size_t rows = which.size();
    PodVector<T> out(rows);
    std::vector<std::pair<const T*, size_t>> sources;
    for (const ColumnPtr& branch : branches) {
        const Branch source(branch);
        sources.emplace_back(static_cast<const FixedColumn<T>*>(source.column)->data(), source.step);
    }
    if (sources.size() == 2) {
        const auto [first, first_step] = sources[0];
        const auto [second, second_step] = sources[1];
        if (first_step == 1 && second_step == 1) {
            // Both are read, so that the choice is no branch.
            for (size_t i = 0; i < rows; ++i) {
                const T a = first[i];
                const T b = second[i];
                out[i] = which[i] ? b : a;
            }
        } else {
            for (size_t i = 0; i < rows; ++i) {
                const T a = first[i * first_step];
                const T b = second[i * second_step];
                out[i] = which[i] ? b : a;
            }
        }
    } else {
        for (size_t i = 0; i < rows; ++i) out[i] = sources[which[i]].first[i * sources[which[i]].second];
    }
    return std::make_shared<FixedColumn<T>>(std::move(out));
}

ColumnPtr selectStrings(std::span<const ColumnPtr> branches, std::span<const uint8_t> which) {
    std::vector<Branch> sources;
    for (const ColumnPtr& branch : branches) sources.emplace_back(branch);
    auto out = std::make_shared<StringColumn>();
    out->reserve(which.size());
    for (size_t i = 0; i < which.size(); ++i) {
        const Branch& source = sources[which[i]];
        out->insertText(source.column->bytesAt(i * source.step));
    }
    return out;
}

ColumnPtr selectNullable(std::span<const ColumnPtr> branches, std::span<const uint8_t> which) {
    std::vector<ColumnPtr> values;
    std::vector<std::pair<const uint8_t*, size_t>> maps;
    for (const ColumnPtr& branch : branches) {
        const Branch source(branch);
        values.push_back(valuesOfNullable(branch));
        maps.emplace_back(static_cast<const NullableColumn*>(source.column)->nulls().data(), source.step);
    }
    Mask nulls(which.size());
    for (size_t i = 0; i < which.size(); ++i) nulls[i] = maps[which[i]].first[i * maps[which[i]].second];
    return std::make_shared<NullableColumn>(selectRows(values, which), std::move(nulls));
}

}  // namespace

ColumnPtr selectRows(std::span<const ColumnPtr> branches, std::span<const uint8_t> which) {
    const Column& prototype = *Branch(branches[0]).column;
    switch (prototype.kind()) {
        case ColumnKind::String:
            return selectStrings(branches, which);
        case ColumnKind::Nullable:
            return selectNullable(branches, which);
        case ColumnKind::Fixed: {
#define TRY(name, type) \
    if (dynamic_cast<const FixedColumn<type>*>(&prototype)) return selectFixed<type>(branches, which);
            SHARDD_FIXED_TYPES(TRY)
#undef TRY
            break;
        }
        default:
            break;
    }
    MutableColumnPtr out = prototype.cloneEmpty();
    out->reserve(which.size());
    std::vector<Branch> sources;
    for (const ColumnPtr& branch : branches) sources.emplace_back(branch);
    for (size_t row = 0; row < which.size();) {
        size_t end = row;
        while (end < which.size() && which[end] == which[row]) ++end;
        const Branch& source = sources[which[row]];
        if (source.step == 0)
            out->insertRepeated(*source.column, 0, end - row);
        else
            out->insertRange(*source.column, row, end - row);
        row = end;
    }
    return out;
}

}  // namespace shardd::functions
