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

#include "dovetail/codec.hpp"
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
    if (frame.size() > limits.frame) {
        throw dovetail::Error("a message of " + std::to_string(frame.size()) +
                              " bytes; the broker reads at most " + std::to_string(limits.frame));
    }
}

/// What both hosts have.
struct Common {
    explicit Common(const Told& told_) : told(told_) {}

    const Told& told;
    /// What the broker reads.
    Limits limits = {};
    /// To the last requests; as many as SPEC.md asks for, since states may be large.
    Recent<std::int64_t, Frame> answers{64};

    /// Throws Error for what cannot be sent.
    template <class Message>
    Frame frame(const Message& message) const {
        Frame out = codec::encode_message(message);
        check_size(out, limits);
        return out;
    }

    /// Answers a request with the message that `act` returns, or as the first time if it comes again; `where`
    /// is for a line about its failure.
    template <class Do>
    void answer(std::int64_t id, const std::string& where, std::vector<Frame>& out, Do act) {
        const Frame* known = answers.find(id);
        if (known == nullptr) {
            Frame made;
            try {
                made = frame(act());
            } catch (...) {
                made = codec::encode_message(messages::Error{"crashed", refusal(where, told), id});
            }
            known = &answers.keep(id, std::move(made));
        }
        out.push_back(*known);
    }
};

}  // namespace dovetail::hosting
