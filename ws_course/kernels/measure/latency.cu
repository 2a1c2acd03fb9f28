// The time of one load: a single thread follows a chain, in which each value read is the place of the next. The next
// load cannot start before the last one has arrived, so time / hops is the latency. The next launch goes on where this
// one ended: what has been read lately is not read again, unless the chain is short.
extern "C" __global__ void latency(const unsigned* next, unsigned* place, int hops) {
  unsigned at = *place;
  for (int hop = 0; hop < hops; ++hop) at = next[at];
  *place = at;
}
