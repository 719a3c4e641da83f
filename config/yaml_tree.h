#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardd {

/// Where something stands, counted from 1; line 0 means the whole file (or the command line).
struct ConfigPlace {
    std::string file;
    int line = 0;
    int column = 0;

    /// "cluster.yaml:12:5"
    std::string text() const;
};

/// Everything that is wrong with a configuration, and what is merely odd.
struct ConfigMistakes {
    std::vector<std::string> errors;
    std::vector<std::string> warnings;

    void error(const ConfigPlace& place, std::string_view path, std::string_view text);
    void warn(const ConfigPlace& place, std::string_view path, std::string_view text);
};

/// One node of a configuration file: our own small tree, since yaml-cpp drops duplicate keys and knows no
/// merge.
struct ConfigNode {
    enum class Kind : uint8_t { Null, Scalar, List, Map };

    // Defaulted in the source: pairs of a type that is still incomplete cannot be copied inline everywhere.
    ConfigNode();
    ConfigNode(const ConfigNode&);
    ConfigNode(ConfigNode&&) noexcept;
    ConfigNode& operator=(const ConfigNode&);
    ConfigNode& operator=(ConfigNode&&) noexcept;
    ~ConfigNode();

    Kind kind = Kind::Null;
    bool is_quoted = false;  ///< a scalar in quotes is text whatever it looks like
    std::string text;        ///< of a scalar
    ConfigPlace place;
    std::vector<std::pair<std::string, ConfigNode>> entries;  ///< of a map, in the file's order
    std::vector<ConfigNode> items;                            ///< of a list

    const ConfigNode* find(std::string_view key) const;
    ConfigNode* find(std::string_view key);

    bool isMap() const { return kind == Kind::Map; }

    bool isList() const { return kind == Kind::List; }

    bool isScalar() const { return kind == Kind::Scalar; }

    bool isNull() const { return kind == Kind::Null; }
};

/// Reads YAML text. What cannot be read is told in `mistakes`, and the rest of the file is returned.
/// Bounds: 16 MiB of text, 64 levels, 200,000 nodes (aliases count as what they stand for).
ConfigNode parseYaml(const std::string& text, const std::string& file, ConfigMistakes& mistakes);

/// The content below the root key `clickhouse` or `yandex`, or the node itself when there is none.
ConfigNode withoutRootKey(ConfigNode node);

/// Merges `overlay` into `base` as ClickHouse merges files: maps by key, lists item by item, scalars replace;
/// `@replace: 1` replaces the whole, `@remove: 1` removes it. The attributes do not survive.
void mergeConfig(ConfigNode& base, ConfigNode overlay);

/// Replaces `@from_env` by the variable's value, `#text` beside attributes by the text, drops the attributes
/// that mean nothing to us, and tells those that we cannot follow (`@incl`, `@from_zk`, `@encrypted_by`).
void resolveAttributes(ConfigNode& node, const std::string& path, ConfigMistakes& mistakes);

/// Sets the scalar at `path` ("logger.level"), making maps on the way.
void overrideConfig(ConfigNode& root,
                    std::string_view path,
                    std::string_view value,
                    ConfigMistakes& mistakes);

}  // namespace shardd
