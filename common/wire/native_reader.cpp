#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "common/columns/array_column.h"
#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/fixed_column.h"
#include "common/columns/fixed_string_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/state_column.h"
#include "common/columns/string_column.h"
#include "common/columns/tuple_column.h"
#include "common/types/type_parser.h"
#include "common/wire/frame.h"
#include "common/wire/native.h"
#include "common/wire/native_format.h"

namespace shardd {

namespace {

using native::RawKind;

/// How a column is laid out: its own kinds, innermost first, and those of a Tuple's elements.
struct Kinds {
    std::vector<RawKind> stack;
    std::vector<Kinds> elements;
};

/// Memory for what a peer announces is taken in steps of this size, as the bytes arrive.
constexpr size_t kStepBytes = size_t{1} << 20;

class ColumnReader {
public:
    ColumnReader(Reader& in, const NativeLimits& limits) : in_(in), limits_(limits) {}

    void readPrefix(const Type& type, const Kinds* kinds);
    ColumnPtr readWithKinds(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth);
    ColumnPtr readData(const TypePtr& type, size_t rows);

    /// Reads on until the column has `rows` rows. When the bytes end before, whole rows stay in the column,
    /// and `done_bytes` is what they took.
    void continueStrings(size_t rows, StringColumn& column, size_t& done_bytes);
    void continueStates(size_t rows, StateColumn& column, size_t& done_bytes);

private:
    template <typename T>
    void readRaw(PodVector<T>& out, size_t count);
    ColumnPtr readFixed(const Type& type, size_t rows);
    ColumnPtr readStrings(size_t rows);
    ColumnPtr readNullable(const TypePtr& type, size_t rows);
    ColumnPtr readDictionary(const TypePtr& type, size_t rows);
    PodVector<uint32_t> readCodes(uint64_t width_code, size_t rows, size_t keys);
    ColumnPtr readArray(const TypePtr& type, size_t rows);
    ColumnPtr readTuple(const TypePtr& type, size_t rows, const Kinds* kinds);
    ColumnPtr readMap(const TypePtr& type, size_t rows);
    ColumnPtr readStates(const Type& type, size_t rows);
    ColumnPtr readSparse(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth);
    ColumnPtr readDetached(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth);
    ColumnPtr readReplicated(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth);
    ColumnPtr gatherBounded(const Column& values, const PodVector<RowIndex>& rows) const;
    void checkRows(uint64_t rows, size_t limit) const;

