#include "server/http/http_query.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <Poco/InflatingStream.h>
#include <Poco/Net/HTTPBasicCredentials.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/URI.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/source_reader.h"
#include "common/protocol/interserver.h"
#include "common/wire/frame.h"
#include "server/formats/output_format.h"
#include "server/http/http_request.h"
#include "server/http/http_response.h"
#include "server/http/session_store.h"

namespace shardd::http {

namespace net = Poco::Net;

namespace {

constexpr Log kLog("http");
constexpr size_t kDefaultMaxQuerySize = 262144;
/// With wait_end_of_query: what is held back before the head is sent all the same.
constexpr size_t kMostHeldBytes = size_t{64} << 20;

/// The body of a request as it was before it was compressed. Ends early only with an Error.
class RequestBody final : public ByteSource {
public:
    RequestBody(net::HTTPServerRequest& request, ResponseWriter& response, const HttpRequest& wanted)
        : request_(request), response_(response), frames_in_(wanted.frames_in) {
        using Compression = HttpRequest::Compression;
        // Nothing follows a head that does not say so.
        ended_ = !request.getChunkedTransferEncoding() &&
                 (!request.hasContentLength() || request.getContentLength64() == 0);
        if (wanted.encoded != Compression::None)
            inflating_.emplace(request.stream(), wanted.encoded == Compression::Gzip
                                                     ? Poco::InflatingStreamBuf::STREAM_GZIP
                                                     : Poco::InflatingStreamBuf::STREAM_ZLIB);
    }

    size_t read(char* out, size_t size) override {
        if (!frames_in_) return readPlain(out, size);
        if (!frames_) {
            plain_.emplace([this](char* to, size_t most) { return readPlain(to, most); });
            frames_.emplace(*plain_);
        }
        if (frames_->atEnd()) return 0;
        const size_t taken = std::min(size, frames_->available());
        frames_->readBytes(out, taken);
        return taken;
    }

    bool ended() const { return ended_; }

private:
    size_t readPlain(char* out, size_t size) {
        if (ended_) return 0;
        std::istream& in = inflating_ ? static_cast<std::istream&>(*inflating_) : request_.stream();
        try {
            in.read(out, static_cast<std::streamsize>(size));
        } catch (const Poco::Exception& exception) {
            throw Error(ErrorCode::NETWORK_ERROR, "Cannot read the body of the request: {}",
                        exception.displayText());
        }
        const auto got = static_cast<size_t>(in.gcount());
        received_ += got;
        if (got < size) end(in);
        return got;
    }

    /// A body that was cut must not look like one that is complete.
    void end(const std::istream& in) {
        const auto length = request_.getContentLength64();
        const bool is_short =
            !inflating_ && request_.hasContentLength() && received_ != static_cast<uint64_t>(length);
        const bool is_cut = request_.getChunkedTransferEncoding() && response_.clientGone();
        if (in.bad() || is_short || is_cut)
            throw Error(ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
                        "The body of the request ends early: {} bytes have come", received_);
        ended_ = true;
    }

    net::HTTPServerRequest& request_;
    ResponseWriter& response_;
    const bool frames_in_;
    std::optional<Poco::InflatingInputStream> inflating_;
    std::optional<FunctionReader> plain_;
    std::optional<FrameReader> frames_;
    uint64_t received_ = 0;
    std::atomic<bool> ended_ = false;
};

std::optional<std::string> headerOf(const void* request, std::string_view name) {
    const auto& headers = *static_cast<const net::HTTPServerRequest*>(request);
    const std::string key(name);
    if (!headers.has(key)) return std::nullopt;
    return headers.get(key);
}

std::optional<std::pair<std::string, std::string>> basicOf(const net::HTTPServerRequest& request) {
    if (!request.hasCredentials()) return std::nullopt;
    std::string scheme;
    std::string text;
    request.getCredentials(scheme, text);
    if (Poco::icompare(scheme, "Basic") != 0)
        throw Error(ErrorCode::AUTHENTICATION_FAILED,
                    "Invalid authentication: '{}' HTTP Authorization scheme is not "
                    "supported",
                    scheme);
    const net::HTTPBasicCredentials basic(request);
    return std::pair(basic.getUsername(), basic.getPassword());
}

HttpRequest readHttp(const net::HTTPServerRequest& request) {
    if (request.getContentType().starts_with("multipart/"))
        throw Error(ErrorCode::NOT_IMPLEMENTED,
                    "Tables sent with a query in multipart/form-data are not offered over HTTP");
    UrlParameters parameters;
    try {
        for (const auto& [name, value] : Poco::URI(request.getURI()).getQueryParameters())
            parameters.emplace_back(name, value);
    } catch (const Poco::Exception& exception) {
        throw Error(ErrorCode::BAD_ARGUMENTS, "Cannot read the URL: {}", exception.displayText());
    }
    return readRequest(parameters, {&request, headerOf}, basicOf(request));
}

/// Waits for a queue that tells when it can be read.
class Bell {
public:
    void ring() {
        const std::lock_guard lock(mutex_);
        rung_ = true;
        condition_.notify_one();
    }

