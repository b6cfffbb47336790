// A peer's connection to a broker: a DEALER socket around a `Session`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "dovetail/session.hpp"
#include "key.hpp"

namespace dovetail {

/// Seconds of a clock that does not go back.
double now();

/// A connection that reconnects automatically.
class Link {
public:
    /// Connects, with the key in a file if one is named, and waits up to `wait` seconds for the broker's first
    /// answer; a negative number waits forever, or until `stop` says so. Throws Error.
    Link(std::string address, messages::Hello hello, const std::optional<std::string>& key, double wait,
         const std::function<bool()>& stop = {});
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Appends the messages that came to `out`, waiting up to `timeout` seconds, half a second at most, for
    /// the first. Throws Error if the broker refuses this peer or its key.
    void receive(double timeout, std::vector<messages::Incoming>& out);
    /// Sends frames together, and clears them.
    void send(std::vector<Frame>& frames);
    /// Says `bye` and closes the socket.
    void leave();
    const Session& session() const { return session_; }

    /// Seconds of silence after which `receive` throws Error; a negative number waits forever.
    double give_up = -1;
    /// Told in one line that the broker is silent, and that it is back.
    std::function<void(const std::string&)> warn = {};

private:
    void connect();
    /// Looks after the connection while nothing comes.
    void quiet(double time);
    /// Takes the frames of one message; returns their number, 0 if none came.
    std::size_t take_one(zmq::recv_flags flags, std::vector<messages::Incoming>& out);

    std::string address_;
    Session session_;
    std::optional<Key> key_;
    zmq::context_t context_;
    zmq::socket_t socket_;
    Handshakes handshakes_;
    std::vector<Frame> answers_;
    std::vector<messages::Incoming> first_;
    int wait_ = -1;
    double quiet_ = 0;
    double looked_ = 0;
    bool told_ = false;
};

}  // namespace dovetail
