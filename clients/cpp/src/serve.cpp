#include "dovetail/serve.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "dovetail/names.hpp"
#include "link.hpp"
#include "utf8.hpp"

namespace dovetail {

namespace {

volatile std::sig_atomic_t told_to_stop = 0;

extern "C" void dovetail_stop(int) {
    if (told_to_stop != 0) std::_Exit(130);  // the second time at once
    told_to_stop = 1;
}

/// Has SIGINT and SIGTERM end the program in order as long as it lives.
class Signals {
public:
    explicit Signals(bool wanted) : wanted_(wanted) {
        if (!wanted_) return;
        told_to_stop = 0;
        interrupt_ = std::signal(SIGINT, dovetail_stop);
        terminate_ = std::signal(SIGTERM, dovetail_stop);
    }
    ~Signals() {
        if (!wanted_) return;
        std::signal(SIGINT, interrupt_);
        std::signal(SIGTERM, terminate_);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    bool wanted_;
    void (*interrupt_)(int) = SIG_DFL;
    void (*terminate_)(int) = SIG_DFL;
};

/// Seconds after which answers go out although others that came with them are still thought about.
constexpr double kPatience = 0.005;

/// An environment variable, unless it is empty.
std::optional<std::string> variable(const char* name) {
    const char* found = std::getenv(name);
    if (found == nullptr || *found == '\0') return std::nullopt;
    return std::string(found);
}

/// One line that says who is connected, where, and under which name.
void announce(const messages::Hello& hello, const std::string& address, const messages::Welcome& welcome) {
    std::string offered;
    for (const Offer& each : hello.offers) offered += (offered.empty() ? "" : ", ") + each.name;
    std::printf("%s %s ready at %s as %s\n", name_of(hello.role), offered.c_str(), address.c_str(),
                utf8::line(welcome.name).c_str());
    std::fflush(stdout);
}

}  // namespace

std::string broker_address() {
    return variable("DOVETAIL_BROKER").value_or("tcp://127.0.0.1:5757");
}

std::optional<std::string> broker_token() {
    return variable("DOVETAIL_TOKEN");
}

std::optional<std::string> broker_key() {
    return variable("DOVETAIL_KEY");
}

void serve(Host& host, const Serve& how) {
    const Signals signals(how.stop == nullptr);
    const auto stopped = [&] { return how.stop != nullptr ? how.stop->load() : told_to_stop != 0; };
    if (!host.failed)
        host.failed = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    messages::Hello hello;
    hello.role = host.role();
    hello.name = how.name;
    hello.offers = host.offers();
    hello.token = how.token;
    Link link(how.address, hello, how.key, how.wait, stopped);
    link.warn = how.warn ? how.warn : host.failed;
    if (const auto& welcome = link.session().welcome()) {
        if (!how.quiet) announce(hello, how.address, *welcome);
        if (how.ready) how.ready(*welcome);
    }
    std::vector<messages::Incoming> incoming;
    std::vector<Frame> answers;
    while (!stopped() && !link.session().departed()) {
        incoming.clear();
        link.receive(0.5, incoming);
        double began = now();
        for (messages::Incoming& message : incoming) {
            if (stopped()) break;  // there may be hours of thinking in them
            host.handle(std::move(message), answers);
            if (incoming.size() > 1 && now() - began > kPatience) {
                link.send(answers);
                began = now();
            }
        }
        link.send(answers);
    }
    if (!link.session().departed()) link.leave();
}

void serve(std::vector<AgentType> types, const Serve& how) {
    AgentHost host(std::move(types));
    serve(host, how);
}

void serve(AgentType type, const Serve& how) {
    serve(std::vector{std::move(type)}, how);
}

void serve(std::vector<EnvironmentType> types, const Serve& how) {
    EnvironmentHost host(std::move(types));
    serve(host, how);
}

void serve(EnvironmentType type, const Serve& how) {
    serve(std::vector{std::move(type)}, how);
}

int run_program(const std::function<void()>& program) {
    try {
        program();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", utf8::line(error.what()).c_str());
        return 1;
    }
}

}  // namespace dovetail
