#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
/* What <unistd.h> declares under _GNU_SOURCE alone, without which Swift reads it. */
extern int syncfs(int descriptor);
#endif
