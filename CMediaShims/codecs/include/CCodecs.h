#ifndef PARLOR_CCODECS_H
#define PARLOR_CCODECS_H
#endif
