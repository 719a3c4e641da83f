#include "common/columns/adapt_block.h"

#include <optional>
#include <utility>

#include "common/base/error.h"

namespace shardd {

Block adaptBlock(const Block& block,
                 const Block& wanted,
                 const ColumnCast& cast,
                 const std::function<std::string(const std::string&)>& other_name) {
    Block result;
    result.rows = block.rows;
    result.bucket = block.bucket;
    result.is_overflows = block.is_overflows;
    for (const NamedColumn& column : wanted.columns) {
        std::optional<size_t> place = block.find(column.name);
        if (!place && other_name) place = block.find(other_name(column.name));
        const NamedColumn& found =
            place ? block.columns[*place] : block.get(column.name);  // says what there is
        ColumnPtr values = found.column;
        if (!sameType(found.type, column.type)) {
            if (!cast)
                throw Error(ErrorCode::TYPE_MISMATCH, "Column {} is {}, but {} is wanted", column.name,
                            found.type->name(), column.type->name());
            values = cast(values, found.type, column.type);
        }
        result.columns.push_back({column.name, column.type, std::move(values)});
    }
    return result;
}

}  // namespace shardd
