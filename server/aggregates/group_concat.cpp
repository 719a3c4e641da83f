#include "server/aggregates/elements.h"
#include "server/formats/value_text.h"

namespace shardd::aggregates {

namespace {

struct ConcatState {
    ArenaArray<char> text;
    /// Where each row's text starts and ends; kept with a limit only.
    ArenaArray<uint64_t> offsets;
    uint64_t rows = 0;
};

/// The texts of the values, joined; with a limit, of the first ones.
class GroupConcat final : public AggregateBase<GroupConcat, ConcatState, ColumnsInput> {
public:
    GroupConcat(Signature signature, std::string delimiter, uint64_t limit)
        : AggregateBase(std::move(signature), types::string()),
          delimiter_(std::move(delimiter)),
          limit_(limit),
          text_(formats::valueText(argumentTypes()[0])) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(ConcatState& state, const ColumnsInput& input, size_t row, Arena& arena) const {
        if (limit_ != 0 && state.rows >= limit_) return;
        const Column& column = *input.columns[0];
        if (column.kind() == ColumnKind::String) {
            append(state, column.bytesAt(row), arena);
            return;
        }
        if (column.kind() == ColumnKind::FixedString) {
            // Without the padding.
            std::string_view bytes = column.bytesAt(row);
            while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
            append(state, bytes, arena);
            return;
        }
        Writer text;
        text_->write(column, row, formats::TextStyle::Plain, text);
        append(state, text.view(), arena);
    }

    void mergeStates(ConcatState& state, const ConcatState& other, Arena& arena) const {
        if (limit_ == 0) {
            if (other.rows > 0) append(state, {other.text.data, other.text.size}, arena);
            if (other.rows > 0) state.rows += other.rows - 1;
            return;
        }
        for (uint64_t i = 0; i < other.rows && state.rows < limit_; ++i) {
            const uint64_t start = other.offsets[2 * i];
            append(state, {other.text.data + start, other.offsets[2 * i + 1] - start}, arena);
        }
    }

    void write(const ConcatState& state, Writer& out) const {
        out.writeString({state.text.data, state.text.size});
        if (limit_ == 0) return;
        out.writeVarUInt(state.rows);
        for (uint64_t offset : state.offsets) out.writeVarUInt(offset);
    }

    void read(ConcatState& state, Reader& in, Arena& arena) const {
        const std::string text = in.readString();
        state.text.reserve(text.size(), arena);
        if (!text.empty()) std::memcpy(state.text.data, text.data(), text.size());
        state.text.size = static_cast<uint32_t>(text.size());
        // How many rows there were does not travel; that there were some shows by the text.
        state.rows = text.empty() ? 0 : 1;
        if (limit_ == 0) return;
        state.rows = readCount(in, std::min<uint64_t>(kMaxElements, limit_), "list of rows");
        for (uint64_t i = 0; i < 2 * state.rows; ++i) {
            const uint64_t offset = in.readVarUInt();
            if (offset > text.size() || (i > 0 && offset < state.offsets[i - 1]))
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong offset {} in a state of {}", offset, name());
            state.offsets.push(offset, arena);
        }
    }

    void finish(ConcatState& state, Column& to, Arena&) const {
        static_cast<StringColumn&>(to).insertText({state.text.data, state.text.size});
    }

private:
    void append(ConcatState& state, std::string_view text, Arena& arena) const {
        const std::string_view between = state.rows > 0 ? std::string_view(delimiter_) : std::string_view();
        state.text.reserve(state.text.size + between.size() + text.size(), arena);
        copyTo(state.text, between);
        const uint64_t start = state.text.size;
        copyTo(state.text, text);
        ++state.rows;
        if (limit_ == 0) return;
        state.offsets.push(start, arena);
        state.offsets.push(state.text.size, arena);
    }

    static void copyTo(ArenaArray<char>& to, std::string_view text) {
        if (!text.empty()) std::memcpy(to.data + to.size, text.data(), text.size());
        to.size += static_cast<uint32_t>(text.size());
    }

    std::string delimiter_;
    uint64_t limit_;
    formats::ValueTextPtr text_;
};

AggregateFunctionPtr createGroupConcat(Signature signature) {
    if (signature.arguments.size() != 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Number of arguments for aggregate function {} doesn't match: passed {}, should be 1",
                    signature.name, signature.arguments.size());
    if (signature.parameters.size() > 2)
        throw Error(ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
                    "Incorrect number of parameters for aggregate function {}, should be 0, 1 or 2",
                    signature.name);
    std::string delimiter;
    uint64_t limit = 0;
    if (!signature.parameters.empty()) {
        if (signature.parameters[0].kind() != Value::Kind::String)
            throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        "First parameter for aggregate function {} should be string", signature.name);
        delimiter = signature.parameters[0].get<std::string>();
    }
    if (signature.parameters.size() == 2) limit = positiveParameter(signature.parameters[1], signature.name);
    return std::make_shared<GroupConcat>(std::move(signature), std::move(delimiter), limit);
}

}  // namespace

std::span<const AggregateInfo> groupConcatAggregates() {
    static const AggregateInfo kInfos[] = {{.name = "groupConcat",
                                            .create = createGroupConcat,
                                            .syntax = "groupConcat[(delimiter[, limit])](x)",
                                            .description = "The values' texts, joined.",
                                            .example = "SELECT groupConcat(',')(number) FROM numbers(3)",
                                            .example_result = "0,1,2"}};
    return kInfos;
}

}  // namespace shardd::aggregates
