#include "key.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "dovetail/errors.hpp"

namespace dovetail {

namespace {

constexpr std::size_t kLength = 40;
/// Handshakes that a broker may break off one after the other, before its key is taken for another.
constexpr int kAttempts = 3;
constexpr int kDenied = 400;
constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

bool valid(const std::string& key) {
    std::uint8_t raw[32];
    return key.size() == kLength && zmq_z85_decode(raw, key.c_str()) != nullptr;
}

std::string variable(const char* name) {
    const char* found = std::getenv(name);
    return found != nullptr ? found : "";
}

std::string trimmed(const std::string& text) {
    const char* const blank = " \t\r";
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// The lines `name = "value"` of a file, in either kind of quotes; a comment may follow.
std::map<std::string, std::string> texts(std::istream& file) {
    std::map<std::string, std::string> out;
    for (std::string line; std::getline(file, line);) {
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) continue;
        const std::string value = trimmed(line.substr(equals + 1));
        if (value.empty() || (value[0] != '"' && value[0] != '\'')) continue;
        const std::size_t end = value.find(value[0], 1);
        if (end == std::string::npos) continue;
        const std::string rest = trimmed(value.substr(end + 1));
        if (rest.empty() || rest[0] == '#') out[trimmed(line.substr(0, equals))] = value.substr(1, end - 1);
    }
    return out;
}

const char* const kNeedsKey = "lets in only programs with a key; give the option key, or set DOVETAIL_KEY";

/// Greets a broker as slowly as libzmq's brokers need to name their mechanism. They break off before if the rest of a
/// greeting comes in one piece, as it does if this program or its network is slow.
bool asks_for_key(zmq::context_t& context, const std::string& address) {
    try {
        zmq::socket_t raw(context, zmq::socket_type::stream);
        raw.set(zmq::sockopt::linger, 0);
        raw.set(zmq::sockopt::rcvtimeo, 1000);
        raw.connect(address);
        zmq::message_t peer;
        zmq::message_t part;
        // A stream's messages are the connection's name and some bytes; the first has none.
        if (!raw.recv(peer) || !raw.recv(part)) return false;
        raw.send(zmq::message_t(peer.data(), peer.size()), zmq::send_flags::sndmore);
        const unsigned char begun[] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3};
        raw.send(zmq::message_t(begun, sizeof begun), zmq::send_flags::none);
        std::string greeting;  // signature, version and mechanism
        while (greeting.size() < 32 && raw.recv(peer) && raw.recv(part) && part.size() > 0) {
            greeting += part.to_string();
        }
        return greeting.compare(12, 6, std::string("CURVE\0", 6)) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

Key read_key(const std::string& given) {
    const std::string path = given.compare(0, 2, "~/") == 0 ? variable("HOME") + given.substr(1) : given;
    errno = 0;
    std::ifstream file(path);
    if (!file) throw Error("cannot read the key " + path + ": " + std::strerror(errno));
#ifndef _WIN32
    using std::filesystem::perms;
    if ((std::filesystem::status(path).permissions() & (perms::group_all | perms::others_all)) != perms::none) {
        throw Error("other users can read the key " + path + "; run `chmod 600 " + path + "`");
    }
#endif
    auto found = texts(file);
    for (const char* name : {"public", "secret"}) {
        if (!valid(found[name])) {
            throw Error(path + " has no " + name + " key; make one with `dovetail keys make`");
        }
    }
    std::string server = variable("DOVETAIL_SERVER_KEY");
    if (server.empty()) server = found["server"];
    if (server.empty()) {
        throw Error(path + " does not name the broker's public key; add `server = ...` to it, "
                           "or set DOVETAIL_SERVER_KEY");
    }
    if (!valid(server)) {
        throw Error("the broker's public key for " + path + ": '" + server + "' is not a key; expected 40 " +
                    "characters such as `dovetail keys make` prints");
    }
    return {found["public"], found["secret"], server};
}

void Handshakes::watch(zmq::context_t& context, zmq::socket_t& socket) {
    const std::string name = "inproc://handshakes-" + std::to_string(sockets_++);
    if (zmq_socket_monitor(socket.handle(), name.c_str(), kEvents) != 0) throw zmq::error_t();
    watched_ = &socket;
    events_ = zmq::socket_t(context, zmq::socket_type::pair);
    events_.set(zmq::sockopt::linger, 0);
    events_.connect(name);
    context_ = &context;
}

void Handshakes::leave() {
    if (watched_ != nullptr) zmq_socket_monitor(watched_->handle(), nullptr, 0);
    watched_ = nullptr;
    events_.close();
}

std::string Handshakes::refusal(const std::string& address, bool keyed) {
    std::string why;
    zmq::message_t event;
    while (why.empty() && events_.recv(event, zmq::recv_flags::dontwait)) {
        std::uint16_t kind = 0;
        std::int32_t value = 0;
        std::memcpy(&kind, event.data(), sizeof kind);
        std::memcpy(&value, static_cast<const char*>(event.data()) + sizeof kind, sizeof value);
        static_cast<void>(events_.recv(event, zmq::recv_flags::none));  // the address
        why = judge(kind, value, address, keyed);
    }
    return why;
}

std::string Handshakes::judge(int event, int value, const std::string& address, bool keyed) {
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        met_ = true;
        failed_ = 0;
        return "";
    }
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value == kDenied) {
        return "does not accept this program's key; ask the person who runs it";
    }
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        return keyed ? "uses no keys; connect without the option key and DOVETAIL_KEY" : kNeedsKey;
    }
    if (met_ || ++failed_ < kAttempts) return "";
    if (!keyed) return asks_for_key(*context_, address) ? kNeedsKey : "";
    return "breaks off each handshake; check the broker's public key: `server` in the key file, or "
           "DOVETAIL_SERVER_KEY";
}

}  // namespace dovetail
