#include "server/bootstrap/messages.h"

#include <gtest/gtest.h>

namespace shardd::bootstrap {
namespace {

Member member(uint32_t rank) {
    Member made;
    made.rank = rank;
    made.id = std::string(31, 'e') + static_cast<char>('0' + rank);
    made.role = BootstrapConfig::Role::Initiator;
    made.host = "h" + std::to_string(rank);
    made.port = static_cast<uint16_t>(9000 + rank);
    made.secure = true;
    made.version = "1.2.3";
    made.state = MemberState::Ready;
    made.problem = "none";
    return made;
}

template <typename T>
std::string bytesOf(const T& message) {
    Writer out;
    encode(message, out);
    return std::string(out.view());
}

Hello hello() {
    Hello made;
    made.head = {.protocol = kProtocol, .sealed = true, .nonce = std::string(kNonceBytes, 'n')};
    made.cluster = "c";
    made.world_size = 3;
    made.member = member(1);
    return made;
}

Answer viewOfTwo() {
    Answer answer;
    answer.view = {{member(0), true}, {member(2), false}};
    return answer;
}

TEST(MessagesTest, roundTrips) {
    const std::string greeting =
        bytesOf(Greeting{.protocol = 7, .sealed = true, .nonce = std::string(16, 'x')});
    EXPECT_EQ(greeting.size(), Greeting::kBytes);
    Reader greeting_in(greeting);
    EXPECT_EQ(decodeGreeting(greeting_in).protocol, 7);

    const std::string hello_bytes = bytesOf(hello());
    Reader hello_in(hello_bytes);
    const Hello back = decodeHello(hello_in);
    EXPECT_EQ(back.cluster, "c");
    EXPECT_EQ(back.world_size, 3U);
    EXPECT_EQ(back.member, member(1));
    EXPECT_TRUE(back.head.sealed);

    const std::string beat_bytes = bytesOf(Beat{.member = member(1), .roster = {member(0), member(1)}});
    Reader beat_in(beat_bytes);
    EXPECT_EQ(decodeBeat(beat_in).roster, (std::vector<Member>{member(0), member(1)}));

    const std::string view_bytes = bytesOf(viewOfTwo());
    Reader view_in(view_bytes);
    EXPECT_EQ(decodeAnswer(view_in).view, viewOfTwo().view);

    Answer no;
    no.refusal = Refusal{.kind = Refusal::Kind::Duplicate, .code = 318, .text = "a\nb"};
    const std::string no_bytes = bytesOf(no);
    Reader no_in(no_bytes);
    EXPECT_EQ(decodeAnswer(no_in).refusal,
              (Refusal{.kind = Refusal::Kind::Duplicate, .code = 318, .text = "a b"}));
}

/// Cut short anywhere, or with a byte too many, it is an Error; with any byte changed it is an Error or a
/// message.
template <typename Decode>
void torture(const std::string& good, Decode decode) {
    for (size_t size = 0; size < good.size(); ++size) {
        Reader in(std::string_view(good).substr(0, size));
        EXPECT_THROW(decode(in), Error) << size;
    }
    const std::string longer = good + "x";
    Reader too_long(longer);
    EXPECT_THROW(decode(too_long), Error);
    for (size_t at = 0; at < good.size(); ++at) {
        for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            std::string changed = good;
            changed[at] = static_cast<char>(value);
            Reader in(changed);
            try {
                decode(in);
            } catch (const Error&) {
                continue;
            }
        }
    }
}

TEST(MessagesTest, hostileBytes) {
    torture(bytesOf(hello()), [](Reader& in) { return decodeHello(in); });
    torture(bytesOf(Beat{.member = member(1), .roster = {member(0)}}),
            [](Reader& in) { return decodeBeat(in); });
    torture(bytesOf(viewOfTwo()), [](Reader& in) { return decodeAnswer(in); });
}

TEST(MessagesTest, fieldsThatMustNotBe) {
    const auto refused = [](auto change) {
        Hello made = hello();
        change(made);
        const std::string bytes = bytesOf(made);
        Reader in(bytes);
        try {
            decodeHello(in);
        } catch (const Error& error) {
            return error.message();
        }
        return std::string();
    };
    EXPECT_EQ(refused([](Hello&) {}), "");
    EXPECT_EQ(refused([](Hello& made) { made.member.id = "x"; }),
              "Bootstrap: a node's id is not 32 hexadecimal digits");
    EXPECT_EQ(refused([](Hello& made) { made.member.rank = 5000; }), "Bootstrap: rank 5000 is too large");
    EXPECT_EQ(refused([](Hello& made) { made.world_size = 100000; }), "Bootstrap: world size 100000");
    EXPECT_EQ(refused([](Hello& made) { made.member.host = "a\x1b[2J"; }),
              "Bootstrap: a control character in a host");
    EXPECT_EQ(refused([](Hello& made) { made.member.port = 0; }), "Bootstrap: a node without an address");
    EXPECT_EQ(refused([](Hello& made) { made.head.protocol = 2; }),
              "Bootstrap: version 2 of the protocol is not 1");
}

TEST(MessagesTest, sealsProveTheSecretOnceAndInOneDirection) {
    using Side = FrameSealer::Side;
    const std::string host_nonce(kNonceBytes, 'h');
    const std::string node_nonce(kNonceBytes, 'n');
    FrameSealer writer("secret", Side::Node, host_nonce, node_nonce);
    const std::string first = writer.seal("one").substr(4);
    const std::string second = writer.seal("two").substr(4);
    FrameSealer reader("secret", Side::Node, host_nonce, node_nonce);
    EXPECT_EQ(reader.open(first), "one");
    EXPECT_THROW(reader.open(first), Error);  // said again
    FrameSealer again("secret", Side::Node, host_nonce, node_nonce);
    EXPECT_THROW(again.open(second), Error);  // out of order
    FrameSealer other_way("secret", Side::Host, host_nonce, node_nonce);
    EXPECT_THROW(other_way.open(first), Error);
    FrameSealer other_secret("Secret", Side::Node, host_nonce, node_nonce);
    EXPECT_THROW(other_secret.open(first), Error);
    FrameSealer other_talk("secret", Side::Node, node_nonce, host_nonce);
    EXPECT_THROW(other_talk.open(first), Error);
    FrameSealer short_frame("secret", Side::Node, host_nonce, node_nonce);
    EXPECT_THROW(short_frame.open("x"), Error);
    FrameSealer open("", Side::Node, host_nonce, node_nonce);
    EXPECT_EQ(open.open(open.seal("one").substr(4)), "one");
}

}  // namespace
}  // namespace shardd::bootstrap
