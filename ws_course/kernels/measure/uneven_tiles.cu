// What a tile schedule is worth when tiles differ in work: a persistent kernel that computes nothing but time.
//
// The work        work[tile] times STEP multiply-adds, a chain in each thread: nothing that CTAs on an SM compete for.
// The schedule    SCHEDULE 1 static: every gridDim.x-th tile. With a CTA for each tile, the hardware deals them out.
//                 SCHEDULE 2 dynamic: numbers from a counter. A CTA asks for one when it has done its tile (AHEAD 0), or
//                 AHEAD tiles earlier, at the beginning of a tile, so that the answer comes while it works.
// The check       done[tile] counts how often a tile was done; next is 0 before a launch and after it.
// Constraints     block = a multiple of 32; dynamic shared memory is not used, it only limits the CTAs on an SM.
#ifndef SCHEDULE
#define SCHEDULE 1
#endif
#ifndef AHEAD
#define AHEAD 1
#endif

constexpr int STATIC = 1, DYNAMIC = 2;
constexpr int STEP = 256;                     // multiply-adds, each waits for the one before: about 1024 cycles
constexpr int QUEUE = AHEAD > 1 ? AHEAD : 1;  // numbers that a CTA holds
static_assert(SCHEDULE == STATIC || SCHEDULE == DYNAMIC, "1: tiles dealt out beforehand, 2: taken from the counter");
static_assert(SCHEDULE == DYNAMIC || AHEAD == 1, "who knows the next tile asks nobody");

// What the counter's answer means. The grid asks once for each tile, and QUEUE - 1 times more for each CTA: who has
// the last answer puts the counter back to 0.
__device__ int number(int taken, int tiles, int* next) {
  if (taken == tiles + (QUEUE - 1) * int(gridDim.x) - 1) atomicExch(next, 0);
  return gridDim.x + taken;  // the first gridDim.x tiles need no counter
}

extern "C" __global__ void uneven_tiles(const int* work, int* done, float* result, int tiles, int* next) {
  __shared__ int queue[QUEUE];
  if (threadIdx.x == 0) {
    queue[0] = blockIdx.x;
    for (int n = 1; n < QUEUE; ++n) queue[n] = number(atomicAdd(next, 1), tiles, next);
  }
  for (int n = 0;; n = (n + 1) % QUEUE) {
    __syncthreads();  // the number is written -> read
    const int tile = queue[n];
    if (tile >= tiles) return;
    __syncthreads();  // read -> overwritten
    int taken = 0;
    if (SCHEDULE == DYNAMIC && AHEAD > 0 && threadIdx.x == 0) taken = atomicAdd(next, 1);
    float x = threadIdx.x;
#pragma unroll 1
    for (int i = work[tile]; i > 0; --i) {
#pragma unroll
      for (int step = 0; step < STEP; ++step) x = fmaf(x, 0.75f, 0.5f);
    }
    if (x < 0) *result = x;  // never: but the compiler must work to find out
    if (threadIdx.x == 0) {
      atomicAdd(&done[tile], 1);
      if (SCHEDULE == DYNAMIC && AHEAD == 0) taken = atomicAdd(next, 1);
      queue[n] = SCHEDULE == DYNAMIC ? number(taken, tiles, next) : tile + gridDim.x;
    }
  }
}
