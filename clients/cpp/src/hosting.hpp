// What both hosts need: errors of user code as one line, and memories that forget the oldest.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

/// The answers to the last requests by their ids.
class Answers {
public:
    const Frame* find(std::int64_t id) const {
        const auto found = frames_.find(id);
        return found == frames_.end() ? nullptr : &found->second;
    }
    const Frame& keep(std::int64_t id, Frame frame) {
        order_.push_back(id);
        if (order_.size() > kKept) {
            frames_.erase(order_.front());
            order_.pop_front();
        }
        return frames_[id] = std::move(frame);
    }
    void clear() {
        frames_.clear();
        order_.clear();
    }

private:
    static constexpr std::size_t kKept = 256;
    std::unordered_map<std::int64_t, Frame> frames_;
    std::deque<std::int64_t> order_;
};

/// Two numbers, such as episode and seat.
struct Key {
    std::int64_t first;
    std::int64_t second;
    bool operator==(const Key& other) const { return first == other.first && second == other.second; }
};

struct KeyHash {
    std::size_t operator()(const Key& key) const {
        return static_cast<std::size_t>(
            (static_cast<std::uint64_t>(key.first) * 64 + static_cast<std::uint64_t>(key.second)) *
            0x9E3779B97F4A7C15U);
    }
};

/// The episodes that ended last, so that what comes twice is not played twice.
class Ended {
public:
    explicit Ended(std::size_t kept = 4096) : kept_(kept) {}
    bool has(const Key& key) const { return keys_.count(key) != 0; }
    void add(const Key& key) {
        keys_.insert(key);
        order_.push_back(key);
        if (order_.size() > kept_) {
            keys_.erase(order_.front());
            order_.pop_front();
        }
    }
    void clear() {
        keys_.clear();
        order_.clear();
    }

private:
    std::size_t kept_;
    std::unordered_set<Key, KeyHash> keys_;
    std::deque<Key> order_;
};

}  // namespace dovetail::hosting
