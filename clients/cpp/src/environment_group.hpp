// A group of an environment (SPEC.md, Stacked turns).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dovetail/environment.hpp"
#include "hosting.hpp"

namespace dovetail {

/// Plays a copy of an environment in each slot; failures are told in the words of single matches.
std::unique_ptr<VectorEnvironment> copies(const EnvironmentType& type, const Map& configuration,
                                          std::size_t slots, const hosting::Told& told);

/// The episodes of one group.
class EnvironmentGroup {
public:
    /// Throws Error if the configuration is invalid.
    EnvironmentGroup(const EnvironmentType& type, const Map& configuration, const messages::Open& message,
                     const hosting::Told& told);

    /// Returns the spec of the game.
    Spec init();
    /// Plays a batch. Throws ProtocolError if its columns are not what they must be.
    messages::Turns steps(const messages::EnvironmentSteps& message);
    void cleanup() { game_->cleanup(); }

    const std::string name;
    /// The number of the frame that was answered last.
    std::int64_t before = 0;

private:
    std::vector<std::int32_t> named(const std::vector<std::int32_t>& slots,
                                    const std::vector<std::int32_t>& restarts) const;

    std::unique_ptr<VectorEnvironment> game_;
    std::size_t slots_;
    std::size_t seats_ = 0;
    bool afterstates_;
};

}  // namespace dovetail
