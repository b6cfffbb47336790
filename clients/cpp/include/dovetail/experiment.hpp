/// \file
/// `Experiment`: run control as a peer of the broker.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dovetail/messages.hpp"
#include "dovetail/serve.hpp"

namespace dovetail {

using messages::ClockRule;
using messages::Done;
using messages::Episode;
using messages::Progress;
using messages::SeatResult;
using messages::WatchedTurn;

/// An event that the broker sends an experiment unasked.
using Event = std::variant<Episode, Progress, Done, WatchedTurn>;

class Experiment;

namespace detail {
struct RunState;
}

/// A run in progress: iterate over it for the results, in the order in which episodes end.
///
///     for (const Episode& episode : run) ...
///
/// Leaving the loop early cancels the run; `next` and `wait` leave that to you.
class Run {
public:
    /// The broker's number for this run.
    std::int64_t number() const;
    /// The next result, waiting for it; interrupted ones have `scored` false. Nothing after the last.
    /// Throws Error if the run failed or was ended by others, Lost if the broker is gone.
    std::optional<Episode> next();
    /// Returns the remaining results, once the run is over. Throws as `next` does.
    std::vector<Episode> wait();
    /// The last reported progress.
    const Progress& progress() const;
    /// The end of the run, once it is over.
    const std::optional<Done>& done() const;

    /// Start no new episodes for now. This and what follows throws Refused, or Lost.
    void pause();
    /// Continue after `pause`.
    void resume();
    /// Finish the episodes in progress, then end the run.
    void drain();
    /// End this run at once.
    void cancel();
    /// Stepwise: starts the next episode and returns its first turn; `abandon` truncates one in progress.
    WatchedTurn start(bool abandon = false);
    /// Stepwise: let the seats act once; return the next turn.
    WatchedTurn step();
    /// Sends a message to an environment of this run; returns its answer.
    Value message(Value body);

    /// Input iterator over the results; the run ends with the last copy of it.
    class Iterator {
    public:
        Iterator() = default;
        explicit Iterator(Run& run) : run_(&run), reader_(std::make_shared<Reader>(run)) { ++*this; }
        const Episode& operator*() const { return *episode_; }
        const Episode* operator->() const { return &*episode_; }
        Iterator& operator++() {
            episode_ = run_->next();
            if (!episode_) run_ = nullptr;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return run_ != other.run_; }

    private:
        struct Reader {
            explicit Reader(Run& given) : run(given) {}
            Reader(const Reader&) = delete;
            Reader& operator=(const Reader&) = delete;
            ~Reader() { run.leave(); }
            Run& run;
        };
        Run* run_ = nullptr;
        std::shared_ptr<Reader> reader_;
        std::optional<Episode> episode_;
    };
    Iterator begin() { return Iterator(*this); }
    Iterator end() { return {}; }

private:
    friend class Experiment;
    Run(Experiment& experiment, std::shared_ptr<detail::RunState> state)
        : experiment_(&experiment), state_(std::move(state)) {}
    template <class Message>
    Value command(Message message);
    /// Cancels the run if it is not over; if the broker is gone, it has ended the run.
    void leave() noexcept;

    Experiment* experiment_;
    std::shared_ptr<detail::RunState> state_;
};

/// A connection of an experiment; it must outlive its runs. Requests throw Refused if they got an `error`,
/// and Lost if the broker is gone or does not know this session any more; after the latter the experiment may
/// continue in a new session, but its instances and runs are gone.
class Experiment {
public:
    /// Connects to a broker. Throws Error if there is none, or it refuses this peer.
    explicit Experiment(const Connect& how = {});
    /// Leaves; runs in progress are cancelled.
    ~Experiment();
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    /// Its name at the broker.
    const std::string& name() const;
    /// Returns the environments, agents and runs at the broker, in SPEC.md's form.
    Map catalogue();
    /// Waits until the named environments and agents are offered. Throws Error if they are not after
    /// `timeout` seconds.
    void expect(const std::vector<std::string>& environments, const std::vector<std::string>& agents,
                double timeout = 30.0);
    /// Makes an agent of a type; returns the number of the instance. `how` has the request's other fields.
    std::int64_t create(const std::string& agent, messages::ExperimentCreate how = {});
    /// Plays episodes; each of `agents` is the number of an instance or the name of a self-offered agent.
    /// `how` says everything else of the run.
    Run run(const std::string& environment, std::vector<std::variant<std::int64_t, std::string>> agents,
            messages::Run how = {});
    /// Returns an agent's state; the broker also stores it under `state_name`, if given.
    Bytes save(std::int64_t instance, const std::optional<std::string>& state_name = {});
    /// Restores a state that an agent of this type saved.
    void load(std::int64_t instance, Bytes state);
    /// Restores a state that the broker stores under a name.
    void load_named(std::int64_t instance, const std::string& state_name);
    /// Sends a message to an agent; returns its answer.
    Value message(std::int64_t instance, Value body);
    /// Subscribes to the turns of a run, or of all runs.
    void watch(std::optional<std::int64_t> run = {}, bool on = true);
    /// Returns the next watched turn; nothing if none comes for `timeout` seconds.
    std::optional<WatchedTurn> next_turn(double timeout);
    /// Releases an agent.
    void cleanup(std::int64_t instance);

    /// Sends any request of SPEC.md, a map with `type` and without `id`; returns the body of the reply, or
    /// the bytes of a `saved`.
    Value request(Map request);
    /// Processes the broker's messages, waiting for one up to `timeout` seconds, at most half a second.
    void poll(double timeout);
    /// Sets a listener for every event, in the order of arrival and without repeats; it may make requests.
    void listen(std::function<void(const Event&)> listener);
    /// The broker's unsolicited errors, one line each.
    const std::vector<std::string>& problems() const;
    /// Says `bye`.
    void close();

private:
    friend class Run;
    template <class Message>
    Value ask(Message message);
    Value await(std::int64_t id);

    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace dovetail
