// The parts of Beast's own sources that are used, once: the HTTP parser and the WebSocket frames.
#include "common.hpp"

#include <boost/beast/src.hpp>
