#include <dovetail/serve.hpp>

#include "agent.hpp"

int main() {
    return dovetail::serve_main(connect_four::player());
}
