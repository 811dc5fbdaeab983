// The chain with the controllers and the recovery of mended.h to choose from.
#include "mended.h"

#include "chain.cc"
