#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/file_system.h"

namespace shardd::tests {

/// A disk in memory that can lose power. What was not synced is then forgotten: the bytes of files, and the
/// names in directories, each on its own. It can also stop at the n-th change, and be full.
class ForgetfulFileSystem final : public FileSystem {
public:
    /// Thrown by the change that is not made any more; nothing is changed after it.
    struct Stopped {};

    enum class Crash {
        Kill,       // the process ends; the disk has everything
        LosePower,  // only what was synced is there
        LoseBytes,  // names are there, the bytes of unsynced files are not
    };

    /// The change with this number (from 1 on) and all later ones throw Stopped; 0: never.
    void stopAt(size_t change) { stop_at_ = change == 0 ? 0 : changes_ + change; }

    /// Files may not grow beyond this many bytes together; 0 is no limit.
    void setCapacity(uint64_t bytes) { capacity_ = bytes; }

    size_t changes() const { return changes_; }

    /// The disk as the next start finds it.
    void crash(Crash kind) {
        stop_at_ = 0;
        forget(*root_, kind);
    }

    std::unique_ptr<ReadableFile> openForReading(const std::string& path) const override {
        const std::lock_guard lock(mutex_);
        return std::make_unique<Reading>(fileAt(path));
    }

    std::unique_ptr<WritableFile> create(const std::string& path) override {
        const std::lock_guard lock(mutex_);
        change();
        auto node = std::make_shared<Node>();
        directoryOf(path).entries[nameOf(path)] = node;
        return std::make_unique<Writing>(*this, std::move(node));
    }

    void createDirectories(const std::string& path) override {
        const std::lock_guard lock(mutex_);
        Node* at = root_.get();
        for (const std::string& name : split(path)) {
            if (!at->entries.contains(name)) {
                change();
                auto made = std::make_shared<Node>();
                made->is_directory = true;
                at->entries[name] = std::move(made);
            }
            at = at->entries[name].get();
        }
    }

    void rename(const std::string& from, const std::string& to) override {
        const std::lock_guard lock(mutex_);
        change();
        Node& source = directoryOf(from);
        const auto found = source.entries.find(nameOf(from));
        if (found == source.entries.end()) throw Error(ErrorCode::FILE_DOESNT_EXIST, "no {}", from);
        std::shared_ptr<Node> node = found->second;
        Node& target = directoryOf(to);
        if (const auto there = target.entries.find(nameOf(to));
            there != target.entries.end() && !there->second->entries.empty())
            throw Error(ErrorCode::FILE_ALREADY_EXISTS, "there is a {}", to);
        source.entries.erase(found);
        target.entries[nameOf(to)] = std::move(node);
    }

    void exchange(const std::string& one, const std::string& other) override {
        const std::lock_guard lock(mutex_);
        change();
        std::swap(directoryOf(one).entries.at(nameOf(one)), directoryOf(other).entries.at(nameOf(other)));
    }

    void link(const std::string& from, const std::string& to) override {
        const std::lock_guard lock(mutex_);
        change();
        directoryOf(to).entries[nameOf(to)] = fileAt(from);
    }

    void removeFile(const std::string& path) override {
        const std::lock_guard lock(mutex_);
        change();
        if (directoryOf(path).entries.erase(nameOf(path)) == 0)
            throw Error(ErrorCode::FILE_DOESNT_EXIST, "no {}", path);
    }

    /// As a real one does: file by file, so that a stop leaves some.
    void removeRecursively(const std::string& path) override {
        const std::lock_guard lock(mutex_);
        Node* parent = find(parentPath(path));
        if (!parent) return;
        const auto found = parent->entries.find(nameOf(path));
        if (found == parent->entries.end()) return;
        empty(*found->second);
        change();
        parent->entries.erase(found);
    }

    void syncDirectory(const std::string& path) override {
        const std::lock_guard lock(mutex_);
        change();
        Node* node = find(path);
        if (!node) throw Error(ErrorCode::FILE_DOESNT_EXIST, "no {}", path);
        node->synced_entries = node->entries;
    }

    std::vector<Entry> list(const std::string& path) const override {
        const std::lock_guard lock(mutex_);
        std::vector<Entry> entries;
        if (const Node* node = find(path))
            for (const auto& [name, entry] : node->entries) entries.push_back({name, entry->is_directory});
        return entries;
    }

