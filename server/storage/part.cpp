#include "server/storage/part.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "common/base/error.h"
#include "common/base/sip_hash.h"
#include "common/columns/create_column.h"
#include "common/types/type_parser.h"
#include "server/storage/decoded_cache.h"
#include "server/storage/stream_path.h"
#include "server/storage/value_binary.h"

namespace shardd::storage {

namespace {

std::atomic<uint64_t> next_part_id = 1;

/// A stream that is only named, never read.
class NamingSource final : public StreamSource {
public:
    ColumnStream& open(const std::string& stream) override {
        names.push_back(stream);
        return dummy_;
    }

    std::vector<std::string> names;

private:
    ColumnStream dummy_{nullptr, "none"};
};

uint64_t parseCount(std::string_view text, const char* what) {
    uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        throw Error(ErrorCode::CORRUPTED_DATA, "{} holds no number", what);
    return number;
}

/// The line up to the next newline; the text moves behind it.
std::string_view takeLine(std::string_view& text, const char* file) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) throw Error(ErrorCode::CORRUPTED_DATA, "{} ends inside a line", file);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

/// "12 columns:" -> 12.
uint64_t leadingNumber(std::string_view line, const char* file) {
    return parseCount(line.substr(0, std::min(line.find(' '), line.size())), file);
}

/// The name in backquotes at the start of `text`, which moves behind it.
std::string takeQuoted(std::string_view& text, const char* file) {
    std::string name;
    for (size_t i = 1; !text.empty() && text.front() == '`' && i < text.size(); ++i) {
        char c = text[i];
        if (c == '`') {
            text.remove_prefix(i + 1);
            return name;
        }
        if (c == '\\' && i + 1 < text.size()) {
            c = text[++i];
            if (c == 'n') c = '\n';
            if (c == 't') c = '\t';
            if (c == 'r') c = '\r';
            if (c == '0') c = '\0';
        }
        name += c;
    }
    throw Error(ErrorCode::CORRUPTED_DATA, "{} has no name in backquotes where one should be", file);
}

uint64_t dateNumber(uint64_t days) {
    // Days since 1970-01-01 to a civil date (proleptic Gregorian), as in Howard Hinnant's derivation.
    const uint64_t shifted = days + 719468;
    const uint64_t era = shifted / 146097;
    const uint64_t day_of_era = shifted - era * 146097;
    const uint64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t month_index = (5 * day_of_year + 2) / 153;
    const uint64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
    const uint64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
    const uint64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    return year * 10000 + month * 100 + day;
}

/// Whether the value prints as a plain integer in a partition id.
bool isSmallInteger(const Type& type) {
    switch (type.kind()) {
        case TypeKind::Bool:
        case TypeKind::Date:
        case TypeKind::Date32:
        case TypeKind::DateTime:
        case TypeKind::Enum8:
        case TypeKind::Enum16:
        case TypeKind::Interval:
            return true;
        default:
            return type.isInteger() && type.width() <= 8;
    }
}

/// One value into the hash of a partition id: a type byte, then the value. Never renumber.
void hashPartitionValue(const Type& type, const Value& value, SipHash& hash) {
    const auto add = [&](uint8_t tag, const void* data, size_t size) {
        hash.updateFixed(tag);
        hash.update(data, size);
    };
    if (type.isDecimal() || type.kind() == TypeKind::DateTime64 || type.kind() == TypeKind::Time64) {
        const auto ticks = value.to<Int128>();
        const size_t width = type.width();
        add(width == 4 ? 0x13 : width == 8 ? 0x14 : 0x15, &ticks, width == 32 ? 16 : width);
        return;
    }
    switch (value.kind()) {
        case Value::Kind::Null:
            return hash.updateFixed(uint8_t{0});
        case Value::Kind::Bool:
        case Value::Kind::UInt64: {
            const auto number = value.to<uint64_t>();
            return add(1, &number, sizeof(number));
        }
        case Value::Kind::Int64:
            return add(2, &value.get<int64_t>(), 8);
        case Value::Kind::Float64:
            return add(3, &value.get<double>(), 8);
        case Value::Kind::UInt128:
            return add(4, &value.get<UInt128>(), 16);
        case Value::Kind::Int128:
            return add(5, &value.get<Int128>(), 16);
        case Value::Kind::UInt256:
            return add(24, &value.get<UInt256>(), 32);
        case Value::Kind::Int256:
            return add(25, &value.get<Int256>(), 32);
        case Value::Kind::String: {
            const std::string& text = value.get<std::string>();
            const uint64_t size = text.size();
            add(0x10, &size, sizeof(size));
            return hash.update(text);
        }
        default:
            throw Error(ErrorCode::NOT_IMPLEMENTED, "Values of type {} cannot be a partition key",
                        type.name());
    }
}

}  // namespace

