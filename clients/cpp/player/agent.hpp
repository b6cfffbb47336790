// The agent `alpha-beta-cpp`.
#pragma once

#include <dovetail/agent.hpp>

namespace connect_four {

/// What experiments can ask for.
dovetail::AgentType player();

}  // namespace connect_four
