#include "server/formats/row_input.h"

#include "common/base/error.h"
#include "common/columns/create_column.h"

namespace shardd::formats {

namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

RowInput::RowInput(const Block& header, std::shared_ptr<ByteSource> source, const InputSettings& settings)
    : header_(header), source_(std::move(source)), settings_(settings), values_(header.columns.size()) {
    for (size_t i = 0; i < header.columns.size(); ++i) {
        const NamedColumn& column = header.columns[i];
        texts_.push_back(valueText(column.type, settings.text));
        takes_null_.push_back(removeLowCardinality(column.type)->kind() == TypeKind::Nullable);
        is_text_.push_back(removeNullable(removeLowCardinality(column.type))->isString());
        by_name_.emplace(column.name, i);
    }
}

std::optional<size_t> RowInput::findColumn(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

RowInput::FieldOrder RowInput::ownOrder() const {
    FieldOrder order;
    for (size_t i = 0; i < columns(); ++i) order.push_back(i);
    return order;
}

RowInput::FieldOrder RowInput::orderOf(const std::vector<std::string>& names) const {
    if (!settings().with_names_use_header) return ownOrder();
    FieldOrder order;
    for (const std::string& name : names) {
        const auto column = findColumn(name);
        if (!column && !settings().skip_unknown_fields)
            throw Error(ErrorCode::INCORRECT_DATA, "Unknown field found in the header: '{}'", name);
        order.push_back(column);
    }
    return order;
}

void RowInput::check(TextResult result, size_t column, const char* from, const TextInput& in) const {
    if (result == ErrorCode::OK) return;
    constexpr size_t kShown = 64;
    const std::string_view rest(from, static_cast<size_t>(in.end - from));
    const std::string_view shown = rest.substr(0, std::min(kShown, rest.find('\n')));
    throw Error(result, "Cannot parse the value of column {} (type {}) from '{}'",
                header_.columns[column].name, header_.columns[column].type->name(), shown);
}

bool RowInput::fill() {
    if (source_ended_) return false;
    const size_t waiting = buffer_.size() - start_;
    if (waiting > settings_.max_row_bytes)
        throw Error(ErrorCode::TOO_LARGE_STRING_SIZE, "a row does not end within {} bytes",
                    settings_.max_row_bytes);
    buffer_.erase(0, start_);
    start_ = 0;
    // Twice as much with every try, so that a long row is not read again for each piece of it.
    const size_t wanted = std::max(kReadBytes, waiting);
    buffer_.resize(waiting + wanted);
    size_t got = 0;
    while (got < wanted) {
        const size_t size = source_->read(buffer_.data() + waiting + got, wanted - got);
        if (size == 0) {
            source_ended_ = true;
            break;
        }
        got += size;
    }
    buffer_.resize(waiting + got);
    return got > 0;
}

template <typename Read>
bool RowInput::readWhole(Read read_one) {
    while (true) {
        TextInput in(std::string_view(buffer_).substr(start_));
        std::optional<Error> failure;
        bool found = false;
        try {
            found = read_one(in);
        } catch (const Error& error) {
            failure = error;
        }
        // What reached the end of the bytes may be another thing when there are more of them.
        const bool is_whole = !in.atEnd() && !failure;
        const auto used = static_cast<size_t>(in.position - buffer_.data()) - start_;
        if (is_whole || !fill()) {  // fill() moves the bytes
            if (failure) throw Error(*failure);
            start_ += used;
            return found;
        }
    }
}

bool RowInput::nextRow() {
    if (ended_) return false;
    if (!has_head_) {
        readWhole([this](TextInput& in) {
            readHead(in);
            return true;
        });
        has_head_ = true;
    }
    ++row_number_;
    try {
        const bool found = readWhole([this](TextInput& in) {
            values_.assign(columns(), std::nullopt);
            return readRow(in);
        });
        ended_ = !found;
        return found;
    } catch (Error& error) {
        error.append(fmt::format(": (at row {})", row_number_));
        throw;
    }
}

void RowInput::keepRow(std::map<std::vector<bool>, Building>& parts, size_t place) {
    std::vector<bool> given(columns());
    for (size_t i = 0; i < columns(); ++i) given[i] = values_[i].has_value();
    Building& part = parts[given];
    if (part.columns.empty())
        for (size_t i = 0; i < columns(); ++i)
            part.columns.push_back(given[i] ? createColumn(*header_.columns[i].type) : nullptr);
    for (size_t i = 0; i < columns(); ++i)
        if (given[i]) part.columns[i]->insert(*values_[i]);
    part.places.push_back(static_cast<RowIndex>(place));
}

InputRows RowInput::read(size_t max_rows) {
    std::map<std::vector<bool>, Building> parts;
    InputRows result;
    while (result.rows < max_rows && nextRow()) keepRow(parts, result.rows++);
    for (auto& [given, building] : parts) {
        InputRows::Part& part = result.parts.emplace_back();
        part.given = given;
        part.block.rows = building.places.size();
        for (size_t i = 0; i < columns(); ++i)
            if (given[i])
                part.block.columns.push_back(
                    {header_.columns[i].name, header_.columns[i].type, std::move(building.columns[i])});
        part.places = std::move(building.places);
    }
    return result;
}

}  // namespace shardd::formats