    Reader& in_;
    const NativeLimits& limits_;
};

void ColumnReader::checkRows(uint64_t rows, size_t limit) const {
    if (rows > limit)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                    "Too many values in a column of a block: {}, at most {} are taken", rows, limit);
}

template <typename T>
void ColumnReader::readRaw(PodVector<T>& out, size_t count) {
    in_.expect(count * sizeof(T));
    if (in_.available() >= count * sizeof(T)) {
        out.resize(count);
        return in_.readBytes(out.data(), count * sizeof(T));
    }
    constexpr size_t kStep = std::max<size_t>(kStepBytes / sizeof(T), 1);
    for (size_t rest = count; rest > 0;) {
        const size_t part = std::min(rest, kStep);
        const size_t before = out.size();
        out.resize(before + part);
        in_.readBytes(out.data() + before, part * sizeof(T));
        rest -= part;
    }
}

ColumnPtr ColumnReader::readFixed(const Type& type, size_t rows) {
    ColumnPtr column;
    dispatchPhysical(type.physical(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        PodVector<T> values;
        readRaw(values, rows);
        if constexpr (std::is_same_v<T, uint8_t>) {
            if (type.kind() == TypeKind::Bool)
                for (uint8_t& value : values) value = value != 0;
        }
        column = std::make_shared<FixedColumn<T>>(std::move(values));
    });
    if (!column) throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be received", type.name());
    return column;
}

void ColumnReader::continueStrings(size_t rows, StringColumn& column, size_t& done_bytes) {
    PodVector<char>& chars = column.chars();
    PodVector<uint64_t>& ends = column.ends();
    const char* const start = in_.position();
    ends.reserve(std::min(rows, std::max(kStepBytes, ends.size())));
    while (ends.size() < rows) {
        done_bytes = static_cast<size_t>(in_.position() - start);
        const uint64_t size = in_.readVarUInt();
        if (size > limits_.string_bytes)
            throw Error(ErrorCode::TOO_LARGE_STRING_SIZE,
                        "Too large string size: {} bytes, at most {} are taken", size, limits_.string_bytes);
        if (in_.available() < size)
            in_.expect(size + (rows - ends.size() - 1));  // the others: a byte each at least
        for (size_t rest = size; rest > 0;) {
            const size_t part = in_.available() >= rest ? rest : std::min(rest, kStepBytes);
            const size_t before = chars.size();
            chars.resize(before + part);
            in_.readBytes(chars.data() + before, part);
            rest -= part;
        }
        ends.push_back(chars.size());
    }
}

ColumnPtr ColumnReader::readStrings(size_t rows) {
    in_.expect(rows);
    auto column = std::make_shared<StringColumn>();
    size_t done_bytes = 0;
    continueStrings(rows, *column, done_bytes);
    return column;
}

ColumnPtr ColumnReader::readNullable(const TypePtr& type, size_t rows) {
    Mask nulls;
    readRaw(nulls, rows);
    for (uint8_t& null : nulls) null = null != 0;
    ColumnPtr values = readData(type->child(), rows);
    return std::make_shared<NullableColumn>(std::move(values), std::move(nulls));
}

PodVector<uint32_t> ColumnReader::readCodes(uint64_t width_code, size_t rows, size_t keys) {
    PodVector<uint32_t> codes;
    const auto read = [&]<typename T>(T) {
        PodVector<T> raw;
        readRaw(raw, rows);
        codes.resize(rows);
        bool good = true;
        for (size_t row = 0; row < rows; ++row) {
            good = good && raw[row] < keys;
            codes[row] = static_cast<uint32_t>(raw[row]);
        }
        if (!good)
            throw Error(ErrorCode::INCORRECT_DATA, "An index of a column is beyond its {} distinct values",
                        keys);
    };
    switch (width_code) {
        case 0:
            read(uint8_t{});
            break;
        case 1:
            read(uint16_t{});
            break;
        case 2:
            read(uint32_t{});
            break;
        case 3:
            read(uint64_t{});
            break;
        default:
            throw Error(ErrorCode::INCORRECT_DATA,
                        "Unknown width {} of the indexes of a LowCardinality column", width_code);
    }
    return codes;
}

/// The first entries as they must be, and no entry twice.
bool isProperDictionary(const Column& keys, bool nullable) {
    const size_t reserved = nullable ? 2 : 1;
    if (keys.size() < reserved || !keys.isDefaultAt(reserved - 1)) return false;
    PodVector<uint64_t> hashes;
    hashes.resizeZeroed(keys.size());
    keys.updateHashes({hashes.data(), hashes.size()});
    // Equal hashes of different keys only cost the slow way.
    std::unordered_set<uint64_t> seen;
    seen.reserve(keys.size());
    for (size_t i = reserved - 1; i < keys.size(); ++i)
        if (!seen.insert(hashes[i]).second) return false;
    return true;
}

ColumnPtr makeDictionary(const ColumnPtr& keys, PodVector<uint32_t> codes, bool nullable) {
    if (isProperDictionary(*keys, nullable))
        return std::make_shared<DictionaryColumn>(keys, std::move(codes), nullable);
    // Some writers leave the default out or repeat entries.
    const std::unique_ptr<DictionaryColumn> rebuilt = DictionaryColumn::create(*keys->cloneEmpty(), nullable);
    PodVector<uint32_t> code_of(keys->size());
    for (size_t i = 0; i < keys->size(); ++i) {
        if (nullable && i == 0)
            rebuilt->insertDefault(1);
        else
            rebuilt->insertFrom(*keys, i);
        code_of[i] = rebuilt->codes().back();
    }
    for (uint32_t& code : codes) code = code_of[code];
    return std::make_shared<DictionaryColumn>(rebuilt->keys(), std::move(codes), nullable);
}

ColumnPtr ColumnReader::readDictionary(const TypePtr& type, size_t rows) {
    const TypePtr key_type = removeNullable(type->child());
    const bool nullable = type->child()->isNullable();
    if (rows == 0) return createColumn(*type);
    const auto flags = in_.readFixed<uint64_t>();
    if ((flags & native::kGlobalDictionary) != 0 || (flags & native::kHasAdditionalKeys) == 0)
        throw Error(ErrorCode::INCORRECT_DATA,
                    "A LowCardinality column without keys of its own (flags {:#x})", flags);
    const auto keys_count = in_.readFixed<uint64_t>();
    checkRows(keys_count, limits_.rows);
    const ColumnPtr keys = readData(key_type, keys_count);
    const auto codes_count = in_.readFixed<uint64_t>();
    if (codes_count != rows)
        throw Error(ErrorCode::INCORRECT_DATA, "A LowCardinality column has {} indexes for {} rows",
                    codes_count, rows);
    PodVector<uint32_t> codes = readCodes(flags & native::kWidthMask, rows, keys_count);
    return makeDictionary(keys, std::move(codes), nullable);
}

/// The number of elements that the ends of arrays announce.
uint64_t checkEnds(const PodVector<uint64_t>& ends) {
    uint64_t last = 0;
    for (const uint64_t end : ends) {
        if (end < last)
            throw Error(ErrorCode::INCORRECT_DATA, "The ends of arrays in a column do not ascend");
        last = end;
    }
    return last;
}

ColumnPtr ColumnReader::readArray(const TypePtr& type, size_t rows) {
    PodVector<uint64_t> ends;
    readRaw(ends, rows);
    const uint64_t count = checkEnds(ends);
    checkRows(count, limits_.rows);
    ColumnPtr elements = readData(type->child(), count);
    return std::make_shared<ArrayColumn>(std::move(elements), std::move(ends));
}

ColumnPtr ColumnReader::readMap(const TypePtr& type, size_t rows) {
    PodVector<uint64_t> ends;
    readRaw(ends, rows);
    const uint64_t count = checkEnds(ends);
    checkRows(count, limits_.rows);
    ColumnPtr keys = readData(type->child(0), count);
    ColumnPtr values = readData(type->child(1), count);
    auto entries =
        std::make_shared<TupleColumn>(std::vector<ColumnPtr>{std::move(keys), std::move(values)}, count);
    return std::make_shared<ArrayColumn>(std::move(entries), std::move(ends));
}

ColumnPtr ColumnReader::readTuple(const TypePtr& type, size_t rows, const Kinds* kinds) {
    std::vector<ColumnPtr> elements;
    if (type->children().empty()) {
        in_.expect(rows);
        in_.skip(rows);
    }
    for (size_t i = 0; i < type->children().size(); ++i) {
        const TypePtr& child = type->child(i);
        if (kinds && i < kinds->elements.size()) {
            const Kinds& own = kinds->elements[i];
            elements.push_back(readWithKinds(child, rows, own, own.stack.size()));
        } else {
            elements.push_back(readData(child, rows));
        }
    }
    return std::make_shared<TupleColumn>(std::move(elements), rows);
}

ColumnPtr ColumnReader::readStates(const Type& type, size_t rows) {
    auto column = std::make_shared<StateColumn>(type.aggregate());
    column->readStates(rows, in_);
    return column;
}

void ColumnReader::continueStates(size_t rows, StateColumn& column, size_t& done_bytes) {
    const char* const start = in_.position();
    const char* whole_end = start;
    try {
        column.continueStates(rows, in_, whole_end);
    } catch (const NeedMoreBytes&) {
        done_bytes = static_cast<size_t>(whole_end - start);
        throw;
    }
}

ColumnPtr ColumnReader::readData(const TypePtr& type, size_t rows) {
    switch (type->kind()) {
        case TypeKind::String:
            return readStrings(rows);
        case TypeKind::FixedString: {
            PodVector<char> chars;
            readRaw(chars, rows * type->fixedSize());
            return std::make_shared<FixedStringColumn>(type->fixedSize(), std::move(chars));
        }
        case TypeKind::Nullable:
            return readNullable(type, rows);
        case TypeKind::LowCardinality:
            return readDictionary(type, rows);
        case TypeKind::Array:
            return readArray(type, rows);
        case TypeKind::Tuple:
            return readTuple(type, rows, nullptr);
        case TypeKind::Map:
            return readMap(type, rows);
        case TypeKind::AggregateFunction:
            return readStates(*type, rows);
        default:
            return readFixed(*type, rows);
    }
}

void ColumnReader::readPrefix(const Type& type, const Kinds* kinds) {
    // A detached column carries everything inside its frames.
    if (kinds && !kinds->stack.empty() && kinds->stack.back() == RawKind::Detached) return;
    if (type.kind() == TypeKind::LowCardinality) {
        const auto version = in_.readFixed<int64_t>();
        if (version != native::kDictionaryVersion)
            throw Error(ErrorCode::INCORRECT_DATA,
                        "Unknown version {} of the keys of a LowCardinality column", version);
        return;
    }
    if (type.kind() == TypeKind::AggregateFunction) return;
    for (size_t i = 0; i < type.children().size(); ++i)
        readPrefix(*type.child(i), kinds && i < kinds->elements.size() ? &kinds->elements[i] : nullptr);
}

ColumnPtr ColumnReader::readWithKinds(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth) {
    if (depth == 0)
        return type->kind() == TypeKind::Tuple ? readTuple(type, rows, &kinds) : readData(type, rows);
    switch (kinds.stack[depth - 1]) {
        case RawKind::Default:
            return readWithKinds(type, rows, kinds, depth - 1);
        case RawKind::Sparse:
            return readSparse(type, rows, kinds, depth - 1);
        case RawKind::Detached:
            return readDetached(type, rows, kinds, depth - 1);
        case RawKind::Replicated:
            return readReplicated(type, rows, kinds, depth - 1);
    }
    throw Error(ErrorCode::INCORRECT_DATA, "Unknown kind of a column");
}

ColumnPtr ColumnReader::gatherBounded(const Column& values, const PodVector<RowIndex>& rows) const {
    checkRows(rows.size(), limits_.expanded_rows);
    // One long value repeated by many short indexes must not outgrow all bounds.
    const size_t average = values.empty() ? 0 : values.dataBytes() / values.size();
    if (average > 64) {
        size_t bytes = 0;
        const bool text = values.kind() == ColumnKind::String;
        for (const RowIndex row : rows) bytes += text ? values.bytesAt(row).size() : average;
        if (bytes > limits_.expanded_bytes)
            throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        "A column would expand to {} bytes, at most {} are taken", bytes,
                        limits_.expanded_bytes);
    }
    return values.gather({rows.data(), rows.size()});
}

