// Code shared by both hosts: errors of user code as one line, and the answers to numbered frames.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

#include "dovetail/hosts.hpp"
#include "dovetail/names.hpp"
#include "utf8.hpp"

namespace dovetail::hosting {

/// The callback for failures: `Host::failed`.
using Told = std::function<void(const std::string&)>;

/// The name of a type as it is written in C++, where the compiler tells.
inline std::string name_of(const std::type_info& type) {
#if __has_include(<cxxabi.h>)
    int status = 0;
    char* const found = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    std::string name = status == 0 ? found : type.name();
    std::free(found);
    return name;
#else
    return type.name();
#endif
}

/// One line for a person about the exception that is being handled, which is told; call it in a `catch (...)`
/// only.
inline std::string crash(const std::string& where, const Told& told) {
    std::string text;
    try {
        throw;
    } catch (const dovetail::Error& error) {
        text = std::string(" failed: ") + error.what();
    } catch (const std::exception& error) {
        text = " threw " + name_of(typeid(error)) + ": " + error.what();
    } catch (const std::string& thrown) {
        text = " threw " + thrown;
    } catch (const char* thrown) {
        text = std::string(" threw ") + (thrown != nullptr ? thrown : "a null pointer");
    } catch (...) {
        text = " threw something other than a std::exception";
    }
    std::string line = utf8::line(where + text);
    if (told) told(line);
    return line;
}

/// The same where an Error is a refusal, which is for who asked and no failure of the program.
inline std::string refusal(const std::string& where, const Told& told) {
    try {
        throw;
    } catch (const dovetail::Error& error) {
        return utf8::line(error.what());
    } catch (...) {
        return crash(where, told);
    }
}

template <class T, class = void>
struct has_seq : std::false_type {};
template <class T>
struct has_seq<T, std::void_t<decltype(std::declval<T&>().seq)>> : std::true_type {};

/// The number of a message within the session; 0 if it has none.
template <class Message>
std::int64_t seq_of(const Message& message) {
    if constexpr (has_seq<const Message>::value) return message.seq;
    return 0;
}

/// The rule for repeats: a numbered frame at or below the highest that was taken in came before, and gets the answer
/// that it got, if there is one.
class Inbox {
public:
    /// True if a frame is new; appends the answer of one that is not to `out`.
    bool take(std::int64_t seq, std::vector<Frame>& out) {
        if (seq == 0) return true;
        if (seq > seen_) {
            seen_ = seq;
            return true;
        }
        const auto known = answers_.find(seq);
        if (known != answers_.end()) out.push_back(known->second);
        return false;
    }
    /// Keeps the answer to a frame.
    void keep(std::int64_t seq, const Frame& answer) {
        forget(seq);
        if (seq == 0 || kept_ + answer.size() + kEach > kMost) return;
        kept_ += answer.size() + kEach;
        answers_[seq] = answer;
    }
    /// Forgets one answer, which has arrived.
    void forget(std::int64_t seq) {
        const auto known = answers_.find(seq);
        if (known == answers_.end()) return;
        kept_ -= known->second.size() + kEach;
        answers_.erase(known);
    }
    /// Forgets the answers up to a number, which have arrived.
    void settle(std::int64_t settled) {
        while (!answers_.empty() && answers_.begin()->first <= settled) forget(answers_.begin()->first);
    }
    /// Begins another session.
    void clear() {
        seen_ = 0;
        kept_ = 0;
        answers_.clear();
    }

private:
    /// Bytes of answers that are kept at the most, and what counts for each beside its own [S11.4].
    static constexpr std::size_t kMost = std::size_t{1} << 28, kEach = 64;

