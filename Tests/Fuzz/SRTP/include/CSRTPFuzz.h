#ifndef PARLOR_CSRTPFUZZ_H
#define PARLOR_CSRTPFUZZ_H

#include <stddef.h>
#include <stdint.h>

/// Runs one fuzz input; aborts with a line on stderr when an opener and libsrtp2 disagree.
int parlor_srtp_fuzz(const uint8_t *data, size_t size);

#endif
