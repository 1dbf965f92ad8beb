#include "CForwardingFloor.h"
