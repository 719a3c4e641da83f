#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_tree.h"

namespace shardd {

/// Reads the typed values of one map, tells every value of a wrong form, and at the end every key that nobody
/// asked for, with the nearest that is known. An absent key leaves the default alone.
class ConfigReader {
public:
    /// `node` may be null or empty: then nothing is read.
    ConfigReader(const ConfigNode* node, std::string path, ConfigMistakes& mistakes);

    /// Each returns whether the key stands there with a value of the right form.
    bool read(std::string_view key, std::string& value);
    bool read(std::string_view key, bool& value);
    bool read(std::string_view key, double& value, double min = 0, double max = 1e18);
    bool readInteger(std::string_view key,
                     uint64_t& value,
                     uint64_t min = 0,
                     uint64_t max = std::numeric_limits<uint64_t>::max());
    bool readPort(std::string_view key, uint16_t& value);

    /// A number of bytes: 1000M, 10G, 1Gi.
    bool readSize(std::string_view key, uint64_t& value);

    /// Seconds, a fraction allowed, as microseconds.
    bool readSeconds(std::string_view key, int64_t& microseconds);

    /// One of `words`; the index of the word found.
    bool readWord(std::string_view key, const std::vector<std::string_view>& words, size_t& index);

    /// The scalars of a list, or the one that stands there alone.
    std::vector<std::string> readStrings(std::string_view key);

    /// The maps of a list; a map where a list may stand is a list of one. Paths get "[i]" when it is a list.
    std::vector<ConfigReader> readMaps(std::string_view key);

    /// The map below `key`, empty when absent.
    ConfigReader section(std::string_view key);

    /// A key that is known and left to others; null when absent.
    const ConfigNode* take(std::string_view key);

    bool has(std::string_view key) const { return node_ && node_->find(key); }

    /// Known to ClickHouse, of no use to us: one warning if present.
    void ignore(std::string_view key);

    /// Tells every key not asked for so far. `also_known` are more names a typing mistake may have meant.
    void finish(const std::vector<std::string_view>& also_known = {});

    /// The keys not asked for, with their nodes.
    std::vector<std::pair<std::string, const ConfigNode*>> unread() const;

    void error(const ConfigNode& node, std::string_view key, std::string_view text);
    void error(std::string_view text);  ///< about the whole map
    std::string pathOf(std::string_view key) const;
    ConfigPlace place() const;

    ConfigMistakes& mistakes() const { return *mistakes_; }

    const ConfigNode* node() const { return node_; }

private:
    const ConfigNode* scalar(std::string_view key, std::string_view wanted);

    const ConfigNode* node_;
    std::string path_;
    ConfigMistakes* mistakes_;
    std::vector<std::string> known_;
};

/// A plain scalar such as 010: eight for YAML, ten for ClickHouse, so whoever wrote it must say which.
bool isOctalTrap(const ConfigNode& node);

/// "; the nearest known key is tcp_port", or nothing.
std::string nearestHint(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace shardd