    void wait(std::chrono::milliseconds most) {
        std::unique_lock lock(mutex_);
        condition_.wait_for(lock, most, [this] { return rung_; });
        rung_ = false;
    }

private:
    std::mutex mutex_;  // guards rung_
    std::condition_variable condition_;
    bool rung_ = false;
};

/// One query: from the parsed request to the last byte of its answer.
class HttpQuery {
public:
    HttpQuery(net::HTTPServerRequest& request,
              net::HTTPServerResponse& response,
              session::SessionHost& host,
              SessionStore& sessions,
              const HttpOptions& options)
        : request_(request), response_(response), host_(host), sessions_(sessions), options_(options) {}

    void run() {
        try {
            wanted_ = readHttp(request_);
        } catch (const Error& error) {
            openWriter();
            return refuse(error);
        }
        openWriter();
        try {
            query();
        } catch (const Error& error) {
            refuse(error);
        }
        closeSession();
    }

private:
    void openWriter() {
        ResponseOptions options;
        options.compression = wanted_.accepted;
        options.frames = wanted_.frames_out;
        options.version = options_.version;
        options.has_body = request_.getMethod() != net::HTTPRequest::HTTP_HEAD;
        if (wanted_.wait_end_of_query) options.hold_bytes = kMostHeldBytes;
        if (wanted_.query_id.empty()) wanted_.query_id = protocol::makeQueryId();
        writer_.emplace(request_, response_, std::move(options));
        writer_->header("X-ClickHouse-Query-Id", wanted_.query_id);
        writer_->header("X-ClickHouse-Timezone", options_.time_zone);
    }

    void refuse(const Error& error) {
        if (body_ && !body_->ended()) response_.setKeepAlive(false);
        kLog.debug("{}: Code: {}. {}", wanted_.query_id, error.code(), error.message());
        try {
            setSummary();
            writer_->fail(error.code(), errorText(error.code(), error.message(), options_.version));
        } catch (const Error&) {
            writer_->abort();  // nobody listens
        } catch (const Poco::Exception&) {
            writer_->abort();
        }
    }

    void openSession(session::QueryRequest& query) {
        session::LoginRequest login;
        login.user = wanted_.user;
        login.password = wanted_.password;
        login.database = wanted_.database;
        login.peer_address = request_.clientAddress().toString();
        login.quota_key = wanted_.quota_key;
        query.peer_address = login.peer_address;
        query.session = host_.login(login);
        if (wanted_.session_id.empty()) return;
        query.session =
            sessions_.take(wanted_.user, wanted_.session_id, query.session, wanted_.session_check);
        holds_session_ = true;
    }

    void closeSession() {
        if (holds_session_)
            sessions_.giveBack(wanted_.user, wanted_.session_id,
                               std::chrono::seconds(wanted_.session_timeout_s));
    }

    /// The text of the URL, else as much of the body as a text may have; the rest of the body are rows.
    std::string readText() {
        if (!wanted_.query.empty()) return wanted_.query;
        size_t limit = kDefaultMaxQuerySize;
        if (const auto given = wanted_.setting("max_query_size")) {
            try {
                limit = std::stoull(*given);
            } catch (const std::exception&) {
                limit = kDefaultMaxQuerySize;  // whoever applies the setting says what is wrong with it
            }
        }
        constexpr size_t kMostBytes = size_t{64} << 20;
        if (limit == 0 || limit > kMostBytes) limit = kMostBytes;
        std::string text(limit + 1, '\0');
        size_t size = 0;
        while (size < text.size()) {
            const size_t got = body_->read(text.data() + size, text.size() - size);
            if (got == 0) break;
            size += got;
        }
        text.resize(size);
        return text;
    }

