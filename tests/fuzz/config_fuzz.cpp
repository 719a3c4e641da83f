#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "config/config.h"

// Any text is either a configuration or a list of mistakes; nothing else may come out.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        shardd::parseConfig(std::string(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
    } catch (const shardd::Error&) {
        // told
    }
    return 0;
}
