// Asio's own sources, once.
#include "common.hpp"

#include <boost/asio/impl/src.hpp>