TableDirectory::~TableDirectory() {
    if (!doomed_) return;
    try {
        files_.removeRecursively(path_);
    } catch (...) {
        // The drop is finished at the next start: its definition is still among the dropped ones.
    }
}

std::string partitionId(const KeyDescription& partition_key,
                        const std::vector<ColumnPtr>& values,
                        size_t row) {
    if (values.empty()) return "all";
    bool plain = true;
    std::string id;
    for (size_t i = 0; i < values.size() && plain; ++i) {
        const Type& type = *removeLowCardinality(partition_key.elements[i].type);
        const Type& bare = type.isNullable() ? *type.child() : type;
        const Value value = values[i]->value(row);
        plain = isSmallInteger(bare) && !value.isNull();
        if (!plain) break;
        if (!id.empty()) id += '-';
        if (bare.kind() == TypeKind::Date)
            id += std::to_string(dateNumber(value.to<uint64_t>()));
        else
            id += value.kind() == Value::Kind::Int64 ? std::to_string(value.get<int64_t>())
                                                     : std::to_string(value.to<uint64_t>());
    }
    if (plain) return id;
    SipHash hash;
    for (size_t i = 0; i < values.size(); ++i) {
        const TypePtr type = removeNullable(removeLowCardinality(partition_key.elements[i].type));
        hashPartitionValue(*type, values[i]->value(row), hash);
    }
    const Hash128 both = hash.get128();
    std::string text;
    for (const uint64_t half : {both.low, both.high})
        for (int byte = 0; byte < 8; ++byte) text += fmt::format("{:02x}", (half >> (8 * byte)) & 0xFF);
    return text;
}

std::string writeColumnsText(const std::vector<PartColumn>& columns) {
    std::string text = fmt::format("columns format version: 1\n{} columns:\n", columns.size());
    for (const PartColumn& column : columns)
        text += fmt::format("{} {}\n", quoteIdentifier(column.name), column.type->name());
    return text;
}

std::vector<PartColumn> parseColumnsText(std::string_view text) {
    constexpr const char* kFile = "columns.txt";
    if (takeLine(text, kFile) != "columns format version: 1")
        throw Error(ErrorCode::UNKNOWN_FORMAT_VERSION, "columns.txt is of an unknown version");
    const uint64_t count = leadingNumber(takeLine(text, kFile), kFile);
    std::vector<PartColumn> columns;
    for (uint64_t i = 0; i < count; ++i) {
        std::string_view line = takeLine(text, kFile);
        std::string name = takeQuoted(line, kFile);
        if (!line.starts_with(' '))
            throw Error(ErrorCode::CORRUPTED_DATA, "columns.txt has no type for column {}", name);
        columns.push_back({std::move(name), parseType(line.substr(1))});
    }
    return columns;
}

std::vector<std::string> streamNames(const std::string& column,
                                     const TypePtr& type,
                                     const DecodeOptions& options) {
    NamingSource source;
    makeColumnDecoder(column, type, source, options);
    return source.names;
}

Part::Part(std::shared_ptr<TableDirectory> table,
           std::string directory,
           PartInfo info,
           std::shared_ptr<const PartTraits> traits)
    : table_(std::move(table)),
      directory_(std::move(directory)),
      info_(std::move(info)),
      traits_(std::move(traits)),
      id_(next_part_id.fetch_add(1, std::memory_order_relaxed)) {
    if (info_.partition_id.starts_with("patch-"))
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Patch part {} is not supported", name());
    readChecksums();
    rows_ = parseCount(readFile("count.txt"), "count.txt");
    if (checksums_.has("serialization.json"))
        serialization_ = SerializationInfo::parse(readFile("serialization.json"));
    readColumns();
    readPartition();
    findMarksFormat();
}

Part::~Part() {
    if (cache()) cache()->forget(id_);
    if (!doomed_) return;
    try {
        files().removeRecursively(path());
    } catch (...) {
        // It is covered or broken at the next start too, and tried again then.
    }
}

uint64_t Part::dataBytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, file] : checksums_.files)
        if (name.ends_with(".bin")) bytes += file.compressed ? file.data_bytes : file.bytes;
    return bytes;
}

const PartColumn* Part::find(std::string_view column) const {
    for (const PartColumn& candidate : columns_)
        if (candidate.name == column) return &candidate;
    return nullptr;
}

void Part::setDirectory(std::string directory) {
    const std::lock_guard lock(directory_mutex_);
    directory_ = std::move(directory);
}

