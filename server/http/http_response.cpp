#include "server/http/http_response.h"

#include <map>
#include <optional>
#include <sstream>

#include <Poco/DeflatingStream.h>
#include <Poco/Net/HTTPChunkedStream.h>
#include <Poco/Net/HTTPServerRequestImpl.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/HTTPServerSession.h>
#include <Poco/Net/NetException.h>

#include "common/base/error.h"
#include "common/protocol/interserver.h"
#include "common/wire/frame.h"

namespace shardd::http {

namespace net = Poco::Net;

namespace {

/// Sixteen letters that nobody can put into a result beforehand.
std::string makeTag() {
    std::string tag;
    for (const char byte : protocol::randomBytes(16))
        tag += static_cast<char>('a' + static_cast<unsigned char>(byte) % 26);
    return tag;
}

Error gone() { return Error(ErrorCode::NETWORK_ERROR, "The HTTP client has gone"); }

}  // namespace

struct ResponseWriter::Impl {
    Impl(net::HTTPServerRequest& from, net::HTTPServerResponse& to, ResponseOptions given)
        : request(static_cast<net::HTTPServerRequestImpl&>(from)), response(to), options(std::move(given)) {}

    void sendHead();
    void sendRaw(const std::string& bytes);
    void sendBody(std::string_view bytes);
    void checkBody() const;

    net::HTTPServerRequestImpl& request;
    net::HTTPServerResponse& response;
    const ResponseOptions options;
    const std::string tag = makeTag();
    std::string held;
    bool head_open = false;  // sent without its last line, so that progress can follow
    std::map<std::string, std::string> late_headers;  // set since then
    std::ostream* plain = nullptr;
    std::optional<net::HTTPChunkedOutputStream> chunked;
    std::optional<Poco::DeflatingOutputStream> deflating;
};

void ResponseWriter::Impl::sendRaw(const std::string& bytes) {
    size_t done = 0;
    try {
        while (done < bytes.size()) {
            const int sent =
                request.socket().sendBytes(bytes.data() + done, static_cast<int>(bytes.size() - done));
            if (sent <= 0) throw gone();
            done += static_cast<size_t>(sent);
        }
    } catch (const Poco::Exception&) {
        throw gone();
    }
}

void ResponseWriter::Impl::sendHead() {
    if (plain) return;
    try {
        if (head_open) {
            std::string rest;
            for (const auto& [name, value] : late_headers) rest += name + ": " + value + "\r\n";
            sendRaw(rest + "\r\n");
            chunked.emplace(request.session());
            plain = &*chunked;
        } else {
            if (request.getVersion() != net::HTTPMessage::HTTP_1_0) response.setChunkedTransferEncoding(true);
            plain = &response.send();
        }
    } catch (const Poco::Exception&) {
        throw gone();
    }
    if (options.compression != HttpRequest::Compression::None)
        deflating.emplace(*plain,
                          options.compression == HttpRequest::Compression::Gzip
                              ? Poco::DeflatingStreamBuf::STREAM_GZIP
                              : Poco::DeflatingStreamBuf::STREAM_ZLIB,
                          3);
}

void ResponseWriter::Impl::checkBody() const {
    if (!plain->good() || (deflating && !deflating->good())) throw gone();
}

void ResponseWriter::Impl::sendBody(std::string_view bytes) {
    if (!options.has_body || bytes.empty()) return;
    Writer frames;
    if (options.frames) {
        encodeFrames(bytes, FrameOptions{}, frames);
        bytes = frames.view();
    }
    std::ostream& out = deflating ? static_cast<std::ostream&>(*deflating) : *plain;
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    checkBody();
}

ResponseWriter::ResponseWriter(net::HTTPServerRequest& request,
                               net::HTTPServerResponse& response,
                               ResponseOptions options)
    : impl_(std::make_unique<Impl>(request, response, std::move(options))) {
    if (impl_->options.compression == HttpRequest::Compression::Gzip)
        response.set("Content-Encoding", "gzip");
    if (impl_->options.compression == HttpRequest::Compression::Deflate)
        response.set("Content-Encoding", "deflate");
    response.set("X-ClickHouse-Exception-Tag", impl_->tag);
}

ResponseWriter::~ResponseWriter() = default;

void ResponseWriter::header(const std::string& name, std::string value) {
    // What a client chose (an id, a format's name) must not end the header and begin another.
    for (char& letter : value)
        if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = ' ';
    if (impl_->head_open)
        impl_->late_headers[name] = std::move(value);
    else if (!impl_->plain)
        impl_->response.set(name, value);
}

void ResponseWriter::progress(const std::string& value) {
    Impl& own = *impl_;
    if (own.plain || own.request.getVersion() == net::HTTPMessage::HTTP_1_0) return;
    if (!own.head_open) {
        own.response.setChunkedTransferEncoding(true);
        std::ostringstream head;
        own.response.write(head);
        std::string text = head.str();
        if (text.ends_with("\r\n\r\n")) text.resize(text.size() - 2);
        own.sendRaw(text);
        own.head_open = true;
    }
    own.sendRaw("X-ClickHouse-Progress: " + value + "\r\n");
}

void ResponseWriter::write(std::string_view bytes) {
    Impl& own = *impl_;
    if (!own.plain) {
        own.held += bytes;
        if (own.held.size() < own.options.hold_bytes) return;
        own.sendHead();
        own.sendBody(std::exchange(own.held, {}));
        return;
    }
    own.sendBody(bytes);
}

bool ResponseWriter::started() const { return impl_->plain || impl_->head_open; }

void ResponseWriter::finish() {
    Impl& own = *impl_;
    own.sendHead();
    own.sendBody(std::exchange(own.held, {}));
    if (own.deflating) own.deflating->close();
    own.plain->flush();
    own.checkBody();
    if (own.chunked) own.chunked.reset();
}

void ResponseWriter::fail(int code, const std::string& text) {
    Impl& own = *impl_;
    if (!started()) {
        own.held.clear();
        own.response.setStatusAndReason(static_cast<net::HTTPResponse::HTTPStatus>(statusOf(code)));
        own.response.set("X-ClickHouse-Exception-Code", std::to_string(code));
        own.response.setContentType("text/plain; charset=UTF-8");
        own.held = text;
        return finish();
    }
    own.response.setKeepAlive(false);
    header("X-ClickHouse-Exception-Code", std::to_string(code));
    own.sendHead();
    own.sendBody(std::exchange(own.held, {}));
    own.plain->flush();  // the error has a chunk of its own: clients read it from one piece
    // The mark, the tag that the head has named, the text, its length, and the same backwards.
    own.sendBody(fmt::format("\r\n__exception__\r\n{0}\r\n{1}{2} {0}\r\n__exception__\r\n", own.tag, text,
                             text.size()));
    if (own.deflating) own.deflating->close();
    own.plain->flush();
    abort();
}

bool ResponseWriter::clientGone() {
    try {
        net::StreamSocket& socket = impl_->request.socket();
        return socket.poll(Poco::Timespan(0), net::Socket::SELECT_READ) && socket.available() == 0;
    } catch (const Poco::Exception&) {
        return true;
    }
}

void ResponseWriter::abort() {
    try {
        impl_->response.setKeepAlive(false);
        impl_->request.socket().shutdown();
    } catch (const Poco::Exception&) {
        return;  // it is closed already
    }
}

}  // namespace shardd::http