    bool exists(const std::string& path) const override {
        const std::lock_guard lock(mutex_);
        return find(path) != nullptr;
    }

    uint64_t fileSize(const std::string& path) const override {
        const std::lock_guard lock(mutex_);
        return fileAt(path)->bytes.size();
    }

    /// Changes a byte of a file, as a bad disk does.
    void corrupt(const std::string& path, size_t offset) {
        const std::lock_guard lock(mutex_);
        fileAt(path)->bytes.at(offset) ^= 1;
    }

private:
    struct Node {
        bool is_directory = false;
        std::string bytes;
        std::string synced_bytes;
        std::map<std::string, std::shared_ptr<Node>> entries;
        std::map<std::string, std::shared_ptr<Node>> synced_entries;
    };

    class Reading final : public ReadableFile {
    public:
        explicit Reading(std::shared_ptr<Node> node) : node_(std::move(node)) {}

        uint64_t size() const override { return node_->bytes.size(); }

        size_t read(uint64_t offset, char* out, size_t bytes) const override {
            if (offset >= node_->bytes.size()) return 0;
            const size_t taken = std::min<size_t>(bytes, node_->bytes.size() - offset);
            std::memcpy(out, node_->bytes.data() + offset, taken);
            return taken;
        }

    private:
        std::shared_ptr<Node> node_;
    };

    class Writing final : public WritableFile {
    public:
        Writing(ForgetfulFileSystem& disk, std::shared_ptr<Node> node)
            : disk_(disk), node_(std::move(node)) {}

        void append(std::string_view bytes) override {
            const std::lock_guard lock(disk_.mutex_);
            disk_.change();
            if (disk_.capacity_ != 0 && disk_.used_ + bytes.size() > disk_.capacity_)
                throw Error(ErrorCode::NOT_ENOUGH_SPACE, "No space left on device");
            disk_.used_ += bytes.size();
            node_->bytes += bytes;
        }

        void sync() override {
            const std::lock_guard lock(disk_.mutex_);
            disk_.change();
            node_->synced_bytes = node_->bytes;
        }

    private:
        ForgetfulFileSystem& disk_;
        std::shared_ptr<Node> node_;
    };

    void change() {
        if (stop_at_ != 0 && changes_ + 1 >= stop_at_) throw Stopped();
        ++changes_;
    }

    static std::vector<std::string> split(const std::string& path) {
        std::vector<std::string> names;
        for (size_t start = 0; start < path.size();) {
            const size_t end = std::min(path.find('/', start), path.size());
            if (end > start) names.push_back(path.substr(start, end - start));
            start = end + 1;
        }
        return names;
    }

    static std::string nameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

    Node* find(const std::string& path) const {
        Node* at = root_.get();
        for (const std::string& name : split(path)) {
            const auto found = at->entries.find(name);
            if (found == at->entries.end()) return nullptr;
            at = found->second.get();
        }
        return at;
    }

    Node& directoryOf(const std::string& path) const {
        Node* node = find(parentPath(path));
        if (!node) throw Error(ErrorCode::FILE_DOESNT_EXIST, "no directory {}", parentPath(path));
        return *node;
    }

    std::shared_ptr<Node> fileAt(const std::string& path) const {
        Node* directory = find(parentPath(path));
        if (directory)
            if (const auto found = directory->entries.find(nameOf(path)); found != directory->entries.end())
                return found->second;
        throw Error(ErrorCode::FILE_DOESNT_EXIST, "no {}", path);
    }

    void empty(Node& node) {
        while (!node.entries.empty()) {
            empty(*node.entries.begin()->second);
            change();
            node.entries.erase(node.entries.begin());
        }
    }

    static void forget(Node& node, Crash kind) {
        if (kind == Crash::Kill) return;
        if (kind == Crash::LosePower && node.is_directory) node.entries = node.synced_entries;
        if (!node.is_directory) node.bytes = node.synced_bytes;
        // What is on the disk now is what the next crash can rely on.
        node.synced_entries = node.entries;
        for (auto& [name, entry] : node.entries) forget(*entry, kind);
    }

    mutable std::mutex mutex_;
    std::shared_ptr<Node> root_ = [] {
        auto node = std::make_shared<Node>();
        node->is_directory = true;
        return node;
    }();
    size_t changes_ = 0;
    size_t stop_at_ = 0;
    uint64_t capacity_ = 0;
    uint64_t used_ = 0;
};

}  // namespace shardd::tests