ColumnPtr ColumnReader::readSparse(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth) {
    checkRows(rows, limits_.expanded_rows);
    PodVector<RowIndex> source(rows, 0);  // value 0 is the default
    uint64_t position = 0;
    RowIndex values_count = 0;
    while (true) {
        const uint64_t group = in_.readVarUInt();
        const uint64_t defaults = group & ~native::kSparseEnd;
        if (defaults > rows - position)
            throw Error(ErrorCode::INCORRECT_DATA, "A sparse column has more defaults than its {} rows",
                        rows);
        position += defaults;
        if ((group & native::kSparseEnd) != 0) break;
        if (position == rows)
            throw Error(ErrorCode::INCORRECT_DATA, "A sparse column has more values than its {} rows", rows);
        source[position++] = ++values_count;
    }
    if (position != rows)
        throw Error(ErrorCode::INCORRECT_DATA, "A sparse column ends at row {} of {}", position, rows);
    const bool nullable = type->isNullable();
    const TypePtr& value_type = nullable ? type->child() : type;
    const ColumnPtr dense = readWithKinds(value_type, values_count, kinds, depth);
    const MutableColumnPtr values = dense->cloneEmpty();
    values->insertDefault(1);
    values->insertRange(*dense, 0, values_count);
    ColumnPtr expanded = gatherBounded(*values, source);
    if (!nullable) return expanded;
    Mask nulls(rows);
    for (size_t row = 0; row < rows; ++row) nulls[row] = source[row] == 0;
    return std::make_shared<NullableColumn>(std::move(expanded), std::move(nulls));
}

