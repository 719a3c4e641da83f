#include "server/storage/table.h"

#include "common/base/error.h"

namespace shardd::storage {

const ColumnDefinition* TableSchema::find(std::string_view column) const {
    for (const ColumnDefinition& definition : columns)
        if (definition.name == column) return &definition;
    return nullptr;
}

BlockSinkPtr Table::write(const WriteRequest& /*request*/) {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Method write is not supported by storage {}", schema()->engine);
}

void Table::truncate() {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Truncate is not supported by storage {}", schema()->engine);
}

void Table::rename(const std::string& /*database*/, const std::string& /*name*/) {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Renaming is not supported by storage {}", schema()->engine);
}

void Table::alter(const TableSchema& /*schema*/) {
    throw Error(ErrorCode::NOT_IMPLEMENTED, "Alter is not supported by storage {}", schema()->engine);
}

}  // namespace shardd::storage
