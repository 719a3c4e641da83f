#include "common/base/log.h"

namespace shardd {

namespace {

std::atomic<LogSink*> current_sink = nullptr;

}  // namespace

void setLogSink(LogSink* sink) { current_sink.store(sink, std::memory_order_release); }

LogSink* logSink() { return current_sink.load(std::memory_order_acquire); }

}  // namespace shardd
