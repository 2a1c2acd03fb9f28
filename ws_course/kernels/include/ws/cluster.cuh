// What <cuda/ptx> lacks for clusters. The emulator has its own version of this header.
#pragma once
#include <cuda/std/cstdint>

namespace ws {

// Arrives at a barrier in the shared memory of another CTA of the cluster, `there` as cluster.map_shared_rank gives it,
// with the instruction's default: a release no further than this CTA (PTX ISA, mbarrier.arrive: .release, .cta).
// <cuda/ptx> offers the release to the whole cluster alone. That one is needed where data goes with the arrival; it
// first waits until everything that the thread wrote is seen there, hundreds of nanoseconds.
__device__ __forceinline__ void arrive_remote(cuda::std::uint64_t* there) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(unsigned(__cvta_generic_to_shared(there)))
               : "memory");
}

}  // namespace ws
