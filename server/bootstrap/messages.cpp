#include "server/bootstrap/messages.h"

#include "common/protocol/interserver.h"

namespace shardd::bootstrap {

namespace {

constexpr size_t kMaxName = 256;
constexpr size_t kMaxProblem = 512;
constexpr size_t kMaxReason = 2048;

enum class FrameKind : uint8_t { Hello = 1, Beat = 2, View = 3, Refusal = 4 };

Error wrong(std::string_view what) { return Error(ErrorCode::INCORRECT_DATA, "Bootstrap: {}", what); }

void needKind(Reader& in, FrameKind wanted) {
    const uint8_t kind = in.readByte();
    if (kind != static_cast<uint8_t>(wanted))
        throw wrong(fmt::format("wanted a frame of kind {}, found {}", static_cast<int>(wanted), kind));
}

bool readFlag(Reader& in, std::string_view what) {
    const uint8_t flag = in.readByte();
    if (flag > 1) throw wrong(fmt::format("{} is {}, wanted 0 or 1", what, flag));
    return flag == 1;
}

size_t readCount(Reader& in) {
    const uint64_t count = in.readVarUInt();
    if (count > kMaxWorldSize) throw wrong(fmt::format("{} members are too many", count));
    return count;
}

void needEnd(Reader& in) {
    if (!in.atEnd()) throw wrong("bytes behind the end of a frame");
}

void needMagic(Reader& in) {
    std::string magic(kMagic.size(), '\0');
    in.readBytes(magic.data(), magic.size());
    if (magic != kMagic) throw wrong("this is another protocol");
}

std::string readNonce(Reader& in) {
    std::string nonce(kNonceBytes, '\0');
    in.readBytes(nonce.data(), nonce.size());
    return nonce;
}

/// Text of others ends up in logs and messages: no control characters.
std::string readText(Reader& in, size_t limit, std::string_view what) {
    std::string text = in.readString(limit);
    for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            throw wrong(fmt::format("a control character in {}", what));
    return text;
}

std::string plain(std::string_view text, size_t limit) {
    std::string result(text.substr(0, limit));
    for (char& c : result)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    return result;
}

}  // namespace

void encode(const Greeting& greeting, Writer& out) {
    out.writeBytes(kMagic);
    out.writeFixed(greeting.protocol);
    out.writeByte(greeting.sealed ? 1 : 0);
    out.writeBytes(greeting.nonce);
}

Greeting decodeGreeting(Reader& in) {
    needMagic(in);
    Greeting greeting;
    greeting.protocol = in.readFixed<uint16_t>();
    greeting.sealed = readFlag(in, "the mark of a secret");
    greeting.nonce = readNonce(in);
    return greeting;
}

void encode(const Member& member, Writer& out) {
    out.writeVarUInt(member.rank);
    out.writeString(member.id);
    out.writeByte(static_cast<uint8_t>(member.role));
    out.writeString(member.host);
    out.writeFixed(member.port);
    out.writeByte(member.secure ? 1 : 0);
    out.writeString(member.version);
    out.writeByte(static_cast<uint8_t>(member.state));
    out.writeString(plain(member.problem, kMaxProblem));
}

Member decodeMember(Reader& in) {
    Member member;
    const uint64_t rank = in.readVarUInt();
    if (rank >= kMaxWorldSize) throw wrong(fmt::format("rank {} is too large", rank));
    member.rank = static_cast<uint32_t>(rank);
    member.id = in.readString(kMaxName);
    if (member.id.size() != 32 || member.id.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw wrong("a node's id is not 32 hexadecimal digits");
    const uint8_t role = in.readByte();
    if (role > static_cast<uint8_t>(BootstrapConfig::Role::Both)) throw wrong(fmt::format("role {}", role));
    member.role = static_cast<BootstrapConfig::Role>(role);
    member.host = readText(in, kMaxName, "a host");
    member.port = in.readFixed<uint16_t>();
    if (member.host.empty() || member.port == 0) throw wrong("a node without an address");
    member.secure = readFlag(in, "the mark of TLS");
    member.version = readText(in, kMaxName, "a version");
    const uint8_t state = in.readByte();
    if (state > static_cast<uint8_t>(MemberState::Left)) throw wrong(fmt::format("state {}", state));
    member.state = static_cast<MemberState>(state);
    member.problem = readText(in, kMaxProblem, "a problem");
    return member;
}

void encode(const Hello& hello, Writer& out) {
    out.writeByte(static_cast<uint8_t>(FrameKind::Hello));
    out.writeBytes(kMagic);
    out.writeFixed(hello.head.protocol);
    out.writeByte(hello.head.sealed ? 1 : 0);
    out.writeBytes(hello.head.nonce);
    out.writeString(hello.cluster);
    out.writeVarUInt(hello.world_size);
    encode(hello.member, out);
}

HelloHead decodeHelloHead(Reader& in) {
    needKind(in, FrameKind::Hello);
    needMagic(in);
    HelloHead head;
    head.protocol = in.readFixed<uint16_t>();
    head.sealed = readFlag(in, "the mark of a secret");
    head.nonce = readNonce(in);
    return head;
}

Hello decodeHello(Reader& in) {
    Hello hello;
    hello.head = decodeHelloHead(in);
    if (hello.head.protocol != kProtocol)
        throw wrong(fmt::format("version {} of the protocol is not {}", hello.head.protocol, kProtocol));
    hello.cluster = readText(in, kMaxName, "a cluster's name");
    const uint64_t world_size = in.readVarUInt();
    if (world_size == 0 || world_size > kMaxWorldSize) throw wrong(fmt::format("world size {}", world_size));
    hello.world_size = static_cast<uint32_t>(world_size);
    hello.member = decodeMember(in);
    needEnd(in);
    return hello;
}

void encode(const Beat& beat, Writer& out) {
    out.writeByte(static_cast<uint8_t>(FrameKind::Beat));
    encode(beat.member, out);
    out.writeVarUInt(beat.roster.size());
    for (const Member& member : beat.roster) encode(member, out);
}

Beat decodeBeat(Reader& in) {
    needKind(in, FrameKind::Beat);
    Beat beat;
    beat.member = decodeMember(in);
    const size_t count = readCount(in);
    for (size_t i = 0; i < count; ++i) beat.roster.push_back(decodeMember(in));
    needEnd(in);
    return beat;
}

void encode(const Answer& answer, Writer& out) {
    if (answer.refusal) {
        out.writeByte(static_cast<uint8_t>(FrameKind::Refusal));
        out.writeByte(static_cast<uint8_t>(answer.refusal->kind));
        out.writeVarUInt(static_cast<uint64_t>(answer.refusal->code));
        out.writeString(plain(answer.refusal->text, kMaxReason));
        return;
    }
    out.writeByte(static_cast<uint8_t>(FrameKind::View));
    out.writeVarUInt(answer.view.size());
    for (const Record& record : answer.view) {
        out.writeByte(record.alive ? 1 : 0);
        encode(record.member, out);
    }
}

Answer decodeAnswer(Reader& in) {
    const auto kind = static_cast<FrameKind>(in.readByte());
    Answer answer;
    if (kind == FrameKind::Refusal) {
        Refusal& refusal = answer.refusal.emplace();
        refusal.kind =
            readFlag(in, "the kind of a refusal") ? Refusal::Kind::Duplicate : Refusal::Kind::Other;
        const uint64_t code = in.readVarUInt();
        if (code > 100000) throw wrong(fmt::format("error code {}", code));
        refusal.code = static_cast<int>(code);
        refusal.text = readText(in, kMaxReason, "a refusal");
    } else if (kind == FrameKind::View) {
        const size_t count = readCount(in);
        for (size_t i = 0; i < count; ++i) {
            const bool alive = readFlag(in, "the mark of life");
            answer.view.push_back({decodeMember(in), alive});
            if (i > 0 && answer.view[i - 1].member.rank >= answer.view[i].member.rank)
                throw wrong("members are not in the order of their ranks");
        }
    } else {
        throw wrong(fmt::format("a frame of kind {} is no answer", static_cast<int>(kind)));
    }
    needEnd(in);
    return answer;
}

FrameSealer::FrameSealer(std::string_view secret,
                         Side side,
                         std::string_view host_nonce,
                         std::string_view node_nonce) {
    if (secret.empty()) return;
    std::string salt = "shardd bootstrap ";
    salt += static_cast<char>(side);
    salt += host_nonce;
    salt += node_nonce;
    key_ = protocol::hmacSha256(secret, salt);
}

std::string FrameSealer::sealOf(std::string_view payload) {
    Writer bytes;
    bytes.writeFixed(number_++);
    bytes.writeBytes(payload);
    return protocol::hmacSha256(key_, bytes.view());
}

std::string FrameSealer::seal(std::string_view payload) {
    Writer frame;
    frame.writeFixed(static_cast<uint32_t>(payload.size() + sealBytes()));
    frame.writeBytes(payload);
    if (!key_.empty()) frame.writeBytes(sealOf(payload));
    return std::string(frame.view());
}

std::string_view FrameSealer::open(std::string_view sealed) {
    if (key_.empty()) return sealed;
    const size_t size = sealed.size() < kSealBytes ? 0 : sealed.size() - kSealBytes;
    const std::string_view payload = sealed.substr(0, size);
    if (!protocol::equalInConstantTime(sealed.substr(size), sealOf(payload)))
        throw Error(ErrorCode::AUTHENTICATION_FAILED, "Bootstrap: the secret is another one");
    return payload;
}

}  // namespace shardd::bootstrap
