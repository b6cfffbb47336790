// The agent `alpha-beta-cpp`.
#pragma once

#include <dovetail/agent.hpp>

namespace connect_four {

/// The agent type that this program offers.
dovetail::AgentType player();

}  // namespace connect_four
