#include "common/wire/encoded_block.h"

namespace shardd {

namespace {

/// The deleter of a column's second owner: found again by its type (std::get_deleter), wherever the pointer
/// went.
struct KeepsEncoded {
    ColumnPtr column;
    std::shared_ptr<const EncodedBlock> encoded;

    void operator()(const Column* /*held by `column`*/) const noexcept {}
};

bool says(const EncodedBlock& encoded, const Block& block) {
    if (encoded.rows != block.rows || encoded.bucket != block.bucket ||
        encoded.is_overflows != block.is_overflows || encoded.columns.size() != block.columns.size())
        return false;
    for (size_t i = 0; i < block.columns.size(); ++i) {
        const NamedColumn& column = block.columns[i];
        if (column.column.get() != encoded.columns[i] || column.name != encoded.names[i] ||
            column.type->name() != encoded.types[i])
            return false;
    }
    return true;
}

}  // namespace

void attachEncoded(Block& block, const NativeOptions& options, PodVector<char> frames) {
    if (block.columns.empty() || block.rows == 0) return;
    auto encoded = std::make_shared<EncodedBlock>();
    encoded->options = options;
    encoded->frames = std::move(frames);
    for (const NamedColumn& column : block.columns) {
        encoded->names.push_back(column.name);
        encoded->types.push_back(column.type->name());
        encoded->columns.push_back(column.column.get());
    }
    encoded->rows = block.rows;
    encoded->bucket = block.bucket;
    encoded->is_overflows = block.is_overflows;
    ColumnPtr& first = block.columns.front().column;
    const Column* address = first.get();
    first = ColumnPtr(address, KeepsEncoded{std::move(first), std::move(encoded)});
}

const EncodedBlock* findEncoded(const Block& block, const NativeOptions& options) {
    if (block.columns.empty()) return nullptr;
    const auto* keeper = std::get_deleter<KeepsEncoded>(block.columns.front().column);
    if (!keeper || !(keeper->encoded->options == options) || !says(*keeper->encoded, block)) return nullptr;
    return keeper->encoded.get();
}

}  // namespace shardd