    void query() {
        body_ = std::make_shared<RequestBody>(request_, *writer_, wanted_);
        session::QueryRequest query;
        openSession(query);
        query.query_id = wanted_.query_id;
        query.settings = wanted_.settings;
        query.parameters = wanted_.parameters;
        query.text = readText();
        query.body = body_;
        protocol::ClientInfo& client = query.client_info;
        client.kind = protocol::QueryKind::Initial;
        client.client_interface = static_cast<uint8_t>(protocol::ClientInterface::Http);
        client.http_method = request_.getMethod() == net::HTTPRequest::HTTP_POST ? 2 : 1;
        client.http_user_agent = request_.get("User-Agent", "");
        client.http_referer = request_.get("Referer", "");
        client.forwarded_for = request_.get("X-Forwarded-For", "");
        client.quota_key = wanted_.quota_key;
        client.initial_user = query.session->user();
        client.initial_query_id = query.query_id;
        client.initial_address = query.peer_address;
        channel_ = std::make_shared<session::QueryChannel>();
        channel_->output.onReadable([bell = bell_] { bell->ring(); });
        host_.start(std::move(query), channel_);
        answer();
    }

    /// Until the query has ended; whatever happens, it has ended afterwards, for it reads the request's body.
    void answer() {
        std::optional<Error> failure;
        try {
            while (std::optional<session::QueryOutput> output = next()) take(*output);
            end();
            return;
        } catch (const Error& error) {
            failure = error;
        } catch (const Poco::Exception& exception) {
            failure = Error(ErrorCode::NETWORK_ERROR, "{}", exception.displayText());
        }
        if (!ended_) {
            channel_->stop.request_stop();
            channel_->input.cancel();
            if (!body_->ended()) writer_->abort();
            drain();
        }
        refuse(*failure);
    }

    void drain() {
        try {
            while (channel_->output.pop()) continue;
        } catch (const std::exception&) {
            return;  // that it was cancelled
        }
    }

    std::optional<session::QueryOutput> next() {
        constexpr std::chrono::milliseconds kLookAround{250};
        while (true) {
            try {
                auto popped = channel_->output.tryPop();
                if (popped.value) return std::move(popped.value);
                if (popped.ended) {
                    ended_ = true;
                    return std::nullopt;
                }
            } catch (...) {
                ended_ = true;
                throw;
            }
            bell_->wait(wanted_.flag("send_progress_in_http_headers", false) ? kProgressEvery : kLookAround);
            if (body_->ended() && writer_->clientGone())
                throw Error(ErrorCode::NETWORK_ERROR, "The HTTP client has gone");
            tellProgress();
        }
    }

    void tellProgress() {
        if (!wanted_.flag("send_progress_in_http_headers", false)) return;
        const auto now = std::chrono::steady_clock::now();
        if (now < next_progress_) return;
        next_progress_ = now + kProgressEvery;
        writer_->progress(summary());
    }