ColumnPtr ColumnReader::readDetached(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth) {
    const uint64_t size = in_.readVarUInt();
    if (size > kMaxFrameBytes)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE, "A detached column of {} bytes, at most {} are taken",
                    size, kMaxFrameBytes);
    PodVector<char> bytes;
    readRaw(bytes, size);
    Reader source(bytes.data(), bytes.size());
    FrameReader frames(source);
    ColumnReader inner(frames, limits_);
    Kinds rest = kinds;
    rest.stack.resize(depth);
    inner.readPrefix(*type, &rest);
    ColumnPtr column = inner.readWithKinds(type, rows, rest, depth);
    if (!frames.atEnd())
        throw Error(ErrorCode::INCORRECT_DATA, "A detached column has bytes behind its values");
    return column;
}

ColumnPtr ColumnReader::readReplicated(const TypePtr& type, size_t rows, const Kinds& kinds, size_t depth) {
    const uint64_t indexes = in_.readVarUInt();
    if (indexes != rows)
        throw Error(ErrorCode::INCORRECT_DATA, "A replicated column has {} indexes for {} rows", indexes,
                    rows);
    const uint8_t width = in_.readByte();
    const uint64_t code = width == 1   ? 0
                          : width == 2 ? 1
                          : width == 4 ? 2
                          : width == 8 ? 3
                                       : native::kWidthMask;
    checkRows(rows, limits_.expanded_rows);
    const PodVector<uint32_t> codes = readCodes(code, rows, limits_.rows);
    const uint64_t entries = in_.readVarUInt();
    checkRows(entries, limits_.rows);
    const ColumnPtr values = readWithKinds(type, entries, kinds, depth);
    for (const uint32_t index : codes)
        if (index >= entries)
            throw Error(ErrorCode::INCORRECT_DATA, "An index of a replicated column is beyond its {} entries",
                        entries);
    return gatherBounded(*values, codes);
}

