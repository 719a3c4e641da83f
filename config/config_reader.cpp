#include "config/config_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "config/nearest.h"

namespace shardd {

namespace {

std::string shown(const ConfigNode& node) {
    switch (node.kind) {
        case ConfigNode::Kind::Null:
            return "nothing";
        case ConfigNode::Kind::List:
            return "a list";
        case ConfigNode::Kind::Map:
            return "a map";
        case ConfigNode::Kind::Scalar:
            break;
    }
    constexpr size_t kShown = 60;
    if (node.text.size() > kShown) return fmt::format("'{}...'", node.text.substr(0, kShown));
    return fmt::format("'{}'", node.text);
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return result;
}

std::optional<bool> boolOf(std::string_view text) {
    const std::string word = lower(text);
    for (const std::string_view yes : {"1", "true", "yes", "on"})
        if (word == yes) return true;
    for (const std::string_view no : {"0", "false", "no", "off"})
        if (word == no) return false;
    return std::nullopt;
}

std::optional<uint64_t> integerOf(std::string_view text) {
    uint64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<uint64_t> sizeOf(std::string_view text) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = integerOf(text.substr(0, digits));
    if (!number) return std::nullopt;
    std::string_view suffix = text.substr(digits);
    while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
    if (suffix.empty()) return number;
    const size_t power = std::string_view("kmgtp").find(lower(suffix.substr(0, 1)));
    const std::string rest = lower(suffix.substr(1));
    if (power == std::string_view::npos || (rest != "" && rest != "b" && rest != "i" && rest != "ib"))
        return std::nullopt;
    const bool binary = rest.starts_with("i");
    uint64_t result = *number;
    for (size_t i = 0; i <= power; ++i)
        if (__builtin_mul_overflow(result, binary ? 1024U : 1000U, &result)) return std::nullopt;
    return result;
}

std::optional<double> numberOf(std::string_view text) {
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
        return std::nullopt;
    return number;
}

}  // namespace

bool isOctalTrap(const ConfigNode& node) {
    return !node.is_quoted && node.text.size() > 1 && node.text[0] == '0' &&
           std::all_of(node.text.begin(), node.text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string nearestHint(std::string_view name, const std::vector<std::string_view>& known) {
    const auto near = nearestNames(name, known, 1);
    return near.empty() ? "" : fmt::format("; the nearest known key is {}", near[0]);
}

ConfigReader::ConfigReader(const ConfigNode* node, std::string path, ConfigMistakes& mistakes)
    : node_(node), path_(std::move(path)), mistakes_(&mistakes) {
    if (node_ && !node_->isMap()) {
        if (!node_->isNull())
            mistakes.error(node_->place, path_, fmt::format("wanted a map of keys, found {}", shown(*node_)));
        node_ = nullptr;
    }
}

std::string ConfigReader::pathOf(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

ConfigPlace ConfigReader::place() const { return node_ ? node_->place : ConfigPlace{}; }

void ConfigReader::error(const ConfigNode& node, std::string_view key, std::string_view text) {
    mistakes_->error(node.place, pathOf(key), text);
}

void ConfigReader::error(std::string_view text) { mistakes_->error(place(), path_, text); }

const ConfigNode* ConfigReader::take(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return node_ ? node_->find(key) : nullptr;
}

const ConfigNode* ConfigReader::scalar(std::string_view key, std::string_view wanted) {
    const ConfigNode* node = take(key);
    if (!node) return nullptr;
    if (node->isList() && node->items.size() == 1 && node->items[0].isScalar()) return &node->items[0];
    if (node->isScalar()) return node;
    error(*node, key, fmt::format("wanted {}, found {}", wanted, shown(*node)));
    return nullptr;
}

bool ConfigReader::read(std::string_view key, std::string& value) {
    const ConfigNode* node = take(key);
    if (node && node->isNull()) {
        value.clear();
        return true;
    }
    node = scalar(key, "a text");
    if (node) value = node->text;
    return node != nullptr;
}

bool ConfigReader::read(std::string_view key, bool& value) {
    const ConfigNode* node = scalar(key, "0, 1, true, false, yes or no");
    if (!node) return false;
    const auto flag = boolOf(node->text);
    if (flag)
        value = *flag;
    else
        error(*node, key, fmt::format("wanted 0, 1, true, false, yes or no, found {}", shown(*node)));
    return flag.has_value();
}

bool ConfigReader::read(std::string_view key, double& value, double min, double max) {
    const ConfigNode* node = scalar(key, "a number");
    if (!node) return false;
    const auto number = numberOf(node->text);
    if (number && *number >= min && *number <= max) {
        value = *number;
        return true;
    }
    error(*node, key, fmt::format("wanted a number from {} to {}, found {}", min, max, shown(*node)));
    return false;
}

bool ConfigReader::readInteger(std::string_view key, uint64_t& value, uint64_t min, uint64_t max) {
    const ConfigNode* node = scalar(key, "a whole number");
    if (!node) return false;
    if (isOctalTrap(*node)) {
        error(*node, key,
              fmt::format("{} is octal in YAML and decimal elsewhere: write it without the leading zero",
                          node->text));
        return false;
    }
    const auto number = integerOf(node->text);
    if (number && *number >= min && *number <= max) {
        value = *number;
        return true;
    }
    const std::string range = max == std::numeric_limits<uint64_t>::max()
                                  ? fmt::format("of at least {}", min)
                                  : fmt::format("from {} to {}", min, max);
    error(*node, key, fmt::format("wanted a whole number {}, found {}", range, shown(*node)));
    return false;
}

bool ConfigReader::readPort(std::string_view key, uint16_t& value) {
    uint64_t number = 0;
    if (!readInteger(key, number, 0, 65535)) return false;
    value = static_cast<uint16_t>(number);
    return true;
}

bool ConfigReader::readSize(std::string_view key, uint64_t& value) {
    const ConfigNode* node = scalar(key, "a size such as 1000M, 10G or 1Gi");
    if (!node) return false;
    if (isOctalTrap(*node)) return readInteger(key, value);
    const auto size = sizeOf(node->text);
    if (size)
        value = *size;
    else
        error(*node, key, fmt::format("wanted a size such as 1000M, 10G or 1Gi, found {}", shown(*node)));
    return size.has_value();
}

bool ConfigReader::readSeconds(std::string_view key, int64_t& microseconds) {
    double seconds = 0;
    if (!read(key, seconds, 0, 1e9)) return false;
    microseconds = static_cast<int64_t>(seconds * 1e6);
    return true;
}

bool ConfigReader::readWord(std::string_view key, const std::vector<std::string_view>& words, size_t& index) {
    std::string list;
    for (const auto word : words) list += fmt::format("{}{}", list.empty() ? "" : ", ", word);
    const ConfigNode* node = scalar(key, "one of " + list);
    if (!node) return false;
    const auto found = std::find(words.begin(), words.end(), lower(node->text));
    if (found != words.end()) {
        index = static_cast<size_t>(found - words.begin());
        return true;
    }
    error(*node, key, fmt::format("wanted one of {}, found {}", list, shown(*node)));
    return false;
}

std::vector<std::string> ConfigReader::readStrings(std::string_view key) {
    const ConfigNode* node = take(key);
    std::vector<std::string> texts;
    if (!node || node->isNull()) return texts;
    if (node->isScalar()) return {node->text};
    if (node->isMap()) error(*node, key, "wanted a text or a list of texts, found a map");
    for (size_t i = 0; i < node->items.size(); ++i) {
        if (node->items[i].isScalar())
            texts.push_back(node->items[i].text);
        else
            error(node->items[i], fmt::format("{}[{}]", key, i),
                  fmt::format("wanted a text, found {}", shown(node->items[i])));
    }
    return texts;
}

std::vector<ConfigReader> ConfigReader::readMaps(std::string_view key) {
    const ConfigNode* node = take(key);
    std::vector<ConfigReader> readers;
    if (!node || node->isNull()) return readers;
    if (!node->isList()) {
        readers.emplace_back(node, pathOf(key), *mistakes_);
        return readers;
    }
    for (size_t i = 0; i < node->items.size(); ++i)
        readers.emplace_back(&node->items[i], fmt::format("{}[{}]", pathOf(key), i), *mistakes_);
    return readers;
}

ConfigReader ConfigReader::section(std::string_view key) {
    const ConfigNode* node = take(key);
    if (node && node->isList() && node->items.size() == 1) node = &node->items[0];
    return ConfigReader(node, pathOf(key), *mistakes_);
}

void ConfigReader::ignore(std::string_view key) {
    if (const ConfigNode* node = take(key))
        mistakes_->warn(node->place, pathOf(key), "known to ClickHouse, of no effect here");
}

std::vector<std::pair<std::string, const ConfigNode*>> ConfigReader::unread() const {
    std::vector<std::pair<std::string, const ConfigNode*>> rest;
    if (!node_) return rest;
    for (const auto& [key, node] : node_->entries)
        if (std::find(known_.begin(), known_.end(), key) == known_.end()) rest.emplace_back(key, &node);
    return rest;
}

void ConfigReader::finish(const std::vector<std::string_view>& also_known) {
    std::vector<std::string_view> known(known_.begin(), known_.end());
    known.insert(known.end(), also_known.begin(), also_known.end());
    for (const auto& [key, node] : unread()) error(*node, key, "unknown key" + nearestHint(key, known));
}

}  // namespace shardd
