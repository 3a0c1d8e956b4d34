/**
 * What the kernels are compiled for. An NVRTC that knows the device's architecture makes its machine code (sm_90); an
 * older one makes PTX of the newest that it knows and the device can run (compute_90), which the driver translates.
 *
 * @param computeCapability 90 is 9.0
 * @param supported what NVRTC says it knows; empty where it cannot say (before CUDA 11.2)
 */
export function kernelArchitecture(computeCapability: number, supported: readonly number[]): string {
  const older = supported.filter((architecture) => architecture < computeCapability)
  if (supported.includes(computeCapability) || older.length === 0) return `sm_${computeCapability}`
  return `compute_${Math.max(...older)}`
}
