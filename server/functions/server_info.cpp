// What a query may ask of the server and of itself: version(), hostName(), currentUser(), getSetting(),
// sleep(), throwIf() …

#include <charconv>
#include <chrono>
#include <thread>

#include "common/columns/create_column.h"
#include "common/columns/dictionary_column.h"
#include "common/columns/nullable_column.h"
#include "common/columns/tuple_column.h"
#include "common/types/type_parser.h"
#include "server/functions/column_tools.h"
#include "server/functions/definition.h"
#include "server/functions/utf8.h"

namespace shardd::functions {

namespace {

// -- of the server and the session ----------------------------------------------------------------

template <auto kMember>
ColumnPtr runText(const Call& call) {
    return constantText(call.context.*kMember, call.rows);
}

template <auto kMember>
ColumnPtr runNumber(const Call& call) {
    return createConstColumn(*call.type, Value(static_cast<int64_t>(call.context.*kMember)), call.rows);
}

/// What this server claims to be: the release whose answers it gives.
constexpr std::string_view kVersion = "26.7.1.1";

ColumnPtr runVersion(const Call& call) { return constantText(kVersion, call.rows); }

ColumnPtr runRevision(const Call& call) {
    return createConstColumn(*call.type, Value(uint64_t{54514}), call.rows);
}

ColumnPtr runQueryId(const Call& call) { return constantText(call.context.query_id, call.rows); }

ColumnPtr runServerUuid(const Call& call) {
    return createConstColumn(*call.type, Value(UInt128{0}), call.rows);
}

ColumnPtr runConnectionId(const Call& call) {
    return createConstColumn(*call.type, Value(uint64_t{0}), call.rows);
}

TypePtr typeOfTexts(const Signature& call) {
    needCount(call, 0);
    return types::array(types::string());
}

ColumnPtr runDefaultProfiles(const Call& call) {
    ArrayValue names;
    names.elements.emplace_back(Value(std::string("default")));
    return createConstColumn(*call.type, Value(std::move(names)), call.rows);
}

ColumnPtr runNoTexts(const Call& call) {
    return createConstColumn(*call.type, Value(ArrayValue{}), call.rows);
}

// -- settings and macros --------------------------------------------------------------------------

std::string constantName(const Signature& call) {
    if (call.type(0)->kind() != TypeKind::String) illegalArgument(call, 0, "const String");
    needConstant(call, 0);
    return constantValue(call.arguments[0])->get<std::string>();
}

/// A setting's value as a literal: a number where its text is one, else a string.
std::pair<TypePtr, Value> settingLiteral(const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) {
        const TypeKind kind = number <= UINT8_MAX    ? TypeKind::UInt8
                              : number <= UINT16_MAX ? TypeKind::UInt16
                              : number <= UINT32_MAX ? TypeKind::UInt32
                                                     : TypeKind::UInt64;
        return {types::simple(kind), Value(number)};
    }
    double real = 0;
    const auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (real_error == std::errc() && real_end == text.data() + text.size() && !text.empty())
        return {types::float64(), Value(real)};
    return {types::string(), Value(text)};
}

std::optional<std::string> settingText(const FunctionContext& context, const std::string& name) {
    return context.setting ? context.setting(name) : std::nullopt;
}

TypePtr typeOfSetting(const Signature& call) {
    needCount(call, 1);
    const std::string name = constantName(call);
    const auto text = settingText(call.context, name);
    if (!text) throw Error(ErrorCode::UNKNOWN_SETTING, "Unknown setting '{}'", name);
    return settingLiteral(*text).first;
}

TypePtr typeOfSettingOrDefault(const Signature& call) {
    needCount(call, 2);
    const auto text = settingText(call.context, constantName(call));
    return text ? settingLiteral(*text).first : call.type(1);
}

ColumnPtr runSetting(const Call& call) {
    const auto text = settingText(call.context, std::string(TextArgument(call.column(0))[0]));
    if (!text) return call.column(1);
    return createConstColumn(*call.type, settingLiteral(*text).second, call.rows);
}

TypePtr typeOfMacro(const Signature& call) {
    needCount(call, 1);
    const std::string name = constantName(call);
    if (!call.context.macro || !call.context.macro(name))
        throw Error(ErrorCode::NO_ELEMENTS_IN_CONFIG, "No macro {} in config", name);
    return types::string();
}

ColumnPtr runMacro(const Call& call) {
    return constantText(*call.context.macro(TextArgument(call.column(0))[0]), call.rows);
}

TypePtr typeOfErrorName(const Signature& call) {
    needCount(call, 1);
    needNumber(call, 0);
    return types::lowCardinality(types::string());
}

ColumnPtr runErrorName(const Call& call) {
    const IntegerArgument codes(call.column(0));
    auto result = DictionaryColumn::create(StringColumn(), false);
    const auto [known, count] = errorCodes();
    for (size_t row = 0; row < call.rows; ++row) {
        std::string name;
        for (size_t i = 0; i < count; ++i)
            if (known[i].code == codes[row]) name = known[i].name;
        result->insert(Value(name));
    }
    return ColumnPtr(std::move(result));
}

// -- columns as they are --------------------------------------------------------------------------

TypePtr typeOfAnything(const Signature& call) {
    needCount(call, 1);
    return types::string();
}

std::string columnName(const Type& type, const Column& column) {
    const bool constant = column.kind() == ColumnKind::Const;
    return constant ? "Const(" + type.name() + ")" : type.name();
}

ColumnPtr runColumnTypeName(const Call& call) {
    return constantText(columnName(*call.argumentType(0), *call.column(0)), call.rows);
}

std::string structureOf(const Column& column) {
    const std::string size = std::to_string(column.size());
    switch (column.kind()) {
        case ColumnKind::Const:
            return "Const(size = " + size + ", " + structureOf(*as<ConstColumn>(column).one()) + ")";
        case ColumnKind::String:
            return "String(size = " + size + ")";
        case ColumnKind::FixedString:
            return "FixedString(size = " + size + ")";
        case ColumnKind::Nullable: {
            const auto& nullable = as<NullableColumn>(column);
            return "Nullable(size = " + size + ", " + structureOf(*nullable.values()) +
                   ", UInt8(size = " + size + "))";
        }
        case ColumnKind::Array: {
            const auto& arrays = as<ArrayColumn>(column);
            return "Array(size = " + size + ", UInt64(size = " + size + "), " +
                   structureOf(*arrays.elements()) + ")";
        }
        case ColumnKind::Tuple: {
            std::string text = "Tuple(size = " + size;
            for (const ColumnPtr& element : as<TupleColumn>(column).elements())
                text += ", " + structureOf(*element);
            return text + ")";
        }
        case ColumnKind::Dictionary:
            return "ColumnLowCardinality(size = " + size + ")";
        default:
            return "Column(size = " + size + ")";
    }
}

ColumnPtr runDumpStructure(const Call& call) {
    const Column& column = *call.column(0);
    const Type& type = *call.argumentType(0);
    std::string structure = structureOf(column);
    if (column.kind() == ColumnKind::Fixed)
        structure = type.name() + "(size = " + std::to_string(column.size()) + ")";
    if (column.kind() == ColumnKind::Const && as<ConstColumn>(column).one()->kind() == ColumnKind::Fixed)
        structure = "Const(size = " + std::to_string(column.size()) + ", " + type.name() + "(size = 1))";
    return constantText(type.name() + ", " + structure, call.rows);
}

TypePtr typeOfZero(const Signature&) { return types::uint8(); }

ColumnPtr runZero(const Call& call) { return createConstColumn(*call.type, Value(uint64_t{0}), call.rows); }

TypePtr typeOfDefaultOfType(const Signature& call) {
    needCount(call, 1);
    return parseType(constantName(call));
}

TypePtr typeOfSameType(const Signature& call) {
    needCount(call, 1);
    return call.type(0);
}

ColumnPtr runDefault(const Call& call) {
    return createConstColumn(*call.type, defaultValue(*call.type), call.rows);
}

TypePtr typeOfEnumSize(const Signature& call) {
    needCount(call, 1);
    if (call.type(0)->kind() == TypeKind::Enum8) return types::uint8();
    if (call.type(0)->kind() == TypeKind::Enum16) return types::simple(TypeKind::UInt16);
    illegalArgument(call, 0, "Enum8 or Enum16");
}

ColumnPtr runEnumSize(const Call& call) {
    return createConstColumn(*call.type, Value(uint64_t{call.argumentType(0)->enumValues().size()}),
                             call.rows);
}

// -- sizes ----------------------------------------------------------------------------------------

/// Bytes of the value at `row` in memory, as byteSize() counts: a string has 8 for its size, an array 8 for
/// its offset.
uint64_t bytesOf(const Column& column, size_t row) {
    switch (column.kind()) {
        case ColumnKind::String:
            return column.bytesAt(row).size() + 8;
        case ColumnKind::FixedString:
        case ColumnKind::Fixed:
            return column.bytesAt(row).size();
        case ColumnKind::Nullable:
            return 1 + bytesOf(*as<NullableColumn>(column).values(), row);
        case ColumnKind::Array: {
            const auto& arrays = as<ArrayColumn>(column);
            uint64_t bytes = 8;
            for (size_t i = arrays.startAt(row); i < arrays.ends()[row]; ++i)
                bytes += bytesOf(*arrays.elements(), i);
            return bytes;
        }
        case ColumnKind::Tuple: {
            uint64_t bytes = 0;
            for (const ColumnPtr& element : as<TupleColumn>(column).elements())
                bytes += bytesOf(*full(element), row);
            return bytes;
        }
        default:
            return column.empty() ? 0 : column.dataBytes() / column.size();
    }
}

TypePtr typeOfByteSize(const Signature&) { return types::uint64(); }

ColumnPtr runByteSize(const Call& call) {
    PodVector<uint64_t> sizes(call.rows, 0);
    for (const NamedColumn& argument : call.arguments) {
        if (removeNullable(argument.type)->kind() == TypeKind::Nothing) {
            for (uint64_t& size : sizes) size += argument.type->isNullable();
            continue;
        }
        const ColumnPtr column = writeOutDictionaries(full(argument.column), argument.type);
        for (size_t row = 0; row < call.rows; ++row) sizes[row] += bytesOf(*column, row);
    }
    return fixedColumn(std::move(sizes));
}

TypePtr typeOfVisibleWidth(const Signature& call) {
    needCount(call, 1);
    return types::uint64();
}

/// Cells of a terminal: two for the wide letters of East Asia, none for marks that combine.
size_t cellsOf(std::string_view text) {
    size_t cells = 0;
    for (size_t at = 0; at < text.size();) {
        const auto first = static_cast<uint8_t>(text[at]);
        const size_t size = std::min(utf8Length(first), text.size() - at);
        uint32_t point = size == 1 ? first : first & (0xFFu >> (size + 1));
        for (size_t i = 1; i < size; ++i) point = point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
        const bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                          (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                          (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                          (point >= 0xFFE0 && point <= 0xFFE6) || (point >= 0x1F300 && point <= 0x1FAFF);
        const bool combines = point >= 0x300 && point <= 0x36F;
        cells += combines ? 0 : wide ? 2 : 1;
        at += size;
    }
    return cells;
}

ColumnPtr runVisibleWidth(const Call& call) {
    const NamedColumn argument = call.arguments[0];
    if (removeNullable(argument.type)->kind() == TypeKind::Nothing)
        return createConstColumn(*call.type, Value(uint64_t{4}), call.rows);
    ColumnPtr texts = argument.column;
    if (!argument.type->isString()) {
        const auto convert =
            resolveFunction("toString", {&argument, 1}, std::make_shared<FunctionContext>(call.context));
        texts = convert->execute({&argument, 1}, call.rows);
    }
    const ColumnPtr plain = fullPlain(texts);
    return eachRow<uint64_t>(call.rows, [&](size_t row) -> uint64_t {
        if (plain->isNullAt(row)) return 4;
        const Column& values =
            plain->kind() == ColumnKind::Nullable ? *as<NullableColumn>(*plain).values() : *plain;
        return cellsOf(values.bytesAt(row));
    });
}

// -- actions --------------------------------------------------------------------------------------

TypePtr typeOfThrowIf(const Signature& call) {
    if (call.count() < 1 || call.count() > 2)
        throw Error(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Number of arguments for function {} doesn't match: passed {}, should be 1 or 2",
                    call.name, call.count());
    if (!call.type(0)->isNumber())
        throw Error(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "First argument of function {} must be a number (passed: {})", call.name,
                    call.type(0)->name());
    if (call.count() == 2 && call.type(1)->kind() != TypeKind::String) illegalArgument(call, 1, "String");
    return types::uint8();
}

ColumnPtr runThrowIf(const Call& call) {
    const DoubleArgument conditions(call.column(0), call.argumentType(0));
    for (size_t row = 0; row < call.rows; ++row) {
        if (conditions[row] == 0) continue;
        if (call.count() == 2)
            throw Error(ErrorCode::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, "{}",
                        TextArgument(call.column(1))[0]);
        throw Error(ErrorCode::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO,
                    "Value passed to '{}' function is non-zero", call.name);
    }
    return createConstColumn(*call.type, Value(uint64_t{0}), call.rows);
}

TypePtr typeOfSleep(const Signature& call) {
    needCount(call, 1);
    if (!call.type(0)->isFloat() && !call.type(0)->isUnsigned()) illegalArgument(call, 0, "UInt* or Float*");
    needConstant(call, 0);
    return types::uint8();
}

constexpr double kMostSeconds = 3;

/// Short enough that nobody needs to be told to stop.
void waitFor(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Once a block that is not empty, or once a row.
template <bool kEachRow>
ColumnPtr runSleep(const Call& call) {
    const double seconds = DoubleArgument(call.column(0), call.argumentType(0))[0];
    if (seconds < 0 || !(seconds < 1e9))
        throw Error(ErrorCode::BAD_ARGUMENTS, "Cannot sleep infinite or negative time (not implemented)");
    const double total = kEachRow ? seconds * static_cast<double>(call.rows) : call.rows > 0 ? seconds : 0;
    if (total > kMostSeconds)
        throw Error(ErrorCode::TOO_SLOW, "The maximum sleep time is 3 seconds. Requested: {} seconds", total);
    waitFor(total);
    return createConstColumn(*call.type, Value(uint64_t{0}), call.rows);
}

/// Numbers of rows and blocks: this engine gives every block to its functions alone, so they count within it.
ColumnPtr runRowNumber(const Call& call) {
    return eachRow<uint64_t>(call.rows, [](size_t row) { return row; });
}

ColumnPtr runBlockSize(const Call& call) {
    return createConstColumn(*call.type, Value(uint64_t{call.rows}), call.rows);
}

ColumnPtr runBlockNumber(const Call& call) {
    return createConstColumn(*call.type, Value(uint64_t{0}), call.rows);
}

#define OF_CONTEXT(name, member, words) \
    define<name, nothingTo<TypeKind::String>, runText<&FunctionContext::member>, kOfServer>(name "()", words)

}  // namespace

std::span<const FunctionInfo> serverInfoFunctions() {
    constexpr uint32_t kAsIs = kSeesNulls | kSeesDictionaries | kSeesConstants;
    static const FunctionInfo kList[] = {
        OF_CONTEXT("hostName", host_name, "The name of the machine."),
        OF_CONTEXT("FQDN", host_name, "The full name of the machine."),
        OF_CONTEXT("displayName", display_name, "The name of the server from its configuration."),
        define<"currentUser", nothingTo<TypeKind::String>, runText<&FunctionContext::current_user>,
               kOncePerQuery>("currentUser()", "Whose query this is."),
        define<"authenticatedUser", nothingTo<TypeKind::String>, runText<&FunctionContext::current_user>,
               kOncePerQuery>("authenticatedUser()", "Who logged in."),
        define<"initialUser", nothingTo<TypeKind::String>, runText<&FunctionContext::initial_user>,
               kOncePerQuery>("initialUser()", "Who began the query at its initiator."),
        define<"currentDatabase", nothingTo<TypeKind::String>, runText<&FunctionContext::current_database>,
               kOncePerQuery>("currentDatabase()", "The database for names without one."),
        define<"queryID", nothingTo<TypeKind::String>, runQueryId, kOfServer>("queryID()",
                                                                              "The id of this query."),
        define<"initialQueryID", nothingTo<TypeKind::String>, runText<&FunctionContext::initial_query_id>,
               kOncePerQuery>("initialQueryID()", "The id of the query at its initiator."),
        define<"timezone", nothingTo<TypeKind::String>, runText<&FunctionContext::time_zone>, kOncePerQuery>(
            "timezone()", "The time zone of the session."),
        define<"serverTimezone", nothingTo<TypeKind::String>, runText<&FunctionContext::server_time_zone>,
               kOfServer>("serverTimezone()", "The time zone of the server."),
        define<"tcpPort", nothingTo<TypeKind::UInt16>, runNumber<&FunctionContext::tcp_port>, kOfServer>(
            "tcpPort()", "The port of the native protocol."),
        define<"uptime", nothingTo<TypeKind::UInt32>, runNumber<&FunctionContext::uptime_seconds>, kOfServer>(
            "uptime()", "Seconds since the start of the server."),
        define<"shardNum", nothingTo<TypeKind::UInt32>, runNumber<&FunctionContext::shard_num>, kOfServer>(
            "shardNum()", "Which shard this is in a distributed query, from 1; 0 in others."),
        define<"shardCount", nothingTo<TypeKind::UInt32>, runNumber<&FunctionContext::shard_count>,
               kOfServer>("shardCount()", "How many shards a distributed query has."),
        define<"version", nothingTo<TypeKind::String>, runVersion, kOfServer>(
            "version()", "The release of ClickHouse whose answers are given."),
        define<"revision", nothingTo<TypeKind::UInt32>, runRevision, kOfServer>("revision()",
                                                                                "Its revision."),
        define<"serverUUID", nothingTo<TypeKind::UUID>, runServerUuid, kOfServer>("serverUUID()",
                                                                                  "The id of the server."),
        define<"connectionId", nothingTo<TypeKind::UInt64>, runConnectionId, kOfServer>(
            "connectionId()", "The number of the connection."),
        define<"currentProfiles", typeOfTexts, runDefaultProfiles, kOncePerQuery>(
            "currentProfiles()", "The settings profiles in force."),
        define<"enabledProfiles", typeOfTexts, runDefaultProfiles, kOncePerQuery>(
            "enabledProfiles()", "The settings profiles in force."),
        define<"currentRoles", typeOfTexts, runNoTexts, kOncePerQuery>("currentRoles()",
                                                                       "Roles of the user."),
        define<"enabledRoles", typeOfTexts, runNoTexts, kOncePerQuery>("enabledRoles()",
                                                                       "Roles of the user."),
        define<"defaultRoles", typeOfTexts, runNoTexts, kOncePerQuery>("defaultRoles()",
                                                                       "Roles of the user."),
        define<"getSetting", typeOfSetting, runSetting, kOncePerQuery, 1>("getSetting(name)",
                                                                          "The value of a setting."),
        define<"getSettingOrDefault", typeOfSettingOrDefault, runSetting, kOncePerQuery | kSeesNulls, 1>(
            "getSettingOrDefault(name, default)",
            "The value of a setting, or the default when there is no such setting."),
        define<"getMacro", typeOfMacro, runMacro, kOfServer, 1>("getMacro(name)",
                                                                "A macro from the configuration."),
        define<"errorCodeToName", typeOfErrorName, runErrorName>(
            "errorCodeToName(code)", "The name of an error code.", "errorCodeToName(60)", "UNKNOWN_TABLE"),
        define<"toColumnTypeName", typeOfAnything, runColumnTypeName, kAsIs>(
            "toColumnTypeName(x)", "The type of the column in memory.", "toColumnTypeName(1)",
            "Const(UInt8)"),
        define<"dumpColumnStructure", typeOfAnything, runDumpStructure, kAsIs>(
            "dumpColumnStructure(x)", "The structure of the column in memory."),
        define<"ignore", typeOfZero, runZero, kAsIs>("ignore(x, …)", "0, after its arguments were computed.",
                                                     "ignore(1)", "0"),
        define<"defaultValueOfTypeName", typeOfDefaultOfType, runDefault, kAsIs, 1>(
            "defaultValueOfTypeName(type)", "The default value of a type.", "defaultValueOfTypeName('Int32')",
            "0"),
        define<"defaultValueOfArgumentType", typeOfSameType, runDefault, kAsIs>(
            "defaultValueOfArgumentType(x)", "The default value of the argument's type.",
            "defaultValueOfArgumentType(5)", "0"),
        define<"getSizeOfEnumType", typeOfEnumSize, runEnumSize>("getSizeOfEnumType(enum)",
                                                                 "How many names the Enum has."),
        define<"byteSize", typeOfByteSize, runByteSize, kSeesNulls | kSeesDictionaries>(
            "byteSize(x, …)", "Bytes of the values in memory.", "byteSize('abc')", "11"),
        define<"visibleWidth", typeOfVisibleWidth, runVisibleWidth, kSeesNulls>(
            "visibleWidth(x)", "Cells of the text in a terminal.", "visibleWidth(123)", "3"),
        define<"throwIf", typeOfThrowIf, runThrowIf, kMayThrow, 2>(
            "throwIf(condition[, message])", "An error when the condition is not 0.", "throwIf(0)", "0"),
        define<"sleep", typeOfSleep, runSleep<false>, kVaries | kMayThrow, 1>(
            "sleep(seconds)", "Waits, once a block.", "sleep(0)", "0"),
        define<"sleepEachRow", typeOfSleep, runSleep<true>, kVaries | kMayThrow, 1>(
            "sleepEachRow(seconds)", "Waits, once a row.", "sleepEachRow(0)", "0"),
        define<"rowNumberInBlock", nothingTo<TypeKind::UInt64>, runRowNumber, kVaries>(
            "rowNumberInBlock()", "The number of the row in its block."),
        define<"rowNumberInAllBlocks", nothingTo<TypeKind::UInt64>, runRowNumber, kVaries>(
            "rowNumberInAllBlocks()", "The number of the row."),
        define<"blockNumber", nothingTo<TypeKind::UInt64>, runBlockNumber, kVaries>(
            "blockNumber()", "The number of the block."),
        define<"blockSize", nothingTo<TypeKind::UInt64>, runBlockSize, kVaries>("blockSize()",
                                                                                "Rows of the block."),
    };
    return kList;
}

}  // namespace shardd::functions
