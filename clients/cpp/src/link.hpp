// A peer's connection to a broker: a DEALER socket around a `Session`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "dovetail/session.hpp"

namespace dovetail {

/// Seconds of a clock that does not go back.
double now();

/// A connection that makes itself anew when it breaks.
class Link {
public:
    /// Connects, and waits up to `wait` seconds for the broker's first answer; a negative number waits for
    /// ever, or until `stop` says so. Throws Error.
    Link(std::string address, messages::Hello hello, double wait, const std::function<bool()>& stop = {});
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Appends the messages that came to `out`, waiting up to `timeout` seconds, half a second at most, for
    /// the first. Throws Error if the broker refuses this peer.
    void receive(double timeout, std::vector<messages::Incoming>& out);
    /// Sends frames together, and clears them.
    void send(std::vector<Frame>& frames);
    /// Says `bye`, and lets go of the socket.
    void leave();
    const Session& session() const { return session_; }

private:
    void connect();
    bool take_one(zmq::recv_flags flags, std::vector<messages::Incoming>& out);

    std::string address_;
    Session session_;
    zmq::context_t context_;
    zmq::socket_t socket_;
    std::vector<Frame> answers_;
    std::vector<messages::Incoming> first_;
    int wait_ = -1;
};

}  // namespace dovetail
