/// \file
/// The programs around agents and environments, without the socket: messages of the broker in, frames out.
/// A repeated frame gets the same answer; agents and environments see it once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dovetail/agent.hpp"
#include "dovetail/codec.hpp"
#include "dovetail/environment.hpp"

namespace dovetail {

using messages::Offer;

/// The environments or agents that a program serves.
class Host {
public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;
    virtual Role role() const = 0;
    /// The types on offer.
    virtual std::vector<Offer> offers() const = 0;
    /// Takes a message; appends the answers to `out`.
    virtual void handle(messages::Incoming message, std::vector<Frame>& out) = 0;
    /// Called with one line about every failure of an agent or environment; by default `serve` prints it on
    /// standard error.
    std::function<void(const std::string&)> failed = {};
};

/// Holds the agents of one program. A type whose `instance` is true is made at once, and must be the only
/// one.
class AgentHost : public Host {
public:
    explicit AgentHost(std::vector<AgentType> types);
    ~AgentHost() override;
    Role role() const override { return Role::agent; }
    std::vector<Offer> offers() const override;
    void handle(messages::Incoming message, std::vector<Frame>& out) override;

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

/// Holds the environments of one program.
class EnvironmentHost : public Host {
public:
    explicit EnvironmentHost(std::vector<EnvironmentType> types);
    ~EnvironmentHost() override;
    Role role() const override { return Role::environment; }
    std::vector<Offer> offers() const override;
    void handle(messages::Incoming message, std::vector<Frame>& out) override;

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace dovetail
