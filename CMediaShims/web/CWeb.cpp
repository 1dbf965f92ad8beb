#include "CWeb.h"
