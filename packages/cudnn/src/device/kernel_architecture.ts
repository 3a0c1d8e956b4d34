/**
 * The architecture that the kernels are compiled for. An NVRTC that supports the device's architecture emits its
 * machine code (sm_90). An older one emits PTX of the newest architecture that it supports and the device can run
 * (compute_90); the driver translates that.
 *
 * @param computeCapability 90 is 9.0
 * @param supported the architectures that NVRTC lists; empty before CUDA 11.2, which has no such list
 */
export function kernelArchitecture(computeCapability: number, supported: readonly number[]): string {
  const older = supported.filter((architecture) => architecture < computeCapability)
  if (supported.includes(computeCapability) || older.length === 0) return `sm_${computeCapability}`
  return `compute_${Math.max(...older)}`
}
