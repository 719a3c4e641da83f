#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/columns/column.h"
#include "server/formats/input_format.h"
#include "server/formats/text_input.h"

namespace shardd::formats {

/// What text formats have in common: bytes are buffered until a row is whole, and read again from the row's
/// start when they were not. A row is whole when its reader stopped before the end of what is there, or when
/// nothing more comes.
class RowInput : public InputFormat {
public:
    RowInput(const Block& header, std::shared_ptr<ByteSource> source, const InputSettings& settings);

    InputRows read(size_t max_rows) final;

protected:
    /// What stands before the first row; called once, again from the start when bytes were missing.
    virtual void readHead(TextInput&) {}

    /// One row into values(); false when there is none any more (only blanks or an end mark).
    virtual bool readRow(TextInput& in) = 0;

    const Block& header() const { return header_; }

    const InputSettings& settings() const { return settings_; }

    size_t columns() const { return header_.columns.size(); }

    /// A value of the row; one that is not set is its column's default.
    void set(size_t column, Value value) { values_[column] = std::move(value); }

    bool isSet(size_t column) const { return values_[column].has_value(); }

    const ValueText& text(size_t column) const { return *texts_[column]; }

    bool takesNull(size_t column) const { return takes_null_[column]; }

    bool isText(size_t column) const { return is_text_[column]; }

    /// Throws what `result` says of the value of `column` that begins at `from`.
    void check(TextResult result, size_t column, const char* from, const TextInput& in) const;

    std::optional<size_t> findColumn(std::string_view name) const;

    /// The column of each field of a row; nothing for a field that nobody wants.
    using FieldOrder = std::vector<std::optional<size_t>>;

    FieldOrder ownOrder() const;
    /// As a header names the fields. Errors: INCORRECT_DATA for an unknown name that may not be skipped.
    FieldOrder orderOf(const std::vector<std::string>& names) const;

private:
    struct Building {
        std::vector<MutableColumnPtr> columns;
        std::vector<RowIndex> places;
    };

    bool nextRow();
    bool fill();
    template <typename Read>
    bool readWhole(Read read_one);
    void keepRow(std::map<std::vector<bool>, Building>& parts, size_t place);

    const Block header_;
    const std::shared_ptr<ByteSource> source_;
    const InputSettings settings_;
    std::vector<ValueTextPtr> texts_;
    std::vector<bool> takes_null_;
    std::vector<bool> is_text_;
    std::map<std::string, size_t, std::less<>> by_name_;
    std::vector<std::optional<Value>> values_;
    std::string buffer_;
    size_t start_ = 0;  ///< of what is not used yet
    bool source_ended_ = false;
    bool has_head_ = false;
    bool ended_ = false;
    uint64_t row_number_ = 0;
};

}  // namespace shardd::formats
