#include "config/yaml_tree.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace shardd {

namespace {

constexpr size_t kMaxText = 16U << 20;
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 200000;

size_t countNodes(const ConfigNode& node) {
    size_t count = 1;
    for (const auto& [key, child] : node.entries) count += countNodes(child);
    for (const auto& item : node.items) count += countNodes(item);
    return count;
}

size_t depthOf(const ConfigNode& node) {
    size_t depth = 0;
    for (const auto& [key, child] : node.entries) depth = std::max(depth, depthOf(child));
    for (const auto& item : node.items) depth = std::max(depth, depthOf(item));
    return depth + 1;
}

// Ends the reading of a file; what was read so far stays.
struct StopReading {};

// Builds the tree from yaml-cpp's events. Lives for one document.
class TreeBuilder : public YAML::EventHandler {
public:
    TreeBuilder(const std::string& file, ConfigMistakes& mistakes) : file_(file), mistakes_(mistakes) {}

    ConfigNode take() {
        while (open_.size() > 1) close();
        return open_.empty() ? std::move(root_) : std::move(open_.back().node);
    }

    void OnDocumentStart(const YAML::Mark&) override {}

    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(make(ConfigNode::Kind::Null, mark), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) return fail(mark, "an alias cannot stand inside what it names");
        nodes_ += countNodes(found->second);
        if (nodes_ > kMaxNodes) fail(mark, "too large: at most 200000 values");
        ConfigNode copy = found->second;
        if (open_.size() + depthOf(copy) > kMaxDepth) fail(mark, "too deep: at most 64 levels");
        add(std::move(copy), 0);
    }

    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        ConfigNode node = make(ConfigNode::Kind::Scalar, mark);
        node.text = value;
        node.is_quoted = tag == "!";
        const bool plain_null =
            !node.is_quoted && (value == "~" || value == "null" || value == "Null" || value == "NULL");
        if (plain_null) node.kind = ConfigNode::Kind::Null;
        add(std::move(node), anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string&,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        openNode(make(ConfigNode::Kind::List, mark), anchor);
    }

    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark,
                    const std::string&,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        openNode(make(ConfigNode::Kind::Map, mark), anchor);
    }

    void OnMapEnd() override { close(); }

private:
    struct Open {
        ConfigNode node;
        YAML::anchor_t anchor = 0;
        std::string key;  ///< of a map: the key that waits for its value
        ConfigPlace key_place;
        bool has_key = false;
        bool is_duplicate = false;
    };

    ConfigNode make(ConfigNode::Kind kind, const YAML::Mark& mark) {
        if (++nodes_ > kMaxNodes) fail(mark, "too large: at most 200000 values");
        ConfigNode node;
        node.kind = kind;
        node.place = place(mark);
        return node;
    }

    ConfigPlace place(const YAML::Mark& mark) const {
        if (mark.line < 0) return {file_, 0, 0};
        return {file_, mark.line + 1, mark.column + 1};
    }

    void fail(const YAML::Mark& mark, std::string_view text) {
        mistakes_.error(place(mark), "", text);
        throw StopReading();
    }

    void openNode(ConfigNode node, YAML::anchor_t anchor) {
        if (open_.size() >= kMaxDepth) {
            mistakes_.error(node.place, "", "too deep: at most 64 levels");
            throw StopReading();
        }
        open_.push_back({std::move(node), anchor, {}, {}, false, false});
    }

    void close() {
        Open top = std::move(open_.back());
        open_.pop_back();
        if (open_.empty()) {
            root_ = std::move(top.node);
        } else {
            add(std::move(top.node), top.anchor);
        }
    }

    void add(ConfigNode node, YAML::anchor_t anchor) {
        if (anchor != 0) anchors_[anchor] = node;
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (parent.node.isList()) {
            parent.node.items.push_back(std::move(node));
        } else if (!parent.has_key) {
            takeKey(parent, node);
        } else {
            parent.has_key = false;
            if (!parent.is_duplicate) {
                // An empty value (`key:`) has no place of its own; it stands where its key stands.
                if (node.isNull()) node.place = parent.key_place;
                parent.node.entries.emplace_back(std::move(parent.key), std::move(node));
            }
        }
    }

    void takeKey(Open& parent, const ConfigNode& node) {
        parent.has_key = true;
        parent.key = node.text;
        parent.key_place = node.place;
        parent.is_duplicate = false;
        if (!node.isScalar()) {
            mistakes_.error(node.place, path(), "wanted a name as the key of a map");
            parent.is_duplicate = true;
            return;
        }
        if (const ConfigNode* first = parent.node.find(node.text)) {
            mistakes_.error(
                node.place, path() + node.text,
                fmt::format("the key stands here a second time; the first is in line {}", first->place.line));
            parent.is_duplicate = true;
        }
    }

    std::string path() const {
        std::string text;
        for (size_t i = 0; i + 1 < open_.size(); ++i) {
            const Open& level = open_[i];
            if (level.node.isList())
                text += fmt::format("[{}].", level.node.items.size());
            else
                text += level.key + (open_[i + 1].node.isList() ? "" : ".");
        }
        return text;
    }

    const std::string& file_;
    ConfigMistakes& mistakes_;
    ConfigNode root_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, ConfigNode> anchors_;
    size_t nodes_ = 0;
};

