#include "dovetail/session.hpp"

#include <algorithm>

#include "dovetail/names.hpp"
#include "utf8.hpp"

namespace dovetail {

namespace {

/// Errors in answer to `hello` that saying it again does not mend.
bool is_final(const std::string& code) {
    return code == name_of(Code::version) || code == name_of(Code::access) ||
           code == name_of(Code::name_taken);
}

}  // namespace

Session::Session(messages::Hello hello) : hello_(std::move(hello)), decoder_(hello_.role) {
    hello_.version = kVersion;
    if (hello_.software.empty()) hello_.software = kSoftware;
}

Frame Session::greet(double now) {
    heard_ = now;
    greeted_ = true;
    hello_.resume.reset();
    if (welcome_) hello_.resume = welcome_->session;
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
        out.push_back(codec::encode_message(pong));
        return std::nullopt;
    }
    if (std::holds_alternative<messages::Pong>(message)) return std::nullopt;
    if (const auto* welcome = std::get_if<messages::Welcome>(&message)) {
        welcome_ = *welcome;
        greeted_ = false;
        // What the broker reads is read here too, and never less than what is usual.
        const Limits standard;
        limits_.frame = std::max(welcome->limits.frame, standard.frame);
        limits_.depth = std::max(welcome->limits.depth, standard.depth);
        limits_.elements = std::max(welcome->limits.elements, standard.elements);
        return message;
    }
    if (std::holds_alternative<messages::Bye>(message)) {
        departed_ = true;
        return std::nullopt;
    }
    if (const auto* error = std::get_if<messages::Error>(&message)) {
        if (error->code == name_of(Code::hello_first)) {
            if (!greeted_) out.push_back(greet(now));
            return std::nullopt;
        }
        if (greeted_ && is_final(error->code))
            throw Error("the broker refuses: " + utf8::line(error->message));
    }
    return message;
}

bool Session::silent(double now) const {
    return now - heard_ > (welcome_ ? std::max(4 * welcome_->heartbeat, 2.0) : 2.0);
}

}  // namespace dovetail
