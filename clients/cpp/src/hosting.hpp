// What both hosts need: errors of user code as one line, and answers that are remembered.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <string>
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

/// Who is told of failures: `Host::failed`.
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
        text = " threw what is no std::exception";
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

/// The last entries by their keys; the oldest is forgotten.
template <class Key, class T>
class Recent {
public:
    explicit Recent(std::size_t kept) : kept_(kept) {}
    /// The entry of a key, or null if there is none.
    const T* find(const Key& key) const {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : &found->second;
    }
    /// Adds an entry whose key has none.
    const T& keep(const Key& key, T entry) {
        order_.push_back(key);
        if (order_.size() > kept_) {
            entries_.erase(order_.front());
            order_.pop_front();
        }
        return entries_[key] = std::move(entry);
    }
    void clear() {
        entries_.clear();
        order_.clear();
    }

private:
    std::size_t kept_;
    std::map<Key, T> entries_;
    std::deque<Key> order_;
};

/// Throws Error for a frame that would cost the connection, and once more whenever it is sent again.
inline void check_size(const Frame& frame, const Limits& limits) {
    if (frame.size() > static_cast<std::uint64_t>(limits.frame)) {
        throw dovetail::Error("a message of " + std::to_string(frame.size()) +
                              " bytes; the broker reads at most " + std::to_string(limits.frame));
    }
}

/// An `error`; the caller sets what it is about.
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

/// What both hosts have. A host has a `take` for each message that it acts on.
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
        std::visit([&](auto& each) { inside.take(each); }, message);
        inside.out_ = nullptr;
    }

    std::vector<Offer> offers;

protected:
    // What a host does not hear of.
    template <class T>
    void take(const T&) {}

    void take(messages::Welcome& message) {
        limits_ = message.limits;
        if (message.resumed) return;
        answers_.clear();
        forget();
    }

    /// The session is lost, and the new one knows nothing: lets everything of it go.
    virtual void forget() = 0;

    /// The one place where frames are made. Throws Error for what cannot be sent; an `error` always can.
    template <class Message>
    Frame frame(const Message& message) const {
        Frame made = codec::encode_message(message);
        if constexpr (!std::is_same_v<Message, messages::Error>) check_size(made, limits_);
        return made;
    }
    void send(const Frame& frame) { out_->push_back(frame); }

    /// Answers a request with the message that `act` returns, or as the first time if it comes again; `where`
    /// is for a line about its failure.
    template <class Do>
    void answer(std::int64_t id, const std::string& where, Do act) {
        const Frame* known = answers_.find(id);
        if (known == nullptr) {
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
            known = &answers_.keep(id, std::move(made));
        }
        send(*known);
    }

    const Told& told;

private:
    /// What the broker reads.
    Limits limits_ = {};
    /// To the last requests; as many as SPEC.md asks for, since states may be large.
    Recent<std::int64_t, Frame> answers_{64};
    std::vector<Frame>* out_ = nullptr;
};

/// The reply to a request; `Common::answer` says to which.
inline messages::Reply reply(Value body = {}) {
    messages::Reply out;
    out.body = std::move(body);
    return out;
}

}  // namespace dovetail::hosting
