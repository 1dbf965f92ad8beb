#ifndef PARLOR_CCRYPTO_H
#define PARLOR_CCRYPTO_H
#endif
