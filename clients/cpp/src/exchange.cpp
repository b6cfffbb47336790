#include "exchange.hpp"

#include <algorithm>
#include <string>

#include "utf8.hpp"

namespace dovetail {

namespace {

/// Turns that are kept for who asks for them late.
constexpr std::size_t kTurns = 100'000;
/// Errors that are kept.
constexpr std::size_t kProblems = 1000;

}  // namespace

std::int64_t Exchange::ask(Map request, std::vector<Frame>& out) {
    request["id"] = ++last_;
    const Value* type = request.find("type");
    const bool run = type != nullptr && *type == Value(messages::Run::type);
    return keep(codec::encode(request), run, out);
}

std::int64_t Exchange::keep(Frame frame, bool run, std::vector<Frame>& out) {
    hosting::check_size(frame, limits_);
    out.push_back(frame);
    Request& open = open_[last_];
    open.frame = std::move(frame);
    open.run = run;
    return last_;
}

std::optional<Value> Exchange::answer(std::int64_t id) {
    const auto found = answers_.find(id);
    if (found == answers_.end()) return std::nullopt;
    auto answer = std::move(found->second);
    answers_.erase(found);
    // Only now, so that what arrives about a run together with its number is kept for it.
    open_.erase(id);
    if (const auto* error = std::get_if<messages::Error>(&answer)) {
        throw Refused(error->code, utf8::line(error->message));
    }
    return std::move(std::get<Value>(answer));
}

void Exchange::take(messages::Incoming message, std::vector<Frame>& out) {
    std::visit(
        [&](auto& each) {
            if (inbox_.take(hosting::seq_of(each), out)) heard(each, out);
        },
        message);
}

Exchange::RunState Exchange::follow(std::int64_t number, std::int64_t episodes) {
    RunState run = std::make_shared<detail::RunState>();
    run->number = number;
    run->episodes = episodes;
    run->progress.run = number;
    run->progress.total = episodes;
    runs_[number] = run;
    const auto early = early_.find(number);
    if (early != early_.end()) {
        for (const Event& event : early->second) tell(*run, event);
    }
    early_.clear();
    return run;
}

void Exchange::heard(messages::Welcome& message, std::vector<Frame>& out) {
    limits_ = message.limits;
    if (!welcomed_) {
        welcomed_ = true;
    } else if (message.resumed) {
        for (const auto& [id, request] : open_) {
            if (answers_.count(id) == 0) out.push_back(request.frame);
        }
    } else {
        lost_ = true;
        open_.clear();
        answers_.clear();
        early_.clear();
        inbox_.clear();
        for (auto& [number, run] : runs_) {
            Done& done = run->done.emplace();
            done.run = number;
            done.finished = run->progress.finished;
            done.reason = DoneReason::failed;
            done.message = "the broker lost this experiment";
        }
        runs_.clear();
    }
}

void Exchange::heard(messages::Reply& message, std::vector<Frame>&) {
    if (open_.count(message.id) != 0) answers_[message.id] = std::move(message.body);
}

void Exchange::heard(messages::Saved& message, std::vector<Frame>&) {
    if (open_.count(message.id) != 0) answers_[message.id] = Value(std::move(message.state));
}

void Exchange::heard(messages::Error& message, std::vector<Frame>&) {
    if (!message.id) {
        if (problems.size() == kProblems) problems.erase(problems.begin());
        problems.push_back(utf8::line(message.message));
    } else if (open_.count(*message.id) != 0) {
        answers_[*message.id] = std::move(message);
    }
}

void Exchange::heard(Episode& message, std::vector<Frame>&) {
    event(message.run, std::move(message));
}

void Exchange::heard(WatchedTurn& message, std::vector<Frame>&) {
    turns.push_back(message);
    if (turns.size() > kTurns) turns.pop_front();
    if (listener) listener(std::move(message));
}

void Exchange::event(std::int64_t number, const Event& event) {
    const auto found = runs_.find(number);
    if (found != runs_.end()) {
        const RunState run = found->second;
        tell(*run, event);
    } else if (std::any_of(open_.begin(), open_.end(), [](const auto& each) { return each.second.run; })) {
        // The reply that names a new run may come after what it tells of.
        early_[number].push_back(event);
    }
    // At last, as a listener may throw, or make requests and hear of more.
    if (listener) listener(event);
}

void Exchange::tell(detail::RunState& run, const Event& event) {
    if (const auto* progress = std::get_if<Progress>(&event)) {
        const bool news = !progress->waiting.empty() && progress->waiting != run.progress.waiting;
        run.progress = *progress;
        if (news && warn) warn("run " + std::to_string(run.number) + " waits: " + utf8::line(progress->waiting));
    } else if (const auto* done = std::get_if<Done>(&event)) {
        run.done = *done;
        runs_.erase(run.number);
    } else if (const auto* episode = std::get_if<Episode>(&event)) {
        run.results.push_back(*episode);
    }
}

}  // namespace dovetail
