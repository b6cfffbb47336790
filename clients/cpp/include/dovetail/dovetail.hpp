/// \file
/// The whole library.
#pragma once

#include "dovetail/agent.hpp"
#include "dovetail/environment.hpp"
#include "dovetail/errors.hpp"
#include "dovetail/experiment.hpp"
#include "dovetail/messages.hpp"
#include "dovetail/names.hpp"
#include "dovetail/seeds.hpp"
#include "dovetail/serve.hpp"
#include "dovetail/spaces.hpp"
#include "dovetail/value.hpp"
#include "dovetail/vector.hpp"
