#include "server/net/tls.h"

#include <boost/asio/ssl/context.hpp>
#include <sys/stat.h>

#include "common/base/error.h"

namespace shardd::net {

namespace {

using Context = boost::asio::ssl::context;
using boost::system::error_code;

constexpr const char* kSessionId = "shardd";

void check(const error_code& error, const char* what, const std::string& file) {
    if (error)
        throw Error(ErrorCode::OPENSSL_ERROR, "Cannot read the {} {}: {}", what, file, error.message());
}

bool isDirectory(const std::string& path) {
    struct stat status {};

    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void loadCertificates(Context& context, const TlsOptions& options) {
    error_code error;
    if (!options.private_key_password.empty())
        context.set_password_callback([password = options.private_key_password](
                                          size_t, Context::password_purpose) { return password; });
    if (!options.certificate_file.empty()) {
        context.use_certificate_chain_file(options.certificate_file, error);
        check(error, "certificate", options.certificate_file);
    }
    if (!options.private_key_file.empty()) {
        context.use_private_key_file(options.private_key_file, Context::pem, error);
        check(error, "private key", options.private_key_file);
    }
    if (!options.certificate_file.empty() && !options.private_key_file.empty() &&
        SSL_CTX_check_private_key(context.native_handle()) != 1)
        throw Error(ErrorCode::OPENSSL_ERROR, "The private key {} does not belong to the certificate {}",
                    options.private_key_file, options.certificate_file);
    if (!options.dh_params_file.empty()) {
        context.use_tmp_dh_file(options.dh_params_file, error);
        check(error, "parameters for Diffie-Hellman", options.dh_params_file);
    }
}

void loadAuthorities(Context& context, const TlsOptions& options) {
    error_code error;
    if (options.use_default_ca) context.set_default_verify_paths(error);  // none there: none believed
    if (options.ca_path.empty()) return;
    error.clear();
    if (isDirectory(options.ca_path))
        context.add_verify_path(options.ca_path, error);
    else
        context.load_verify_file(options.ca_path, error);
    check(error, "certificates of authorities", options.ca_path);
}

long disabledProtocols(const std::vector<std::string>& names) {
    long disabled = SSL_OP_NO_SSLv2 | SSL_OP_NO_SSLv3;
    for (const std::string& name : names) {
        if (name == "tlsv1") disabled |= SSL_OP_NO_TLSv1;
        if (name == "tlsv1_1") disabled |= SSL_OP_NO_TLSv1_1;
        if (name == "tlsv1_2") disabled |= SSL_OP_NO_TLSv1_2;
        if (name == "tlsv1_3") disabled |= SSL_OP_NO_TLSv1_3;
    }
    return disabled;
}

int verifyMode(TlsOptions::Verification verification) {
    switch (verification) {
        case TlsOptions::Verification::None:
            return SSL_VERIFY_NONE;
        case TlsOptions::Verification::Relaxed:
            return SSL_VERIFY_PEER;
        case TlsOptions::Verification::Strict:
            return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
        case TlsOptions::Verification::Once:
            return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_CLIENT_ONCE;
    }
    return SSL_VERIFY_PEER;
}

Tls::State makeState(Tls::Side side, const TlsOptions& options) {
    const bool is_server = side == Tls::Side::Server;
    auto context = std::make_shared<Context>(is_server ? Context::tls_server : Context::tls_client);
    SSL_CTX* native = context->native_handle();
    loadCertificates(*context, options);
    if (options.verification != TlsOptions::Verification::None) loadAuthorities(*context, options);
    SSL_CTX_set_options(native, static_cast<uint64_t>(disabledProtocols(options.disabled_protocols)));
    if (is_server && options.prefer_server_ciphers)
        SSL_CTX_set_options(native, SSL_OP_CIPHER_SERVER_PREFERENCE);
    // A server that verifies its clients must say whose sessions may be taken up again.
    if (is_server)
        SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(kSessionId),
                                       static_cast<unsigned>(std::char_traits<char>::length(kSessionId)));
    if (!options.cipher_list.empty() && SSL_CTX_set_cipher_list(native, options.cipher_list.c_str()) != 1)
        throw Error(ErrorCode::OPENSSL_ERROR, "No cipher is known of those in cipherList: {}",
                    options.cipher_list);
    SSL_CTX_set_verify(native, verifyMode(options.verification), nullptr);
    SSL_CTX_set_verify_depth(native, options.verification_depth);
    const bool checks_host =
        !is_server && options.check_host_name && options.verification != TlsOptions::Verification::None;
    return {.context = std::move(context), .check_host_name = checks_host};
}

}  // namespace

Tls::Tls(Side side, const TlsOptions& options) : side_(side), state_(makeState(side, options)) {}

void Tls::replace(const TlsOptions& options) {
    State fresh = makeState(side_, options);
    const std::lock_guard lock(mutex_);
    state_ = std::move(fresh);
}

Tls::State Tls::current() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

const Tls& Tls::defaultClient() {
    static const Tls client(Side::Client, {});
    return client;
}

}  // namespace shardd::net
