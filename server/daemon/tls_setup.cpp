#include "server/daemon/tls_setup.h"

namespace shardd::daemon {

net::TlsOptions tlsOptions(const TlsConfig& config) {
    using Verification = net::TlsOptions::Verification;
    static constexpr Verification kModes[] = {Verification::None, Verification::Relaxed, Verification::Strict,
                                              Verification::Once};
    net::TlsOptions options;
    options.certificate_file = config.certificate_file;
    options.private_key_file = config.private_key_file;
    options.private_key_password = config.private_key_password;
    options.ca_path = config.ca_config;
    options.use_default_ca = config.load_default_ca_file;
    options.verification = kModes[static_cast<size_t>(config.verification_mode)];
    if (config.accepts_invalid_certificate) options.verification = Verification::None;
    options.verification_depth = static_cast<int>(config.verification_depth);
    options.check_host_name = config.extended_verification;
    options.cipher_list = config.cipher_list;
    options.prefer_server_ciphers = config.prefer_server_ciphers;
    options.dh_params_file = config.dh_params_file;
    options.disabled_protocols = config.disable_protocols;
    return options;
}

}  // namespace shardd::daemon
