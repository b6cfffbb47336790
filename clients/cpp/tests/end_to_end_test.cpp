// The library against a real broker: `dovetail` of the environment variable DOVETAIL, or of the PATH.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <dovetail/dovetail.hpp>
#include <thread>

using namespace dovetail;

namespace {

/// A program that ends with its owner.
class Program {
public:
    explicit Program(const std::vector<std::string>& command) {
        std::vector<char*> arguments;
        for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
        arguments.push_back(nullptr);
        int ends[2];
        if (pipe(ends) != 0) throw Error("no pipe");
        out_ = fdopen(ends[0], "r");
        pid_ = fork();
        if (pid_ == 0) {
            dup2(ends[1], 1);
            close(ends[0]);
            close(ends[1]);
            dup2(open("/dev/null", O_WRONLY), 2);
            execvp(arguments[0], arguments.data());
            _exit(127);
        }
        close(ends[1]);
    }
    ~Program() {
        if (pid_ > 0) stop();
        std::fclose(out_);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    int stop() {
        kill(pid_, SIGTERM);
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    /// All that it printed, once it has ended.
    std::string printed() {
        std::string all;
        for (int each; (each = std::fgetc(out_)) != EOF;) all += static_cast<char>(each);
        return all;
    }

private:
    std::FILE* out_ = nullptr;
    pid_t pid_ = -1;
};

std::string free_address() {
    const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    close(socket_);
    return "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

std::string dovetail_command() {
    const char* found = std::getenv("DOVETAIL");
    const std::string command = found != nullptr && *found != '\0' ? found : "dovetail";
    if (std::system((command + " --version >/dev/null 2>&1").c_str()) != 0) {
        std::fprintf(stderr,
                     "skipped: there is no `%s`; name the command with the environment variable DOVETAIL\n",
                     command.c_str());
        std::exit(77);
    }
    return command;
}

/// Serves in a thread of its own.
class Served {
public:
    template <class Type>
    Served(Type type, Serve how)
        : thread_([this, type = std::move(type), how = std::move(how)]() mutable {
              how.stop = &stop_;
              try {
                  serve(std::move(type), how);
              } catch (const std::exception& error) {
                  failed = error.what();
              }
          }) {}
    ~Served() {
        stop_ = true;
        thread_.join();
        CHECK(failed == "");
    }
    std::string failed;

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Nim with one heap: one to three are taken, and who takes the last wins.
class Nim : public Environment {
public:
    explicit Nim(const Map& configuration) : heap_(configuration.at("heap").as_int()) {}
    Spec init() override {
        Spec spec;
        spec.seats = 2;
        spec.observation_spaces = {spaces::Discrete{heap_ + 1}};
        spec.action_spaces = {spaces::Discrete{3, 1}};
        spec.reward_range = {-1.0, 1.0};
        return spec;
    }
    Turn start(std::int64_t) override {
        left_ = heap_;
        mover_ = 0;
        return turn();
    }
    Turn step(const Actions& actions) override {
        const std::int64_t taken = actions.at(0).second.as_int();
        if (taken > left_) throw IllegalAction("there are not so many", mover_);
        left_ -= taken;
        mover_ = 1 - mover_;
        return turn();
    }
    std::unique_ptr<Environment> fork(std::int64_t, std::int64_t) override {
        return std::make_unique<Nim>(*this);
    }

private:
    Turn turn() const {
        Turn turn;
        turn.terminated = left_ == 0;
        for (std::int64_t seat = 0; seat < 2; ++seat) {
            if (left_ > 0 && seat != mover_) continue;
            View view;
            view.seat = seat;
            view.observation = left_;
            if (left_ > 0) {
                std::vector<std::int64_t> legal;
                for (std::int64_t i = 1; i <= std::min<std::int64_t>(3, left_); ++i) legal.push_back(i);
                view.legal = std::move(legal);
            } else {
                view.reward = seat == mover_ ? -1 : 1;
            }
            turn.seats.push_back(std::move(view));
        }
        if (left_ > 0) {
            turn.to_act = {mover_};
        } else {
            turn.outcome = {mover_ == 0 ? 0.0 : 1.0, mover_ == 0 ? 1.0 : 0.0};
        }
        return turn;
    }
    std::int64_t heap_;
    std::int64_t left_ = 0;
    std::int64_t mover_ = 0;
};

class Any : public Agent {
public:
    Answer step(const Decision& decision) override {
        ++decisions_;
        return decision.random_action();
    }
    Value message(const Value&) override { return decisions_; }
    Bytes save() override { return {static_cast<std::uint8_t>(decisions_)}; }
    void load(const Bytes& state) override {
        if (state.size() != 1) throw Error("that is not a state");
        decisions_ = state[0];
    }

private:
    std::int64_t decisions_ = 0;
};

/// Asks the environment, and takes a line that wins at once; else one that leaves a multiple of four.
class Asking : public Agent {
    Answer step(const Decision& decision) override {
        if (!decision.seat.lookahead) throw Error("this agent needs lookahead");
        Lookahead question;
        for (const std::int64_t action : *decision.legal) question.lines.push_back({{Value(action)}});
        question.then = [legal = *decision.legal,
                         seat = decision.seat.seat](const std::vector<Preview>& positions) {
            for (std::size_t i = 0; i < legal.size(); ++i) {
                if (positions[i].rewards[static_cast<std::size_t>(seat)] > 0) return Answer(legal[i]);
                if (!positions[i].seats.empty() && positions[i].seats[0].observation.as_int() % 4 == 0) {
                    return Answer(legal[i]);
                }
            }
            return Answer(legal[0]);
        };
        return question;
    }
};

}  // namespace

TEST_CASE("episodes through a real broker") {
    const std::string command = dovetail_command();
    Serve how;
    how.address = free_address();
    how.token = "secret";
    how.wait = 30;
    how.quiet = true;
    setenv("DOVETAIL_BROKER", how.address.c_str(), 1);
    setenv("DOVETAIL_TOKEN", "secret", 1);
    Program broker({command, "broker", "--bind", how.address, "--journal", "none"});

    EnvironmentType nim = environment<Nim>("nim", "Take one to three; the last wins.");
    nim.configuration = {{"heap", 21, "how many there are", 1, 100}};
    AgentType any = agent<Any>("any");
    any.capacity = 0;
    Served environments(nim, how);
    Served agents(std::vector<AgentType>{any, agent<Asking>("asking")}, how);
#ifdef RANDOM_C
    Program random_c({RANDOM_C});
    Program counter_c({COUNTER_C});
#endif

    Connect wrong = how;
    wrong.token = "another";
    CHECK_THROWS_AS(Experiment{wrong}, Error);

    Experiment experiment(how);
    experiment.expect({"nim"}, {"any", "asking"});
    const std::int64_t first = experiment.create("any"), second = experiment.create("any");
    CHECK_THROWS_AS(experiment.create("nobody"), Refused);

    SUBCASE("a run") {
        messages::Run options;
        options.episodes = 40;
        options.concurrency = 8;
        options.check = true;
        int told = 0;
        experiment.listen([&](const Event& event) {
            if (!std::holds_alternative<Episode>(event)) return;
            ++told;
            experiment.catalogue();
        });
        Run run = experiment.run("nim", {first, second}, options);
        int count = 0;
        std::int64_t turns = 0;
        for (const Episode& episode : run) {
            CHECK(episode.reason == Reason::terminated);
            CHECK(episode.seats.at(0).total == (episode.outcome->at(0) == 1 ? 1 : -1));
            turns += episode.turns;
            ++count;
        }
        CHECK(count == 40);
        CHECK(told == 40);
        CHECK(run.done()->reason == DoneReason::finished);
        CHECK(experiment.message(first, "?").as_int() + experiment.message(second, "?").as_int() == turns);
    }
    SUBCASE("the same seeds play the same") {
        messages::Run options;
        options.episodes = 5;
        options.seed = 3;
        std::vector<std::int64_t> turns[2];
        for (auto& each : turns) {
            for (const Episode& episode : experiment.run("nim", {first, second}, options))
                each.push_back(episode.turns);
        }
        CHECK(turns[0] == turns[1]);
    }
    SUBCASE("stepwise, and watched") {
        messages::Run options;
        options.stepwise = true;
        options.configuration = {{"heap", 2}};
        Run run = experiment.run("nim", {first, second}, options);
        experiment.watch(run.number());
        WatchedTurn turn = run.start();
        CHECK(turn.to_act == std::vector<std::int64_t>{0});
        while (!turn.terminated) turn = run.step();
        CHECK(turn.reason == Reason::terminated);
        CHECK(run.wait().size() == 1);
        const auto watched = experiment.next_turn(5);
        REQUIRE(watched);
        CHECK(watched->run == run.number());
    }
    SUBCASE("lookahead") {
        messages::Run options;
        options.lookahead = true;
        options.episodes = 10;
        const std::int64_t asking = experiment.create("asking");
        for (const Episode& episode : experiment.run("nim", {asking, first}, options)) {
            CHECK(episode.outcome ==
                  std::vector<double>{1, 0});  // 21 is no multiple of four: who begins can win
        }
        options.lookahead = false;
        options.episodes = 1;
        options.retries = 0;
        CHECK(experiment.run("nim", {asking, first}, options).next()->reason == Reason::crashed);
    }
    SUBCASE("saving, loading, refusing") {
        experiment.run("nim", {first, second}).wait();
        const Bytes state = experiment.save(first);
        messages::ExperimentCreate options;
        options.state = state;
        CHECK(experiment.message(experiment.create("any", options), 0) == experiment.message(first, 0));
        CHECK_THROWS_AS(experiment.load(first, {}), Refused);
        messages::Run wrong_heap;
        wrong_heap.configuration = {{"heap", "many"}};
        CHECK_THROWS_AS(experiment.run("nim", {first, second}, wrong_heap).wait(), Error);
        experiment.cleanup(first);
        CHECK_THROWS_AS(experiment.save(first), Refused);
    }
    SUBCASE("cancelling and draining") {
        messages::Run options;
        options.episodes = 1'000'000;
        Run run = experiment.run("nim", {first, second}, options);
        CHECK(run.next());
        run.pause();
        run.resume();
        run.drain();
        run.wait();
        CHECK(run.done()->reason == DoneReason::drained);
        Run other = experiment.run("nim", {first, second}, options);
        other.cancel();
        other.wait();
        CHECK(other.done()->reason == DoneReason::cancelled);
    }
#ifdef RANDOM_C
    SUBCASE("an agent in C") {
        experiment.expect({}, {"random-c"});
        const std::int64_t in_c = experiment.create("random-c");
        messages::Run options;
        options.episodes = 10;
        for (const Episode& episode : experiment.run("nim", {in_c, first}, options)) {
            CHECK(episode.reason == Reason::terminated);
        }
        CHECK(random_c.stop() == 0);
        const std::string printed = random_c.printed(), ready = "agent random-c ready at " + how.address;
        CHECK(printed.substr(0, ready.size() + 10) == ready + " as agent-");
        CHECK(printed.find('\n') == printed.size() - 1);
    }
    SUBCASE("every method of an agent in C") {
        experiment.expect({}, {"counter-c"});
        const std::int64_t in_c = experiment.create("counter-c");
        std::int64_t decisions = 0;
        messages::Run options;
        options.episodes = 3;
        for (const Episode& episode : experiment.run("nim", {in_c, first}, options)) {
            CHECK(episode.reason == Reason::terminated);
            decisions += episode.seats.at(0).decisions;
        }
        CHECK(experiment.message(in_c, "decisions") == Value(decisions));
        CHECK(experiment.message(in_c, "ends") == Value(3));
        CHECK(experiment.message(in_c, "wins").as_int() <= 3);
        CHECK_THROWS_WITH_AS(experiment.message(in_c, "what"), "no such question", Refused);
        messages::ExperimentCreate again;
        again.state = experiment.save(in_c);
        CHECK(experiment.message(experiment.create("counter-c", again), "decisions") == Value(decisions));
        again.state = Bytes{1};
        CHECK_THROWS_AS(experiment.create("counter-c", again), Refused);
        options.configuration = {{"heap", 1}};
        CHECK_THROWS_AS(experiment.run("nim", {in_c, first}, options).wait(), Error);
        CHECK(counter_c.stop() == 0);
    }
#endif
}
