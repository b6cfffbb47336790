// What both hosts need: errors of user code as one line, and memories that forget the oldest.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dovetail/codec.hpp"
#include "utf8.hpp"

namespace dovetail::hosting {

/// One line for a person about the exception that is being handled; call it in a `catch (...)` only.
inline std::string describe(const std::string& where) {
    try {
        throw;
    } catch (const dovetail::Error& error) {
        return utf8::line(error.what());
    } catch (const std::exception& error) {
        return utf8::line(where + " failed: " + error.what());
    } catch (...) {
        return utf8::line(where + " failed");
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
