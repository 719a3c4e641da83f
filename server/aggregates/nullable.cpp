#include "common/columns/create_column.h"
#include "common/columns/nullable_column.h"
#include "server/aggregates/kept_rows.h"
#include "server/aggregates/wrapper.h"

namespace shardd::aggregates {

StrippedArguments::StrippedArguments(const Column* const* arguments, size_t count) {
    if (count > kMaxArguments)
        throw Error(ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
                    "An aggregate function over Nullable arguments has {} arguments, maximum: {}", count,
                    kMaxArguments);
    for (size_t i = 0; i < count; ++i) {
        columns_[i] = arguments[i];
        if (arguments[i]->kind() != ColumnKind::Nullable) continue;
        const auto& nullable = static_cast<const NullableColumn&>(*arguments[i]);
        columns_[i] = nullable.values().get();
        null_maps_[null_maps_count_++] = nullable.nulls().data();
    }
}

Mask StrippedArguments::rowsWithoutNull(size_t from, size_t rows, const uint8_t* mask) const {
    Mask result(from + rows);
    for (size_t row = from; row < from + rows; ++row) result[row] = !mask || mask[row];
    for (size_t i = 0; i < null_maps_count_; ++i) {
        const uint8_t* nulls = null_maps_[i];
        for (size_t row = from; row < from + rows; ++row)
            result[row] = static_cast<uint8_t>(result[row] & (nulls[row] == 0));
    }
    return result;
}

Mask StrippedArguments::batchWithoutNull(size_t from, size_t rows) const {
    Mask kept(rows, 1);
    for (size_t i = 0; i < null_maps_count_; ++i) {
        const uint8_t* nulls = null_maps_[i] + from;
        for (size_t row = 0; row < rows; ++row) kept[row] = static_cast<uint8_t>(kept[row] & (nulls[row] == 0));
    }
    return kept;
}

namespace {

/// Skips rows with NULL. When `flagged`, a byte behind the nested state tells whether a row came.
template <bool flagged>
class NullableAggregate final : public Wrapper {
public:
    NullableAggregate(Signature signature, TypePtr result, AggregateFunctionPtr nested, bool writes_one)
        : Wrapper(std::move(signature), std::move(result), std::move(nested)),
          flag_offset_(Wrapper::stateSize()),
          writes_one_(writes_one) {}

    size_t stateSize() const override {
        if (!flagged) return nested().stateSize();
        const size_t alignment = stateAlignment();
        return (flag_offset_ + 1 + alignment - 1) / alignment * alignment;
    }

