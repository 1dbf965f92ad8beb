#include "CNet.h"