    std::int64_t seen_ = 0;
    std::map<std::int64_t, Frame> answers_;
    std::size_t kept_ = 0;
};

/// Throws Error for a frame that would cost the connection, and once more whenever it is sent again.
inline void check_size(const Frame& frame, const Limits& limits) {
    if (frame.size() > static_cast<std::uint64_t>(limits.frame)) {
        throw dovetail::Error("a message of " + std::to_string(frame.size()) +
                              " bytes; the broker reads at most " + std::to_string(limits.frame));
    }
}

/// An `error`; the caller sets what it answers.
inline messages::Error error(Code code, std::string text) {
    messages::Error out;
    out.code = name_of(code);
    out.message = std::move(text);
    return out;
}

/// The type of a name. Throws Error if there is none; `what` is what the program would make of it.
template <class Type>
const Type& named(const std::vector<Type>& types, const std::string& name, const char* what) {
    for (const Type& type : types) {
        if (type.name == name) return type;
    }
    throw dovetail::Error(std::string("this program makes no ") + what + " '" +
                          utf8::line(name.substr(0, 40)) + "'");
}

/// The base of both hosts. A host has a `take` for each message that it acts on.
class Common {
public:
    explicit Common(const Told& told_) : told(told_) {}
    virtual ~Common() = default;
    Common(const Common&) = delete;
    Common& operator=(const Common&) = delete;

    /// Has a host take a message, and collects what it sends.
    template <class Inside>
    static void handle(Inside& inside, messages::Incoming& message, std::vector<Frame>& out) {
        inside.out_ = &out;
        std::visit(
            [&](auto& each) {
                inside.seq_ = seq_of(each);
                if (inside.inbox_.take(inside.seq_, out)) inside.take(each);
            },
            message);
        inside.out_ = nullptr;
    }

    std::vector<Offer> offers;

protected:
    // Ignores all other messages.
    template <class T>
    void take(const T&) {}

    void take(messages::Welcome& message) {
        limits_ = message.limits;
        if (message.resumed) {
            resume();
            return;
        }
        forget();
        inbox_.clear();
    }

    void take(messages::Ping& message) { inbox_.settle(message.settled); }

    /// The session continues after the connection was lost: sends again what the broker may not have got.
    virtual void resume() {}

    /// The session is lost, and the new one knows nothing: releases everything of it.
    virtual void forget() = 0;

    /// The one place where frames are made. Throws Error for what cannot be sent; an `error` always can.
    template <class Message>
    Frame frame(const Message& message) const {
        Frame made = codec::encode_message(message);
        if constexpr (!std::is_same_v<Message, messages::Error>) check_size(made, limits_);
        return made;
    }
    void send(const Frame& frame) { out_->push_back(frame); }

    /// The number of the message that is being taken.
    std::int64_t seq() const { return seq_; }
    /// Sends the answer to a numbered frame, and keeps it.
    void respond(std::int64_t seq, const Frame& frame) {
        inbox_.keep(seq, frame);
        send(frame);
    }
    /// Answers a frame with an `error`.
    void refuse(std::int64_t seq, Code code, std::string text, std::optional<std::int64_t> seat = {}) {
        messages::Error failed = error(code, std::move(text));
        failed.answers = seq;
        failed.seat = seat;
        respond(seq, frame(failed));
    }
    /// Forgets the answer to a frame, since what follows from it came.
    void settled(std::int64_t seq) { inbox_.forget(seq); }

    /// Answers a batch with what `play` returns; `before` is the number of the one before it in its group.
    template <class Play>
    void batch(std::int64_t& before, const std::string& where, Play play) {
        settled(before);
        before = seq();
        try {
            respond(seq(), frame(play()));
        } catch (const ProtocolError& error) {
            refuse(seq(), error.code, error.what());
        } catch (...) {
            refuse(seq(), Code::crashed, crash(where, told));
        }
    }

    /// Answers a request with the message that `act` returns; `where` is for a line about its failure.
    template <class Do>
    void answer(std::int64_t id, const std::string& where, Do act) {
        Frame made;
        try {
            auto message = act();
            message.id = id;
            made = frame(message);
        } catch (...) {
            messages::Error failed = error(Code::crashed, refusal(where, told));
            failed.id = id;
            made = frame(failed);
        }
        respond(seq_, made);
    }

    const Told& told;

private:
    /// The broker's limits on frames.
    Limits limits_ = {};
    Inbox inbox_;
    std::int64_t seq_ = 0;
    std::vector<Frame>* out_ = nullptr;
};

/// The reply to a request; `Common::answer` says to which.
inline messages::Reply reply(Value body = {}) {
    messages::Reply out;
    out.body = std::move(body);
    return out;
}

}  // namespace dovetail::hosting
