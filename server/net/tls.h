#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace shardd::net {

/// How one side of TLS is set up: certificates, and whom it believes.
struct TlsOptions {
    /// Of the peer's certificate. A server asks for one unless None; Relaxed checks what is presented, Strict
    /// and Once refuse a peer without. A client checks the server's unless None.
    enum class Verification : uint8_t { None, Relaxed, Strict, Once };

    std::string certificate_file;  // PEM, with its chain; may be empty for a client
    std::string private_key_file;
    std::string private_key_password;
    /// Certificates to believe: a file or a folder; empty for none but the system's.
    std::string ca_path;
    bool use_default_ca = true;
    Verification verification = Verification::Relaxed;
    int verification_depth = 9;
    /// A client also checks that the certificate is for the host it asked for.
    bool check_host_name = false;
    /// OpenSSL's words; empty for its own choice.
    std::string cipher_list;
    bool prefer_server_ciphers = false;
    std::string dh_params_file;
    /// "sslv3", "tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3"
    std::vector<std::string> disabled_protocols;
};

/// One side of TLS. New connections take what was set last; those that live keep what they have.
/// Threads: any.
class Tls {
public:
    enum class Side : uint8_t { Server, Client };

    struct State {
        std::shared_ptr<boost::asio::ssl::context> context;
        bool check_host_name = false;
    };

    /// Errors: OPENSSL_ERROR (454), naming the file and what is wrong with it.
    Tls(Side side, const TlsOptions& options);

    /// Reads all files again. On errors everything stays as it was.
    void replace(const TlsOptions& options);

    State current() const;

    /// A client that believes the certificates of the system.
    static const Tls& defaultClient();

private:
    const Side side_;
    mutable std::mutex mutex_;  // guards state_
    State state_;
};

}  // namespace shardd::net
