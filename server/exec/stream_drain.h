#pragma once

#include <vector>

#include "server/exec/operator.h"
#include "server/exec/scan_stop.h"
#include "server/storage/distributed.h"

namespace shardd::exec {

/// Pushes everything that the streams bring into `sink`. They fill by themselves, so few workers serve any
/// number of them: whoever is free takes one that has something, and nobody waits for one stream alone. The
/// blocks of each stream stay in their order. Errors: of the streams, and the reason for which the query was
/// cancelled.
void drainStreams(const std::vector<storage::PollableStream*>& streams,
                  ScanStop& stop,
                  QueryContext& context,
                  Sink& sink);

std::vector<storage::PollableStream*> pollable(const std::vector<storage::RemoteStreamPtr>& streams);

}  // namespace shardd::exec
