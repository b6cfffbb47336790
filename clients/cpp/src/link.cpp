#include "link.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "utf8.hpp"

namespace dovetail {

namespace {

/// Frames that are read together at the most, so that answers go out in between.
constexpr std::size_t kBatch = 4096;

/// Bytes of the largest frame that is taken from the broker; a larger one costs it the connection.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

/// Messages that may wait for the broker to read them, and its milliseconds when they do [S11.4].
constexpr int kUnread = 100, kUnreadWait = 1000;

}  // namespace

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Link::Link(std::string address, messages::Hello hello, const std::optional<std::string>& key, double wait,
           const std::function<bool()>& stop)
    : address_(std::move(address)), session_(std::move(hello)) {
    if (key && !key->empty()) key_ = read_key(*key);
    connect();
    const double end = now() + wait;
    while (!session_.welcome()) {
        if (stop && stop()) return;
        receive(0.1, first_);
        if (session_.departed() && !session_.welcome())
            throw Error("the broker at " + utf8::line(address_) + " sends this program away");
        if (wait >= 0 && now() > end && !session_.welcome()) {
            throw Error("no broker answers at " + utf8::line(address_) +
                        "; start one with `dovetail broker`");
        }
    }
}

void Link::connect() {
    handshakes_.leave();
    socket_ = zmq::socket_t(context_, zmq::socket_type::dealer);
    // From the beginning: whatever is thrown, the context must not wait for a broker that is not there.
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, 100);
    socket_.set(zmq::sockopt::reconnect_ivl_max, 1000);
    socket_.set(zmq::sockopt::heartbeat_ivl, 5000);
    socket_.set(zmq::sockopt::maxmsgsize, kMost);
    socket_.set(zmq::sockopt::sndhwm, kUnread);
    socket_.set(zmq::sockopt::sndtimeo, kUnreadWait);
    socket_.set(zmq::sockopt::rcvhwm, 0);  // it aborts if a connection breaks whose reader is at a limit
    if (key_) {
        socket_.set(zmq::sockopt::curve_publickey, key_->own);
        socket_.set(zmq::sockopt::curve_secretkey, key_->secret);
        socket_.set(zmq::sockopt::curve_serverkey, key_->server);
    }
    handshakes_.watch(context_, socket_);
    wait_ = -1;
    try {
        socket_.connect(address_);
    } catch (const zmq::error_t& error) {
        throw Error("'" + utf8::line(address_) + "' is not a broker address (" + error.what() +
                    "); expected something like tcp://127.0.0.1:5757");
    }
    answers_.clear();
    answers_.push_back(session_.greet(now()));
    send(answers_);
}

std::size_t Link::take_one(zmq::recv_flags flags, std::vector<messages::Incoming>& out) {
    zmq::message_t frame;
    if (!socket_.recv(frame, flags)) return 0;
    const double time = now();
    for (std::size_t frames = 1;; ++frames) {
        const std::string_view bytes(static_cast<const char*>(frame.data()), frame.size());
        if (auto message = session_.take(bytes, time, answers_)) out.push_back(std::move(*message));
        if (!frame.more()) return frames;
        static_cast<void>(socket_.recv(frame, zmq::recv_flags::none));
    }
}

void Link::receive(double timeout, std::vector<messages::Incoming>& out) {
    if (!first_.empty() && &out != &first_) {
        out = std::move(first_);
        first_.clear();
        return;
    }
    const int wait = static_cast<int>(std::clamp(timeout, 0.0, 0.5) * 1000);
    if (wait != wait_) socket_.set(zmq::sockopt::rcvtimeo, wait_ = wait);
    try {
        std::size_t frames = take_one(zmq::recv_flags::none, out);
        if (frames == 0) {
            quiet(now());
            return;
        }
        while (frames < kBatch) {
            const std::size_t more = take_one(zmq::recv_flags::dontwait, out);
            if (more == 0) break;
            frames += more;
        }
    } catch (const zmq::error_t& error) {
        if (error.num() != EINTR) throw Error(std::string("the connection failed: ") + error.what());
    }
    if (told_ && warn) warn("the broker at " + utf8::line(address_) + " is back");
    told_ = false;
    quiet_ = 0;
    send(answers_);
}

void Link::quiet(double time) {
    const std::string refusal = handshakes_.refusal(address_, key_.has_value());
    if (!refusal.empty()) throw Error("the broker at " + utf8::line(address_) + " " + refusal);
    if (session_.welcome()) {
        // Only the time in which this program listened counts: one that computed has not read what came.
        quiet_ += std::min(std::min(time - looked_, session_.silence(time)), 1.0);
        looked_ = time;
        const auto seconds = [](double value) { return std::to_string(static_cast<long>(value)) + " s"; };
        const std::string who = "the broker at " + utf8::line(address_);
        if (give_up >= 0 && quiet_ > give_up) {
            throw Error(who + " has been silent for " + seconds(quiet_) + "; check whether it is running");
        }
        if (!told_ && warn && quiet_ > session_.patience()) {
            told_ = true;
            warn(who + " has been silent for " + seconds(quiet_) + "; waiting" +
                 (give_up >= 0 ? " up to " + seconds(give_up) : "") + " for it to return");
        }
    }
    if (!session_.silent(time)) return;
    if (session_.welcome()) {
        connect();
    } else {  // the hello or its welcome may have been lost
        answers_.push_back(session_.greet(time));
        send(answers_);
    }
}

void Link::send(std::vector<Frame>& frames) {
    const auto wait = session_.welcome() ? zmq::send_flags::none : zmq::send_flags::dontwait;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
        const zmq::const_buffer buffer(frames[i].data(), frames[i].size());
        for (;;) {
            try {
                if (socket_.send(buffer, more | wait)) break;
                frames.clear();
                // The broker reads nothing, so it is lost (S3.8). Before the welcome libzmq has given the connection
                // up, of which the handshakes will tell.
                if (session_.welcome()) connect();
                return;
            } catch (const zmq::error_t& error) {
                if (error.num() != EINTR) throw Error(std::string("the connection failed: ") + error.what());
            }
        }
    }
    frames.clear();
}

void Link::leave() {
    if (!socket_) return;
    std::vector<Frame> goodbye{codec::encode_message(messages::Bye{})};
    send(goodbye);
    // A broker that never answered is not worth waiting for.
    if (session_.welcome()) socket_.set(zmq::sockopt::linger, 500);
    handshakes_.leave();
    socket_.close();
}

}  // namespace dovetail
