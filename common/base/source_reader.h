#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/byte_source.h"
#include "common/base/reader.h"

namespace shardd {

/// A Reader over a function that gives bytes, none at the end. Threads: one.
class FunctionReader : public Reader {
public:
    using Read = std::function<size_t(char* out, size_t size)>;

    explicit FunctionReader(Read read) : Reader(nullptr, 0), read_(std::move(read)) {}

protected:
    bool refill() override {
        constexpr size_t kBytes = size_t{256} << 10;
        buffer_.resize(kBytes);
        const size_t size = read_(buffer_.data(), kBytes);
        position_ = buffer_.data();
        end_ = position_ + size;
        return size > 0;
    }

private:
    Read read_;
    std::string buffer_;
};

/// The same over a ByteSource, which it keeps alive.
class SourceReader final : public FunctionReader {
public:
    explicit SourceReader(std::shared_ptr<ByteSource> source)
        : FunctionReader(
              [source = std::move(source)](char* out, size_t size) { return source->read(out, size); }) {}
};

}  // namespace shardd