bool isTrue(const ConfigNode* node) {
    return node && node->isScalar() && node->text != "0" && node->text != "false";
}

void dropAttribute(ConfigNode& node, std::string_view name) {
    std::erase_if(node.entries, [name](const auto& entry) { return entry.first == name; });
}

void stripMergeAttributes(ConfigNode& node) {
    dropAttribute(node, "@replace");
    dropAttribute(node, "@remove");
    dropAttribute(node, "@merge");
    std::erase_if(node.entries, [](const auto& entry) { return isTrue(entry.second.find("@remove")); });
    for (auto& [key, child] : node.entries) stripMergeAttributes(child);
    for (auto& item : node.items) stripMergeAttributes(item);
}

void mergeLists(ConfigNode& base, ConfigNode overlay) {
    for (size_t i = 0; i < overlay.items.size(); ++i) {
        if (i < base.items.size())
            mergeConfig(base.items[i], std::move(overlay.items[i]));
        else
            base.items.push_back(std::move(overlay.items[i]));
    }
}

ConfigNode asList(ConfigNode node) {
    if (node.isList()) return node;
    ConfigNode list;
    list.kind = ConfigNode::Kind::List;
    list.place = node.place;
    list.items.push_back(std::move(node));
    return list;
}

void takeEnvironment(ConfigNode& node, const std::string& path, ConfigMistakes& mistakes) {
    const ConfigNode* from = node.find("@from_env");
    if (!from) return;
    const char* value = from->isScalar() ? std::getenv(from->text.c_str()) : nullptr;
    const ConfigNode* fallback = node.find("#text");
    if (!value && !fallback)
        mistakes.error(from->place, path, fmt::format("the environment variable {} is not set", from->text));
    ConfigNode scalar;
    scalar.kind = ConfigNode::Kind::Scalar;
    scalar.place = from->place;
    scalar.text = value ? value : fallback ? fallback->text : "";
    node = std::move(scalar);
}

}  // namespace

std::string ConfigPlace::text() const {
    return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

namespace {

std::string told(const ConfigPlace& place, std::string_view path, std::string_view text) {
    return path.empty() ? fmt::format("{}: {}", place.text(), text)
                        : fmt::format("{}: {}: {}", place.text(), path, text);
}

}  // namespace

void ConfigMistakes::error(const ConfigPlace& place, std::string_view path, std::string_view text) {
    errors.push_back(told(place, path, text));
}

void ConfigMistakes::warn(const ConfigPlace& place, std::string_view path, std::string_view text) {
    warnings.push_back(told(place, path, text));
}

ConfigNode::ConfigNode() = default;
ConfigNode::ConfigNode(const ConfigNode&) = default;
ConfigNode::ConfigNode(ConfigNode&&) noexcept = default;
ConfigNode& ConfigNode::operator=(const ConfigNode&) = default;
ConfigNode& ConfigNode::operator=(ConfigNode&&) noexcept = default;
ConfigNode::~ConfigNode() = default;

const ConfigNode* ConfigNode::find(std::string_view key) const {
    for (const auto& [name, node] : entries)
        if (name == key) return &node;
    return nullptr;
}

ConfigNode* ConfigNode::find(std::string_view key) {
    return const_cast<ConfigNode*>(static_cast<const ConfigNode*>(this)->find(key));
}

ConfigNode parseYaml(const std::string& text, const std::string& file, ConfigMistakes& mistakes) {
    ConfigNode empty;
    empty.kind = ConfigNode::Kind::Map;
    empty.place = {file, 0, 0};
    if (text.size() > kMaxText) {
        mistakes.error({file, 0, 0}, "", "the file is larger than 16 MiB");
        return empty;
    }
    TreeBuilder builder(file, mistakes);
    try {
        std::istringstream stream(text);
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) return empty;
    } catch (const StopReading&) {
        // told already
    } catch (const YAML::Exception& exception) {
        mistakes.error({file, exception.mark.line + 1, exception.mark.column + 1}, "",
                       fmt::format("not YAML: {}", exception.msg));
    }
    ConfigNode root = builder.take();
    if (root.isNull()) return empty;
    if (!root.isMap()) {
        mistakes.error(root.place, "", "wanted a map of keys at the top of the file");
        return empty;
    }
    return root;
}

