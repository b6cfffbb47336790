#include "dovetail/session.hpp"

#include <algorithm>
#include <limits>

#include "dovetail/names.hpp"
#include "hosting.hpp"
#include "utf8.hpp"

namespace dovetail {

namespace {

/// Errors in answer to `hello` that it would get again.
bool is_final(const std::string& code) {
    return code == name_of(Code::version) || code == name_of(Code::access) ||
           code == name_of(Code::name_taken);
}

/// True if an error says that this peer may not stay, because its key was revoked, for instance.
bool expels(const messages::Error& error) {
    return error.code == name_of(Code::access) && !error.id && !error.answers;
}

/// Seconds that a `hello` may be without an answer at first, and at most; each time it is twice as long.
constexpr double kFirstAnswer = 4, kLastAnswer = 16;

}  // namespace

Session::Session(messages::Hello hello) : hello_(std::move(hello)), decoder_(hello_.role) {
    hello_.version = kVersion;
    if (hello_.software.empty()) hello_.software = kSoftware;
}

Frame Session::greet(double now) {
    heard_ = now;
    answer_ = std::clamp(2 * answer_, kFirstAnswer, kLastAnswer);
    hello_.resume.reset();
    if (welcome_) hello_.resume = welcome_->session;
    hello_.seen = seen_;
    return codec::encode_message(hello_);
}

std::optional<messages::Incoming> Session::take(std::string_view frame, double now, std::vector<Frame>& out) {
    heard_ = now;
    messages::Incoming message;
    try {
        message = decoder_.decode(frame, limits_);
    } catch (const ProtocolError& error) {
        out.push_back(codec::encode_message(codec::refusal(frame, error)));
        return std::nullopt;
    }
    if (const auto* ping = std::get_if<messages::Ping>(&message)) {
        messages::Pong pong;
        pong.number = ping->number;
        pong.seen = seen_;
        out.push_back(codec::encode_message(pong));
        return message;
    }
    if (std::holds_alternative<messages::Pong>(message)) return std::nullopt;
    if (const auto* welcome = std::get_if<messages::Welcome>(&message)) {
        answer_ = 0;
        const bool same = welcome_ && welcome_->session == welcome->session;
        if (same && !welcome->resumed) return std::nullopt;  // the answer to a hello that was said twice
        if (!welcome->resumed) seen_ = 0;
        welcome_ = *welcome;
        limits_ = welcome->limits;
        return message;
    }
    if (std::holds_alternative<messages::Bye>(message)) {
        departed_ = true;
        return std::nullopt;
    }
    if (const auto* error = std::get_if<messages::Error>(&message)) {
        if (error->code == name_of(Code::hello_first)) {
            if (answer_ == 0) out.push_back(greet(now));
            return std::nullopt;
        }
        if ((answer_ > 0 && is_final(error->code)) || expels(*error)) {
            answer_ = 0;
            throw Error("the broker refuses: " + utf8::line(error->message));
        }
    }
    std::visit([&](const auto& each) { seen_ = std::max(seen_, hosting::seq_of(each)); }, message);
    return message;
}

double Session::patience() const {
    if (welcome_ && welcome_->heartbeat == 0) return std::numeric_limits<double>::infinity();
    return welcome_ ? std::max(4 * welcome_->heartbeat, 2.0) : 2.0;
}

bool Session::silent(double now) const {
    return now - heard_ > std::max(patience(), answer_);
}

}  // namespace dovetail
