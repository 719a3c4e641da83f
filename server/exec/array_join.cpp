#include <algorithm>

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"

namespace shardd::exec {

namespace {

class ArrayJoinSink final : public ForwardingSink {
public:
    ArrayJoinSink(const plan::ArrayJoinStep& step, const Block& header, size_t max_block_rows, Sink& next)
        : ForwardingSink(next), step_(step), header_(header), max_block_rows_(max_block_rows) {}

    /// Long arrays make many rows, so a block is taken in parts of about max_block_rows results.
    Flow consume(size_t worker, Block block) override {
        std::vector<ColumnPtr> arrays;
        for (const std::string& name : step_.columns) arrays.push_back(full(block.get(name).column));
        checkLengths(arrays, block.rows);
        const PodVector<uint64_t> ends = resultEnds(as<ArrayColumn>(*arrays[0]), block.rows);
        size_t from = 0;
        while (from < block.rows) {
            const uint64_t begin = from == 0 ? 0 : ends[from - 1];
            const auto* stop = std::upper_bound(ends.begin() + from, ends.end(), begin + max_block_rows_);
            const size_t to = std::max(from + 1, static_cast<size_t>(stop - ends.begin()));
            Block part = join(block, arrays, from, to - from);
            from = to;
            if (part.rows != 0 && next_.consume(worker, std::move(part)) == Flow::Enough) return Flow::Enough;
        }
        return Flow::More;
    }

private:
    static void checkLengths(const std::vector<ColumnPtr>& arrays, size_t rows) {
        const auto& first = as<ArrayColumn>(*arrays[0]).ends();
        for (const ColumnPtr& array : arrays)
            if (const auto& ends = as<ArrayColumn>(*array).ends();
                !std::equal(ends.begin(), ends.begin() + rows, first.begin()))
                throw Error(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                            "Sizes of ARRAY-JOIN-ed arrays do not match");
    }

    PodVector<uint64_t> resultEnds(const ArrayColumn& array, size_t rows) const {
        PodVector<uint64_t> ends(rows);
        uint64_t end = 0;
        for (size_t i = 0; i < rows; ++i) {
            const size_t length = array.lengthAt(i);
            end += step_.left && length == 0 ? 1 : length;
            ends[i] = end;
        }
        return ends;
    }

    Block join(const Block& block, const std::vector<ColumnPtr>& arrays, size_t from, size_t count) const {
        Block part = block.slice(from, count);
        const ColumnPtr first = arrays[0]->slice(from, count);
        const PodVector<uint64_t> ends = resultEnds(as<ArrayColumn>(*first), count);
        Block result;
        result.rows = ends[count - 1];
        for (size_t c = 0; c < part.columns.size(); ++c) {
            const std::string& name = part.columns[c].name;
            const auto place = std::find(step_.columns.begin(), step_.columns.end(), name);
            ColumnPtr column;
            if (place == step_.columns.end())
                column = part.columns[c].column->replicate(ends.span());
            else
                column = elementsOf(
                    *arrays[static_cast<size_t>(place - step_.columns.begin())]->slice(from, count),
                    header_.columns[c].type, count);
            result.columns.push_back({name, header_.columns[c].type, std::move(column)});
        }
        return result;
    }

    ColumnPtr elementsOf(const Column& column, const TypePtr& type, size_t rows) const {
        const auto& array = as<ArrayColumn>(column);
        const bool has_empty = step_.left && [&] {
            for (size_t i = 0; i < rows; ++i)
                if (array.lengthAt(i) == 0) return true;
            return false;
        }();
        if (!has_empty) return array.elements();
        MutableColumnPtr result = array.elements()->cloneEmpty();
        for (size_t i = 0; i < rows; ++i) {
            if (array.lengthAt(i) == 0)
                insertDefaults(*type, *result, 1);
            else
                result->insertRange(*array.elements(), array.startAt(i), array.lengthAt(i));
        }
        return result;
    }

    const plan::ArrayJoinStep& step_;
    const Block& header_;
    const size_t max_block_rows_;
};

}  // namespace

void run(const plan::ArrayJoinStep& step, const StepPlace& place, Sink& sink) {
    ArrayJoinSink join(step, place.header, place.context.settings.max_block_rows, sink);
    runStep(*step.input, place.context, join);
}

}  // namespace shardd::exec