std::string Part::directory() const {
    const std::lock_guard lock(directory_mutex_);
    return directory_;
}

std::unique_ptr<ReadableFile> Part::openFile(const std::string& name) const {
    for (int attempt = 0;; ++attempt) {
        try {
            return files().openForReading(path() + "/" + name);
        } catch (const Error& error) {
            // Between a rename and setDirectory() the old name is asked for: look again.
            if (!error.is(ErrorCode::FILE_DOESNT_EXIST) || attempt == 20) throw;
            if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

std::string Part::readFile(const std::string& name) const {
    const auto file = openFile(name);
    std::string bytes(file->size(), '\0');
    bytes.resize(file->read(0, bytes.data(), bytes.size()));
    return bytes;
}

void Part::readChecksums() {
    if (files().exists(path() + "/checksums.txt")) {
        checksums_ = Checksums::parse(readFile("checksums.txt"));
        for (const auto& [file, checksum] : checksums_.files) {
            if (file.ends_with(".proj")) continue;
            const uint64_t found = files().fileSize(path() + "/" + file);
            if (found != checksum.bytes)
                throw Error(ErrorCode::BAD_SIZE_OF_FILE_IN_DATA_PART,
                            "File {}/{} has {} bytes, but checksums.txt says {}", path(), file, found,
                            checksum.bytes);
        }
        return;
    }
    for (const auto& entry : files().list(path()))
        if (!entry.is_directory)
            checksums_.files[entry.name].bytes = files().fileSize(path() + "/" + entry.name);
}

void Part::readColumns() {
    columns_ = parseColumnsText(readFile("columns.txt"));
    has_row_mask_ = find(kRowMaskColumn) != nullptr;
}

void Part::readPartition() {
    if (traits_->partition_key.empty()) {
        if (info_.partition_id != "all")
            throw Error(ErrorCode::CORRUPTED_DATA, "Part {} is of a partition, but its table has none",
                        name());
        return;
    }
    const std::string partition = readFile("partition.dat");
    Reader in(partition);
    for (const KeyElement& element : traits_->partition_key.elements) {
        MutableColumnPtr column = createColumn(*removeLowCardinalityRecursively(element.type));
        readValueBinary(*element.type, in, *column);
        partition_values_.push_back(std::move(column));
    }
    if (const std::string id = partitionId(traits_->partition_key, partition_values_, 0);
        id != info_.partition_id)
        throw Error(ErrorCode::CORRUPTED_DATA, "Part {} holds the partition {}", name(), id);
    for (const PartColumn& source : traits_->minmax_columns) {
        const std::string bytes = readFile("minmax_" + escapeFileName(source.name) + ".idx");
        Reader bounds(bytes);
        MutableColumnPtr column = createColumn(*removeLowCardinalityRecursively(source.type));
        readValueBinary(*source.type, bounds, *column);
        readValueBinary(*source.type, bounds, *column);
        minmax_.push_back(std::move(column));
    }
}

void Part::findMarksFormat() {
    bool found = false;
    for (const auto& [file, unused] : checksums_.files) {
        const size_t dot = file.rfind('.');
        if (dot == std::string::npos || file.starts_with("skp_idx_")) continue;
        const std::string ending = file.substr(dot);
        if (!ending.starts_with(".mrk") && !ending.starts_with(".cmrk")) continue;
        marks_format_.compressed = ending[1] == 'c';
        const std::string number = ending.substr(marks_format_.compressed ? 5 : 4);
        marks_format_.adaptive = !number.empty();
        marks_format_.compact = number == "3" || number == "4";
        marks_format_.substreams = number == "4";
        found = true;
        break;
    }
    if (checksums_.has("data.packed"))
        throw Error(ErrorCode::NOT_IMPLEMENTED, "Packed storage of part {} is not supported", name());
    if (!found && rows_ != 0) throw Error(ErrorCode::NO_FILE_IN_DATA_PART, "Part {} has no marks", path());
    if (!marks_format_.compact) return;
    mark_stride_ = 0;
    if (!marks_format_.substreams) {
        for (const PartColumn& column : columns_) first_marks_[column.name] = mark_stride_++;
        return;
    }
    constexpr const char* kFile = "columns_substreams.txt";
    const std::string whole = readFile(kFile);
    std::string_view text = whole;
    takeLine(text, kFile);
    const uint64_t count = leadingNumber(takeLine(text, kFile), kFile);
    for (uint64_t i = 0; i < count; ++i) {
        std::string_view line = takeLine(text, kFile);
        const uint64_t streams = leadingNumber(line, kFile);
        line.remove_prefix(std::min(line.find('`'), line.size()));
        first_marks_[takeQuoted(line, kFile)] = mark_stride_;
        mark_stride_ += streams;
        for (uint64_t j = 0; j < streams; ++j) takeLine(text, kFile);
    }
}

size_t Part::firstMark(const std::string& column) const {
    const auto found = first_marks_.find(column);
    if (found == first_marks_.end())
        throw Error(ErrorCode::NO_FILE_IN_DATA_PART, "Part {} has no marks of column {}", path(), column);
    return found->second;
}

std::shared_ptr<const Marks> Part::marks(const std::string& stream) const {
    const std::string file = compact() ? "data" : streamFileName(stream);
    {
        const std::lock_guard lock(marks_mutex_);
        if (const auto found = marks_.find(file); found != marks_.end()) return found->second;
    }
    auto read = std::make_shared<const Marks>(
        readMarks(readFile(file + marks_format_.extension()), marks_format_, mark_stride_));
    const std::lock_guard lock(marks_mutex_);
    return marks_.try_emplace(file, std::move(read)).first->second;
}

const PartIndex& Part::index() const {
    std::call_once(index_once_, [this] { index_ = readIndex(); });
    return index_;
}

std::vector<uint64_t> Part::readRowStarts() const {
    std::vector<uint64_t> starts{0};
    if (rows_ == 0) return starts;
    std::shared_ptr<const Marks> found;
    if (compact()) {
        found = marks("data");
    } else {
        for (const PartColumn& column : columns_) {
            DecodeOptions options{.string_sizes = serialization_.string_sizes,
                                  .sparse_nullable = serialization_.sparse_nullable};
            if (const auto kind = serialization_.columns.find(column.name);
                kind != serialization_.columns.end())
                options.kind = kind->second;
            for (const std::string& stream : streamNames(column.name, column.type, options))
                if (!found && checksums_.has(streamFileName(stream) + marks_format_.extension()))
                    found = marks(stream);
            if (found) break;
        }
    }
    if (!found) throw Error(ErrorCode::NO_FILE_IN_DATA_PART, "Part {} has no marks", path());
    uint64_t row = 0;
    for (size_t granule = 0; granule < found->granules(); ++granule) {
        const uint64_t rest = rows_ - row;
        const uint64_t here =
            found->rows.empty() ? std::min(traits_->index_granularity, rest) : found->rows[granule];
        if (here > rest)
            throw Error(ErrorCode::CORRUPTED_DATA, "The marks of part {} are of more than its {} rows",
                        path(), rows_);
        if (here == 0) continue;  // the final mark
        row += here;
        starts.push_back(row);
    }
    if (row != rows_)
        throw Error(ErrorCode::CORRUPTED_DATA, "The marks of part {} are of {} rows, but it has {}", path(),
                    row, rows_);
    return starts;
}

std::vector<ColumnPtr> Part::readPrimaryKey(size_t granules) const {
    if (traits_->primary_key_types.empty() || rows_ == 0) return {};
    std::string bytes;
    if (checksums_.has("primary.cidx")) {
        ColumnStream stream(openFile("primary.cidx"), path() + "/primary.cidx");
        while (!stream.atEnd()) {
            bytes.append(stream.position(), stream.available());
            stream.skip(stream.available());
        }
    } else {
        bytes = readFile("primary.idx");
    }
    std::vector<MutableColumnPtr> columns;
    for (const TypePtr& type : traits_->primary_key_types)
        columns.push_back(createColumn(*removeLowCardinalityRecursively(type)));
    Reader in(bytes);
    while (!in.atEnd())
        for (size_t i = 0; i < columns.size(); ++i)
            readValueBinary(*traits_->primary_key_types[i], in, *columns[i]);
    if (columns[0]->size() != granules && columns[0]->size() != granules + 1)
        throw Error(ErrorCode::CORRUPTED_DATA, "The primary index of part {} has {} entries for {} granules",
                    path(), columns[0]->size(), granules);
    return {std::make_move_iterator(columns.begin()), std::make_move_iterator(columns.end())};
}

PartIndex Part::readIndex() const {
    PartIndex index;
    index.row_starts = readRowStarts();
    index.keys = readPrimaryKey(index.granules());
    uint64_t largest = 1;
    for (size_t granule = 0; granule < index.granules(); ++granule)
        largest = std::max<uint64_t>(largest, index.rowsBetween(granule, granule + 1));
    index.chunk_granules = std::max<size_t>(1, PartIndex::kChunkRows / largest);
    return index;
}

}  // namespace shardd::storage
