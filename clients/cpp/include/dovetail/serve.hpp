/// \file
/// `serve`: run agents or environments as a program, connected to a broker.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dovetail/hosts.hpp"

namespace dovetail {

/// Where the broker is: the environment variable `DOVETAIL_BROKER`, else tcp://127.0.0.1:5757.
std::string broker_address();
/// The broker's access token: the environment variable `DOVETAIL_TOKEN`, if it is set.
std::optional<std::string> broker_token();
/// This program's key file: the environment variable `DOVETAIL_KEY`, if it is set.
std::optional<std::string> broker_key();

/// How to connect.
struct Connect {
    std::string address = broker_address();
    std::optional<std::string> token = broker_token();
    /// The file with this program's key, for a broker that requires keys (docs/keys.md).
    std::optional<std::string> key = broker_key();
    /// Unique among connected peers; empty lets the broker choose.
    std::string name = {};
    /// Seconds to wait for the broker's first answer; a negative number waits forever.
    double wait = 10.0;
    /// For experiments: seconds of the broker's silence after which a call throws Error; a negative number waits
    /// forever.
    double give_up = 60.0;
    /// Called with one line when the broker falls silent, and when it is back; by default the line goes to
    /// standard error.
    std::function<void(const std::string&)> warn = {};
};

/// How to serve.
struct Serve : Connect {
    /// Set by another thread to end the program; without it SIGINT and SIGTERM end it.
    const std::atomic<bool>* stop = nullptr;
    /// Called once the broker has answered.
    std::function<void(const messages::Welcome&)> ready = {};
    /// True to print nothing on standard output; otherwise a line says that the broker has answered.
    bool quiet = false;
};

/// Serves agents until the broker leaves or the program is told to stop.
/// Throws Error if there is no broker, or it refuses this peer.
void serve(AgentType type, const Serve& how = {});
void serve(std::vector<AgentType> types, const Serve& how = {});
/// Serves environments until the broker leaves or the program is told to stop.
void serve(EnvironmentType type, const Serve& how = {});
void serve(std::vector<EnvironmentType> types, const Serve& how = {});
/// Serves a host.
void serve(Host& host, const Serve& how = {});

/// For `main`: calls `program`, and turns an Error into one line on standard error.
/// Returns the exit status: 0, or 1 after an error.
int run_program(const std::function<void()>& program);

/// For `main`: serves one type, at the broker of the environment variables unless told otherwise; returns the
/// exit status.
template <class Type>
int serve_main(Type type, const Serve& how = {}) {
    return run_program([&] { serve(std::move(type), how); });
}

}  // namespace dovetail