    void create(char* place) const override {
        nested().create(place);
        if (flagged) place[flag_offset_] = 0;
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        const StrippedArguments stripped(arguments, argumentTypes().size());
        if (stripped.hasNullAt(row)) return;
        if (flagged) place[flag_offset_] = 1;
        nested().add(place, stripped.columns(), row, arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        const StrippedArguments stripped(arguments, argumentTypes().size());
        const Mask kept = stripped.batchWithoutNull(from, rows);
        if (flagged)
            for (size_t i = 0; i < rows; ++i)
                if (places[i]) places[i][offset + flag_offset_] = static_cast<char>(places[i][offset + flag_offset_] | kept[i]);
        addKeptRows(nested(), stripped.columns(), places, offset, from, kept.span(), arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        addMasked(arguments, place, from, rows, nullptr, arena);
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        addMasked(arguments, place, from, rows, mask, arena);
    }

    void merge(char* place, const char* other, Arena& arena) const override {
        if (flagged) {
            if (!other[flag_offset_]) return;
            place[flag_offset_] = 1;
        }
        nested().merge(place, other, arena);
    }

    void serialize(const char* place, Writer& out) const override {
        if (flagged) {
            out.writeByte(place[flag_offset_] ? 1 : 0);
            if (!place[flag_offset_]) return;
        } else if (writes_one_) {
            out.writeByte(1);
        }
        nested().serialize(place, out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        if (flagged || writes_one_) {
            const bool flag = in.readByte() != 0;
            if (!flag) return;
            if (flagged) place[flag_offset_] = 1;
        }
        nested().deserialize(place, in, arena);
    }

    void insertResult(char* place, Column& to, Arena& arena) const override {
        if (!flagged) {
            nested().insertResult(place, to, arena);
        } else if (!place[flag_offset_]) {
            to.insertDefault(1);
        } else {
            const MutableColumnPtr value = createColumn(*nested().resultType());
            nested().insertResult(place, *value, arena);
            to.insertFrom(*value, 0);
        }
    }

    void insertResultBatch(
        char* const* places, size_t offset, size_t rows, Column& to, Arena& arena) const override {
        if (!flagged) {
            nested().insertResultBatch(places, offset, rows, to, arena);
            return;
        }
        MutableColumnPtr values = createColumn(*nested().resultType());
        values->reserve(rows);
        Mask nulls(rows);
        for (size_t i = 0; i < rows; ++i) {
            char* place = places[i] + offset;
            nulls[i] = place[flag_offset_] ? 0 : 1;
            if (nulls[i])
                values->insertDefault(1);
            else
                nested().insertResult(place, *values, arena);
        }
        to.insertRange(NullableColumn(std::move(values), std::move(nulls)), 0, rows);
    }

private:
    void addMasked(const Column* const* arguments,
                   char* place,
                   size_t from,
                   size_t rows,
                   const uint8_t* mask,
                   Arena& arena) const {
        const StrippedArguments stripped(arguments, argumentTypes().size());
        const Mask wanted = stripped.rowsWithoutNull(from, rows, mask);
        if (flagged && !place[flag_offset_])
            place[flag_offset_] = std::memchr(wanted.data() + from, 1, rows) != nullptr;
        nested().addBatchSingleIf(stripped.columns(), place, from, rows, wanted.data(), arena);
    }

    size_t flag_offset_;
    bool writes_one_;
};

class FlagAlwaysOne final : public Wrapper {
public:
    explicit FlagAlwaysOne(AggregateFunctionPtr nested)
        : Wrapper(
              {nested->name(), nested->parameters(), nested->argumentTypes()}, nested->resultType(), nested) {
    }

    void add(char* place, const Column* const* arguments, size_t row, Arena& arena) const override {
        nested().add(place, arguments, row, arena);
    }

    void addBatch(const Column* const* arguments,
                  char* const* places,
                  size_t offset,
                  size_t from,
                  size_t rows,
                  Arena& arena) const override {
        nested().addBatch(arguments, places, offset, from, rows, arena);
    }

    void addBatchSingle(
        const Column* const* arguments, char* place, size_t from, size_t rows, Arena& arena) const override {
        nested().addBatchSingle(arguments, place, from, rows, arena);
    }

    void addBatchSingleIf(const Column* const* arguments,
                          char* place,
                          size_t from,
                          size_t rows,
                          const uint8_t* mask,
                          Arena& arena) const override {
        nested().addBatchSingleIf(arguments, place, from, rows, mask, arena);
    }

    void serialize(const char* place, Writer& out) const override {
        out.writeByte(1);
        nested().serialize(place, out);
    }

    void deserialize(char* place, Reader& in, Arena& arena) const override {
        if (in.readByte()) nested().deserialize(place, in, arena);
    }
};

}  // namespace

AggregateFunctionPtr wrapNullable(Signature signature, AggregateFunctionPtr nested, Nulls nulls) {
    const TypePtr result = nested->resultType();
    // ClickHouse lets this one tuple be NULL.
    const bool nullable_tuple = nested->name() == "simpleLinearRegression";
    if (nulls == Nulls::Flagged && (result->canBeInsideNullable() || nullable_tuple) && !nullable_tuple)
        return std::make_shared<NullableAggregate<true>>(std::move(signature), types::nullable(result),
                                                         std::move(nested), false);
    return std::make_shared<NullableAggregate<false>>(std::move(signature), result, std::move(nested),
                                                      nulls == Nulls::FlagAlwaysOne);
}

AggregateFunctionPtr wrapFlagAlwaysOne(AggregateFunctionPtr nested) {
    return std::make_shared<FlagAlwaysOne>(std::move(nested));
}

}  // namespace shardd::aggregates
