#include "dovetail/experiment.hpp"

#include <algorithm>

#include "exchange.hpp"
#include "link.hpp"

namespace dovetail {

namespace {

template <class T>
Value nullable(const std::optional<T>& value) {
    return value ? Value(*value) : Value();
}

const char* name_of(Price price) {
    static constexpr const char* kNames[] = {"forfeit", "random", "truncate"};
    return kNames[static_cast<std::size_t>(price)];
}

Map to_map(const ClockRule& clock) {
    Map out;
    if (clock.decision) out["decision"] = *clock.decision;
    if (clock.episode) out["episode"] = *clock.episode;
    if (clock.increment != 0) out["increment"] = clock.increment;
    if (clock.margin != 0) out["margin"] = clock.margin;
    return out;
}

Map to_map(const std::string& environment, const std::vector<Value>& agents, const RunOptions& options) {
    Map out{{"type", "run"}, {"environment", environment}, {"agents", agents}};
    if (!options.configuration.empty()) out["configuration"] = options.configuration;
    out["episodes"] = options.episodes;
    out["seed"] = options.seed;
    if (options.seeds) out["seeds"] = List(options.seeds->begin(), options.seeds->end());
    if (options.first != 0) out["first"] = options.first;
    if (options.mode != Mode::learn) out["mode"] = name_of(options.mode);
    if (options.concurrency != 1) out["concurrency"] = options.concurrency;
    if (options.rotate) out["rotate"] = true;
    Map clock = to_map(options.clock);
    if (!clock.empty()) out["clock"] = std::move(clock);
    if (options.patience != 60.0) out["patience"] = nullable(options.patience);
    if (options.max_turns) out["max_turns"] = *options.max_turns;
    if (options.on_timeout != Price::forfeit) out["on_timeout"] = name_of(options.on_timeout);
    if (options.on_illegal != Price::forfeit) out["on_illegal"] = name_of(options.on_illegal);
    if (options.retries != 1) out["retries"] = options.retries;
    if (options.check) out["check"] = true;
    if (options.stepwise) out["stepwise"] = true;
    if (options.secret) out["secret"] = true;
    if (options.lookahead) out["lookahead"] = true;
    return out;
}

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
    explicit Inside(const Connect& how) : link(how.address, hello(how), how.wait) {}

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
    // What came before the goodbye counts.
    if (in.link.session().departed() && nothing) throw Lost("the broker has left");
}

Value Experiment::request(Map request) {
    const std::int64_t id = inside_->exchange.ask(std::move(request), inside_->out);
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
    return request({{"type", "catalogue"}}).as_map();
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
        if (now() > end) throw Error("nobody offers " + missing);
        poll(0.05);
    }
}

std::int64_t Experiment::create(const std::string& agent, const CreateOptions& options) {
    Map message{{"type", "create"}, {"agent", agent}, {"seed", options.seed}};
    if (!options.parameters.empty()) message["parameters"] = options.parameters;
    if (options.state) message["state"] = *options.state;
    if (options.kept) message["kept"] = *options.kept;
    if (options.peer) message["peer"] = *options.peer;
    return request(std::move(message)).as_map().at("instance").as_int();
}

Run Experiment::run(const std::string& environment, const std::vector<Value>& agents,
                    const RunOptions& options) {
    const Value body = request(to_map(environment, agents, options));
    return Run(*this, inside_->exchange.follow(body.as_map().at("run").as_int(), options.episodes));
}

Bytes Experiment::save(std::int64_t instance, const std::optional<std::string>& keep) {
    Map message{{"type", "save"}, {"instance", instance}};
    if (keep) message["keep"] = *keep;
    return request(std::move(message)).as_bytes();
}

void Experiment::load(std::int64_t instance, Bytes state) {
    request({{"type", "load"}, {"instance", instance}, {"state", std::move(state)}});
}

void Experiment::load_kept(std::int64_t instance, const std::string& kept) {
    request({{"type", "load"}, {"instance", instance}, {"kept", kept}});
}

Value Experiment::message(std::int64_t instance, Value body) {
    return request({{"type", "message"}, {"instance", instance}, {"body", std::move(body)}});
}

void Experiment::watch(std::optional<std::int64_t> run, bool on) {
    request({{"type", "watch"}, {"run", nullable(run)}, {"on", on}});
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
    request({{"type", "cleanup"}, {"instance", instance}});
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
    if (done.reason == Finish::failed) throw Error("the run failed: " + text);
    if (done.reason != Finish::finished && done.reason != state_->asked_for) {
        throw Error(std::string("the run was ") + dovetail::name_of(done.reason) + " after " +
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

void Run::command(const char* type) {
    experiment_->request({{"type", type}, {"run", state_->number}});
}

void Run::pause() {
    command("pause");
}

void Run::resume() {
    experiment_->request({{"type", "pause"}, {"run", state_->number}, {"paused", false}});
}

void Run::drain() {
    command("drain");
    state_->asked_for = Finish::drained;
}

void Run::cancel() {
    command("cancel");
    state_->asked_for = Finish::cancelled;
}

WatchedTurn Run::turn(const char* type) {
    return codec::from_value<WatchedTurn>(experiment_->request({{"type", type}, {"run", state_->number}}));
}

WatchedTurn Run::start() {
    return turn("start");
}

WatchedTurn Run::step() {
    return turn("step");
}

Value Run::message(Value body) {
    return experiment_->request({{"type", "message"}, {"run", state_->number}, {"body", std::move(body)}});
}

}  // namespace dovetail
