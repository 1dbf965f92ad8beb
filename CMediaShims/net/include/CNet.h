#ifndef PARLOR_CNET_H
#define PARLOR_CNET_H
#endif