Kinds readKinds(const Type& type, Reader& in) {
    Kinds kinds;
    const uint8_t byte = in.readByte();
    switch (byte) {
        case native::kKindDefault:
            break;
        case native::kKindSparse:
            kinds.stack = {RawKind::Sparse};
            break;
        case native::kKindDetached:
            kinds.stack = {RawKind::Detached};
            break;
        case native::kKindDetachedOverSparse:
            kinds.stack = {RawKind::Sparse, RawKind::Detached};
            break;
        case native::kKindReplicated:
            kinds.stack = {RawKind::Replicated};
            break;
        case native::kKindCombination: {
            const uint64_t count = in.readVarUInt();
            if (count > 8) throw Error(ErrorCode::INCORRECT_DATA, "A column combines {} kinds", count);
            for (uint64_t i = 0; i < count; ++i) {
                const uint8_t raw = in.readByte();
                if (raw > static_cast<uint8_t>(RawKind::Replicated))
                    throw Error(ErrorCode::INCORRECT_DATA, "Unknown kind {} of a column", raw);
                kinds.stack.push_back(static_cast<RawKind>(raw));
            }
            break;
        }
        default:
            throw Error(ErrorCode::INCORRECT_DATA, "Unknown kind {} of a column", byte);
    }
    if (type.kind() == TypeKind::Tuple)
        for (const TypePtr& child : type.children()) kinds.elements.push_back(readKinds(*child, in));
    return kinds;
}

}  // namespace

ColumnPtr readColumn(const TypePtr& type, size_t rows, Reader& in, const NativeLimits& limits) {
    if (rows == 0) return createColumn(*type);
    ColumnReader reader(in, limits);
    reader.readPrefix(*type, nullptr);
    return reader.readData(type, rows);
}

struct BlockReader::State {
    enum class Next { Head, ColumnHead, ColumnData };

    Next next = Next::Head;
    Block block;
    uint64_t columns = 0;
    uint64_t rows = 0;
    NamedColumn column;
    Kinds kinds;
    /// A column of strings or of states that has not all its rows yet: the kinds that are long, have no
    /// width, and are common.
    std::shared_ptr<StringColumn> strings;
    std::shared_ptr<StateColumn> states;
    size_t done_bytes = 0;
};

BlockReader::BlockReader(NativeOptions options, NativeLimits limits)
    : options_(options), limits_(limits), state_(std::make_unique<State>()) {}

BlockReader::~BlockReader() = default;

bool BlockReader::inBlock() const { return state_->next != State::Next::Head; }

