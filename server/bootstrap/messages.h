#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/reader.h"
#include "common/base/writer.h"
#include "server/bootstrap/member.h"

namespace shardd::bootstrap {

/// What nodes say to rank 0 and hear from it. The bytes are drawn in docs/distribution.md, "Bootstrap"; never
/// renumber.
constexpr std::string_view kMagic = "SHARDBTS";
constexpr uint16_t kProtocol = 1;
constexpr size_t kNonceBytes = 16;
constexpr size_t kSealBytes = 32;
/// The first frame of somebody who has proved nothing yet, and all others.
constexpr size_t kMaxHelloBytes = 4096;
constexpr size_t kMaxFrameBytes = size_t{1} << 20;

/// What rank 0 says first to whoever connects.
struct Greeting {
    uint16_t protocol = kProtocol;
    bool sealed = false;  ///< a secret is configured: frames carry a seal
    std::string nonce;

    static constexpr size_t kBytes = 8 + 2 + 1 + kNonceBytes;
};

/// How a node's first frame begins, in every version of the protocol.
struct HelloHead {
    uint16_t protocol = kProtocol;
    bool sealed = false;
    std::string nonce;
};

/// The first frame of a node: which group it looks for, and itself.
struct Hello {
    HelloHead head;
    std::string cluster;
    uint32_t world_size = 0;
    Member member;
};

/// Every later frame of a node.
struct Beat {
    Member member;
    /// All members as a formed group knows them, once a connection: rank 0 may have forgotten them.
    std::vector<Member> roster;
};

/// Why somebody may not join.
struct Refusal {
    enum class Kind : uint8_t { Other = 0, Duplicate = 1 };

    Kind kind = Kind::Other;
    int code = 0;
    std::string text;

    bool operator==(const Refusal&) const = default;
};

/// What rank 0 answers to each frame: everyone, or why not.
struct Answer {
    View view;
    std::optional<Refusal> refusal;
};

void encode(const Greeting& greeting, Writer& out);
void encode(const Hello& hello, Writer& out);
void encode(const Beat& beat, Writer& out);
void encode(const Answer& answer, Writer& out);
void encode(const Member& member, Writer& out);

/// Errors: INCORRECT_DATA (117) saying which field; CANNOT_READ_ALL_DATA (33) for bytes that end early.
Greeting decodeGreeting(Reader& in);
HelloHead decodeHelloHead(Reader& in);
Hello decodeHello(Reader& in);
Beat decodeBeat(Reader& in);
Answer decodeAnswer(Reader& in);
Member decodeMember(Reader& in);

/// Frames of one connection, in one direction: length (UInt32), payload, and with a secret 32 bytes that
/// prove it, bound to both nonces, the direction and the number of the frame.
class FrameSealer {
public:
    enum class Side : uint8_t { Node = 'N', Host = 'H' };

    /// An empty secret: no seals.
    FrameSealer(std::string_view secret, Side side, std::string_view host_nonce, std::string_view node_nonce);

    size_t sealBytes() const { return key_.empty() ? 0 : kSealBytes; }

    /// The whole frame of `payload`.
    std::string seal(std::string_view payload);

    /// The payload of what followed the length. Errors: AUTHENTICATION_FAILED (516).
    std::string_view open(std::string_view sealed);

private:
    std::string sealOf(std::string_view payload);

    std::string key_;
    uint64_t number_ = 0;
};

}  // namespace shardd::bootstrap
