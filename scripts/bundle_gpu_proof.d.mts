/** Puts the proof into `folder` as gpu_proof.mjs, which needs nothing but Node.js, and torch_peer.py beside it. */
export function bundleGpuProof(folder: string): void
