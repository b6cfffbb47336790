// An experiment's requests, answers and events, without the socket: messages of the broker in, frames out.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "dovetail/experiment.hpp"
#include "hosting.hpp"

namespace dovetail {

namespace detail {

struct RunState {
    std::int64_t number = 0;
    std::int64_t episodes = 1;
    Progress progress;
    std::optional<Done> done;
    /// How this experiment itself ended the run, if it did.
    std::optional<DoneReason> asked_for;
    std::deque<Episode> results;
};

}  // namespace detail

class Exchange {
public:
    using RunState = std::shared_ptr<detail::RunState>;

    /// Appends the frame of a request to `out`; returns its id. Throws Error for one that cannot be sent.
    template <class Message>
    std::int64_t ask(Message request, std::vector<Frame>& out) {
        request.id = ++last_;
        return keep(codec::encode_message(request), std::is_same_v<Message, messages::Run>, out);
    }
    std::int64_t ask(Map request, std::vector<Frame>& out);
    /// The answer to a request, once it came. Throws Refused if it is an `error`.
    std::optional<Value> answer(std::int64_t id);
    /// Takes a message of the broker; appends to `out` what must be sent.
    void take(messages::Incoming message, std::vector<Frame>& out);
    /// Tells the run of a number from now on, and what of it came already.
    RunState follow(std::int64_t number, std::int64_t episodes);
    /// True if the session was lost since this was asked last.
    bool was_lost() { return std::exchange(lost_, false); }

    std::function<void(const Event&)> listener;
    /// Takes one line for a person when a run waits for something.
    std::function<void(const std::string&)> warn;
    std::deque<WatchedTurn> turns;
    std::vector<std::string> problems;

private:
    struct Request {
        Frame frame;
        bool run = false;
    };
    /// Sends the request of `last_`, and keeps it until it is answered.
    std::int64_t keep(Frame frame, bool run, std::vector<Frame>& out);

    template <class T>
    void heard(const T&, std::vector<Frame>&) {}  // what no experiment acts on
    void heard(messages::Welcome& message, std::vector<Frame>& out);
    void heard(messages::Reply& message, std::vector<Frame>&);
    void heard(messages::Saved& message, std::vector<Frame>&);
    void heard(messages::Error& message, std::vector<Frame>&);
    void heard(Episode& message, std::vector<Frame>&);
    void heard(Progress& message, std::vector<Frame>&) { event(message.run, std::move(message)); }
    void heard(Done& message, std::vector<Frame>&) { event(message.run, std::move(message)); }
    void heard(WatchedTurn& message, std::vector<Frame>&);
    void event(std::int64_t run, const Event& event);
    void tell(detail::RunState& run, const Event& event);

    std::int64_t last_ = 0;
    std::map<std::int64_t, Request> open_;
    std::unordered_map<std::int64_t, std::variant<Value, messages::Error>> answers_;
    std::unordered_map<std::int64_t, RunState> runs_;
    std::unordered_map<std::int64_t, std::vector<Event>> early_;
    hosting::Inbox inbox_;
    Limits limits_;
    bool welcomed_ = false;
    bool lost_ = false;
};

}  // namespace dovetail
