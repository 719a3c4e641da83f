#include <algorithm>

#include "server/aggregates/compact_set.h"
#include "server/aggregates/elements.h"
#include "server/aggregates/row_hash.h"

namespace shardd::aggregates {

namespace {

/// Small results come in ascending order; ClickHouse's order is that of its hash table.
constexpr size_t kSortedSize = 4096;

template <typename K>
struct FixedUniq {
    using Set = CompactSet<K>;
    using Input = BitsInput<K>;

    static void add(Set& set, const Input& input, size_t row, Arena& arena) { set.insert(input[row], arena); }

    static void write(const Set& set, Writer& out) {
        set.forEach([&](const K& key) { out.writeFixed(key); });
    }

    static void readOne(Set& set, const Type&, Reader& in, Arena& arena) {
        set.insert(in.readFixed<K>(), arena);
    }

    static void append(const Set& set, const Type& type, Column& to) {
        if (set.size() == 0) return;
        char* const room = growFixed(type.physical(), to, set.size());
        char* next = room;
        set.forEach([&](const K& key) {
            std::memcpy(next, static_cast<const void*>(&key), sizeof(K));
            next += sizeof(K);
        });
        if (set.size() <= kSortedSize) sortNumbers(type.physical(), room, set.size());
    }
};

/// How the others are kept as bytes: String and FixedString as they are, Arrays of constant width as their
/// elements' bytes, anything else in its arena form.
enum class Bytes { Plain, Elements, Form };

template <Bytes bytes>
struct TextUniq {
    using Set = TextSet;

    struct Input {
        const Column* column;

        explicit Input(const Column* const* arguments) : column(arguments[0]) {}
    };

    static void add(Set& set, const Input& input, size_t row, Arena& arena) {
        if constexpr (bytes == Bytes::Form) {
            Writer form;
            input.column->serializeKey(row, form);
            set.insert(form.view(), arena);
        } else {
            set.insert(contiguousBytes(*input.column, row), arena);
        }
    }

    static void write(const Set& set, Writer& out) {
        set.forEach([&](std::string_view text) { out.writeString(text); });
    }

    static void readOne(Set& set, const Type& type, Reader& in, Arena& arena) {
        const std::string text = in.readString();
        if constexpr (bytes == Bytes::Form) {
            checkArenaForm(type, text);
        } else if constexpr (bytes == Bytes::Elements) {
            if (text.size() % type.child()->width() != 0)
                throw Error(ErrorCode::INCORRECT_DATA, "Wrong size {} of an array in an aggregate state",
                            text.size());
        } else if (type.width() != 0 && text.size() != type.width()) {
            throw Error(ErrorCode::INCORRECT_DATA, "Wrong size {} of a value in an aggregate state",
                        text.size());
        }
        set.insert(text, arena);
    }

    static void append(const Set& set, const Type& type, Column& to) {
        std::vector<std::string_view> texts;
        texts.reserve(set.size());
        set.forEach([&](std::string_view text) { texts.push_back(text); });
        if (texts.size() <= kSortedSize) std::ranges::sort(texts);
        for (std::string_view text : texts) appendOne(text, type, to);
    }

private:
    static void appendOne(std::string_view text, const Type& type, Column& to) {
        if constexpr (bytes == Bytes::Elements) {
            auto& array = static_cast<ArrayColumn&>(to);
            const size_t width = type.child()->width();
            for (size_t at = 0; at < text.size(); at += width)
                array.mutableElements().insertKey(text.data() + at);
            array.endRow();
        } else if (to.kind() == ColumnKind::String) {
            static_cast<StringColumn&>(to).insertText(text);
        } else {
            to.insertKey(text.data());
        }
    }
};

/// The different values; with a limit, the first so many.
template <typename Uniq>
class GroupUniqArray final
    : public AggregateBase<GroupUniqArray<Uniq>, typename Uniq::Set, typename Uniq::Input> {
public:
    using Set = typename Uniq::Set;
    using Input = typename Uniq::Input;
    using Base = AggregateBase<GroupUniqArray<Uniq>, Set, Input>;

    GroupUniqArray(Signature signature, TypePtr result, uint64_t limit)
        : Base(std::move(signature), std::move(result)), limit_(limit) {}

    static constexpr bool kEmptyIsZero = true;

    void addRow(Set& set, const Input& input, size_t row, Arena& arena) const {
        if (set.size() < limit_) Uniq::add(set, input, row, arena);
    }

    void mergeStates(Set& set, const Set& other, Arena& arena) const {
        if (limit_ == UINT64_MAX) {
            set.mergeFrom(other, arena);
            return;
        }
        other.forEach([&](const auto& key) {
            if (set.size() < limit_) set.insert(key, arena);
        });
    }

    void write(const Set& set, Writer& out) const {
        out.writeVarUInt(set.size());
        Uniq::write(set, out);
    }

    void read(Set& set, Reader& in, Arena& arena) const {
        const size_t count = readCount(in, kMaxElements, "set");
        for (size_t i = 0; i < count; ++i) Uniq::readOne(set, *this->argumentTypes()[0], in, arena);
    }

    void finish(Set& set, Column& to, Arena&) const {
        auto& array = static_cast<ArrayColumn&>(to);
        Uniq::append(set, *this->argumentTypes()[0], array.mutableElements());
        array.endRow();
    }

private:
    uint64_t limit_;
};

AggregateFunctionPtr createGroupUniqArray(Signature signature) {
    expectArguments(signature, 1);
    uint64_t limit = UINT64_MAX;
    if (signature.parameters.size() > 1)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function {}, should be 0 or 1",
                    signature.name);
    if (!signature.parameters.empty()) limit = positiveParameter(signature.parameters[0], signature.name);
    const TypePtr argument = signature.arguments[0];
    // ClickHouse forgets the time zone here.
    TypePtr result = types::array(argument->kind() == TypeKind::DateTime ? types::dateTime() : argument);
    if (isNumberElement(*argument)) {
        AggregateFunctionPtr function;
        dispatchWidth(argument->physical(), [&]<typename K>(Tag<K>) {
            function = std::make_shared<GroupUniqArray<FixedUniq<K>>>(std::move(signature), std::move(result),
                                                                      limit);
        });
        return function;
    }
    if (argument->kind() == TypeKind::Array && isContiguous(*argument))
        return std::make_shared<GroupUniqArray<TextUniq<Bytes::Elements>>>(std::move(signature),
                                                                           std::move(result), limit);
    if (isContiguous(*argument))
        return std::make_shared<GroupUniqArray<TextUniq<Bytes::Plain>>>(std::move(signature),
                                                                        std::move(result), limit);
    return std::make_shared<GroupUniqArray<TextUniq<Bytes::Form>>>(std::move(signature), std::move(result),
                                                                   limit);
}

}  // namespace

std::span<const AggregateInfo> groupUniqArrayAggregates() {
    static const AggregateInfo kInfos[] = {{.name = "groupUniqArray",
                                            .create = createGroupUniqArray,
                                            .syntax = "groupUniqArray[(max_size)](x)",
                                            .description = "Array of the different values.",
                                            .example = "SELECT groupUniqArray(number % 2) FROM numbers(5)",
                                            .example_result = "[0,1]"}};
    return kInfos;
}

}  // namespace shardd::aggregates
