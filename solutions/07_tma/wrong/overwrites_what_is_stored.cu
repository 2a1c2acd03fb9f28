// expect: race
// cell: transpose
// Nobody waits until the store of the box before has read its source.
#include <cuda/ptx>
#include <ws/tensormap.cuh>
namespace ptx = cuda::ptx;
using Barrier = cuda::std::uint64_t;
constexpr int BOX = 32;  // rows and columns; a row is a line of 128 bytes

__device__ void wait(Barrier& barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {}
}

__device__ int place(int row, int column) {
  // 1. The place of float (row, column) in a swizzled box, counted in floats.
  const int piece = row * (BOX / 4) + column / 4;
  return (piece ^ (piece / 8 % 8)) * 4 + column % 4;
}

__global__ void transpose(const __grid_constant__ CUtensorMap X, const __grid_constant__ CUtensorMap Y,
                          int across, int boxes) {
  __shared__ alignas(1024) float in[BOX * BOX];
  __shared__ alignas(1024) float out[BOX * BOX];
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // initialised -> seen by the copy engine
  }
  __syncthreads();
  unsigned parity = 0;  // of full
  for (int box = blockIdx.x; box < boxes; box += gridDim.x, parity ^= 1) {
    const int from[2] = {box % across * BOX, box / across * BOX}, to[2] = {from[1], from[0]};
    // 2. The box at `from` -> in.
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof in);
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, in, &X, from, &full);
    }
    wait(full, parity);
    // 3. out may be overwritten.
    __syncthreads();
    for (int i = threadIdx.x; i < BOX * BOX; i += blockDim.x) {
      const int row = i / BOX, column = i % BOX;
      out[place(row, column)] = in[place(column, row)];
    }
    // 4. out -> the box at `to`. After this, the next box may come into `in`.
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &Y, to, out);
      ptx::cp_async_bulk_commit_group();
    }
  }
  // 5. Before the block ends.
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}
