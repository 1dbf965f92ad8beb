// Between a parlor_address and the kernel's form: for the sources of this shim alone.
#ifndef PARLOR_ADDRESSES_H
#define PARLOR_ADDRESSES_H

#include "CNet.h"

#include <sys/socket.h>

// The length of what was written.
socklen_t parlor_to_sockaddr(const parlor_address *address, struct sockaddr_storage *storage);
// All zero for a family other than IPv4 and IPv6.
void parlor_from_sockaddr(const struct sockaddr_storage *storage, socklen_t length, parlor_address *address);

#endif