ConfigNode withoutRootKey(ConfigNode node) {
    for (const std::string_view root : {"clickhouse", "yandex"}) {
        ConfigNode* inner = node.find(root);
        if (inner && node.entries.size() == 1 && inner->isMap()) {
            ConfigNode content = std::move(*inner);
            return content;
        }
    }
    return node;
}

void mergeConfig(ConfigNode& base, ConfigNode overlay) {
    const bool replaces = isTrue(overlay.find("@replace"));
    if (overlay.isMap()) {
        dropAttribute(overlay, "@replace");
        dropAttribute(overlay, "@merge");
    }
    if (replaces || overlay.isScalar() || overlay.isNull() || base.isScalar() || base.isNull()) {
        stripMergeAttributes(overlay);
        base = std::move(overlay);
        return;
    }
    if (base.isList() || overlay.isList()) {
        base = asList(std::move(base));
        mergeLists(base, asList(std::move(overlay)));
        return;
    }
    for (auto& [key, child] : overlay.entries) {
        ConfigNode* existing = base.find(key);
        if (isTrue(child.find("@remove"))) {
            dropAttribute(base, key);
        } else if (existing) {
            mergeConfig(*existing, std::move(child));
        } else {
            stripMergeAttributes(child);
            base.entries.emplace_back(key, std::move(child));
        }
    }
}

void resolveAttributes(ConfigNode& node, const std::string& path, ConfigMistakes& mistakes) {
    for (const std::string_view refused : {"@from_zk", "@incl", "@encrypted_by"}) {
        const ConfigNode* attribute = node.find(refused);
        if (!attribute) continue;
        mistakes.error(attribute->place, path,
                       fmt::format("the attribute {} is not read here: write the value itself", refused));
        dropAttribute(node, refused);
    }
    for (const std::string_view silent : {"@optional", "@hide_in_preprocessed", "@replace", "@merge"})
        dropAttribute(node, silent);
    takeEnvironment(node, path, mistakes);
    if (const ConfigNode* text = node.find("#text"); text && node.entries.size() == 1) {
        ConfigNode scalar = *text;
        node = std::move(scalar);
    }
    for (auto& [key, child] : node.entries)
        resolveAttributes(child, path.empty() ? key : path + "." + key, mistakes);
    for (size_t i = 0; i < node.items.size(); ++i)
        resolveAttributes(node.items[i], fmt::format("{}[{}]", path, i), mistakes);
}

void overrideConfig(ConfigNode& root,
                    std::string_view path,
                    std::string_view value,
                    ConfigMistakes& mistakes) {
    const ConfigPlace place{"command line", 0, 0};
    ConfigNode* node = &root;
    std::string_view rest = path;
    for (size_t depth = 0; !rest.empty(); ++depth) {
        const size_t dot = std::min(rest.find('.'), rest.size());
        const std::string key(rest.substr(0, dot));
        rest.remove_prefix(std::min(dot + 1, rest.size()));
        if (key.empty() || depth >= kMaxDepth) return mistakes.error(place, path, "wanted --key.sub=value");
        if (!node->isMap()) {
            *node = ConfigNode{};
            node->kind = ConfigNode::Kind::Map;
            node->place = place;
        }
        ConfigNode* child = node->find(key);
        if (!child) child = &node->entries.emplace_back(key, ConfigNode{}).second;
        node = child;
    }
    if (node == &root) return mistakes.error(place, path, "wanted --key.sub=value");
    *node = ConfigNode{};
    node->kind = ConfigNode::Kind::Scalar;
    node->text = value;
    node->place = place;
}

}  // namespace shardd
