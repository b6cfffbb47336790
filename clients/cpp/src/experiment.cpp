#include "dovetail/experiment.hpp"

#include <algorithm>
#include <cstdio>

#include "dovetail/names.hpp"
#include "exchange.hpp"
#include "link.hpp"

namespace dovetail {

namespace {

messages::Hello hello(const Connect& how) {
    messages::Hello out;
    out.role = Role::experiment;
    out.name = how.name;
    out.token = how.token;
    return out;
}

bool offers(const Map& catalogue, const char* kind, const std::string& name) {
    const List& all = catalogue.at(kind).as_list();
    return std::any_of(all.begin(), all.end(),
                       [&](const Value& each) { return each.as_map().at("name").as_text() == name; });
}

}  // namespace

struct Experiment::Inside {
    explicit Inside(const Connect& how) : link(how.address, hello(how), how.key, how.wait) {
        link.give_up = how.give_up;
        link.warn = how.warn;
        if (!link.warn) link.warn = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
        exchange.warn = link.warn;
    }

    Link link;
    Exchange exchange;
    std::vector<messages::Incoming> incoming;
    std::size_t taken = 0;  // of `incoming`
    std::vector<Frame> out;
};

Experiment::Experiment(const Connect& how) : inside_(new Inside(how)) {}

Experiment::~Experiment() {
    try {
        close();
    } catch (...) {
        // The socket is gone; then the broker finds out by itself.
    }
}

void Experiment::close() {
    if (!inside_->link.session().departed()) inside_->link.leave();
}

const std::string& Experiment::name() const {
    return inside_->link.session().welcome()->name;
}

void Experiment::poll(double timeout) {
    Inside& in = *inside_;
    if (in.taken == in.incoming.size()) {
        in.incoming.clear();
        in.taken = 0;
        in.link.receive(timeout, in.incoming);
    }
    const bool nothing = in.incoming.empty();
    // One by one, as a listener that makes a request comes here again, and one that throws costs no message.
    while (in.taken < in.incoming.size()) {
        messages::Incoming message = std::move(in.incoming[in.taken++]);
        in.exchange.take(std::move(message), in.out);
    }
    in.link.send(in.out);
    if (in.exchange.was_lost()) throw Lost("the broker restarted, or does not know this experiment any more");
    // Messages that arrived before the `bye` count.
    if (in.link.session().departed() && nothing) throw Lost("the broker has left");
}

Value Experiment::request(Map request) {
    return await(inside_->exchange.ask(std::move(request), inside_->out));
}

template <class Message>
Value Experiment::ask(Message message) {
    return await(inside_->exchange.ask(std::move(message), inside_->out));
}

Value Experiment::await(std::int64_t id) {
    inside_->link.send(inside_->out);
    for (;;) {
        if (auto answer = inside_->exchange.answer(id)) return std::move(*answer);
        poll(0.5);
    }
}

void Experiment::listen(std::function<void(const Event&)> listener) {
    inside_->exchange.listener = std::move(listener);
}

const std::vector<std::string>& Experiment::problems() const {
    return inside_->exchange.problems;
}

Map Experiment::catalogue() {
    return ask(messages::Catalogue()).as_map();
}

void Experiment::expect(const std::vector<std::string>& environments, const std::vector<std::string>& agents,
                        double timeout) {
    const double end = now() + timeout;
    for (;;) {
        const Map present = catalogue();
        std::string missing;
        for (const std::string& name : environments) {
            if (!offers(present, "environments", name)) missing += (missing.empty() ? "" : ", ") + name;
        }
        for (const std::string& name : agents) {
            if (!offers(present, "agents", name)) missing += (missing.empty() ? "" : ", ") + name;
        }
        if (missing.empty()) return;
        if (now() > end) throw Error("timed out: no connected program offers " + missing);
        poll(0.05);
    }
}

std::int64_t Experiment::create(const std::string& agent, messages::ExperimentCreate how) {
    how.agent = agent;
    return ask(std::move(how)).as_map().at("instance").as_int();
}

Run Experiment::run(const std::string& environment,
                    std::vector<std::variant<std::int64_t, std::string>> agents, messages::Run how) {
    how.environment = environment;
    how.agents = std::move(agents);
    const std::int64_t episodes = how.episodes;
    const Value body = ask(std::move(how));
    return Run(*this, inside_->exchange.follow(body.as_map().at("run").as_int(), episodes));
}

Bytes Experiment::save(std::int64_t instance, const std::optional<std::string>& state_name) {
    messages::Save save;
    save.instance = instance;
    save.state_name = state_name;
    return ask(std::move(save)).as_bytes();
}

void Experiment::load(std::int64_t instance, Bytes state) {
    messages::Load load;
    load.instance = instance;
    load.state = std::move(state);
    ask(std::move(load));
}

void Experiment::load_named(std::int64_t instance, const std::string& state_name) {
    messages::Load load;
    load.instance = instance;
    load.state_name = state_name;
    ask(std::move(load));
}

Value Experiment::message(std::int64_t instance, Value body) {
    messages::ExperimentMessage message;
    message.instance = instance;
    message.body = std::move(body);
    return ask(std::move(message));
}

void Experiment::watch(std::optional<std::int64_t> run, bool on) {
    messages::Watch watch;
    watch.run = run;
    watch.on = on;
    ask(watch);
}

std::optional<WatchedTurn> Experiment::next_turn(double timeout) {
    std::deque<WatchedTurn>& turns = inside_->exchange.turns;
    const double end = now() + timeout;
    while (turns.empty()) {
        const double left = end - now();
        if (left <= 0) return std::nullopt;
        poll(left);
    }
    WatchedTurn turn = std::move(turns.front());
    turns.pop_front();
    return turn;
}

void Experiment::cleanup(std::int64_t instance) {
    messages::Cleanup cleanup;
    cleanup.instance = instance;
    ask(cleanup);
}

std::int64_t Run::number() const {
    return state_->number;
}

const Progress& Run::progress() const {
    return state_->progress;
}

const std::optional<Done>& Run::done() const {
    return state_->done;
}

std::optional<Episode> Run::next() {
    while (state_->results.empty() && !state_->done) experiment_->poll(0.5);
    if (!state_->results.empty()) {
        Episode episode = std::move(state_->results.front());
        state_->results.pop_front();
        return episode;
    }
    const Done& done = *state_->done;
    const std::string text = utf8::line(done.message);
    if (done.reason == DoneReason::failed) throw Error("the run failed: " + text);
    if (done.reason != DoneReason::finished && done.reason != state_->asked_for) {
        throw Error(std::string("the run was ") + name_of(done.reason) + " after " +
                    std::to_string(done.finished) + " of " + std::to_string(state_->episodes) + " episodes" +
                    (text.empty() ? "" : ": " + text));
    }
    return std::nullopt;
}

std::vector<Episode> Run::wait() {
    std::vector<Episode> out;
    while (auto episode = next()) out.push_back(std::move(*episode));
    return out;
}

template <class Message>
Value Run::command(Message message) {
    message.run = state_->number;
    return experiment_->ask(std::move(message));
}

void Run::pause() {
    command(messages::Pause());
}

void Run::resume() {
    messages::Pause pause;
    pause.paused = false;
    command(pause);
}

void Run::drain() {
    command(messages::Drain());
    state_->asked_for = DoneReason::drained;
}

void Run::cancel() {
    command(messages::Cancel());
    state_->asked_for = DoneReason::cancelled;
}

void Run::leave() noexcept {
    if (done()) return;
    try {
        cancel();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
}

WatchedTurn Run::start(bool abandon) {
    messages::ExperimentStart start;
    start.abandon = abandon;
    return codec::from_value<WatchedTurn>(command(std::move(start)));
}

WatchedTurn Run::step() {
    return codec::from_value<WatchedTurn>(command(messages::ExperimentStep()));
}

Value Run::message(Value body) {
    messages::ExperimentMessage message;
    message.body = std::move(body);
    return command(std::move(message));
}

}  // namespace dovetail
