#include <algorithm>
#include <sstream>

#include "config/config_sections.h"

namespace shardd {

namespace {

constexpr std::string_view kAcceptHandler = "AcceptCertificateHandler";

void readVerification(ConfigReader& reader, TlsConfig& tls) {
    static const std::vector<std::string_view> words{"none", "relaxed", "strict", "once"};
    size_t index = 0;
    if (reader.readWord("verificationMode", words, index))
        tls.verification_mode = static_cast<TlsConfig::Verification>(index);
}

void readProtocols(ConfigReader& reader, TlsConfig& tls) {
    static constexpr std::string_view kKnown[] = {"sslv2", "sslv3", "tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3"};
    std::string text;
    if (reader.read("disableProtocols", text)) {
        std::ranges::replace(text, ',', ' ');
        std::istringstream words(text);
        for (std::string word; words >> word;) {
            if (std::ranges::find(kKnown, word) == std::end(kKnown))
                reader.error(
                    *reader.take("disableProtocols"), "disableProtocols",
                    "wanted a list of sslv2, sslv3, tlsv1, tlsv1_1, tlsv1_2, tlsv1_3, found '" + word + "'");
            tls.disable_protocols.push_back(std::move(word));
        }
    }
    // The oldest protocol that is still spoken: the others are closed.
    bool required = false;
    const std::pair<std::string_view, std::vector<const char*>> oldest[] = {
        {"requireTLSv1", {}}, {"requireTLSv1_1", {"tlsv1"}}, {"requireTLSv1_2", {"tlsv1", "tlsv1_1"}}};
    for (const auto& [key, closed] : oldest) {
        if (!reader.read(key, required) || !required) continue;
        tls.disable_protocols.insert(tls.disable_protocols.end(), closed.begin(), closed.end());
    }
}

/// {name: KeyFileHandler, options: {password: TEXT}} and {name: AcceptCertificateHandler}
void readHandlers(ConfigReader& reader, TlsConfig& tls) {
    ConfigReader passphrase = reader.section("privateKeyPassphraseHandler");
    std::string name;
    passphrase.read("name", name);
    ConfigReader options = passphrase.section("options");
    options.read("password", tls.private_key_password);
    options.finish();
    passphrase.finish();
    ConfigReader invalid = reader.section("invalidCertificateHandler");
    std::string handler = "RejectCertificateHandler";
    invalid.read("name", handler);
    tls.accepts_invalid_certificate = handler == kAcceptHandler;
    if (!tls.accepts_invalid_certificate && handler != "RejectCertificateHandler")
        invalid.error(*invalid.take("name"), "name",
                      "wanted RejectCertificateHandler or AcceptCertificateHandler, found '" + handler + "'");
    invalid.finish();
}

void readSide(ConfigReader reader, TlsConfig& tls) {
    reader.read("certificateFile", tls.certificate_file);
    reader.read("privateKeyFile", tls.private_key_file);
    reader.read("caConfig", tls.ca_config);
    reader.read("loadDefaultCAFile", tls.load_default_ca_file);
    readVerification(reader, tls);
    reader.readInteger("verificationDepth", tls.verification_depth, 1, 100);
    reader.read("extendedVerification", tls.extended_verification);
    reader.read("cipherList", tls.cipher_list);
    reader.read("preferServerCiphers", tls.prefer_server_ciphers);
    reader.read("dhParamsFile", tls.dh_params_file);
    readProtocols(reader, tls);
    readHandlers(reader, tls);
    for (const std::string_view key :
         {"cacheSessions", "sessionIdContext", "sessionCacheSize", "sessionTimeout", "fips"})
        reader.ignore(key);
    if (tls.certificate_file.empty() != tls.private_key_file.empty())
        reader.error("certificateFile and privateKeyFile belong together");
    reader.finish();
}

}  // namespace

void readTls(ConfigReader reader, Config& config) {
    readSide(reader.section("server"), config.tls_server);
    readSide(reader.section("client"), config.tls_client);
    reader.finish();
}

}  // namespace shardd