    std::string summary() const {
        const auto elapsed = std::chrono::steady_clock::now() - started_;
        uint64_t counted[6] = {};
        if (channel_) {
            const session::ProgressCounters& progress = channel_->progress;
            counted[0] = progress.rows;
            counted[1] = progress.bytes;
            counted[2] = progress.written_rows;
            counted[3] = progress.written_bytes;
            counted[4] = progress.total_rows;
        }
        return fmt::format(
            "{{\"read_rows\":\"{}\",\"read_bytes\":\"{}\",\"written_rows\":\"{}\",\"written_bytes\":\"{}\","
            "\"total_rows_to_read\":\"{}\",\"result_rows\":\"{}\",\"result_bytes\":\"{}\",\"elapsed_ns\":\"{}"
            "\"}}",
            counted[0], counted[1], counted[2], counted[3], counted[4], result_rows_, result_bytes_,
            std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    }

    void setSummary() { writer_->header("X-ClickHouse-Summary", summary()); }

    void take(session::QueryOutput& output) {
        using Kind = session::QueryOutput::Kind;
        const MemoryScope scope(channel_->budget.get());
        switch (output.kind) {
            case Kind::Header:
                return openFormat(output.block);
            case Kind::Data:
                result_rows_ += output.block.rows;
                result_bytes_ += output.block.dataBytes();
                return put(output.block, &formats::OutputFormat::rows);
            case Kind::Totals:
                return put(output.block, &formats::OutputFormat::totals);
            case Kind::Extremes:
                return put(output.block, &formats::OutputFormat::extremes);
            case Kind::ProfileInfo:
                if (output.profile.applied_limit) rows_before_limit_ = output.profile.rows_before_limit;
                return;
            case Kind::InsertSample:
            case Kind::Log:
            case Kind::ProfileEvents:
                return;
        }
    }

    void openFormat(const Block& header) {
        const std::string& name = channel_->format.empty() ? wanted_.default_format : channel_->format;
        const formats::OutputFormatInfo& info = formats::findOutputFormat(name);
        writer_->header("Content-Type", std::string(info.content_type));
        writer_->header("X-ClickHouse-Format", name);
        const auto setting = [this](std::string_view key) {
            return channel_->setting ? channel_->setting(key).value_or("") : std::string();
        };
        formats::OutputSettings settings;
        const std::string zone = setting("session_timezone");
        settings.text.time_zone = &TimeZone::get(zone.empty() ? options_.time_zone : zone);
        settings.json_quote_64bit_integers = setting("output_format_json_quote_64bit_integers") == "1";
        if (const std::string delimiter = setting("format_csv_delimiter"); delimiter.size() == 1)
            settings.csv_delimiter = delimiter[0];
        format_ = info.make(settings);
        Writer out;
        format_->header(header, out);
        writer_->write(out.view());
    }

    void put(Block& block, void (formats::OutputFormat::*write)(const Block&, Writer&)) {
        if (!format_ || block.rows == 0) return;
        block.makeFull();
        // A few rows at a time: their text may be many times as large as they are.
        constexpr size_t kRowsAtOnce = 8192;
        for (size_t from = 0; from < block.rows; from += kRowsAtOnce) {
            const size_t count = std::min(kRowsAtOnce, block.rows - from);
            Writer out;
            ((*format_).*write)(count == block.rows ? block : block.slice(from, count), out);
            if (from + count >= block.rows) setSummary();
            writer_->write(out.view());
        }
    }

    void end() {
        const MemoryScope scope(channel_->budget.get());
        Writer out;
        if (format_) {
            const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
            format_->end({.elapsed_seconds = elapsed.count(),
                          .rows_read = channel_->progress.rows,
                          .bytes_read = channel_->progress.bytes,
                          .rows_before_limit = rows_before_limit_},
                         out);
        }
        if (!body_->ended()) {
            char rest = 0;
            if (body_->read(&rest, 1) > 0) response_.setKeepAlive(false);  // who sends what nobody reads
        }
        setSummary();
        writer_->write(out.view());
        writer_->finish();
    }

    static constexpr std::chrono::milliseconds kProgressEvery{100};

    net::HTTPServerRequest& request_;
    net::HTTPServerResponse& response_;
    session::SessionHost& host_;
    SessionStore& sessions_;
    const HttpOptions& options_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point next_progress_ = started_ + kProgressEvery;
    HttpRequest wanted_;
    std::optional<ResponseWriter> writer_;
    std::shared_ptr<RequestBody> body_;
    std::shared_ptr<session::QueryChannel> channel_;
    const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
    formats::OutputFormatPtr format_;
    std::optional<uint64_t> rows_before_limit_;
    uint64_t result_rows_ = 0;
    uint64_t result_bytes_ = 0;
    bool holds_session_ = false;
    bool ended_ = false;
};

}  // namespace

void serveQuery(net::HTTPServerRequest& request,
                net::HTTPServerResponse& response,
                session::SessionHost& host,
                SessionStore& sessions,
                const HttpOptions& options) {
    HttpQuery(request, response, host, sessions, options).run();
}

}  // namespace shardd::http
