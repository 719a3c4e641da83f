#pragma once

#include "config/config.h"
#include "server/net/tls.h"

namespace shardd::daemon {

/// One side of `openSSL:` as the network takes it.
net::TlsOptions tlsOptions(const TlsConfig& config);

}  // namespace shardd::daemon