void BlockReader::readHead(Reader& in) {
    State fresh;
    while (options_.block_info) {
        const uint64_t field = in.readVarUInt();
        if (field == native::kInfoEnd) break;
        if (field == native::kInfoOverflows) {
            fresh.block.is_overflows = in.readByte() != 0;
        } else if (field == native::kInfoBucket) {
            fresh.block.bucket = in.readFixed<int32_t>();
        } else if (field == native::kInfoOutOfOrder && options_.out_of_order_buckets) {
            const uint64_t count = in.readVarUInt();
            if (count > 256)
                throw Error(ErrorCode::INCORRECT_DATA, "The info of a block lists {} buckets out of order",
                            count);
            in.skip(count * sizeof(int32_t));
        } else {
            throw Error(ErrorCode::INCORRECT_DATA, "Unknown field {} in the info of a block", field);
        }
    }
    fresh.columns = in.readVarUInt();
    fresh.rows = in.readVarUInt();
    if (fresh.columns > limits_.columns || fresh.rows > limits_.rows)
        throw Error(ErrorCode::TOO_LARGE_ARRAY_SIZE,
                    "A block claims {} columns and {} rows, at most {} and {} are taken", fresh.columns,
                    fresh.rows, limits_.columns, limits_.rows);
    *state_ = std::move(fresh);
    last_had_kinds_ = false;
}

void BlockReader::readColumnHead(Reader& in) {
    State& state = *state_;
    NamedColumn column;
    column.name = in.readString(limits_.name_bytes);
    std::string type_name = in.readString(limits_.name_bytes);
    const size_t position = state.block.columns.size();
    if (position < known_types_.size() && known_types_[position].first == type_name) {
        column.type = known_types_[position].second;
    } else {
        column.type = parseType(type_name);
        known_types_.resize(position);
        known_types_.emplace_back(std::move(type_name), column.type);
    }
    Kinds kinds;
    if (options_.column_kinds && in.readByte() != 0) {
        kinds = readKinds(*column.type, in);
        last_had_kinds_ = true;
    }
    state.column = std::move(column);
    state.kinds = std::move(kinds);
}

bool BlockReader::step(Reader& in) {
    State& state = *state_;
    switch (state.next) {
        case State::Next::Head:
            readHead(in);
            break;
        case State::Next::ColumnHead:
            readColumnHead(in);
            state.next = State::Next::ColumnData;
            return false;
        case State::Next::ColumnData: {
            ColumnReader reader(in, limits_);
            if (state.rows == 0) {
                state.column.column = createColumn(*state.column.type);
            } else if (state.column.type->kind() == TypeKind::String && state.kinds.stack.empty()) {
                if (!state.strings) state.strings = std::make_shared<StringColumn>();
                state.done_bytes = 0;
                reader.continueStrings(state.rows, *state.strings, state.done_bytes);
                state.done_bytes = 0;
                state.column.column = std::move(state.strings);
            } else if (state.column.type->kind() == TypeKind::AggregateFunction &&
                       state.kinds.stack.empty()) {
                if (!state.states)
                    state.states = std::make_shared<StateColumn>(state.column.type->aggregate());
                reader.continueStates(state.rows, *state.states, state.done_bytes);
                state.column.column = std::move(state.states);
            } else {
                reader.readPrefix(*state.column.type, &state.kinds);
                state.column.column = reader.readWithKinds(state.column.type, state.rows, state.kinds,
                                                           state.kinds.stack.size());
            }
            state.block.columns.push_back(std::move(state.column));
            break;
        }
    }
    state.next = State::Next::ColumnHead;
    return state.block.columns.size() == state.columns;
}

Block BlockReader::takeBlock() {
    Block block = std::move(state_->block);
    block.rows = state_->rows;
    *state_ = State();
    return block;
}

Block BlockReader::read(Reader& in) {
    while (!step(in)) {
    }
    return takeBlock();
}

std::optional<Block> BlockReader::tryRead(ByteWindow& window, size_t& wanted) {
    try {
        while (true) {
            WindowReader in(window.view());
            const bool complete = step(in);
            window.drop(in.consumed());
            if (complete) return takeBlock();
        }
    } catch (const NeedMoreBytes& need) {
        wanted = need.at_least;
        window.drop(std::exchange(state_->done_bytes, 0));
        return std::nullopt;
    }
}

}  // namespace shardd
