// Keys of CURVE, ZeroMQ's encryption (docs/keys.md), and how a broker refuses one.
#pragma once

#include <string>
#include <zmq.hpp>

namespace dovetail {

/// A program's pair of keys and its broker's public key, as text.
struct Key {
    std::string own;
    std::string secret;
    std::string server;
};

/// Reads a key file; the environment variable DOVETAIL_SERVER_KEY replaces the broker's public key in it.
/// Throws Error: the file cannot be read, others can read it, or a key is missing.
Key read_key(const std::string& path);

/// How a socket's handshakes end: libzmq itself tries again forever, and says nothing.
class Handshakes {
public:
    Handshakes() = default;
    Handshakes(const Handshakes&) = delete;
    Handshakes& operator=(const Handshakes&) = delete;
    ~Handshakes() { leave(); }

    /// Watches a socket from now on, which has not connected yet.
    void watch(zmq::context_t& context, zmq::socket_t& socket);
    /// Stops watching; due before the socket is closed, whose thread would wait for a reader.
    void leave();
    /// Returns why the broker lets this program in never again, as an error says it after the broker's address;
    /// empty if it may.
    std::string refusal(const std::string& address, bool keyed);

private:
    std::string judge(int event, int value, const std::string& address, bool keyed);

    zmq::context_t* context_ = nullptr;
    zmq::socket_t* watched_ = nullptr;
    zmq::socket_t events_;
    int sockets_ = 0;
    /// Handshakes that the broker broke off, until one succeeds.
    int failed_ = 0;
    bool met_ = false;
};

}  // namespace dovetail
