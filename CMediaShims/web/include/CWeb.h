#ifndef PARLOR_CWEB_H
#define PARLOR_CWEB_H
#endif
