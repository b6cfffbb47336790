/// \file
/// A peer's end of a session, without the socket: hello, heartbeats, resumption. Frames and the time go in,
/// frames come out.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dovetail/codec.hpp"

namespace dovetail {

/// The version of this library.
inline constexpr const char* kSoftware = "dovetail-cpp 0.2.0";

/// Keeps one peer known to its broker. Times are in seconds, of any clock that does not go back.
class Session {
public:
    /// `hello` describes this peer; its `version`, `resume` and, if empty, `software` are filled in.
    explicit Session(messages::Hello hello);

    /// Returns the frame of a `hello` that resumes an earlier session, if any; send it first on each new
    /// connection.
    Frame greet(double now);

    /// Takes one frame of the broker. Returns what is for the role, and appends what must be sent at once to
    /// `out`. Throws Error if the broker refuses this peer.
    std::optional<messages::Incoming> take(std::string_view frame, double now, std::vector<Frame>& out);

    /// True if the broker was silent for so long that the peer must reconnect.
    /// Before the first `welcome`, say hello again on the same connection.
    bool silent(double now) const;
    /// Seconds of silence that are usual.
    double patience() const;
    /// Seconds since the broker's last frame.
    double silence(double now) const { return now - heard_; }
    /// True if the broker said `bye`.
    bool departed() const { return departed_; }
    /// The last `welcome`, if any.
    const std::optional<messages::Welcome>& welcome() const { return welcome_; }

private:
    messages::Hello hello_;
    codec::Decoder decoder_;
    std::optional<messages::Welcome> welcome_;
    Limits limits_;
    std::int64_t seen_ = 0;
    double heard_ = 0;
    double answer_ = 0;  // seconds to wait for the answer to a hello; 0 if none is under way
    bool departed_ = false;
};

}  // namespace dovetail
